"""What measuring key points needs besides the annotations."""
