"""Two versions of a data set: what is the same in both, what changed, and agreement in each."""
