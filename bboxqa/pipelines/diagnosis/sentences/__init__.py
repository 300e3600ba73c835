"""The sentences of a diagnosis, one module per subject."""
