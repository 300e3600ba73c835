"""Arrays, memory, processes, files and text: nothing in this folder knows about annotations."""
