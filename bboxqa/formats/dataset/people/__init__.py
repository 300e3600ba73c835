"""Who annotated what: from keys, image records, files and folders to annotators."""
