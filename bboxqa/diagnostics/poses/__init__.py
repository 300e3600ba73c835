"""How annotators place, leave out and exchange the joints of the same object."""
