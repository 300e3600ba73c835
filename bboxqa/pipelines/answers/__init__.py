"""Tables of ratings: similarity of annotators, and association of columns."""
