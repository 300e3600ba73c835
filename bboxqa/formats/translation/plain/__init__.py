"""Annotations of a translation as columns: much faster than a record for each."""
