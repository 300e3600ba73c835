"""From files to drawings of their images."""
