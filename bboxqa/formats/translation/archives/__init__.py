"""Listing the files of archives, within limits on their content and names."""
