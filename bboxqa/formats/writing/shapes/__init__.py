"""The shapes of annotations that are written: outlines and key points."""
