"""What keeps a file from being measured, in the words of the rules."""
