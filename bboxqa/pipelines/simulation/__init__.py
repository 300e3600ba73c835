"""Simulated annotators: a true scene, and what annotators with known errors draw of it."""
