"""From units to reliability data, coincidences, and coefficients with their uncertainty."""
