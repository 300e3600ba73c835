"""Agreement on segments in time."""
