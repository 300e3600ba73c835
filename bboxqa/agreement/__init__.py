"""Reliability data, coincidences, and coefficients of agreement with their uncertainty."""
