"""The results of measuring: figures and tables at each threshold."""
