"""Where agreement is lost: in which objects, and how much each kind of disagreement costs."""
