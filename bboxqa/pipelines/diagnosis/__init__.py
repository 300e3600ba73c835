"""What the diagnostics look at."""
