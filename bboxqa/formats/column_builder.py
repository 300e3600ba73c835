"""Converting annotation records of any kind to columns, window by window."""

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import reduce
from itertools import chain
from operator import itemgetter
from typing import Any

import msgspec
import numpy as np

from bboxqa.formats.columns import (
    MARK_KEYS,
    MISSING,
    Columns,
    Form,
    Keypoints,
    Kind,
    Rings,
    Rles,
    Rotations,
    are_numbers,
    boxes_of,
    count_marks,
    degrees,
    floats,
    form_of,
    kinds_of,
    mask_of,
    numbers_of,
)
from bboxqa.formats.records import (
    ANNOTATOR_KEYS,
    ID_KEYS,
    WHOLE,
    ReadSettings,
    annotator_name,
    id_number,
    is_id,
    whole_number,
)

MOST_NUMBERS = 8
"""The most numbers of a box: x and y of four corners."""

PLAIN_TYPES: dict[str, set[type]] = {**{key: {int} for key in ID_KEYS}, "bbox": {list}}
"""The types of keys that almost all records have; four numbers count as a list."""

_FIELDS = (*ID_KEYS, "bbox", "area", "iscrowd", "segmentation", "keypoints", "num_keypoints",
           "score")  # fmt: skip
_LENGTHS = (5, MOST_NUMBERS)
_OTHERS = ("composed_names", "text_ids", "marks", "empty_ids")
# Type, width and value for missing keys of columns; None where records have any number of values.
_COLUMNS: dict[str, tuple[str, int, Any]] = {
    "record": ("u1", 0, 0), "bbox": ("f8", 4, np.nan),
    **dict.fromkeys(("area", "score", "angle"), ("f8", 0, np.nan)),
    "iscrowd": ("i1", 0, -1), "num_keypoints": ("i8", 0, -1), "form": ("u1", 0, Form.ABSENT),
    "track": ("i4", 0, -1),
    **dict.fromkeys(("is_single_crowd", "is_ignored", "has_only_points"), ("?", 0, False)),
    **dict.fromkeys(ID_KEYS, ("i8", 0, 0)),
    **{f"kind.{key}": ("u1", 0, Kind.MISSING) for key in _FIELDS},
    **{f"{part}.{key}": ("?", 0, False) for part in ("whole", "valid") for key in ID_KEYS},
    **dict.fromkeys(
        ("rings.row", "rings.place", "rings.n_numbers", "rles.row", "rles.total", "rles.area",
         "keypoints.row", "keypoints.n_numbers", "rotations.row", "rotations.n_numbers"),
        ("i8", 0, None)),
    **dict.fromkeys(("keypoints.numbers", "rotations.angle"), ("f8", 0, None)),
    "rings.xy": ("f8", 2, None), "rles.size": ("i8", 2, None), "rles.bounds": ("f8", 4, None),
    "rles.problem": ("i4", 0, None), "rotations.values": ("f8", MOST_NUMBERS, None),
}  # fmt: skip
_PARTS = {"rings": Rings, "rles": Rles, "keypoints": Keypoints, "rotations": Rotations}


class Window:
    """Records of any type by key; those that are no objects have no keys."""

    are_typed = False

    def __init__(self, values: Sequence[Any]) -> None:
        types = set(map(type, values))
        self.kinds: Any = kinds_of(values, types)
        self.objects: Sequence[Any] = values
        """The records, with {} in place of those that are no objects."""
        if not types <= {dict}:
            self.objects = [value if type(value) is dict else {} for value in values]
        self.keys = set(chain.from_iterable(self.objects))
        self._columns: dict[str, Sequence[Any]] = {}
        self._types: dict[str, set[type]] = {}

    def __len__(self) -> int:
        return len(self.kinds)

    def __getitem__(self, key: str) -> Sequence[Any]:
        """Return the value of a key in each record; MISSING where it is absent."""
        if key not in self._columns:
            try:
                self._columns[key] = list(map(itemgetter(key), self.objects))
            except KeyError:
                self._columns[key] = [record.get(key, MISSING) for record in self.objects]
        return self._columns[key]

    def types(self, key: str) -> set[type]:
        """Return the types of the values of a key."""
        if key not in self._types:
            self._types[key] = set(map(type, self[key]))
        return self._types[key]


