"""Rules about ids and references."""
