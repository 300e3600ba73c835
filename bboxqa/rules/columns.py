"""From raw annotation records, sound or not, to columns that rules can look at."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import chain
from operator import itemgetter
from typing import Any

import numpy as np

from bboxqa.arrays import BoolArray, ByteArray, FloatArray, IndexArray, IntArray, freeze
from bboxqa.geometry.masks import decode_counts
from bboxqa.io.records import ANNOTATOR_KEYS, annotator_name, whole_number

__all__ = ["AnnotationColumns", "ColumnsBuilder", "Form", "Keypoints", "Kind", "Rings", "Rles"]

_MAX_MASK = 1 << 31


class Kind(IntEnum):
    """What stands under a key."""

    MISSING = 0
    NULL = 1
    BOOL = 2
    INT = 3
    FLOAT = 4
    TEXT = 5
    LIST = 6
    DICT = 7


class Form(IntEnum):
    """How an outline is written."""

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


class _Missing:
    """Stands for a key that is not there."""


_MISSING = _Missing()
_KINDS: dict[type, int] = {
    _Missing: Kind.MISSING, type(None): Kind.NULL, bool: Kind.BOOL, int: Kind.INT,
    float: Kind.FLOAT, str: Kind.TEXT, list: Kind.LIST, dict: Kind.DICT,
}  # fmt: skip
_NUMBERS = {int, float}
_IDS = ("id", "image_id", "category_id")
_FIELDS = (*_IDS, "bbox", "area", "iscrowd", "segmentation", "keypoints", "num_keypoints")


@dataclass(frozen=True, slots=True, eq=False)
class Rings:
    """The rings of all outlines that are lists of lists of numbers.

    Attributes
    ----------
    row : (R,) int64
        The annotation of each ring.
    place : (R,) int64
        Which ring of its annotation it is.
    n_numbers : (R,) int64
        How many numbers it has; the last of an odd number is not in `xy`.
    offsets : (R + 1,) int64
        Ring r has the vertices ``xy[offsets[r]:offsets[r + 1]]``.
    xy : (V, 2) float64
        In pixels.
    """

    row: IndexArray
    place: IndexArray
    n_numbers: IndexArray
    offsets: IndexArray
    xy: FloatArray

    def __post_init__(self) -> None:
        freeze(self)


@dataclass(frozen=True, slots=True, eq=False)
class Rles:
    """Masks that are run lengths.

    Attributes
    ----------
    row : (M,) int64
        The annotation of each.
    size : (M, 2) int64
        Height and width in pixels; -1 where they are not two whole numbers.
    total : (M,) int64
        The sum of all run lengths; -1 where they cannot be read.
    area : (M,) int64
        Pixels in the mask.
    compressed : (M,) bool
    problem : tuple of str
        Why it cannot be read; empty where it can.
    """

    row: IndexArray
    size: IndexArray
    total: IndexArray
    area: IndexArray
    compressed: BoolArray
    problem: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Keypoints:
    """Annotations with a list of keypoints or a number of them.

    Attributes
    ----------
    row : (K,) int64
    n_numbers : (K,) int64
        Of the list; -1 where it is none, or holds something else than numbers.
    n_visible : (K,) int64
        Points whose third number is above 0.
    """

    row: IndexArray
    n_numbers: IndexArray
    n_visible: IndexArray


@dataclass(frozen=True, slots=True, eq=False)
class AnnotationColumns:
    """The annotations of a file in its order, whatever is wrong with them.

    Attributes
    ----------
    record : (N,) uint8
        The `Kind` of each record; anything but DICT has no keys.
    kind : dict of str to (N,) uint8
        Key to the `Kind` of what stands there.
    id, image_id, category_id : (N,) int64
        As a whole number, also where it is written as "7" or 7.0; 0 where it is none.
    whole : dict of str to (N,) bool
        Whether each of the three is a whole number, however written.
    bbox : (N, 4) float64
        x, y, width, height in pixels; NaN where they are not 4 finite numbers.
    area : (N,) float64
        NaN where it is no finite number.
    iscrowd : (N,) int8
        -1 where it is not 0 or 1.
    num_keypoints : (N,) int64
        -1 where it is no whole number.
    form : (N,) uint8
        The `Form` of the outline.
    rings : Rings
    rles : Rles
    keypoints : Keypoints
    annotator : dict of str to (N,) int32
        Annotator key to an index into `annotator_names`; -1 where nobody is named.
    annotator_names : tuple of str
    """

    record: ByteArray
    kind: dict[str, ByteArray]
    id: IndexArray
    image_id: IndexArray
    category_id: IndexArray
    whole: dict[str, BoolArray]
    bbox: FloatArray
    area: FloatArray
    iscrowd: IntArray
    num_keypoints: IndexArray
    form: ByteArray
    rings: Rings
    rles: Rles
    keypoints: Keypoints
    annotator: dict[str, IntArray]
    annotator_names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.record)


def _kinds(values: Sequence[Any]) -> tuple[ByteArray, set[type]]:
    """Return the kind of each value, and all types there are."""
    types = set(map(type, values))
    if len(types) == 1:
        return np.full(len(values), _KINDS[next(iter(types))], np.uint8), types
    return np.fromiter(map(_KINDS.__getitem__, map(type, values)), np.uint8, len(values)), types


def _finite(values: Sequence[Any]) -> bool:
    return set(map(type, values)) <= _NUMBERS


def _column(records: Sequence[dict[str, Any]], key: str, keys: set[str]) -> list[Any]:
    """Return what stands under a key of each record."""
    if key not in keys:
        return [_MISSING] * len(records)
    try:
        return list(map(itemgetter(key), records))
    except KeyError:
        return [record.get(key, _MISSING) for record in records]


class _Grower:
    """Arrays of one column, window by window."""

    def __init__(self, dtype: type, width: int = 0) -> None:
        self._shape = (-1, width) if width else (-1,)
        self._dtype = dtype
        self._data = bytearray()

    def add(self, values: Iterable[Any] | np.ndarray[Any, Any]) -> None:
        array = values if isinstance(values, np.ndarray) else np.array(list(values))
        self._data += np.ascontiguousarray(array, self._dtype).tobytes()

    def done(self) -> np.ndarray[Any, Any]:
        return np.frombuffer(self._data, self._dtype).reshape(self._shape)


class ColumnsBuilder:
    """Takes in raw records, window by window."""

    def __init__(self) -> None:
        self.n = 0
        self._record = _Grower(np.uint8)
        self._kind = {name: _Grower(np.uint8) for name in _FIELDS}
        self._id = {name: _Grower(np.int64) for name in _IDS}
        self._whole = {name: _Grower(np.bool_) for name in _IDS}
        self._bbox = _Grower(np.float64, 4)
        self._area = _Grower(np.float64)
        self._iscrowd = _Grower(np.int8)
        self._num_keypoints = _Grower(np.int64)
        self._form = _Grower(np.uint8)
        self._rings = [_Grower(np.int64) for _ in range(3)]
        self._xy = _Grower(np.float64, 2)
        self._rles: list[tuple[int, int, int, int, int, bool, str]] = []
        self._keypoints: list[tuple[int, int, int]] = []
        self._annotator = {key: _Grower(np.int32) for key in ANNOTATOR_KEYS}
        self._names: dict[str, int] = {}

    def add(self, values: Sequence[Any]) -> None:
        """Take in records of any type."""
        kinds, types = _kinds(values)
        self._record.add(kinds)
        records = values if types <= {dict} else [v if type(v) is dict else {} for v in values]
        keys = set(chain.from_iterable(records))
        columns = {key: _column(records, key, keys) for key in _FIELDS}
        types_of = {}
        for key, column in columns.items():
            kind, types_of[key] = _kinds(column)
            self._kind[key].add(kind)
        for key in _IDS:
            self._add_ids(key, columns[key], types_of[key])
        self._bbox.add(_boxes(columns["bbox"], types_of["bbox"]))
        self._area.add(_numbers(columns["area"], types_of["area"]))
        iscrowd = columns["iscrowd"]
        if not (types_of["iscrowd"] == {int} and set(iscrowd) <= {0, 1}):
            iscrowd = [int(v) if v in (0, 1) else -1 for v in iscrowd]
        self._iscrowd.add(np.array(iscrowd, np.int8))
        self._add_keypoints(columns, types_of)
        self._add_outlines(columns["segmentation"], types_of["segmentation"])
        self._add_annotators(records, keys)
        self.n += len(records)

    def _add_ids(self, key: str, column: list[Any], types: set[type]) -> None:
        if types == {int}:
            try:
                self._id[key].add(np.fromiter(column, np.int64, len(column)))
            except OverflowError:
                pass
            else:
                self._whole[key].add(np.ones(len(column), np.bool_))
                return
        whole = [whole_number(value) for value in column]
        self._id[key].add(np.array([value or 0 for value in whole], np.int64))
        self._whole[key].add(np.array([value is not None for value in whole], np.bool_))

    def _add_keypoints(self, columns: dict[str, list[Any]], types: dict[str, set[type]]) -> None:
        absent = {_Missing}
        numbers = columns["num_keypoints"]
        if types["num_keypoints"] == absent:
            self._num_keypoints.add(np.full(len(numbers), -1))
        else:
            whole = [whole_number(v) for v in numbers]
            self._num_keypoints.add(np.array([-1 if v is None else v for v in whole], np.int64))
        if types["keypoints"] == absent:
            return
        for row, value in enumerate(columns["keypoints"], self.n):
            if type(value) is list and _finite(value):
                visible = sum(number > 0 for number in value[2::3])
                self._keypoints.append((row, len(value), visible))
            elif value is not _MISSING and value is not None:
                self._keypoints.append((row, -1, 0))

    def _add_outlines(self, column: list[Any], types: set[type]) -> None:
        if types <= {_Missing}:
            self._form.add(np.full(len(column), Form.ABSENT))
            return
        form = list(map(_form, column))
        rings: list[list[Any]] = []
        for place, value in enumerate(column):
            if form[place] == Form.RINGS:
                rings += value
        # One look at all numbers of the window; only an odd one is searched for.
        if not _finite(list(chain.from_iterable(rings))):
            rings = []
            for place, value in enumerate(column):
                if form[place] == Form.RINGS:
                    if all(map(_finite, value)):
                        rings += value
                    else:
                        form[place] = Form.OTHER
        is_rings = np.array(form) == Form.RINGS
        counts = np.array([len(v) if r else 0 for v, r in zip(column, is_rings, strict=True)])
        lengths = np.fromiter(map(len, rings), np.int64, len(rings))
        try:
            numbers = np.fromiter(chain.from_iterable(rings), np.float64, int(lengths.sum()))
        except OverflowError:
            numbers = np.array([_float(number) for ring in rings for number in ring])
        if (lengths % 2).any():
            ends = np.cumsum(lengths)
            numbers = np.delete(numbers, (ends - 1)[lengths % 2 == 1])
        place = np.arange(len(rings)) - np.repeat(np.cumsum(counts) - counts, counts)
        for grower, part in zip(
            self._rings, (np.repeat(self.n + np.arange(len(column)), counts), place, lengths),
            strict=True,
        ):  # fmt: skip
            grower.add(part)
        self._xy.add(numbers)
        self._form.add(np.array(form))
        self._rles += [
            (self.n + place, *_rle(value))
            for place, value in enumerate(column)
            if form[place] == Form.RLE
        ]

    def _add_annotators(self, records: Sequence[dict[str, Any]], keys: set[str]) -> None:
        for key, grower in self._annotator.items():
            first, _, rest = key.partition(".")
            if first not in keys:
                grower.add(np.full(len(records), -1))
                continue
            values = [record.get(first) for record in records]
            if rest:
                values = [v.get(rest) if type(v) is dict else None for v in values]
            # Equal values of one type have one name; 1 and True are equal, but of two types.
            if set(map(type, values)) <= {str} or set(map(type, values)) <= {int}:
                known = {value: self._number(value) for value in dict.fromkeys(values)}
                grower.add(list(map(known.__getitem__, values)))
            else:
                grower.add([self._number(value) for value in values])

    def _number(self, value: object) -> int:
        if value is None or value == "":
            return -1
        return self._names.setdefault(annotator_name(value), len(self._names))

    def absorb(self, columns: AnnotationColumns) -> None:
        """Take in what another builder of the same file has collected after this one."""
        self._record.add(columns.record)
        for grown, parts in (
            (self._kind, columns.kind), (self._whole, columns.whole),
            (self._id, {key: getattr(columns, key) for key in _IDS}),
        ):  # fmt: skip
            for key, grower in grown.items():
                grower.add(parts[key])
        for grower, part in (
            (self._bbox, columns.bbox), (self._area, columns.area),
            (self._iscrowd, columns.iscrowd), (self._num_keypoints, columns.num_keypoints),
            (self._form, columns.form), (self._xy, columns.rings.xy),
        ):  # fmt: skip
            grower.add(part)
        rings, rles, points = columns.rings, columns.rles, columns.keypoints
        for grower, part in zip(
            self._rings, (rings.row + self.n, rings.place, rings.n_numbers), strict=True
        ):
            grower.add(part)
        rows = zip(
            (rles.row + self.n).tolist(), *rles.size.T.tolist(), rles.total.tolist(),
            rles.area.tolist(), rles.compressed.tolist(), rles.problem, strict=True,
        )  # fmt: skip
        self._rles += rows
        self._keypoints += zip(
            (points.row + self.n).tolist(), points.n_numbers.tolist(), points.n_visible.tolist(),
            strict=True,
        )  # fmt: skip
        numbers = [self._names.setdefault(n, len(self._names)) for n in columns.annotator_names]
        for key, grower in self._annotator.items():
            grower.add(np.array([*numbers, -1], np.int32)[columns.annotator[key]])
        self.n += len(columns)

    def done(self) -> AnnotationColumns:
        """Return what has been taken in."""
        row, place, n_numbers = (grower.done() for grower in self._rings)
        rles = list(zip(*self._rles, strict=True)) or [()] * 7
        keypoints = [np.array(part, np.int64) for part in zip(*self._keypoints, strict=True)]
        empty = np.zeros(0, np.int64)
        return AnnotationColumns(
            record=self._record.done(),
            kind={key: grower.done() for key, grower in self._kind.items()},
            id=self._id["id"].done(),
            image_id=self._id["image_id"].done(),
            category_id=self._id["category_id"].done(),
            whole={key: grower.done() for key, grower in self._whole.items()},
            bbox=self._bbox.done(),
            area=self._area.done(),
            iscrowd=self._iscrowd.done(),
            num_keypoints=self._num_keypoints.done(),
            form=self._form.done(),
            rings=Rings(
                row=row,
                place=place,
                n_numbers=n_numbers,
                offsets=np.concatenate([[0], np.cumsum(n_numbers // 2)]),
                xy=self._xy.done(),
            ),
            rles=Rles(
                row=np.array(rles[0], np.int64),
                size=np.array(rles[1:3], np.int64).T.reshape(-1, 2),
                total=np.array(rles[3], np.int64),
                area=np.array(rles[4], np.int64),
                compressed=np.array(rles[5], np.bool_),
                problem=tuple(rles[6]),
            ),
            keypoints=Keypoints(*(keypoints or [empty, empty, empty])),
            annotator={key: grower.done() for key, grower in self._annotator.items()},
            annotator_names=tuple(self._names),
        )


def _boxes(column: list[Any], types: set[type]) -> FloatArray:
    """Return boxes, NaN where they are not four finite numbers."""
    n = len(column)
    boxes = None
    if types == {list} and set(map(len, column)) <= {4}:
        flat = list(chain.from_iterable(column))
        if _finite(flat):
            boxes = _floats(flat).reshape(n, 4)
    if boxes is None:
        sound = [type(v) is list and len(v) == 4 and _finite(v) for v in column]
        boxes = np.full((n, 4), np.nan)
        for place in np.flatnonzero(sound).tolist():
            boxes[place] = _floats(column[place])
    boxes[~np.isfinite(boxes).all(1)] = np.nan
    return boxes


def _numbers(column: list[Any], types: set[type]) -> FloatArray:
    """Return numbers, NaN where there is none."""
    if not types <= _NUMBERS:
        column = [value if type(value) in _NUMBERS else np.nan for value in column]
    numbers = _floats(column)
    numbers[~np.isfinite(numbers)] = np.nan
    return numbers


def _floats(values: Sequence[Any]) -> FloatArray:
    """Return numbers as floats; whole numbers beyond their range become infinite."""
    try:
        return np.fromiter(values, np.float64, len(values))
    except OverflowError:
        return np.array([_float(value) for value in values])


def _float(number: float) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def _form(value: Any) -> int:
    """Return how an outline is written."""
    if type(value) is list:
        return _form_of_list(value)
    if type(value) is dict:
        return Form.RLE
    if value is None or value == "":
        return Form.EMPTY
    if type(value) is str:
        return Form.TEXT
    return Form.ABSENT if value is _MISSING else Form.OTHER


def _form_of_list(value: list[Any]) -> int:
    if not value:
        return Form.EMPTY
    types = set(map(type, value))
    if types != {list}:
        return Form.FLAT if types <= _NUMBERS else Form.OTHER
    if any(inner and type(inner[0]) is list for inner in value):
        points = list(chain.from_iterable(value))
        pairs = set(map(type, points)) == {list} and _are_pairs(points)
        return Form.NESTED if pairs else Form.OTHER
    return Form.PAIRS if len(value) > 2 and _are_pairs(value) else Form.RINGS


def _are_pairs(points: Iterable[Any]) -> bool:
    return all(len(point) == 2 and _finite(point) for point in points)


def _rle(value: dict[str, Any]) -> tuple[int, int, int, int, bool, str]:
    """Return height, width, sum of run lengths, area, whether compressed, and what is wrong."""
    size, counts = value.get("size"), value.get("counts")
    height, width = -1, -1
    problem = ""
    if type(size) is list and [type(side) for side in size] == [int, int]:
        height, width = (side if abs(side) < _MAX_MASK else -1 for side in size)
    if height < 1 or width < 1 or height * width >= _MAX_MASK:
        problem = f"size is {_short(size)}; expected [height, width] of whole numbers above 0"
    compressed = type(counts) is str
    runs: list[int] = []
    if isinstance(counts, str):
        runs, wrong = _runs(counts)
    elif type(counts) is list and set(map(type, counts)) <= {int}:
        runs, wrong = counts, ""
    else:
        wrong = f"counts is {_short(counts)}; expected text, or a list of whole numbers"
    if not wrong and runs and min(runs) < 0:
        wrong = f"counts has a run of {min(runs)}; expected 0 or more"
    problem = problem or wrong
    total, area = (-1, -1) if wrong else (sum(runs), sum(runs[1::2]))
    return height, width, min(total, 1 << 62), min(area, 1 << 62), compressed, problem


def _runs(counts: str) -> tuple[list[int], str]:
    try:
        return decode_counts(counts.encode()).tolist(), ""
    except (ValueError, OverflowError) as error:
        return [], f"counts cannot be read: {error}"


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "…"
