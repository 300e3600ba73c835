"""Scenes that are annotated."""
