"""The example images: one entry to all scenes, in their own size or scaled."""

from functools import lru_cache

from fruit_scene import draw_fruits, draw_smiling_fruits
from landscape_scene import draw_landscape
from PIL import Image
from scene_records import read_scene

__all__ = ["draw_scene"]

_FINE = 4


# The panels of annotators show one scene at one scale.
@lru_cache(maxsize=1)
def draw_scene(scene: str, scale: float = 1) -> Image.Image:
    """Draw an example scene, in its own size times `scale`.

    The fruit scenes are smooth at any scale; the landscape shows its pixels as squares.
    """
    record = read_scene(scene)
    size = (round(record.width * scale), round(record.height * scale))
    if scene == "landscape":
        return draw_landscape().resize(size, Image.Resampling.NEAREST)
    draw = draw_fruits if scene == "fruits" else draw_smiling_fruits
    return draw(record, _FINE * scale).resize(size, Image.Resampling.BOX)
