"""Measuring how similar annotations are, and finding the pairs that need to be compared."""
