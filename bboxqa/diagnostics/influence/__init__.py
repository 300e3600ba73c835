"""Coefficients without one annotator, unit or value."""
