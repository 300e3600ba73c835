"""How far annotators agree with a reference."""
