"""Annotations of a file, valid or not, as columns; and values of raw records for these."""

import re
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from enum import IntEnum
from functools import cached_property
from itertools import chain
from typing import Any

import msgspec
import numpy as np

from bboxqa.core.arrays import BoolArray, ByteArray, FloatArray, FrozenArrays, IndexArray, IntArray
from bboxqa.core.json_values import shortened
from bboxqa.model.masks import (
    MAX_MASK_PIXELS,
    compress_counts,
    decode_counts,
    span_bounds,
    spans_of_runs,
)


class Kind(IntEnum):
    """The type of the value of a key."""

    MISSING = 0
    NULL = 1
    BOOL = 2
    INT = 3
    FLOAT = 4
    TEXT = 5
    LIST = 6
    DICT = 7


class Form(IntEnum):
    """The notation of an outline."""

    ABSENT = 0
    EMPTY = 1
    """null, an empty list or an empty text"""
    RINGS = 2
    """[[x, y, x, y, …], …], as COCO has it"""
    RLE = 3
    FLAT = 4
    """[x, y, x, y, …]"""
    PAIRS = 5
    """[[x, y], [x, y], …]"""
    NESTED = 6
    """[[[x, y], [x, y], …], …]"""
    TEXT = 7
    OTHER = 8


class Rings(FrozenArrays, frozen=True, eq=False):
    """The rings of all outlines written as lists of lists of numbers."""

    row: IndexArray
    """(R,) int64. The annotation of each ring."""
    place: IndexArray
    """(R,) int64. The index of the ring in its annotation."""
    n_numbers: IndexArray
    """(R,) int64. The number of values of the ring; if odd, the last one is not in `xy`."""
    offsets: IndexArray
    """(R + 1,) int64. Ring r has the vertices ``xy[offsets[r]:offsets[r + 1]]``."""
    xy: FloatArray
    """(V, 2) float64. In pixels."""


class Rles(msgspec.Struct, frozen=True, eq=False):
    """Masks given as run lengths."""

    row: IndexArray
    """(M,) int64. The annotation of each mask."""
    size: IndexArray
    """(M, 2) int64. Height and width in pixels; -1 where they are not two whole numbers."""
    total: IndexArray
    """(M,) int64. The sum of all run lengths; -1 where they cannot be read."""
    area: IndexArray
    """(M,) int64. The number of pixels in the mask."""
    bounds: FloatArray
    """(M, 4) float64. Left, top, right and bottom of the mask in pixels; NaN where it is empty or
    unknown."""
    problem: IntArray
    """(M,) int32. Why the mask cannot be read, as an index into `problems`; 0 where it can."""
    problems: tuple[str, ...]
    """Distinct problems, the first of them empty."""
    counts: tuple[bytes, ...] = ()
    """COCO's compressed run lengths of each mask; empty for one that cannot be read."""


