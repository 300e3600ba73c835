"""Writing annotations in the formats of tools."""
