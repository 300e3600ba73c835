"""Whether annotators follow the same objects through videos."""
