"""Facts about a document that several rules need."""
