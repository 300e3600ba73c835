"""How each annotator differs from the others, and who agrees with whom."""
