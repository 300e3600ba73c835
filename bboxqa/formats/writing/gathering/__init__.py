"""From the records of all files to the content that is written."""
