"""Chance-corrected coefficients beside alpha."""
