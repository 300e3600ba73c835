"""The sentences of a diagnosis, by what they are about."""