class TypedWindow(Window):
    """Records as columns, in which key points are of any type, and other values of usual ones."""

    are_typed = True

    def __init__(
        self, n: int, columns: Mapping[str, Sequence[Any]], known: Mapping[str, set[type]]
    ) -> None:
        self.kinds, self.objects = np.full(n, Kind.DICT, np.uint8), [{}] * n
        self._columns, self.keys = dict(columns), {*columns}
        self._types = {key: types for key, types in known.items() if key in self.keys}


class ColumnsBuilder:
    """Collects records, window by window."""

    def __init__(self, settings: ReadSettings = WHOLE) -> None:
        self.n = 0
        self.settings = settings
        self._columns = _COLUMNS | {f"annotator.{key}": ("i4", 0, -1) for key in settings.keys}
        self._parts: dict[str, list[tuple[int, Any]]] = defaultdict(list)
        self._counts: list[bytes] = []
        self._problems: dict[str, int] = {"": 0}
        self._track_names: dict[str, int] = {}
        self._names: dict[str, int] = {}
        self._texts: dict[str, set[str]] = {key: set() for key in settings.keys}
        # The fields of the columns that are no arrays.
        self.composed_names: set[str] = set()
        self.text_ids: dict[int, str] = {}
        self.marks: Counter[str] = Counter()
        self.empty_ids: list[int] = []
        self._segments: ColumnsBuilder | None = None
        self._segment_of: list[tuple[int, int]] = []
        self._n_records, self._is_panoptic = 0, False

    def add(self, values: Sequence[Any] | Window) -> None:
        """Add records of any type."""
        records = self._measured(values if isinstance(values, Window) else Window(values))
        self._n_records += len(values)
        if self.settings.on_records is not None:
            self.settings.on_records(records.objects)
        keys = records.keys
        self._grow("record", records.kinds)
        for key in _FIELDS:
            if key in keys:
                self._grow(f"kind.{key}", kinds_of(records[key], records.types(key)))
                if key in ID_KEYS:
                    self._add_ids(key, records[key], records.types(key))
                elif key in ("area", "score"):
                    self._grow(key, numbers_of(records[key]))
        self._add_boxes(records)
        self._add_crowds(records)
        if "segmentation" in keys:
            self._add_outlines(records)
        if "keypoints" in keys:
            self._add_keypoints(records)
        for key in self.settings.keys:
            if key.partition(".")[0] in keys:
                self._add_annotators(key, records)
        if keys & {*MARK_KEYS}:
            self.marks += count_marks(zip(*(records[key] for key in MARK_KEYS), strict=True))
        if self.settings.whole:
            self._add_others(records)
        self.n += len(records)

    def _measured(self, records: Window) -> Window:
        """Return records, or the segments of panoptic ones as annotations by whom these name.

        Where rules examine the records, the segments are kept aside.
        """
        if "segments_info" not in records.keys:
            return records
        segments: list[Any] = []
        firsts = sorted({key.partition(".")[0] for key in self.settings.keys} & records.keys)
        rows = zip(records["image_id"], records["segments_info"],
                   *(records[key] for key in firsts), strict=True)  # fmt: skip
        for row, (image_id, listed, *own) in enumerate(rows, self._n_records):
            given = zip(firsts, own, strict=True)
            known = {key: value for key, value in given if value not in (MISSING, None, "")}
            # A record without a list counts as one segment that cannot be used.
            is_list = isinstance(listed, list) and (listed != [] or is_id(image_id))
            of_record = listed if is_list else [None]
            self._segment_of += [(row, n if is_list else -1) for n in range(len(of_record))]
            for each in of_record:
                if isinstance(each, dict):
                    own_keys = {k: v for k, v in each.items() if v not in (None, "")}
                    segments.append({**each, **known, **own_keys, "image_id": image_id})
                else:
                    segments.append(each)
            if not of_record and self._names_annotator(known):
                self.empty_ids.append(id_number(image_id))
        self._is_panoptic = True
        if not self.settings.whole:
            return Window(segments)
        self._segments = self._segments or ColumnsBuilder(self.settings)
        self._segments.add(segments)
        return records

    def _names_annotator(self, record: Mapping[str, Any]) -> bool:
        """Return whether a record has an annotator, not only other keys to look at."""
        chosen = self.settings.annotator_key
        keys = ANNOTATOR_KEYS if chosen is None else (chosen,)
        values: list[Any] = [reduce(_inside, key.split("."), record) for key in keys]
        return any(value not in (MISSING, None, "") for value in values)

    def _grow(self, name: str, values: Any) -> None:
        """Add values of a column; of a part such as "rings", those of its columns by name."""
        if isinstance(values, dict):
            for column, own in values.items():
                self._grow(f"{name}.{column}", own)
        else:
            self._parts[name].append((self.n, np.asarray(values)))

    def _add_ids(self, key: str, column: Sequence[Any], types: set[type]) -> None:
        n = len(column)
        numbers = None
        if types <= {int}:
            with suppress(OverflowError):
                numbers = np.fromiter(column, np.int64, n)
        whole = valid = np.ones(n, np.bool_)
        if numbers is None:
            whole = np.array([whole_number(value) is not None for value in column], np.bool_)
            valid = whole | np.array([is_id(value) for value in column], np.bool_)
            numbers = np.array([id_number(value) for value in column], np.int64)
            for row in np.flatnonzero(valid & ~whole).tolist() if key == "id" else ():
                self.text_ids[self.n + row] = column[row]
        self._grow(key, numbers)
        self._grow(f"whole.{key}", whole)
        self._grow(f"valid.{key}", valid)

    def _add_boxes(self, records: Window) -> None:
        values, n_numbers = np.full((len(records), MOST_NUMBERS), np.nan), np.zeros(len(records))
        angle = np.full(len(records), np.nan)
        if "bbox" in records.keys:
            boxes = records["bbox"]
            found = boxes_of(boxes, records.types("bbox"), are_floats=records.are_typed)
            self._grow("bbox", found)
            for row in np.flatnonzero(np.isnan(found[:, 0])).tolist():
                box = boxes[row]
                if isinstance(box, list) and len(box) in _LENGTHS and are_numbers(box):
                    n_numbers[row], values[row, : len(box)] = len(box), floats(box)
        if "attributes" in records.keys:
            for row, said in enumerate(records["attributes"]):
                if type(said) is dict and "rotation" in said:
                    angle[row] = degrees(said["rotation"])
            self._grow("angle", angle)
        # Boxes of five or eight numbers, and angles other than 0.
        angle = np.where(angle == 0, np.nan, angle)
        if not len(rows := np.flatnonzero((n_numbers > 0) | ~np.isnan(angle))):
            return
        n_numbers[~np.isfinite(values[:, : _LENGTHS[0]]).all(axis=1)] = 0
        of_boxes = {"n_numbers": n_numbers[rows], "values": values[rows], "angle": angle[rows]}
        self._grow("rotations", {"row": self.n + rows, **of_boxes})

    def _add_crowds(self, records: Window) -> None:
        crowd = np.full(len(records), -1, np.int8)
        if "iscrowd" in records.keys:
            values = records["iscrowd"]
            if records.types("iscrowd") != {int} or not set(values) <= {0, 1}:
                values = [int(v) if v in (0, 1) else -1 for v in values]
            crowd = np.array(values, np.int8)
            self._grow("iscrowd", crowd)
        if "ignore" in records.keys:
            pairs = zip(records["ignore"], crowd.tolist(), strict=True)
            self._grow("is_ignored", [said == 1 != own for said, own in pairs])
        if "attributes" in records.keys and (crowd == 1).any():
            every = zip(crowd, records["segmentation"], records["attributes"], strict=True)
            self._grow("is_single_crowd", [
                own == 1 and _is_like(outline, dict, rb"\{") and are_of_cvat(said)
                for own, outline, said in every])  # fmt: skip

    def _add_outlines(self, records: Window) -> None:
        column = records["segmentation"]
        if records.types("segmentation") <= {msgspec.UnsetType, msgspec.Raw}:
            return
        # Of typed records, one or two lists of numbers are rings.
        most = 2 if records.are_typed else 0
        forms = np.array(
            [Form.RINGS if type(v) is list and 0 < len(v) <= most else form_of(v) for v in column],
            np.uint8,
        )
        if not records.are_typed:
            # All numbers of the window are checked at once, and one by one only if that fails.
            rows = np.flatnonzero(forms == Form.RINGS).tolist()
            numbers_of_rings = chain.from_iterable(chain.from_iterable(column[row] for row in rows))
            if not are_numbers(list(numbers_of_rings)):
                forms[[row for row in rows if not all(map(are_numbers, column[row]))]] = Form.OTHER
        pairs = zip(column, (forms == Form.RINGS).tolist(), strict=True)
        outlines = [value if is_ring else () for value, is_ring in pairs]
        rings = [*chain.from_iterable(outlines)]
        counts = np.fromiter(map(len, outlines), np.int64, len(outlines))
        lengths = np.fromiter(map(len, rings), np.int64, len(rings))
        numbers = floats(list(chain.from_iterable(rings)))
        if (lengths % 2).any():
            numbers = np.delete(numbers, (np.cumsum(lengths) - 1)[lengths % 2 == 1])
        place = np.arange(len(rings)) - np.repeat(np.cumsum(counts) - counts, counts)
        row = np.repeat(self.n + np.arange(len(records)), counts)
        xy = numbers.reshape(-1, 2)
        self._grow("rings", {"row": row, "place": place, "n_numbers": lengths, "xy": xy})
        self._grow("form", forms)
        rles = np.flatnonzero(forms == Form.RLE)
        if masks := [mask_of(column[row]) for row in rles.tolist()]:
            columns = {name: [mask[name] for mask in masks] for name in masks[0]}
            self._counts += columns.pop("counts")
            known = self._problems
            columns["problem"] = [known.setdefault(each, len(known)) for each in columns["problem"]]
            self._grow("rles", {"row": self.n + rles, **columns})

    def _add_keypoints(self, records: Window) -> None:
        values = records["keypoints"]
        if not records.types("bbox") <= {list}:
            pairs = zip(records["bbox"], values, strict=True)
            self._grow("has_only_points", [box in (MISSING, None) and _is_like(
                points, list, rb"\[\s*[^\s\]]") for box, points in pairs])  # fmt: skip
        if msgspec.Raw in records.types("keypoints"):
            return
        rows = [n for n, value in enumerate(values) if value is not MISSING and value is not None]
        lists = [values[n] if type(values[n]) is list else None for n in rows]
        if not are_numbers(list(chain.from_iterable(filter(None, lists)))):
            lists = [value if value is not None and are_numbers(value) else None for value in lists]
        lengths = np.array([-1 if value is None else len(value) for value in lists], np.int64)
        in_threes = [value for value in lists if value and len(value) % 3 == 0]
        numbers = floats(list(chain.from_iterable(in_threes)))
        own = self.n + np.array(rows, np.int64)
        self._grow("keypoints", {"row": own, "n_numbers": lengths, "numbers": numbers})

    def _add_annotators(self, key: str, records: Window) -> None:
        first, *rest = key.split(".")
        values = records[first]
        for part in rest:
            values = [_inside(value, part) for value in values]
        # Values of one type can be dict keys; mixed types cannot, as 1 equals True.
        types = set(map(type, values)) if rest else records.types(first)
        types = types - {msgspec.UnsetType, type(None)}
        are_plain, known = types <= {str} or types <= {int}, self._names
        distinct = list(dict.fromkeys(values)) if are_plain else values
        found: Any = [
            -1
            if value is None or value == "" or value is MISSING
            else known.setdefault(annotator_name(value), len(known))
            for value in distinct
        ]
        self._texts[key].update(value for value in distinct if isinstance(value, str))
        if are_plain:
            codes = dict(zip(distinct, found, strict=True))
            found = np.fromiter(map(codes.__getitem__, values), np.int32, len(records))
        else:
            composed = (value for value in values if isinstance(value, list | dict))
            self.composed_names.update(map(annotator_name, composed))
        self._grow(f"annotator.{key}", np.array(found, np.int32))

    def _add_others(self, records: Window) -> None:
        """Add values that only rules examine."""
        if "num_keypoints" in records.keys:
            counts = map(whole_number, records["num_keypoints"])
            self._grow("num_keypoints", [-1 if value is None else value for value in counts])
        if not records.keys & {"attributes", "track_id"}:
            return
        names, codes = self._track_names, []
        for given, said in zip(records["track_id"], records["attributes"], strict=True):
            track = _inside(said, "track_id") if given is MISSING else given
            is_one = type(track) in (int, str) and track != ""
            codes.append(names.setdefault(str(track), len(names)) if is_one else -1)
        self._grow("track", codes)

    def done(self) -> Columns:
        """Return the collected columns."""
        found: dict[str, Any] = defaultdict(dict)
        found["rles"] = {"problems": tuple(self._problems), "counts": tuple(self._counts)}
        for name, (kind, width, missing) in self._columns.items():
            parts, sides = self._parts.pop(name, []), (width,) * bool(width)
            if missing is None:
                whole = [np.zeros((0, *sides), kind), *(values for _, values in parts)]
                array = np.concatenate(whole).astype(kind, copy=False)
            else:
                array = np.full((self.n, *sides), missing, kind)
                for start, values in parts:
                    array[start : start + len(values)] = values
            part, _, key = name.partition(".")
            found[part if key else ""][key or part] = array
        ends = np.cumsum(found["rings"]["n_numbers"] // 2)
        found["rings"]["offsets"] = np.concatenate([[0], ends])
        return Columns(
            **found.pop(""),
            **{name: kind(**found.pop(name)) for name, kind in _PARTS.items()},
            **found,
            track_names=tuple(self._track_names),
            annotator_names=tuple(self._names),
            annotator_texts=self._texts,
            segments=None if self._segments is None else self._segments.done(),
            segment_of=np.array(self._segment_of, np.int64).reshape(-1, 2),
            are_segments=self._is_panoptic and not self.settings.whole,
            **{name: getattr(self, name) for name in _OTHERS},
        )


def _inside(value: object, key: str) -> Any:
    return value.get(key) if isinstance(value, Mapping) else None


def _is_like(value: object, kind: type, pattern: bytes) -> bool:
    """Return whether a value is a filled list or object; the pattern applies to undecoded text."""
    if isinstance(value, msgspec.Raw):
        return re.match(pattern, memoryview(value)) is not None
    return isinstance(value, kind) and bool(value)


def are_of_cvat(attributes: object) -> bool:
    """Return whether attributes of an annotation in COCO JSON are as CVAT writes them.

    They tell whether the object is occluded. So do those of Pascal VOC that Datumaro wrote, which
    also tell whether it is truncated, and whether it is difficult. CVAT's COCO has `iscrowd` 1 for
    every mask and ellipse, as its documentation of `is_crowd` says (docs.cvat.ai, COCO format).
    """
    if not isinstance(attributes, Mapping):
        return False
    is_of_voc = all(attributes.get(key) is not None for key in ("truncated", "difficult"))
    return isinstance(attributes.get("occluded"), bool) and not is_of_voc
