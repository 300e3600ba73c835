"""Many projects, every night: found, validated, measured, and again only what changed."""
