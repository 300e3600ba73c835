"""Rules about the data set as a whole."""
