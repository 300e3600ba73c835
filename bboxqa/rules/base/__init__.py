"""The interface of rules, and helpers for reporting defects."""
