"""Diagnostics of annotators: differences from the others, groups and copies."""
