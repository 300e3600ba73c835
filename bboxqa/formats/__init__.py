"""Readers: files become values."""
