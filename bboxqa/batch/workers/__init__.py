"""Running projects on processes and clusters."""
