"""Charts of values: for a page, a notebook and a paper."""
