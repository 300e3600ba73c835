"""What agreement is made of: whether objects exist, of which class they are, and where."""
