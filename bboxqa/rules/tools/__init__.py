"""Rules about defects of the formats of annotation tools."""
