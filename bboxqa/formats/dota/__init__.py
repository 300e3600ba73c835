"""DOTA's text labels, with four corners per object."""
