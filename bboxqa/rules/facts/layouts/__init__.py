"""The layout of boxes in a file: how it is read, what speaks for it, and for which parts."""
