"""Diagnostics of disagreement: objects, kinds of disagreement, and what they cost."""
