"""Records of annotations as columns, whatever format they come from."""
