"""The registry of similarities: to add one, write a module in this folder and add a line here."""

from bboxqa.core.errors import ConfigError
from bboxqa.core.plugins import plugins
from bboxqa.core.text import unknown_name
from bboxqa.geometry import box_similarities as boxes
from bboxqa.geometry import outline_similarities as outlines
from bboxqa.geometry.similarity import Similarity

GROUP = "bboxqa.similarities"
"""The group of entry points by which other packages add similarities."""

SIMILARITIES: dict[str, Similarity] = {
    "bbox": boxes.BBOX,
    "giou": boxes.GIOU,
    "centroid": boxes.CENTROID,
    "obb": boxes.OBB,
    "polygon": outlines.POLYGON,
    "mask": outlines.MASK,
    "pixel": outlines.PIXEL,
    "raster": outlines.RASTER,
    "keypoints": boxes.KEYPOINTS,
}


def names() -> tuple[str, ...]:
    """Return the names of all similarities, with those of other packages last."""
    return tuple(dict.fromkeys((*SIMILARITIES, *plugins(GROUP))))


def check_name(name: str) -> None:
    """Refuse an unknown name, or a built-in name that a package offers as well."""
    added = plugins(GROUP)
    if name not in SIMILARITIES and name not in added:
        raise ConfigError(unknown_name(name, (*SIMILARITIES, *added)), "similarity")
    if name in SIMILARITIES and name in added:
        added[name].refuse_built_in()


def similarity(name: str) -> Similarity:
    """Return the similarity of this name."""
    if name in SIMILARITIES:
        return SIMILARITIES[name]
    check_name(name)
    return plugins(GROUP)[name].load(Similarity)
