"""Converting raw annotation records to columns for the rules."""

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

import numpy as np

from bboxqa.core.arrays import ColumnBuilder, IndexArray
from bboxqa.formats.annotations.records import (
    ANNOTATOR_KEYS,
    ID_KEYS,
    annotator_name,
    id_number,
    whole_number,
)
from bboxqa.formats.document.annotation_columns import (
    AnnotationColumns,
    Form,
    Rings,
    Rles,
)
from bboxqa.formats.document.outline_forms import form_of, rle_of
from bboxqa.formats.document.parts_builder import PartsBuilder
from bboxqa.formats.document.raw_values import (
    Missing,
    are_numbers,
    boxes_of,
    captioned,
    column_of,
    floats,
    kinds_of,
    numbers_of,
)

_FIELDS = (*ID_KEYS, "bbox", "area", "iscrowd", "segmentation", "keypoints", "num_keypoints")

# Type and width of columns, by the field of `AnnotationColumns` or `Rles`.
_COLUMNS: dict[str, tuple[type, int]] = {
    "record": (np.uint8, 0), "id": (np.int64, 0), "image_id": (np.int64, 0),
    "category_id": (np.int64, 0), "bbox": (np.float64, 4), "area": (np.float64, 0),
    "iscrowd": (np.int8, 0), "num_keypoints": (np.int64, 0), "has_caption": (np.bool_, 0),
    "form": (np.uint8, 0),
}  # fmt: skip
_OF_RLES: dict[str, tuple[type, int]] = {
    "row": (np.int64, 0), "size": (np.int64, 2), "total": (np.int64, 0), "area": (np.int64, 0),
    "bounds": (np.float64, 4), "compressed": (np.bool_, 0), "problem": (np.int32, 0),
}  # fmt: skip


