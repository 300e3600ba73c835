"""The version of the package, as pyproject.toml takes it."""

__version__ = "0.1.0"
