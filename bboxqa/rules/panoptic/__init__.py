"""G: segments of panoptic annotations."""
