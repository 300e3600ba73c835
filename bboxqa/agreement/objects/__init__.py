"""Agreement on objects: existence, class and place."""
