"""Sections of the page of an agreement, each about something that only some results have."""
