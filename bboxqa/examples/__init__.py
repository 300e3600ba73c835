"""Worked examples: small data sets with pictures and known results."""

import json
from pathlib import Path
from typing import Any

SCENES = ("fruits", "smiling_fruits", "landscape")

_PACKAGE = Path(__file__).parents[1]
_DATA = Path(__file__).parent / "data"


def example_file(name: str) -> Path:
    """Return the COCO file of an example scene: fruits, smiling_fruits or landscape."""
    return _DATA / f"{name}.json"


def example_picture(name: str) -> Path:
    """Return a picture of the examples: the image of a scene, or an explanatory drawing."""
    if name in SCENES:
        return _DATA / f"{name}.png"
    # An installed package contains the drawings; a checkout has them in its top folder.
    installed = _PACKAGE / "readme_images"
    folder = installed if installed.is_dir() else _PACKAGE.parent / "readme_images"
    return folder / f"{name}.png"


def read_expected() -> dict[str, Any]:
    """Return the expected results of all worked examples, as stored in `data/expected.json`."""
    expected: dict[str, Any] = json.loads((_DATA / "expected.json").read_text("utf-8"))
    return expected
