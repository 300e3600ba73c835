"""Many projects: found, validated and measured; the next run repeats only what changed."""
