"""How much two annotations overlap, and which pairs of annotations need to be compared at all."""
