"""Diagnostics: who, what and where lowers agreement, and which annotators are alike."""
