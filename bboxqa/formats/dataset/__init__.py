"""From annotation files to one data set: who drew what, and who was asked."""
