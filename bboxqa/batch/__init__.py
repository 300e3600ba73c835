"""Runs over many projects: discovery, validation, measuring; unchanged projects are reused."""
