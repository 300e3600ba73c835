"""Comparison of two versions of a data set: matching, changes and agreement."""
