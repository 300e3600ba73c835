"""Label Studio's json: tasks, annotations and predictions."""
