"""Folders of several sources."""
