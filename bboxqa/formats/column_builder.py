"""Converting annotation records of any kind to columns, window by window."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from itertools import chain
from operator import itemgetter
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from bboxqa.core.arrays import ByteArray, FloatArray, IndexArray
from bboxqa.formats.columns import (
    Columns,
    Form,
    Keypoints,
    Kind,
    Rings,
    Rles,
    Rotations,
    Scores,
    Segments,
    Tracks,
)
from bboxqa.formats.raw_values import (
    MARKS,
    MISSING,
    Missing,
    are_numbers,
    boxes_of,
    captioned,
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
    WRITTEN_ANGLE,
    ReadSettings,
    annotator_name,
    id_number,
    is_id,
    whole_number,
)

"""The options with which all is read that rules examine."""
MOST_NUMBERS = 8
"""The most numbers of a box: x and y of four corners."""

_FIELDS = (*ID_KEYS, "bbox", "area", "iscrowd", "segmentation", "keypoints", "num_keypoints")
_LENGTHS = (5, MOST_NUMBERS)
_MISSING_ALONE: set[type] = {Missing}
_SEGMENT_KEYS = ("id", "category_id", "area", "iscrowd", "bbox")
# Type, width and value for missing keys of columns.
_COLUMNS: dict[str, tuple[type, int, Any]] = {
    "record": (np.uint8, 0, 0), "id": (np.int64, 0, 0), "image_id": (np.int64, 0, 0),
    "category_id": (np.int64, 0, 0), "bbox": (np.float64, 4, np.nan),
    "area": (np.float64, 0, np.nan), "iscrowd": (np.int8, 0, -1),
    "num_keypoints": (np.int64, 0, -1), "has_caption": (np.bool_, 0, False),
    "form": (np.uint8, 0, Form.ABSENT),
}  # fmt: skip
_PARTS: dict[str, tuple[type, int]] = {
    "rings.row": (np.int64, 0), "rings.place": (np.int64, 0), "rings.n_numbers": (np.int64, 0),
    "rings.xy": (np.float64, 2),
    "rles.row": (np.int64, 0), "rles.size": (np.int64, 2), "rles.total": (np.int64, 0),
    "rles.area": (np.int64, 0), "rles.bounds": (np.float64, 4), "rles.compressed": (np.bool_, 0),
    "rles.problem": (np.int32, 0),
    "keypoints.row": (np.int64, 0), "keypoints.n_numbers": (np.int64, 0),
    "keypoints.numbers": (np.float64, 0),
    "scores.row": (np.int64, 0), "scores.value": (np.float64, 0),
    "segments.row": (np.int64, 0), "segments.place": (np.int64, 0), "segments.id": (np.int64, 0),
    "segments.category_id": (np.int64, 0), "segments.area": (np.float64, 0),
    "segments.iscrowd": (np.int8, 0), "segments.bbox": (np.float64, 4),
    "rotations.row": (np.int64, 0), "rotations.n_numbers": (np.int64, 0),
    "rotations.values": (np.float64, MOST_NUMBERS), "rotations.angle": (np.float64, 0),
    "tracks.row": (np.int64, 0), "tracks.code": (np.int64, 0),
}  # fmt: skip


_UNTYPED = msgspec.json.Decoder(list[Any])


class RecordDecoder:
    """Decodes the text of records: to objects of the keys that are read, or with all their keys.

    Values of any type are kept as they are, so that one odd value spoils nothing.
    """

    def __init__(self, settings: ReadSettings) -> None:
        self._keys = [] if settings.whole else _keys_read(settings)
        kind = list[_record_type(self._keys)] if self._keys else list[Any]  # type: ignore[misc]
        self._decoder = msgspec.json.Decoder(kind)

    def decode(self, text: bytes) -> Sequence[Any] | None:
        """Return the records in the text of a list; None if it is not plain JSON."""
        for decoder in (self._decoder, _UNTYPED):
            try:
                records: list[Any] = decoder.decode(text)
            except msgspec.ValidationError:
                # A number or null is in place of a record, or a number is out of range.
                continue
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                return None
            is_typed = decoder is self._decoder and self._keys
            return TypedRecords(records, [key for key, _ in self._keys]) if is_typed else records
        return None


class TypedRecords(list[Any]):
    """Decoded records, and the values of the keys that some of them have."""

    def __init__(self, records: list[Any], keys: Sequence[str]) -> None:
        super().__init__(records)
        columns = zip(*map(msgspec.structs.astuple, records), strict=True)
        n = len(records)
        self._columns = {
            key: list(column)
            for key, column in zip(keys, columns, strict=False)
            if column.count(MISSING) < n
        }
        self.keys = {*self._columns}

    def column(self, key: str) -> list[Any]:
        """Return the value of a key in each record; MISSING where it is absent."""
        return self._columns[key]


class _AnyRecords(list[Any]):
    """Records of any type; those that are no objects have no keys."""

    def __init__(self, values: Sequence[Any], types: set[type]) -> None:
        are_objects = types <= {dict}
        super().__init__(values if are_objects else [v if type(v) is dict else {} for v in values])
        self.values = values
        self.keys: set[str] = set(chain.from_iterable(self))

    def column(self, key: str) -> list[Any]:
        """Return the value of a key in each record; MISSING where it is absent."""
        try:
            return list(map(itemgetter(key), self))
        except KeyError:
            return [record.get(key, MISSING) for record in self]


_Records = TypedRecords | _AnyRecords


def _keys_read(settings: ReadSettings) -> list[tuple[str, Any]]:
    """Return the keys that are read, and the types of their values."""
    keys = [*ID_KEYS, "bbox", "iscrowd", "attributes", "score", "segments_info", *MARKS]
    keys += [key.partition(".")[0] for key in settings.keys]
    # Without need, outlines and key points are not decoded, as they are most of the text.
    kinds: dict[str, Any] = {
        "segmentation": Any if settings.outlines or settings.rotated else msgspec.Raw,
        "keypoints": Any if settings.keypoints else msgspec.Raw,
    }
    keys += [*kinds, *(["area"] if settings.keypoints else [])]
    return [(key, kinds.get(key, Any)) for key in dict.fromkeys(keys)]


def _record_type(keys: Sequence[tuple[str, Any]]) -> type[msgspec.Struct]:
    fields = [
        (f"key_{n}", kind, msgspec.field(default=MISSING, name=key))
        for n, (key, kind) in enumerate(keys)
    ]
    return msgspec.defstruct("Record", fields, gc=False)


class ColumnsBuilder:
    """Collects records, window by window."""

    def __init__(self, settings: ReadSettings = WHOLE) -> None:
        self.n = 0
        self.settings = settings
        self._parts: dict[str, list[NDArray[Any]]] = defaultdict(list)
        self._counts: list[bytes] = []
        self._problems: dict[str, int] = {"": 0}
        self._track_names: dict[str, int] = {}
        self._names: dict[str, int] = {}
        self._texts: dict[str, set[str]] = {key: set() for key in settings.keys}
        self._composed: set[str] = set()
        self._text_ids: dict[int, str] = {}
        self._marks: Counter[str] = Counter()
        self._angles: dict[int, float] = {}
        self._single_crowds: set[int] = set()
        self._point_rows: set[int] = set()
        self._segment_counts: list[int] = []
        self._empty_records: list[dict[str, Any]] = []

    def add(self, values: Sequence[Any]) -> None:
        """Add records of any type."""
        if isinstance(values, TypedRecords):
            kinds: Any = np.full(len(values), Kind.DICT)
            records: _Records = values
        else:
            kinds, types = kinds_of(values)
            records = _AnyRecords(values, types)
        if not self.settings.whole and "segments_info" in records.keys:
            listed = records.column("segments_info")
            if listed.count(MISSING) < len(listed):
                segments = self._segments_of(records, listed)
                records, (kinds, _) = segments, kinds_of(segments.values)
        self._add(records, kinds)

    def _add(self, records: _Records, kinds: ByteArray) -> None:
        n = len(records)
        self._grow("record", kinds)
        none, missing = [MISSING] * n, np.full(n, Kind.MISSING, np.uint8)
        columns, types_of = dict.fromkeys(_FIELDS, none), dict.fromkeys(_FIELDS, _MISSING_ALONE)
        for key in _FIELDS:
            kind = missing
            if key in records.keys:
                columns[key] = records.column(key)
                kind, types_of[key] = kinds_of(columns[key])
            self._grow(f"kind.{key}", kind)
        for key in ID_KEYS:
            self._add_ids(key, columns[key], types_of[key])
        self._add_boxes(records, columns, types_of)
        self._grow("area", numbers_of(columns["area"], types_of["area"]))
        self._add_crowds(records, columns, types_of["iscrowd"])
        self._add_outlines(columns["segmentation"], types_of["segmentation"])
        self._add_keypoints(columns, types_of)
        for key in self.settings.keys:
            self._add_annotators(key, records)
        if records.keys & {*MARKS}:
            self._marks += count_marks(zip(*(_column(records, key) for key in MARKS), strict=True))
        self._add_others(records, columns["num_keypoints"], types_of["num_keypoints"])
        self.n += n

    def add_boxes(
        self,
        ids: Sequence[IndexArray],
        bbox: FloatArray,
        authors: tuple[IndexArray, Sequence[str]],
        *,
        corners: FloatArray | None = None,
        degrees: FloatArray | None = None,
    ) -> None:
        """Add N annotations with a box and few other keys.

        Parameters
        ----------
        ids : three (N,) int64
            The ids of annotations, images and categories.
        bbox : (N, 4) float64
        authors : (N,) int64 and sequence of str
            The annotator of each, as an index into the names; -1 where nobody is named.
        corners : (N, 4, 2) float64, optional
            Outlines of four points.
        degrees : (N,) float64, optional
            The attribute `rotation`; NaN where missing.
        """
        n = len(bbox)
        self._grow("record", np.full(n, Kind.DICT))
        given = {**dict.fromkeys(ID_KEYS, Kind.INT), "bbox": Kind.LIST}
        if corners is not None:
            given["segmentation"] = Kind.LIST
        for key in _FIELDS:
            self._grow(f"kind.{key}", np.full(n, given.get(key, Kind.MISSING)))
        for key, values in zip(ID_KEYS, ids, strict=True):
            self._grow(key, values)
            self._grow(f"whole.{key}", np.ones(n, np.bool_))
            self._grow(f"valid.{key}", np.ones(n, np.bool_))
        self._grow("bbox", bbox)
        for name in ("area", "iscrowd", "num_keypoints", "has_caption"):
            self._grow(name, np.full(n, _COLUMNS[name][2]))
        self._grow("form", np.full(n, Form.ABSENT if corners is None else Form.RINGS))
        if corners is not None:
            row, none = self.n + np.arange(n), np.zeros(n, np.int64)
            xy = corners.reshape(-1, 2)
            self._grow_part("rings", row=row, place=none, n_numbers=none + 8, xy=xy)
        if degrees is not None:
            known = np.flatnonzero(np.isfinite(degrees))
            pairs = zip((self.n + known).tolist(), degrees[known].tolist(), strict=True)
            self._angles |= pairs
            turned = known[degrees[known] != 0].tolist()
            self._add_rotations(turned, {}, {row: degrees[row] for row in turned})
        of_row, names = authors
        codes = np.array([*map(self._number, names), -1], np.int32)
        for key in self.settings.keys:
            is_named = key == ANNOTATOR_KEYS[0]
            self._grow(f"annotator.{key}", codes[of_row] if is_named else np.full(n, -1))
            self._texts[key].update(names if is_named else ())
        self.n += n

    def _segments_of(self, records: _Records, lists: list[Any]) -> "_AnyRecords":
        """Return the segments of panoptic records as annotations, by whom their record names."""
        segments: list[Any] = []
        firsts = {key.partition(".")[0] for key in self.settings.keys} & records.keys
        own = zip(*(records.column(key) for key in sorted(firsts)), strict=True)
        named = [dict(zip(sorted(firsts), each, strict=True)) for each in own]
        named = named or [{} for _ in records]
        image_ids = _column(records, "image_id")
        for image_id, listed, given in zip(image_ids, lists, named, strict=True):
            known = {k: v for k, v in given.items() if v not in (MISSING, None, "")}
            # A record without a list counts as one segment that cannot be used.
            of_record = listed if isinstance(listed, list) else [None]
            if not of_record and not is_id(image_id):
                of_record = [None]
            for each in of_record:
                if isinstance(each, dict):
                    own_keys = {k: v for k, v in each.items() if v not in (None, "")}
                    segments.append({**each, **known, **own_keys, "image_id": image_id})
                else:
                    segments.append(each)
            self._segment_counts.append(len(of_record))
            if known and not of_record:
                self._empty_records.append({**known, "image_id": image_id})
        return _AnyRecords(segments, set(map(type, segments)))

    def _grow(self, name: str, values: Any) -> None:
        self._parts[name].append(np.asarray(values))

    def _grow_part(self, part: str, **columns: Any) -> None:
        for name, values in columns.items():
            self._grow(f"{part}.{name}", values)

    def _add_ids(self, key: str, column: list[Any], types: set[type]) -> None:
        n = len(column)
        if types <= {int} and min(column, default=0) >= -(2**63) and max(column, default=0) < 2**63:
            whole = valid = np.ones(n, np.bool_)
            self._grow(key, np.fromiter(column, np.int64, n))
        elif types == {Missing}:
            whole = valid = np.zeros(n, np.bool_)
            self._grow(key, np.zeros(n, np.int64))
        else:
            whole = np.array([whole_number(value) is not None for value in column], np.bool_)
            valid = whole | np.array([is_id(value) for value in column], np.bool_)
            self._grow(key, np.array([id_number(value) for value in column], np.int64))
            for row in np.flatnonzero(valid & ~whole).tolist() if key == "id" else ():
                self._text_ids[self.n + row] = column[row]
        self._grow(f"whole.{key}", whole)
        self._grow(f"valid.{key}", valid)

    def _add_boxes(
        self, records: _Records, columns: dict[str, list[Any]], types: dict[str, set[type]]
    ) -> None:
        boxes = columns["bbox"]
        found = boxes_of(boxes, types["bbox"])
        self._grow("bbox", found)
        said = _column(records, "attributes")
        angles: dict[int, float] = {}
        if "attributes" in records.keys:
            turned = ((row, degrees(_inside(each, "rotation"))) for row, each in enumerate(said))
            angles = {row: angle for row, angle in turned if not np.isnan(angle)}
            self._angles |= {self.n + row: angle for row, angle in angles.items()}
        if WRITTEN_ANGLE in records.keys:
            for row, value in enumerate(_column(records, WRITTEN_ANGLE)):
                if value is not MISSING:
                    angles[row] = degrees(value)
        odd = np.flatnonzero(np.isnan(found[:, 0])).tolist() if types["bbox"] != {Missing} else []
        numbers = {row: box for row in odd if (box := _numbers(boxes[row]))}
        turned_rows = (row for row, angle in angles.items() if angle and not np.isnan(angle))
        self._add_rotations(sorted({*numbers, *turned_rows}), numbers, angles)

    def _add_rotations(
        self, rows: list[int], numbers: dict[int, list[float]], angles: dict[int, float]
    ) -> None:
        if not rows:
            return
        values = np.full((len(rows), MOST_NUMBERS), np.nan)
        n_numbers = np.array([len(numbers.get(row, ())) for row in rows], np.int64)
        for place, row in enumerate(rows):
            values[place, : n_numbers[place]] = numbers.get(row, ())
        n_numbers[~np.isfinite(values[:, : _LENGTHS[0]]).all(axis=1)] = 0
        said = np.array([angles.get(row) or np.nan for row in rows])
        own = self.n + np.array(rows, np.int64)
        self._grow_part("rotations", row=own, n_numbers=n_numbers, values=values, angle=said)

    def _add_crowds(
        self, records: _Records, columns: dict[str, list[Any]], types: set[type]
    ) -> None:
        values = columns["iscrowd"]
        if types != {int} or not set(values) <= {0, 1}:
            values = [int(v) if v in (0, 1) else -1 for v in values]
        crowd = np.array(values, np.int8)
        self._grow("iscrowd", crowd)
        rows = np.flatnonzero(crowd == 1).tolist()
        if rows and "attributes" in records.keys:
            said, outlines = _column(records, "attributes"), columns["segmentation"]
            single = (row for row in rows if are_of_cvat(said[row]) and _is_mask(outlines[row]))
            self._single_crowds.update(self.n + row for row in single)

    def _add_outlines(self, column: list[Any], types: set[type]) -> None:
        if types <= {Missing, msgspec.Raw}:
            self._grow("form", np.full(len(column), Form.ABSENT))
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
        forms = np.array(form, np.uint8)
        is_rings = forms == Form.RINGS
        counts = np.array([len(v) if r else 0 for v, r in zip(column, is_rings, strict=True)])
        lengths = np.fromiter(map(len, rings), np.int64, len(rings))
        numbers = floats(list(chain.from_iterable(rings)))
        if (lengths % 2).any():
            numbers = np.delete(numbers, (np.cumsum(lengths) - 1)[lengths % 2 == 1])
        place = np.arange(len(rings)) - np.repeat(np.cumsum(counts) - counts, counts)
        row = np.repeat(self.n + np.arange(len(column)), counts)
        xy = numbers.reshape(-1, 2)
        self._grow_part("rings", row=row, place=place, n_numbers=lengths, xy=xy)
        self._grow("form", forms)
        self._add_masks(np.flatnonzero(forms == Form.RLE), column)

    def _add_masks(self, rows: IndexArray, column: list[Any]) -> None:
        masks = [mask_of(column[row]) for row in rows.tolist()]
        if masks:
            self._counts += [mask.counts for mask in masks]
            self._grow_part(
                "rles",
                row=self.n + rows,
                size=np.array([mask.size for mask in masks], np.int64),
                total=np.array([mask.total for mask in masks], np.int64),
                area=np.array([mask.area for mask in masks], np.int64),
                bounds=np.array([mask.bounds for mask in masks]),
                compressed=np.array([mask.compressed for mask in masks]),
                problem=np.array([self._problem(mask.problem) for mask in masks]),
            )

    def _problem(self, text: str) -> int:
        return self._problems.setdefault(text, len(self._problems))

    def _add_keypoints(self, columns: dict[str, list[Any]], types: dict[str, set[type]]) -> None:
        values = columns["keypoints"]
        if types["keypoints"] == {Missing}:
            return
        if not types["bbox"] <= {list}:
            for row, box in enumerate(columns["bbox"]):
                if box in (MISSING, None) and _is_filled(values[row]):
                    self._point_rows.add(self.n + row)
        if msgspec.Raw in types["keypoints"]:
            return
        rows = [n for n, value in enumerate(values) if value is not MISSING and value is not None]
        lists = [values[n] if type(values[n]) is list else None for n in rows]
        if not are_numbers(list(chain.from_iterable(filter(None, lists)))):
            lists = [value if value is not None and are_numbers(value) else None for value in lists]
        lengths = np.array([-1 if value is None else len(value) for value in lists], np.int64)
        in_threes = [value for value in lists if value and len(value) % 3 == 0]
        numbers = floats(list(chain.from_iterable(in_threes)))
        own = self.n + np.array(rows, np.int64)
        self._grow_part("keypoints", row=own, n_numbers=lengths, numbers=numbers)

    def _add_annotators(self, key: str, records: _Records) -> None:
        first, *rest = key.split(".")
        if first not in records.keys:
            self._grow(f"annotator.{key}", np.full(len(records), -1))
            return
        values = records.column(first)
        for part in rest:
            values = [_inside(value, part) for value in values]
        # Values of one type can be dict keys; mixed types cannot, as 1 equals True.
        types = set(map(type, values)) - {Missing, type(None)}
        if types <= {str} or types <= {int}:
            codes = {value: self._number(value) for value in dict.fromkeys(values)}
            found = list(map(codes.__getitem__, values))
            if types == {str}:
                self._texts[key].update(value for value in codes if isinstance(value, str))
        else:
            found = list(map(self._number, values))
            self._texts[key].update(value for value in values if isinstance(value, str))
            composed = (value for value in values if isinstance(value, list | dict))
            self._composed.update(map(annotator_name, composed))
        self._grow(f"annotator.{key}", found)

    def _number(self, value: object) -> int:
        if value is None or value == "" or value is MISSING:
            return -1
        return self._names.setdefault(annotator_name(value), len(self._names))

    def _add_others(self, records: _Records, counts: list[Any], types: set[type]) -> None:
        """Add values that only some files have."""
        n = len(records)
        if "score" in records.keys:
            scores = _column(records, "score")
            rows = [row for row, value in enumerate(scores) if value is not MISSING]
            values = [scores[row] for row in rows]
            value = numbers_of(values, set(map(type, values)))
            self._grow_part("scores", row=self.n + np.array(rows, np.int64), value=value)
        if not self.settings.whole:
            return
        whole = [-1] * n if types == {Missing} else map(whole_number, counts)
        self._grow("num_keypoints", [-1 if v is None else v for v in whole])
        has_caption = "caption" in records.keys
        captions = captioned(_column(records, "caption")) if has_caption else [False] * n
        self._grow("has_caption", captions)
        if "segments_info" in records.keys:
            self._add_segments(_column(records, "segments_info"))
        if records.keys & {"attributes", "track_id"}:
            self._add_tracks(_column(records, "track_id"), _column(records, "attributes"))

    def _add_segments(self, column: list[Any]) -> None:
        places: list[tuple[int, int]] = []
        segments: list[Any] = []
        for row, value in enumerate(column):
            if type(value) is list:
                places += [(row, place) for place in range(len(value))]
                segments += value
            elif value is not MISSING:
                places.append((row, -1))
                segments.append(None)
        found = _AnyRecords(segments, {type(None)})
        columns = {key: _column(found, key) for key in _SEGMENT_KEYS}
        iscrowd = _whole(columns["iscrowd"])
        of_list = np.array(places, np.int64).reshape(-1, 2)
        self._grow_part(
            "segments",
            row=self.n + of_list[:, 0],
            place=of_list[:, 1],
            id=_whole(columns["id"]),
            category_id=_whole(columns["category_id"]),
            area=numbers_of(columns["area"], set(map(type, columns["area"]))),
            iscrowd=np.where(np.isin(iscrowd, (0, 1)), iscrowd, -1),
            bbox=boxes_of(columns["bbox"], set(map(type, columns["bbox"]))),
        )

    def _add_tracks(self, tracks: Sequence[Any], attributes: Sequence[Any]) -> None:
        names, rows, codes = self._track_names, [], []
        for row, (given, said) in enumerate(zip(tracks, attributes, strict=True)):
            track = _inside(said, "track_id") if given is MISSING else given
            if type(track) in (int, str) and track != "":
                rows.append(row)
                codes.append(names.setdefault(str(track), len(names)))
        own = self.n + np.array(rows, np.int64)
        self._grow_part("tracks", row=own, code=np.array(codes, np.int64))

    def done(self) -> Columns:
        """Return the collected columns."""
        columns: dict[str, Any] = {}
        for name, (dtype, width, missing) in _COLUMNS.items():
            shape = (self.n, width) if width else (self.n,)
            columns[name] = self._done(name, dtype, width, np.full(shape, missing, dtype))
        parts: dict[str, dict[str, Any]] = defaultdict(dict)
        for name, (dtype, width) in _PARTS.items():
            part, _, field = name.partition(".")
            shape = (0, width) if width else (0,)
            parts[part][field] = self._done(name, dtype, width, np.zeros(shape, dtype))
        offsets = np.concatenate([[0], np.cumsum(parts["rings"]["n_numbers"] // 2)])
        return Columns(
            **columns,
            kind=self._by_key("kind", _FIELDS, np.uint8),
            whole=self._by_key("whole", ID_KEYS, np.bool_),
            valid=self._by_key("valid", ID_KEYS, np.bool_),
            rings=Rings(**parts["rings"], offsets=offsets),
            rles=Rles(**parts["rles"], problems=tuple(self._problems), counts=tuple(self._counts)),
            keypoints=Keypoints(**parts["keypoints"]),
            scores=Scores(**parts["scores"]),
            segments=Segments(**parts["segments"]),
            rotations=Rotations(**parts["rotations"]),
            tracks=Tracks(**parts["tracks"]),
            track_names=tuple(self._track_names),
            annotator=self._by_key("annotator", self.settings.keys, np.int32),
            annotator_names=tuple(self._names),
            annotator_texts={key: frozenset(texts) for key, texts in self._texts.items()},
            composed_names=frozenset(self._composed),
            text_ids=self._text_ids,
            marks=self._marks,
            angles=self._angles,
            single_crowds=frozenset(self._single_crowds),
            point_rows=frozenset(self._point_rows),
            segment_counts=tuple(self._segment_counts) if self._segment_counts else None,
            empty_records=tuple(self._empty_records),
        )

    def _by_key(self, part: str, keys: Sequence[str], dtype: type) -> dict[str, NDArray[Any]]:
        none: NDArray[Any] = np.zeros(0, dtype)
        return {key: self._done(f"{part}.{key}", dtype, 0, none) for key in keys}

    def _done(self, name: str, dtype: type, width: int, missing: NDArray[Any]) -> NDArray[Any]:
        found = self._parts.pop(name, None)
        if found is None:
            return missing
        array: NDArray[Any] = np.concatenate(found).astype(dtype, copy=False)
        return array.reshape(-1, width) if width else array


def _column(records: _Records, key: str) -> list[Any]:
    return records.column(key) if key in records.keys else [MISSING] * len(records)


def _inside(value: object, key: str) -> Any:
    return value.get(key) if isinstance(value, Mapping) else None


def _numbers(value: object) -> list[float]:
    """Return the numbers of a box of five or eight; none for anything else."""
    if isinstance(value, list) and len(value) in _LENGTHS and are_numbers(value):
        found: list[float] = floats(value).tolist()
        return found
    return []


def _whole(column: list[Any]) -> IndexArray:
    """Return whole numbers, (N,) int64; -1 for negative numbers and all other values."""
    return np.array([v if type(v) is int and 0 <= v < 1 << 63 else -1 for v in column], np.int64)


def _is_filled(value: object) -> bool:
    if isinstance(value, msgspec.Raw):
        return bytes(memoryview(value)[:1]) == b"[" and bytes(memoryview(value)[1:]).strip() != b"]"
    return isinstance(value, list) and bool(value)


def _is_mask(outline: object) -> bool:
    if isinstance(outline, msgspec.Raw):
        return bytes(memoryview(outline)[:1]) == b"{"
    return isinstance(outline, dict)


def are_of_cvat(attributes: object) -> bool:
    """Return whether attributes of an annotation in COCO JSON are as CVAT writes them.

    They tell whether the object is occluded. So do those of Pascal VOC that Datumaro wrote, which
    also tell whether it is truncated, and whether it is difficult. CVAT's COCO has `iscrowd` 1 for
    every mask and ellipse, as its documentation of `is_crowd` says (docs.cvat.ai, COCO format).

    Examples
    --------
    >>> are_of_cvat({"occluded": False, "truncated": "no"}), are_of_cvat({"truncated": False})
    (True, False)
    """
    if not isinstance(attributes, Mapping):
        return False
    is_of_voc = all(attributes.get(key) is not None for key in ("truncated", "difficult"))
    return isinstance(attributes.get("occluded"), bool) and not is_of_voc
