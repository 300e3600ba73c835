"""Supervisely's projects of images."""
