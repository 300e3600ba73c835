"""All example pictures, and a command that writes them into a folder.

Run `python docs/pictures/write_pictures.py FOLDER`.
"""

import io
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from drawn_picture import drawn_scene
from hungarian_picture import draw_hungarian
from iou_picture import iou_schematic
from panels import annotated_scene, overlay_scene
from PIL import Image
from recursive_picture import draw_recursive
from rotated_picture import rotated_schematic
from scenes import draw_scene

from bboxqa.core.files import write_atomically
from bboxqa.examples import SCENES
from bboxqa.report.plots import page_style

__all__ = ["drawings", "png", "write_pictures"]

_SCENE_SCALES = {"fruits": 1.5, "smiling_fruits": 1.5, "landscape": 10}


def write_pictures(folder: Path) -> list[Path]:
    """Write every example picture as PNG into a folder, which is made if it does not exist."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    # Once for all: to set the style takes longer than to write a word.
    with page_style():
        for name, draw in drawings().items():
            written.append(folder / f"{name}.png")
            write_atomically(written[-1], png(draw()))
    return written


def drawings() -> dict[str, Callable[[], Image.Image]]:
    """Return the function that draws each picture, by its name."""
    found: dict[str, Callable[[], Image.Image]] = {}
    for scene in SCENES:
        found[scene] = partial(draw_scene, scene, _SCENE_SCALES[scene])
        found[f"{scene}_annotators"] = partial(annotated_scene, scene)
        found[f"{scene}_overlay"] = partial(overlay_scene, scene)
    found["fruits_drawn"] = partial(drawn_scene, "fruits")
    found["matching_hungarian"] = draw_hungarian
    found["matching_recursive"] = draw_recursive
    found["iou"] = iou_schematic
    found["rotated_box"] = rotated_schematic
    return found


def png(image: Image.Image) -> bytes:
    """Return a picture as a PNG file of at most 256 colours."""
    # A palette halves the size; without dithering the flat areas stay flat.
    flat = image.quantize(256, Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
    content = io.BytesIO()
    flat.save(content, "PNG", optimize=True)
    return content.getvalue()


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python docs/pictures/write_pictures.py FOLDER")
    for written in write_pictures(Path(sys.argv[1])):
        sys.stdout.write(f"{written}\n")
