"""DOTA's text labels: four corners of each object."""
