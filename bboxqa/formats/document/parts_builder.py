"""Converting raw annotation records to the columns that only some annotations have."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from bboxqa.core.arrays import ColumnBuilder
from bboxqa.formats.document.annotation_columns import (
    AnnotationColumns,
    Keypoints,
    Rotations,
    Scores,
    Segments,
    Tracks,
)
from bboxqa.formats.document.keypoint_columns import keypoints_of
from bboxqa.formats.document.raw_values import Missing, column_of
from bboxqa.formats.document.result_columns import scores_of, segments_of
from bboxqa.formats.document.rotation_columns import WRITTEN_ANGLE, rotations_of, tracks_of

_HOLDERS: dict[str, type] = {
    "keypoints": Keypoints, "scores": Scores, "segments": Segments, "rotations": Rotations,
    "tracks": Tracks,
}  # fmt: skip
# Type and width of columns, by part and by field of the part.
_COLUMNS: dict[str, dict[str, tuple[type, int]]] = {
    "keypoints": {
        "row": (np.int64, 0), "n_numbers": (np.int64, 0), "n_visible": (np.int64, 0),
        "n_odd": (np.int64, 0), "n_origin": (np.int64, 0), "bounds": (np.float64, 4),
    },
    "scores": {"row": (np.int64, 0), "value": (np.float64, 0)},
    "segments": {
        "row": (np.int64, 0), "place": (np.int64, 0), "id": (np.int64, 0),
        "category_id": (np.int64, 0), "area": (np.float64, 0), "iscrowd": (np.int8, 0),
        "bbox": (np.float64, 4),
    },
    "rotations": {
        "row": (np.int64, 0), "n_numbers": (np.int64, 0), "values": (np.float64, 8),
        "angle": (np.float64, 0),
    },
    "tracks": {"row": (np.int64, 0), "code": (np.int64, 0)},
}  # fmt: skip


class PartsBuilder:
    """Collects key points, scores, tracks and other values that only some records have."""

    def __init__(self, column: Callable[..., ColumnBuilder]) -> None:
        self._columns = {
            part: {name: column(*shape) for name, shape in fields.items()}
            for part, fields in _COLUMNS.items()
        }
        self._track_names: dict[str, int] = {}

    def add(
        self,
        first: int,
        records: Sequence[dict[str, Any]],
        keys: set[str],
        columns: dict[str, list[Any]],
        types: dict[str, set[type]],
    ) -> None:
        """Add records that have `keys` among them; `first` is the row of the first record."""
        if types["keypoints"] != {Missing}:
            self._grow("keypoints", first, keypoints_of(columns["keypoints"]))
        if "score" in keys:
            self._grow("scores", first, scores_of(column_of(records, "score", keys)))
        if "segments_info" in keys:
            self._grow("segments", first, segments_of(column_of(records, "segments_info", keys)))
        boxes = columns["bbox"]
        is_plain = types["bbox"] <= {list} and {*map(len, boxes)} <= {4}
        said = column_of(records, "attributes", keys)
        if not is_plain or keys & {"attributes", WRITTEN_ANGLE}:
            angles = column_of(records, WRITTEN_ANGLE, keys)
            self._grow("rotations", first, rotations_of(boxes, said, angles))
        if keys & {"attributes", "track_id"}:
            tracks = column_of(records, "track_id", keys)
            self._grow("tracks", first, tracks_of(tracks, said, self._track_names))

    def _grow(self, part: str, first: int, values: dict[str, Any]) -> None:
        for name, grower in self._columns[part].items():
            grower.add(values[name] + first if name == "row" else values[name])

    def absorb(self, first: int, columns: AnnotationColumns) -> None:
        """Append the parts that another builder has collected from the next part of the file."""
        known = self._track_names
        codes = [known.setdefault(name, len(known)) for name in columns.track_names]
        for part in _HOLDERS:
            holder = getattr(columns, part)
            values = {name: getattr(holder, name) for name in self._columns[part]}
            if part == "tracks":
                values["code"] = np.array(codes, np.int64)[values["code"]]
            self._grow(part, first, values)

    def done(self) -> dict[str, Any]:
        """Return the collected parts, by the field of `AnnotationColumns`."""
        parts = {
            part: holder(**{name: each.done() for name, each in self._columns[part].items()})
            for part, holder in _HOLDERS.items()
        }
        return {**parts, "track_names": tuple(self._track_names)}
