"""Supervisely image projects."""
