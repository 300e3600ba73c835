"""Refusals of files: defects that would falsify agreement, as findings of the rules."""
