"""What a rule is, and how it reports."""
