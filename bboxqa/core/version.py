"""The version of the package, as pyproject.toml takes it."""

__all__ = ["__version__"]

__version__ = "0.1.0"
