"""Label Studio's JSON: tasks, annotations and predictions."""
