"""Drawings of images with their annotations."""
