"""Tables of ratings: who answers like whom, and which columns go together."""
