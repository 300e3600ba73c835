"""Sections of the page of an agreement that only some results have."""
