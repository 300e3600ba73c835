"""Pictures of how bboxqa works."""
