"""Tables of boxes: csv, json lines, Parquet."""
