"""Worked examples, step by step."""
