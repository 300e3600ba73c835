"""Which categories are hard, which are confused, and which could be one."""
