"""Tables of ratings."""
