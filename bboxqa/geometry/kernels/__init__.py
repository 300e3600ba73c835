"""Similarities of arrays of shapes."""