class Keypoints(msgspec.Struct, frozen=True, eq=False, dict=True):
    """Annotations with `keypoints`."""

    row: IndexArray
    """(K,) int64."""
    n_numbers: IndexArray
    """(K,) int64. The length of the list; -1 where the value is not a list of numbers."""
    numbers: FloatArray
    """(V,) float64. The numbers of the lists that are as long as triples, one after the other."""

    @cached_property
    def in_threes(self) -> BoolArray:
        """(K,) bool. Whether the list has numbers, and three for each point."""
        found: BoolArray = (self.n_numbers > 0) & (self.n_numbers % 3 == 0)
        return found

    @cached_property
    def points(self) -> FloatArray:
        """(P, 3) float64. x, y and visibility of the points of lists `in_threes`."""
        return self.numbers.reshape(-1, 3)

    @cached_property
    def owner(self) -> IndexArray:
        """(P,) int64. The list that each of the points is from, as an index into `row`."""
        which = np.flatnonzero(self.in_threes)
        return np.repeat(which, self.n_numbers[which] // 3)

    @cached_property
    def n_visible(self) -> IndexArray:
        """(K,) int64. The number of labelled points, whose visibility is above 0."""
        return np.bincount(self.owner[self.points[:, 2] > 0], minlength=len(self.row))

    @cached_property
    def n_origin(self) -> IndexArray:
        """(K,) int64. The number of labelled points at (0, 0)."""
        return np.bincount(self.owner[self._at_origin], minlength=len(self.row))

    @cached_property
    def bounds(self) -> FloatArray:
        """(K, 4) float64. Left, top, right and bottom of the other labelled points; else NaN."""
        found = np.full((len(self.row), 4), np.nan)
        is_placed = (self.points[:, 2] > 0) & ~self._at_origin
        placed, owner = self.points[is_placed, :2], self.owner[is_placed]
        np.fmin.at(found[:, :2], owner, placed)
        np.fmax.at(found[:, 2:], owner, placed)
        return found

    @cached_property
    def _at_origin(self) -> BoolArray:
        found: BoolArray = (self.points[:, 2] > 0) & (self.points[:, :2] == 0).all(axis=1)
        return found


class Rotations(msgspec.Struct, frozen=True, eq=False):
    """Annotations with a box of five or eight numbers, or an angle other than 0."""

    row: IndexArray
    """(Q,) int64."""
    n_numbers: IndexArray
    """(Q,) int64. 5 or 8 if bbox is a list of so many finite numbers; else 0."""
    values: FloatArray
    """(Q, 8) float64. The numbers of bbox, filled up with NaN."""
    angle: FloatArray
    """(Q,) float64. The angle given next to the box, as written; NaN without one."""


class Columns(msgspec.Struct, frozen=True, eq=False):
    """The annotations of a file, valid or not, in its order."""

    record: ByteArray
    """(N,) uint8. The `Kind` of each record; anything but DICT has no keys."""
    kind: dict[str, ByteArray]
    """dict of str to (N,) uint8. By key, the `Kind` of its value."""
    id: IndexArray
    image_id: IndexArray
    category_id: IndexArray
    """(N,) int64. Ids as integers, also where written as "7" or 7.0. Other texts and fractions get
    a large integer of their own; values that are not ids get 0.
    """
    whole: dict[str, BoolArray]
    """dict of str to (N,) bool. By id key, whether the id is a whole number in any notation."""
    bbox: FloatArray
    """(N, 4) float64. x, y, width, height in pixels; NaN where they are not 4 finite numbers."""
    area: FloatArray
    """(N,) float64. NaN where the area is not a finite number."""
    iscrowd: IntArray
    """(N,) int8. -1 where the value is not 0 or 1."""
    num_keypoints: IndexArray
    """(N,) int64. -1 where the value is not a whole number."""
    score: FloatArray
    """(N,) float64. NaN where the score of a detector is not a finite number."""
    angle: FloatArray
    """(N,) float64. The attribute `rotation` in degrees, NaN where it is missing or no number."""
    track: IntArray
    """(N,) int32. Index into `track_names`; -1 for none."""
    is_single_crowd: BoolArray
    """(N,) bool. Whether `iscrowd` is 1 for a single object, as CVAT writes masks."""
    is_ignored: BoolArray
    """(N,) bool. Whether `ignore` is 1, and `iscrowd` is not."""
    has_only_points: BoolArray
    """(N,) bool. Whether there are key points, and no box."""
    form: ByteArray
    """(N,) uint8. The `Form` of the outline."""
    rings: Rings
    rles: Rles
    keypoints: Keypoints
    rotations: Rotations
    track_names: tuple[str, ...]
    annotator: dict[str, IntArray]
    """dict of str to (N,) int32. By annotator key, indices into `annotator_names`; -1 where the key
    is absent.
    """
    annotator_names: tuple[str, ...]
    valid: Mapping[str, BoolArray] = msgspec.field(default_factory=dict)
    """dict of str to (N,) bool. By id key, whether the id is a whole number or a text."""
    text_ids: Mapping[int, str] = msgspec.field(default_factory=dict)
    """By row, the ids that are no whole numbers, as text."""
    annotator_texts: Mapping[str, AbstractSet[str]] = msgspec.field(default_factory=dict)
    """By annotator key, the texts under it, before blanks are removed."""
    composed_names: AbstractSet[str] = frozenset()
    """The annotators that are lists or objects in the file."""
    marks: Mapping[str, int] = msgspec.field(default_factory=Counter)
    """The number of annotations that a machine created first, by the key that says so."""
    segments: "Columns | None" = None
    """The segments of panoptic records, if rules examine these."""
    segment_of: IndexArray = msgspec.field(default_factory=lambda: np.zeros((0, 2), np.int64))
    """(S, 2) int64. The record of each segment of panoptic records, and its index in the list; -1
    where the value is not a list."""
    are_segments: bool = False
    """Whether the segments of panoptic records were read as annotations."""
    empty_ids: Sequence[int] = ()
    """The images of panoptic records without segments that name an annotator."""

    def __len__(self) -> int:
        return len(self.record)

    def named(self, key: str) -> BoolArray:
        """Return which annotations have a value of any type under an id key, (N,) bool."""
        ids: IndexArray = getattr(self, key)
        result: BoolArray = self.whole[key] | (ids != 0)
        return result


_NUMBER = r"(?ai)\s*[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?\s*"

FARTHEST = 1e6
"""The largest accepted angle in degrees; no tool writes a larger one."""
MAX_COORDINATE = 1e9
"""In pixels. Beyond this, areas are not exact to a pixel; no image is that large."""

NUMBERS = {int, float}
"""The types of numbers, without bool."""


MISSING = msgspec.UNSET
"""The value of a key that is missing."""
_KINDS: dict[type, int] = {
    msgspec.UnsetType: Kind.MISSING, type(None): Kind.NULL, bool: Kind.BOOL, int: Kind.INT,
    float: Kind.FLOAT, str: Kind.TEXT, list: Kind.LIST, dict: Kind.DICT, msgspec.Raw: Kind.LIST,
}  # fmt: skip


def kinds_of(values: Sequence[Any], types: set[type]) -> ByteArray:
    """Return the kind of each of the values, whose `types` are given."""
    if len(types) == 1:
        return np.full(len(values), _KINDS[next(iter(types))], np.uint8)
    return np.fromiter(map(_KINDS.__getitem__, map(type, values)), np.uint8, len(values))


def are_numbers(values: Sequence[Any]) -> bool:
    """Return whether all values are numbers; booleans are not."""
    return set(map(type, values)) <= NUMBERS


def floats(values: Sequence[Any]) -> FloatArray:
    """Return numbers as floats; integers beyond the range of floats become infinite."""
    try:
        return np.fromiter(values, np.float64, len(values))
    except OverflowError:
        largest, signs = sys.float_info.max, (-np.inf, np.inf)
        return np.array([signs[v > 0] if abs(v) > largest else v for v in values], np.float64)


def boxes_of(column: Sequence[Any], types: set[type], *, are_floats: bool = False) -> FloatArray:
    """Return boxes, (N, 4); NaN for other than four finite numbers."""
    if types == {list} and set(map(len, column)) <= {4}:
        flat = list(chain.from_iterable(column))
        if are_floats or are_numbers(flat):
            numbers = np.array(flat, np.float64) if are_floats else floats(flat)
            boxes = numbers.reshape(-1, 4)
            if not np.isfinite(numbers).all():
                boxes[~np.isfinite(boxes).all(1)] = np.nan
            return boxes
    boxes = np.full((len(column), 4), np.nan)
    for place, value in enumerate(column):
        if type(value) is list and len(value) == 4 and are_numbers(value):
            boxes[place] = floats(value)
    boxes[~np.isfinite(boxes).all(1)] = np.nan
    return boxes


def numbers_of(column: Sequence[Any]) -> FloatArray:
    """Return numbers, (N,) float64; NaN where a value is not a finite number."""
    if not are_numbers(column):
        column = [value if type(value) in NUMBERS else np.nan for value in column]
    numbers = floats(column)
    numbers[~np.isfinite(numbers)] = np.nan
    return numbers


def form_of(value: Any) -> int:
    """Return the `Form` of an outline."""
    if value in (None, "", []):
        return Form.EMPTY
    if type(value) is not list:
        forms = {dict: Form.RLE, str: Form.TEXT, msgspec.UnsetType: Form.ABSENT}
        return forms.get(type(value), Form.OTHER)
    types = set(map(type, value))
    if types != {list}:
        return Form.FLAT if types <= NUMBERS else Form.OTHER
    if any(inner and type(inner[0]) is list for inner in value):
        points = list(chain.from_iterable(value))
        is_nested = set(map(type, points)) == {list} and _are_pairs(points)
        return Form.NESTED if is_nested else Form.OTHER
    return Form.PAIRS if len(value) > 2 and _are_pairs(value) else Form.RINGS


def _are_pairs(points: Iterable[Any]) -> bool:
    return all(len(point) == 2 and are_numbers(point) for point in points)


def mask_of(value: dict[str, Any]) -> dict[str, Any]:
    """Return a mask by the columns of `Rles`, with its own problem and run lengths."""
    size, counts = value.get("size"), value.get("counts")
    height, width = -1, -1
    problem = ""
    if type(size) is list and [type(side) for side in size] == [int, int]:
        # Sides beyond the limit are clipped, so that products fit in 64 bits.
        height, width = (max(-1, min(side, MAX_MASK_PIXELS)) for side in size)
    if height < 1 or width < 1:
        problem = f"size is {shortened(size)}; expected [height, width] of whole numbers above 0"
    elif height * width >= MAX_MASK_PIXELS:
        problem = f"size is {shortened(size)}; expected fewer than {MAX_MASK_PIXELS:,} pixels"
    runs, wrong = _runs(counts)
    total, area = (-1, -1) if wrong else (sum(runs), sum(runs[1::2]))
    problem, bounds, text = problem or wrong, (np.nan,) * 4, b""
    if not problem and total == height * width:
        array = np.array(runs, np.int64)
        bounds = span_bounds(spans_of_runs(array), height)
        text = counts.encode() if isinstance(counts, str) else compress_counts(array, height, width)
    return {
        "size": (height, width),
        "total": min(total, 1 << 62),
        "area": min(area, 1 << 62),
        "bounds": bounds,
        "problem": problem,
        "counts": text,
    }


def _runs(counts: object) -> tuple[list[int], str]:
    """Return run lengths, and why they cannot be read."""
    runs: list[int] = []
    if isinstance(counts, str):
        try:
            runs = decode_counts(counts.encode()).tolist()
        except (ValueError, OverflowError) as error:
            said = "pycocotools may silently read another mask"
            return [], f"counts is not valid: {error}; {said}"
    elif isinstance(counts, list) and set(map(type, counts)) <= {int}:
        runs = counts
    else:
        return [], f"counts is {shortened(counts)}; expected text, or a list of whole numbers"
    if runs and min(runs) < 0:
        return runs, f"counts has a run of {min(runs)}; expected 0 or more"
    return runs, ""


def degrees(value: object) -> float:
    """Return a rotation as a number, which may be written as text; NaN for anything else."""
    if type(value) in NUMBERS or (isinstance(value, str) and re.fullmatch(_NUMBER, value)):
        try:
            return float(value)  # type: ignore[arg-type]
        except OverflowError:
            return np.inf
    return np.nan


MARK_KEYS = ("machine", "source", "model")
"""The keys of annotations that may hold such a mark."""
_MACHINES = frozenset(
    ("auto", "automatic", "machine", "model", "prediction", "predicted", "semi-auto")
) | {"pre-annotation"}


def count_marks(values: Iterable[tuple[object, ...]]) -> Counter[str]:
    """Return the number of annotations that a machine created first, by the key that says so.

    The key is `machine` with true, `source` with a word such as "auto" or "semi-auto", or `model`
    with the name of a model.
    """
    found: Counter[str] = Counter()
    for machine, source, model in values:
        is_true = isinstance(machine, str) and machine.lower() == "true"
        if machine is True or machine == 1 or is_true:
            found["machine"] += 1
        elif isinstance(source, str) and source.lower() in _MACHINES:
            found["source"] += 1
        elif isinstance(model, str) and model:
            found["model"] += 1
    return found
