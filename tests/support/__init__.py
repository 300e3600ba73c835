"""Helpers of the tests: small data sets, files, reference values and slow twins."""
