"""Converting annotation records of any format to columns."""
