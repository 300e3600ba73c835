"""Datumaro JSON."""
