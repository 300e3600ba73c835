"""Array functions that compute similarities of shapes."""
