"""Delimited text, Parquet and typed tables."""
