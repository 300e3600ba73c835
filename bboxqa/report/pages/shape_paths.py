"""Shapes of the document "worst_images" as the data of SVG paths."""

from collections.abc import Mapping, Sequence
from typing import Any


def outline_path(shape: Mapping[str, Any]) -> str:
    """Return the outline of a shape, or its box, as the data of a path."""
    rings = shape.get("rings")
    lines = "".join("M{:.7g} {:.7g}L{:.7g} {:.7g}".format(*line) for line in shape.get("lines", ()))
    if not rings:
        x, y, width, height = (f"{side:.7g}" for side in shape["bbox"])
        return f"M{x} {y}h{width}v{height}H{x}z{lines}"
    return lines + "".join(
        "M" + "L".join(f"{x:.7g} {y:.7g}" for x, y in zip(ring[::2], ring[1::2], strict=True)) + "z"
        for ring in rings
    )


def dots_path(points: Sequence[Sequence[float]]) -> str:
    """Return points as the data of a path: lines of length 0 with round ends."""
    return "".join(f"M{x:.7g} {y:.7g}h0" for x, y in points)
