"""Worked examples: small data sets with pictures and known results."""

from pathlib import Path

__all__ = ["example_file"]


def example_file(name: str) -> Path:
    """Return the COCO file of an example scene: fruits, smiling_fruits or landscape."""
    return Path(__file__).parent / "data" / f"{name}.json"
