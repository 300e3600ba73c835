"""Agreement of annotators with a reference."""
