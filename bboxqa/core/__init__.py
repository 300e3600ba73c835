"""Arrays, memory, processes, files and text: nothing here knows of annotations."""
