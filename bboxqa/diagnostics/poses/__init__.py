"""Diagnostics of key points: misplaced, missing and swapped joints."""
