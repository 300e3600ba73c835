"""Counts from which coefficients are computed; counts of parts add up."""
