"""Diagnostics of categories: difficulty, confusions and merges."""
