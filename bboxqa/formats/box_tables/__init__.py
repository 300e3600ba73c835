"""Tables of boxes in CSV, JSON lines and Parquet."""
