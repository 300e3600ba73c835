"""From pairs of annotations to units: which annotations show one object."""
