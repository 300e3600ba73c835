"""Writing annotations in the formats of annotation tools."""
