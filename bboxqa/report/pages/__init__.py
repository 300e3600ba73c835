"""Pages of html: one file each, without anything that is loaded from elsewhere."""
