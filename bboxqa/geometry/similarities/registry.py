"""Similarities by name; a new one is a module of this folder and one line here."""

from bboxqa.core.errors import ConfigError
from bboxqa.geometry.similarities import box, mask, polygon, raster
from bboxqa.geometry.similarities.base import Similarity

__all__ = ["names", "needs_outlines", "similarity"]

_SIMILARITIES: dict[str, Similarity] = {
    "bbox": box.BBOX,
    "giou": box.GIOU,
    "centroid": box.CENTROID,
    "polygon": polygon.POLYGON,
    "mask": mask.MASK,
    "pixel": raster.PIXEL,
    "raster": raster.RASTER,
}


def names() -> tuple[str, ...]:
    """Return the names of all similarities.

    Examples
    --------
    >>> names()
    ('bbox', 'giou', 'centroid', 'polygon', 'mask', 'pixel', 'raster')
    """
    return tuple(_SIMILARITIES)


def similarity(name: str) -> Similarity:
    """Return the similarity of a name.

    Parameters
    ----------
    name : str

    Raises
    ------
    ConfigError
        If there is no such similarity.

    Examples
    --------
    >>> similarity("mask").needs
    'masks'
    """
    if name not in _SIMILARITIES:
        raise ConfigError(f"similarity is {name!r}; expected one of {', '.join(names())}")
    return _SIMILARITIES[name]


def needs_outlines(name: str) -> bool:
    """Return whether a similarity compares outlines rather than boxes.

    Raises
    ------
    ConfigError
        If there is no such similarity.

    Examples
    --------
    >>> needs_outlines("bbox"), needs_outlines("polygon")
    (False, True)
    """
    return similarity(name).needs != "boxes"
