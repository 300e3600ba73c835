"""Kappas and other chance-corrected coefficients."""
