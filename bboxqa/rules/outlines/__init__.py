"""Rules about polygons, masks and keypoints."""
