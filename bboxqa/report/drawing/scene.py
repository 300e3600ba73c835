"""An image and its annotations: what is drawn, and in which colours, lines and labels."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from bboxqa.core.arrays import ByteArray, FloatArray
from bboxqa.model.findings import Severity
from bboxqa.report.charts.chart import DASHES, N_TOLD_APART, SERIES, series_style
from bboxqa.report.numbers import set_apart, short_name

By = Literal["annotator", "category", "unit", "finding"]
"""What colours and labels of a drawing stand for."""

Box = tuple[float, float, float, float]
"""Left, top, width and height in pixels."""

# The box of an outline is thinner than the outline, so that the two can be told apart.
_BOX_WEIGHT = 0.5
_SEVERITY_COLORS = {
    Severity.ERROR: SERIES[1],
    Severity.WARNING: SERIES[4],
    Severity.INFO: SERIES[0],
}


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """An annotation of an image."""

    bbox: Box
    rings: tuple[FloatArray, ...] = ()
    """Each (V, 2) in pixels; without them the box is drawn."""
    annotator: str = ""
    category: str = ""
    unit: int = 0
    """Number of the unit in this image, from 1; 0 for none."""
    codes: tuple[str, ...] = ()
    """Codes of the rules that found something, the most severe first."""
    points: FloatArray | None = None
    """(K, 3) x, y and visibility of its key points; None where they were not read."""
    limbs: tuple[tuple[int, int], ...] = ()
    """The key points that lines join."""


@dataclass(frozen=True, slots=True, eq=False)
class Scene:
    """An image with its annotations."""

    name: str
    width: float
    height: float
    shapes: tuple[Shape, ...]
    pixels: ByteArray | None = None
    """(H, W, 3) uint8. The whole image, perhaps reduced; None for a blank canvas."""
    annotators: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    """All names of the data set; their order determines the colours."""
    asked: tuple[str, ...] = ()
    """The annotators who were asked about this image."""
    rules: tuple[tuple[str, Severity, str], ...] = ()
    """Code, severity and title of each rule that found something, the most severe first."""


@dataclass(frozen=True, slots=True)
class Look:
    """A colour and the dashes of a line, empty for a solid line."""

    color: str
    dashes: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Outline:
    """An annotation as it is drawn."""

    bbox: Box
    look: Look
    label: str = ""
    rings: tuple[FloatArray, ...] = ()
    points: FloatArray | None = None
    limbs: tuple[tuple[int, int], ...] = ()
    weight: float = 1
    """The width of its line, as a multiple of that of the picture."""


NO_LOOK = Look("none")
"""Of an entry of a legend that stands for no line."""

Key = tuple[str, Look]
"""An entry of a legend: a name and what it looks like."""


def outlines_by(scene: Scene, by: By) -> tuple[list[Outline], list[Key]]:
    """Return the annotations of a scene as they are drawn, and the entries of the legend."""
    return _BY[by](scene)


def _outlined(
    shapes: Sequence[Shape], looks: Sequence[Look], labels: Sequence[str]
) -> list[Outline]:
    return [
        Outline(shape.bbox, look, short_name(label), shape.rings, shape.points, shape.limbs)
        for shape, look, label in zip(shapes, looks, labels, strict=True)
    ]


def _named_looks(
    names: Sequence[str], every: Sequence[str], asked: Sequence[str] = ()
) -> tuple[list[Look], list[Key]]:
    """Return the look of each name, and the entries of the legend; `asked` are always shown."""
    number = Counter(names)
    present = [name for name in every if number[name] or name in asked]
    # With more names than looks, names of the image get the looks in their order.
    distinguished = every if len(every) <= N_TOLD_APART else present
    styles = {name: series_style(place) for place, name in enumerate(distinguished)}
    look = {name: Look(SERIES[styles[name][0]], DASHES[styles[name][1]]) for name in present}
    return [look[name] for name in names], [
        (_counted(name, number[name]), look[name]) for name in present
    ]


def _counted(name: str, number: int | str) -> str:
    return f"{set_apart(short_name(name))} ({number})"


def _by_annotator(scene: Scene) -> tuple[list[Outline], list[Key]]:
    names = [shape.annotator for shape in scene.shapes]
    looks, keys = _named_looks(names, scene.annotators, scene.asked)
    # The only category would repeat all over the image.
    is_one = len(scene.categories) < 2
    return _outlined(
        scene.shapes, looks, ["" if is_one else s.category for s in scene.shapes]
    ), keys


def _by_category(scene: Scene) -> tuple[list[Outline], list[Key]]:
    looks, keys = _named_looks([shape.category for shape in scene.shapes], scene.categories)
    one = len({shape.annotator for shape in scene.shapes}) < 2
    labels = [shape.category if one else shape.annotator for shape in scene.shapes]
    return _outlined(scene.shapes, looks, labels), keys


def _by_unit(scene: Scene) -> tuple[list[Outline], list[Key]]:
    drawn: dict[int, list[Shape]] = {}
    for shape in scene.shapes:
        drawn.setdefault(shape.unit, []).append(shape)
    # Units of the same colour are distinguished by their numbers.
    look = {unit: Look(SERIES[(unit - 1) % len(SERIES)]) for unit in drawn}
    keys = []
    for unit, shapes in sorted(drawn.items()):
        named = " / ".join(dict.fromkeys(shape.category for shape in shapes))
        whose = f"{len(shapes)} of {len(scene.asked)}" if unit else str(len(shapes))
        keys.append((f"{unit or 'crowd'}  {_counted(named, whose)}", look[unit]))
    # One label is enough for annotations of one object.
    first = {id(shapes[0]): unit for unit, shapes in drawn.items()}
    labels = [str(first.get(id(shape)) or "") for shape in scene.shapes]
    return _outlined(scene.shapes, [look[shape.unit] for shape in scene.shapes], labels), keys


def _by_finding(scene: Scene) -> tuple[list[Outline], list[Key]]:
    look = {code: Look(_SEVERITY_COLORS[severity]) for code, severity, _ in scene.rules}
    number = Counter(code for shape in scene.shapes for code in shape.codes)
    keys = [
        (f"{code} {severity}: {title} ({number[code]})", look[code])
        for code, severity, title in scene.rules
        if number[code]
    ]
    outlines = []
    for shape in scene.shapes:
        of = look[shape.codes[0]]
        # Outline and box are both drawn, as either may be wrong.
        if shape.rings:
            outlines.append(Outline(shape.bbox, of, rings=shape.rings))
        weight = _BOX_WEIGHT if shape.rings else 1
        outlines.append(Outline(shape.bbox, of, ", ".join(shape.codes), weight=weight))
    return outlines, keys


_BY = {
    "annotator": _by_annotator,
    "category": _by_category,
    "unit": _by_unit,
    "finding": _by_finding,
}
