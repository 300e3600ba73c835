"""Values that travel between the folders, settings and results."""
