"""Matching: grouping annotations into units, one per object."""
