"""Diagnostics of tracks: identity agreement and switches."""
