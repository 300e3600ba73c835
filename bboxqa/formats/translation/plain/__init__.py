"""Translating plain annotations to columns, much faster than record by record."""
