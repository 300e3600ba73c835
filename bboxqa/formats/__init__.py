"""Reading annotation files of all formats, and writing them."""
