"""The rules of `validate`: defects of annotation files, and how to fix them."""
