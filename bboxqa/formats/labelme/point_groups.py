"""Grouped points, such as the joints of a person, and the shape that they belong to."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from bboxqa.formats.translation.untrusted import plain_text

_POINT = "point"
_RECTANGLES = ("rectangle", "rotation", "oriented_rectangle")
_AREAS = (*_RECTANGLES, "polygon", "quadrilateral", "circle", "mask")


def group_of(shape: Mapping[str, Any]) -> int | str | None:
    """Return the id of the group of a shape; None if it is not in a group."""
    group = shape.get("group_id")
    return group if isinstance(group, int | str) else None


def points_by_shape(shapes: Sequence[Any]) -> dict[int, list[int]]:
    """Return the indices of the points of each shape that has points, by the shape's index.

    A shape has the points of its group if it is the only shape with an area in the group, or the
    only rectangle.

    Examples
    --------
    >>> box = {"shape_type": "rectangle", "group_id": 4}
    >>> nose = {"shape_type": "point", "group_id": 4}
    >>> points_by_shape([nose, box, {**nose, "group_id": None}])
    {1: [0]}
    """
    kinds, groups = _groups(shapes)
    found = {}
    for places in groups:
        points = [place for place in places if kinds[place] == _POINT]
        owner = _owner([place for place in places if kinds[place] in _AREAS], kinds)
        if points and owner is not None:
            found[owner] = points
    return found


def n_grouped(shapes: Sequence[Any]) -> int:
    """Return the number of shapes with an area that share a group with shapes other than points.

    Examples
    --------
    >>> box, nose = ({"shape_type": kind, "group_id": 4} for kind in ("rectangle", "point"))
    >>> n_grouped([box, nose]), n_grouped([box, nose, box])
    (0, 2)
    """
    kinds, groups = _groups(shapes)
    others = ([kinds[place] for place in places if kinds[place] != _POINT] for places in groups)
    return sum(kind in _AREAS for some in others if len(some) > 1 for kind in some)


def _groups(shapes: Sequence[Any]) -> tuple[list[str], list[list[int]]]:
    """Return the kind of each shape, and the indices of the shapes of each group."""
    kinds: list[str] = []
    groups: dict[int | str, list[int]] = defaultdict(list)
    for place, shape in enumerate(shapes):
        is_whole = isinstance(shape, dict)
        kinds.append(plain_text(shape.get("shape_type")) or "polygon" if is_whole else "")
        if is_whole and (group := group_of(shape)) is not None:
            groups[group].append(place)
    return kinds, [*groups.values()]


def _owner(places: Sequence[int], kinds: Sequence[str]) -> int | None:
    rectangles = [place for place in places if kinds[place] in _RECTANGLES]
    return next((some[0] for some in (places, rectangles) if len(some) == 1), None)
