"""Consensus: one data set from the opinions of several annotators."""
