"""The images of formats with one label file per image."""
