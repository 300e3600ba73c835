"""Rules about defects in files of annotation tools."""
