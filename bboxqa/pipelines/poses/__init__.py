"""Sigmas of joints for the similarity of key points."""
