"""Rules about annotators."""
