"""Drawing: labels and sheets."""
