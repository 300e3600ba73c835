"""Intervals, standard errors and sample sizes."""
