"""Diagnostics of working time: speed, sessions, and changes of agreement."""
