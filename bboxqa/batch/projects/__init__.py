"""Finding projects, on disk and in stores."""
