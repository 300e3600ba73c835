"""From raw annotation records, sound or not, to columns that rules can look at."""

from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np

from bboxqa.core.arrays import FloatArray, IndexArray
from bboxqa.core.spool import SpooledColumn, column_limit, vertex_limit
from bboxqa.formats.annotations.records import ANNOTATOR_KEYS, ID_KEYS, annotator_name, whole_number
from bboxqa.formats.document.annotation_columns import (
    AnnotationColumns,
    Form,
    Keypoints,
    Rings,
    Rles,
)
from bboxqa.formats.document.outline_forms import form_of, rle_of
from bboxqa.formats.document.raw_values import (
    MISSING,
    NUMBERS,
    Missing,
    are_numbers,
    column_of,
    floats,
    kinds_of,
)

__all__ = ["AnnotationsBuilder"]

_FIELDS = (*ID_KEYS, "bbox", "area", "iscrowd", "segmentation", "keypoints", "num_keypoints")

_OF_RLES: tuple[tuple[str, type, int], ...] = (
    ("row", np.int64, 0), ("size", np.int64, 2), ("total", np.int64, 0), ("area", np.int64, 0),
    ("compressed", np.bool_, 0), ("problem", np.int32, 0),
)  # fmt: skip


class AnnotationsBuilder:
    """Takes in raw records, window by window.

    Parameters
    ----------
    memory : int, optional
        Bytes to get by with; columns that take too much of it go to files.
    """

    def __init__(self, memory: int | None = None) -> None:
        self.n = 0
        self.bounded = memory is not None
        limit = column_limit(memory)

        def column(dtype: type, width: int = 0) -> SpooledColumn:
            return SpooledColumn(dtype, width, limit)

        self._record = column(np.uint8)
        self._kind = {name: column(np.uint8) for name in _FIELDS}
        self._id = {name: column(np.int64) for name in ID_KEYS}
        self._whole = {name: column(np.bool_) for name in ID_KEYS}
        self._bbox = column(np.float64, 4)
        self._area = column(np.float64)
        self._iscrowd = column(np.int8)
        self._num_keypoints = column(np.int64)
        self._form = column(np.uint8)
        self._rings = [column(np.int64) for _ in range(3)]
        self._xy = SpooledColumn(np.float64, 2, vertex_limit(memory))
        self._rles = {name: column(dtype, width) for name, dtype, width in _OF_RLES}
        self._problems: dict[str, int] = {"": 0}
        self._keypoints = [column(np.int64) for _ in range(3)]
        self._annotator = {key: column(np.int32) for key in ANNOTATOR_KEYS}
        self._names: dict[str, int] = {}

    def add(self, values: Sequence[Any]) -> None:
        """Take in records of any type."""
        kinds, types = kinds_of(values)
        self._record.add(kinds)
        records = values if types <= {dict} else [v if type(v) is dict else {} for v in values]
        keys = set(chain.from_iterable(records))
        columns = {key: column_of(records, key, keys) for key in _FIELDS}
        types_of = {}
        for key, column in columns.items():
            kind, types_of[key] = kinds_of(column)
            self._kind[key].add(kind)
        for key in ID_KEYS:
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
        absent = {Missing}
        numbers = columns["num_keypoints"]
        if types["num_keypoints"] == absent:
            self._num_keypoints.add(np.full(len(numbers), -1))
        else:
            whole = [whole_number(v) for v in numbers]
            self._num_keypoints.add(np.array([-1 if v is None else v for v in whole], np.int64))
        if types["keypoints"] == absent:
            return
        found = []
        for row, value in enumerate(columns["keypoints"], self.n):
            if type(value) is list and are_numbers(value):
                visible = sum(number > 0 for number in value[2::3])
                found.append((row, len(value), visible))
            elif value is not MISSING and value is not None:
                found.append((row, -1, 0))
        for grower, part in zip(self._keypoints, np.array(found, np.int64).reshape(-1, 3).T,
                                strict=True):  # fmt: skip
            grower.add(part)

    def _add_outlines(self, column: list[Any], types: set[type]) -> None:
        if types <= {Missing}:
            self._form.add(np.full(len(column), Form.ABSENT))
            return
        form = list(map(form_of, column))
        rings: list[list[Any]] = []
        for place, value in enumerate(column):
            if form[place] == Form.RINGS:
                rings += value
        # One look at all numbers of the window; only an odd one is searched for.
        if not are_numbers(list(chain.from_iterable(rings))):
            rings = []
            for place, value in enumerate(column):
                if form[place] == Form.RINGS:
                    if all(map(are_numbers, value)):
                        rings += value
                    else:
                        form[place] = Form.OTHER
        is_rings = np.array(form) == Form.RINGS
        counts = np.array([len(v) if r else 0 for v, r in zip(column, is_rings, strict=True)])
        lengths = np.fromiter(map(len, rings), np.int64, len(rings))
        try:
            numbers = np.fromiter(chain.from_iterable(rings), np.float64, int(lengths.sum()))
        except OverflowError:
            numbers = floats([number for ring in rings for number in ring])
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
        self._add_rles(np.flatnonzero(np.array(form) == Form.RLE), column)

    def _add_rles(self, places: IndexArray, column: list[Any]) -> None:
        if len(places) == 0:
            return
        found = [rle_of(column[place]) for place in places.tolist()]
        height, width, total, area, compressed, problem = zip(*found, strict=True)
        parts = {
            "row": self.n + places,
            "size": np.array([height, width], np.int64).T,
            "total": np.array(total, np.int64),
            "area": np.array(area, np.int64),
            "compressed": np.array(compressed, np.bool_),
            "problem": np.array([self._problem(text) for text in problem], np.int32),
        }
        for name, part in parts.items():
            self._rles[name].add(part)

    def _problem(self, text: str) -> int:
        return self._problems.setdefault(text, len(self._problems))

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
            (self._id, {key: getattr(columns, key) for key in ID_KEYS}),
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
        codes = np.array([self._problem(text) for text in rles.problems], np.int32)
        moved: dict[str, Any] = {"row": rles.row + self.n, "problem": codes[rles.problem]}
        for name, grower in self._rles.items():
            grower.add(moved[name] if name in moved else getattr(rles, name))
        for grower, part in zip(
            self._keypoints, (points.row + self.n, points.n_numbers, points.n_visible), strict=True
        ):
            grower.add(part)
        numbers = [self._names.setdefault(n, len(self._names)) for n in columns.annotator_names]
        for key, grower in self._annotator.items():
            grower.add(np.array([*numbers, -1], np.int32)[columns.annotator[key]])
        self.n += len(columns)

    def done(self) -> AnnotationColumns:
        """Return what has been taken in."""
        row, place, n_numbers = (grower.done() for grower in self._rings)
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
                xy=self._xy.done(scattered=True),
            ),
            rles=Rles(
                **{name: grower.done() for name, grower in self._rles.items()},
                problems=tuple(self._problems),
            ),
            keypoints=Keypoints(*(grower.done() for grower in self._keypoints)),
            annotator={key: grower.done() for key, grower in self._annotator.items()},
            annotator_names=tuple(self._names),
        )


def _boxes(column: list[Any], types: set[type]) -> FloatArray:
    """Return boxes, NaN where they are not four finite numbers."""
    n = len(column)
    boxes = None
    if types == {list} and set(map(len, column)) <= {4}:
        flat = list(chain.from_iterable(column))
        if are_numbers(flat):
            boxes = floats(flat).reshape(n, 4)
    if boxes is None:
        sound = [type(v) is list and len(v) == 4 and are_numbers(v) for v in column]
        boxes = np.full((n, 4), np.nan)
        for place in np.flatnonzero(sound).tolist():
            boxes[place] = floats(column[place])
    boxes[~np.isfinite(boxes).all(1)] = np.nan
    return boxes


def _numbers(column: list[Any], types: set[type]) -> FloatArray:
    """Return numbers, NaN where there is none."""
    if not types <= NUMBERS:
        column = [value if type(value) in NUMBERS else np.nan for value in column]
    numbers = floats(column)
    numbers[~np.isfinite(numbers)] = np.nan
    return numbers
