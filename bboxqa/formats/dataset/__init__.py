"""Joining annotation files to one data set, with the annotators and who was asked."""
