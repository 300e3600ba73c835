"""Coefficients without one annotator, unit or rating."""
