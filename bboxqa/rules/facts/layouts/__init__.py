"""Diagnosing the layout of boxes in a file: possible layouts, evidence, and affected parts."""
