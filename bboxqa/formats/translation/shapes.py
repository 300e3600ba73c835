"""Values and shapes of annotation tools: checked, and converted to COCO records."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from bboxqa.core.arrays import FloatArray
from bboxqa.core.json_values import shortened
from bboxqa.core.text import one_line
from bboxqa.formats.document import Record

LARGEST = 1e9
"""Coordinates have to be smaller."""
MOST_BEYOND = 0.005
"""How far a relative coordinate may exceed the image due to rounding."""
GIVE_SIZE = "give --image-size 1920x1080, or --image-size DIR with the images"
LEAST_PIXELS = 2
"""Coordinates further from 0 are pixels, not relative, as shapes exceed their image by less."""
_SHOWN = 40
SIDES = 72
"""The number of points of the polygon that replaces an ellipse; its area is 0.13 % smaller."""
_SAME_ANGLE = 1e-9
"""Points of an outline that differ by less, in radians, are one."""
_SQUARE = 0.02
"""The largest absolute cosine of a corner that counts as a right angle."""
_MOST_PAIRS = 1 << 24
"""Pairs of an edge and a ring that are compared."""


class ValueProblemError(ValueError):
    """A value that is not as its tool writes it; its text follows "object 7: "."""

    code = "T001"


class UnknownSizeError(ValueProblemError):
    """A shape that needs the size of its image, which is not known."""

    code = "T002"


class MaskProblemError(ValueProblemError):
    """A mask that cannot be decoded; its text follows "the mask "."""

    code = "T008"


class EmptyMaskProblemError(MaskProblemError):
    """A mask without pixels."""

    code = "T011"


def plain_text(value: object) -> str:
    """Return a name or number as text; "" for any other value."""
    if type(value) is str:
        return value.strip()
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return "" if isinstance(value, bool) or not isinstance(value, int) else str(value)


def mapping(value: object) -> dict[str, Any]:
    """Return a JSON object; an empty one for any other value."""
    return value if isinstance(value, dict) else {}


def items(value: object) -> list[Any]:
    """Return a JSON list; an empty one for any other value."""
    return value if isinstance(value, list) else []


def number_of(value: object, name: str) -> float:
    """Return a finite number, also from its text; raises ValueProblemError for any other value."""
    found: float = np.nan
    if isinstance(value, str):
        with suppress(ValueError):
            found = float(value)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        found = value
    if not abs(found) < LARGEST:
        shown = "missing" if value is None else repr(value)[:_SHOWN]
        expected = f"a number within ±{LARGEST:,.0f}"
        if isinstance(value, str) and "," in value:
            expected = "a number without a comma, such as 0.5"
        raise ValueProblemError(f"{name} is {shown}; expected {expected}")
    return found


def numbers_of(values: object, names: Sequence[str]) -> list[float]:
    """Return the numbers under some keys of an object; raises ValueProblemError if missing."""
    given = mapping(values)
    return [number_of(given.get(name), name) for name in names]


def degrees_of(value: object, name: str, *, in_radians: bool = False) -> float:
    """Return an angle in degrees; 0 if it is missing."""
    if value in (None, ""):
        return 0.0
    number = number_of(value, name)
    return float(np.rad2deg(number)) if in_radians else number


def points_of(values: object, name: str = "points", *, least: int = 1) -> FloatArray:
    """Return (K, 2) points, at least `least`; raises ValueProblemError for any other value."""
    if not isinstance(values, list) or len(values) < least:
        found = "missing" if values is None else repr(values)[:_SHOWN]
        raise ValueProblemError(f"{name} are {found}; expected {least} or more [x, y]")
    pairs = [[p.get("x"), p.get("y")] if isinstance(p, dict) else p for p in values]
    for pair, given in zip(pairs, values, strict=True):
        if not isinstance(pair, list) or len(pair) != 2:
            raise ValueProblemError(f"a point is {shortened(given, _SHOWN)}; expected [x, y]")
        for each in pair:
            number_of(each, "a coordinate")
    return np.array(pairs, np.float64).reshape(-1, 2)


def side_of(value: object, name: str) -> int | None:
    """Return a side of an image in pixels, from a number or its text; None if missing."""
    # Data frames have NaN for empty cells.
    if value is None or value != value or value == "":  # noqa: PLR0124
        return None
    try:
        side = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        side = 0.0
    if isinstance(value, bool) or not 1 <= side < 1 << 31:
        shown = one_line(str(value))[:_SHOWN]
        raise ValueProblemError(f"{name} is {shown}; expected a number of pixels, 1 or more")
    return int(side)


def size_of(width: object, height: object) -> tuple[int, int] | None:
    """Return the size of an image in pixels; None if a side is missing or invalid."""
    for side in (width, height):
        if isinstance(side, bool) or not isinstance(side, int | float) or not 1 <= side < 1 << 31:
            return None
    return int(width), int(height)  # type: ignore[call-overload]


def bounds(points: FloatArray) -> list[float]:
    """Return the box around (K, 2) points, as x, y, width and height."""
    low, high = points.min(0), points.max(0)
    found: list[float] = [*low.tolist(), *(high - low).tolist()]
    return found


def rotated(points: FloatArray, centre: tuple[float, float], degrees: float) -> FloatArray:
    """Rotate (K, 2) points clockwise, as seen in an image whose y axis points down."""
    angle = np.deg2rad(degrees)
    cosine, sine = np.cos(angle), np.sin(angle)
    turned: FloatArray = (points - centre) @ np.array([[cosine, sine], [-sine, cosine]]) + centre
    return turned


def rotations_of(points: FloatArray) -> FloatArray:
    """Return the clockwise angle of a side of (N, 4, 2) rectangles, from 0 up to 90, else NaN."""
    # Operations along the first axis take a third of the time of those along a short last one.
    vertices = np.ascontiguousarray(points.transpose(2, 1, 0))
    x, y = np.roll(vertices, -1, 1) - vertices
    lengths = np.hypot(x, y)
    shortest = lengths.min(0)
    with np.errstate(divide="ignore", invalid="ignore"):
        products = x * np.roll(x, -1, 0) + y * np.roll(y, -1, 0)
        cosines = products / (lengths * np.roll(lengths, -1, 0))
        # Rounding of coordinates changes the angles of short sides more.
        is_square = (np.abs(cosines) <= _SQUARE + 2 / shortest).all(0) & (shortest > 0)
    degrees = (np.degrees(np.arctan2(y[0], x[0])) % 90).round(3)
    found: FloatArray = np.where(is_square, degrees, np.nan)
    return found


def corners(x: float, y: float, width: float, height: float) -> FloatArray:
    """Return (4, 2) corners of an upright box, clockwise from the top left."""
    right, bottom = x + width, y + height
    return np.array([[x, y], [right, y], [right, bottom], [x, bottom]])


def ellipse(
    centre: tuple[float, float], radii: tuple[float, float], degrees: float = 0
) -> FloatArray:
    """Return (K, 2) points of an ellipse rotated clockwise about its centre."""
    turn = np.deg2rad(degrees)
    along, across = radii
    sine, cosine = np.sin(turn), np.cos(turn)
    outermost = np.arctan2([-across * sine, across * cosine], [along * cosine, along * sine])
    regular = 2 * np.pi * np.arange(SIDES) / SIDES
    angle = np.sort(np.concatenate([regular, outermost, outermost + np.pi]) % (2 * np.pi))
    # The first angle is 0; an outermost point may be just before it, at nearly one turn.
    is_new = (np.diff(angle, prepend=-1) > _SAME_ANGLE) & (angle < 2 * np.pi - _SAME_ANGLE)
    angle = angle[is_new]
    points = np.stack([np.cos(angle), np.sin(angle)], 1) * radii + centre
    return rotated(points, centre, degrees)


def ring(points: FloatArray) -> list[float]:
    """Return (K, 2) points as a COCO ring, a flat list of x and y."""
    flat: list[float] = points.ravel().tolist()
    return flat


def outlined(points: FloatArray, degrees: float = 0) -> Record:
    """Return the COCO geometry keys of an outline of (K, 2) points, rotated if `degrees` are."""
    turned = {"attributes": {"rotation": degrees}} if degrees else {}
    return {"bbox": bounds(points), "segmentation": [ring(points)], **turned}


def outer_rings(rings: Sequence[FloatArray]) -> list[FloatArray]:
    """Return the (K, 2) rings inside of an even number of others; those between are holes."""
    import shapely

    if len(rings) * sum(map(len, rings)) > _MOST_PAIRS:
        raise ValueProblemError(f"has {len(rings):,} paths; expected an object of its own for each")
    polygons = np.array([shapely.Polygon(ring) if len(ring) > 2 else None for ring in rings])
    x, y = np.array([ring[0] for ring in rings]).T
    is_inside = shapely.contains_xy(polygons[:, None], x, y)
    np.fill_diagonal(is_inside, val=False)
    n_around = is_inside.sum(0)
    return [ring for ring, n in zip(rings, n_around, strict=True) if n % 2 == 0]


def turned_box(box: Iterable[float], degrees: float) -> Record:
    """Return the geometry keys of a box turned clockwise about its centre by some degrees."""
    x, y, width, height = box
    if not degrees % 360:
        return {"bbox": [x, y, width, height]}
    centre = (x + width / 2, y + height / 2)
    points = rotated(corners(x, y, width, height), centre, degrees)
    return outlined(points, degrees)
