"""Tables of segments in time."""
