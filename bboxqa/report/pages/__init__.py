"""Pages of html, each one file that needs nothing beside it."""