class AnnotationsBuilder:
    """Collects raw records, window by window."""

    def __init__(self) -> None:
        self.n = 0

        def column(dtype: type, width: int = 0) -> ColumnBuilder:
            return ColumnBuilder(dtype, width)

        self._columns = {name: column(*shape) for name, shape in _COLUMNS.items()}
        self._kind = {name: column(np.uint8) for name in _FIELDS}
        self._whole = {name: column(np.bool_) for name in ID_KEYS}
        self._rings = {name: column(np.int64) for name in ("row", "place", "n_numbers")}
        self._xy = ColumnBuilder(np.float64, 2)
        self._rles = {name: column(*shape) for name, shape in _OF_RLES.items()}
        self._problems: dict[str, int] = {"": 0}
        self._parts = PartsBuilder(column)
        self._annotator = {key: column(np.int32) for key in ANNOTATOR_KEYS}
        self._names: dict[str, int] = {}

    def add(self, values: Sequence[Any]) -> None:
        """Add records of any type."""
        kinds, types = kinds_of(values)
        self._columns["record"].add(kinds)
        records = values if types <= {dict} else [v if type(v) is dict else {} for v in values]
        keys = set(chain.from_iterable(records))
        columns = {key: column_of(records, key, keys) for key in _FIELDS}
        types_of = {}
        for key, column in columns.items():
            kind, types_of[key] = kinds_of(column)
            self._kind[key].add(kind)
        for key in ID_KEYS:
            self._add_ids(key, columns[key], types_of[key])
        self._columns["bbox"].add(boxes_of(columns["bbox"], types_of["bbox"]))
        self._columns["area"].add(numbers_of(columns["area"], types_of["area"]))
        iscrowd = columns["iscrowd"]
        if not (types_of["iscrowd"] == {int} and set(iscrowd) <= {0, 1}):
            iscrowd = [int(v) if v in (0, 1) else -1 for v in iscrowd]
        self._columns["iscrowd"].add(np.array(iscrowd, np.int8))
        has_caption = np.zeros(len(records), np.bool_)
        if "caption" in keys:
            has_caption = captioned(column_of(records, "caption", keys))
        self._columns["has_caption"].add(has_caption)
        self._add_counts(columns["num_keypoints"], types_of["num_keypoints"])
        self._add_outlines(columns["segmentation"], types_of["segmentation"])
        self._add_annotators(records, keys)
        self._parts.add(self.n, records, keys, columns, types_of)
        self.n += len(records)

    def _add_ids(self, key: str, column: list[Any], types: set[type]) -> None:
        if types == {int} and min(column) >= -(2**63) and max(column) < 2**63:
            self._columns[key].add(np.fromiter(column, np.int64, len(column)))
            self._whole[key].add(np.ones(len(column), np.bool_))
            return
        if types == {Missing}:
            self._columns[key].add(np.zeros(len(column), np.int64))
            self._whole[key].add(np.zeros(len(column), np.bool_))
            return
        whole = [whole_number(value) is not None for value in column]
        self._columns[key].add(np.array([id_number(value) for value in column], np.int64))
        self._whole[key].add(np.array(whole, np.bool_))

    def _add_counts(self, numbers: list[Any], types: set[type]) -> None:
        if types == {Missing}:
            self._columns["num_keypoints"].add(np.full(len(numbers), -1))
            return
        whole = [whole_number(v) for v in numbers]
        self._columns["num_keypoints"].add(
            np.array([-1 if v is None else v for v in whole], np.int64)
        )

    def _add_outlines(self, column: list[Any], types: set[type]) -> None:
        if types <= {Missing}:
            self._columns["form"].add(np.full(len(column), Form.ABSENT))
            return
        form = list(map(form_of, column))
        rings: list[list[Any]] = []
        for place, value in enumerate(column):
            if form[place] == Form.RINGS:
                rings += value
        # All numbers of the window are checked at once, and one by one only if that fails.
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
        row = np.repeat(self.n + np.arange(len(column)), counts)
        for grower, part in zip(self._rings.values(), (row, place, lengths), strict=True):
            grower.add(part)
        self._xy.add(numbers)
        self._columns["form"].add(np.array(form))
        self._add_rles(np.flatnonzero(np.array(form) == Form.RLE), column)

    def _add_rles(self, places: IndexArray, column: list[Any]) -> None:
        if len(places) == 0:
            return
        found = [rle_of(column[place]) for place in places.tolist()]
        height, width, total, area, bounds, compressed, problem = zip(*found, strict=True)
        parts = {
            "row": self.n + places,
            "size": np.array([height, width], np.int64).T,
            "total": np.array(total, np.int64),
            "area": np.array(area, np.int64),
            "bounds": np.array(bounds, np.float64),
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
            # Values of one type can be dict keys; mixed types cannot, as 1 equals True.
            if set(map(type, values)) <= {str} or set(map(type, values)) <= {int}:
                codes = {value: self._number(value) for value in dict.fromkeys(values)}
                grower.add(list(map(codes.__getitem__, values)))
            else:
                grower.add([self._number(value) for value in values])

    def _number(self, value: object) -> int:
        if value is None or value == "":
            return -1
        return self._names.setdefault(annotator_name(value), len(self._names))

    def absorb(self, columns: AnnotationColumns) -> None:
        """Append the columns that another builder has collected from the next part of the file."""
        rings, rles = columns.rings, columns.rles
        codes = np.array([self._problem(text) for text in rles.problems], np.int32)
        numbers = [self._names.setdefault(n, len(self._names)) for n in columns.annotator_names]
        own_codes = np.array([*numbers, -1], np.int32)
        for growers, parts in (
            (self._columns, _by_name(columns, self._columns)),
            (self._kind, columns.kind),
            (self._whole, columns.whole),
            (self._rings, _by_name(rings, self._rings) | {"row": rings.row + self.n}),
            (self._rles, _by_name(rles, self._rles)
             | {"row": rles.row + self.n, "problem": codes[rles.problem]}),
            (self._annotator, {key: own_codes[code] for key, code in columns.annotator.items()}),
        ):  # fmt: skip
            for name, grower in growers.items():
                grower.add(parts[name])
        self._xy.add(rings.xy)
        self._parts.absorb(self.n, columns)
        self.n += len(columns)

    def done(self) -> AnnotationColumns:
        """Return the collected columns."""
        rings = _done(self._rings)
        offsets = np.concatenate([[0], np.cumsum(rings["n_numbers"] // 2)])
        return AnnotationColumns(
            **_done(self._columns),
            kind=_done(self._kind),
            whole=_done(self._whole),
            rings=Rings(**rings, offsets=offsets, xy=self._xy.done()),
            rles=Rles(**_done(self._rles), problems=tuple(self._problems)),
            **self._parts.done(),
            annotator=_done(self._annotator),
            annotator_names=tuple(self._names),
        )


def _by_name(holder: Any, names: Iterable[str]) -> dict[str, Any]:
    return {name: getattr(holder, name) for name in names}


def _done(growers: dict[str, ColumnBuilder]) -> dict[str, Any]:
    return {name: grower.done() for name, grower in growers.items()}
