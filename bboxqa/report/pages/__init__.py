"""Html pages, each self-contained in one file."""
