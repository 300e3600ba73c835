"""Facts about a document that several rules ask for."""
