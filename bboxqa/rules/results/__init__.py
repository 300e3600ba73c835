"""E: results of detectors."""
