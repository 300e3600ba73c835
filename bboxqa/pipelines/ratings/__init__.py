"""Ratings of categories: coefficients, their notes, times, and differences of groups."""
