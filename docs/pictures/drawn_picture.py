"""An example image as `bboxqa draw` draws it."""

from io import BytesIO

from PIL import Image

import bboxqa
from bboxqa.examples import example_file, example_picture

__all__ = ["drawn_scene"]

_DPI = 150


def drawn_scene(scene: str) -> Image.Image:
    """Draw a scene with the boxes of all annotators, as by default."""
    picture = example_picture(scene)
    drawing = bboxqa.draw(example_file(scene), picture.name, images=picture.parent)
    content = BytesIO()
    drawing.figure.savefig(content, dpi=_DPI, format="png", pil_kwargs={"compress_level": 0})
    return Image.open(content).convert("RGB")
