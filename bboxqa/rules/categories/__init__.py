"""Rules about categories."""
