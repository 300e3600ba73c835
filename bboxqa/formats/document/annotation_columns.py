"""The annotations of a file as columns, sound or not."""

from dataclasses import dataclass, fields
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bboxqa.core.arrays import BoolArray, ByteArray, FloatArray, IndexArray, IntArray, frozen_arrays
from bboxqa.core.memory import is_mapped


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


@frozen_arrays
class Rings:
    """The rings of all outlines that are lists of lists of numbers."""

    row: IndexArray
    """(R,) int64. The annotation of each ring."""
    place: IndexArray
    """(R,) int64. Which ring of its annotation it is."""
    n_numbers: IndexArray
    """(R,) int64. The length of the ring; where it is odd, the last number is not in `xy`."""
    offsets: IndexArray
    """(R + 1,) int64. Ring r has the vertices ``xy[offsets[r]:offsets[r + 1]]``."""
    xy: FloatArray
    """(V, 2) float64. In pixels."""


@dataclass(frozen=True, slots=True, eq=False)
class Rles:
    """Masks that are run lengths."""

    row: IndexArray
    """(M,) int64. The annotation of each."""
    size: IndexArray
    """(M, 2) int64. Height and width in pixels; -1 where they are not two whole numbers."""
    total: IndexArray
    """(M,) int64. The sum of all run lengths; -1 where they cannot be read."""
    area: IndexArray
    """(M,) int64. Pixels in the mask."""
    bounds: FloatArray
    """(M, 4) float64. Left, top, right and bottom of the mask in pixels; NaN where it is empty or
    unknown."""
    compressed: BoolArray
    """(M,) bool."""
    problem: IntArray
    """(M,) int32. Why it cannot be read, as a place in `problems`; 0 where it can."""
    problems: tuple[str, ...]
    """The first is empty."""


@dataclass(frozen=True, slots=True, eq=False)
class Keypoints:
    """Annotations with a list of keypoints or a number of them."""

    row: IndexArray
    """(K,) int64."""
    n_numbers: IndexArray
    """(K,) int64. The length of the list; -1 where the value is not a list of numbers."""
    n_visible: IndexArray
    """(K,) int64. Points whose third number, the visibility, is above 0; here, they are called
    labelled."""
    n_odd: IndexArray
    """(K,) int64. Points whose visibility is not 0, 1 or 2."""
    n_origin: IndexArray
    """(K,) int64. Labelled points at (0, 0)."""
    bounds: FloatArray
    """(K, 4) float64. Left, top, right and bottom of the other labelled points in pixels; NaN where
    there are none."""


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """Results of detectors that have a score."""

    row: IndexArray
    """(D,) int64."""
    value: FloatArray
    """(D,) float64. NaN where it is not a finite number."""


@dataclass(frozen=True, slots=True, eq=False)
class Segments:
    """The segments of panoptic annotations."""

    row: IndexArray
    """(G,) int64. The annotation of each segment."""
    place: IndexArray
    """(G,) int64. Its place in the list of its annotation; -1 stands for a list that is not one."""
    id: IndexArray
    category_id: IndexArray
    """(G,) int64. -1 where they are not whole numbers, written as such."""
    area: FloatArray
    """(G,) float64. NaN where it is not a finite number."""
    iscrowd: IntArray
    """(G,) int8. -1 where it is not 0 or 1."""
    bbox: FloatArray
    """(G, 4) float64. x, y, width, height in pixels; NaN where they are not 4 finite numbers."""


@dataclass(frozen=True, slots=True, eq=False)
class Rotations:
    """Annotations with a box of five or eight numbers, or an angle other than 0."""

    row: IndexArray
    """(Q,) int64."""
    n_numbers: IndexArray
    """(Q,) int64. 5 or 8, the length of a bbox that is a list of so many finite numbers; else 0."""
    values: FloatArray
    """(Q, 8) float64. These numbers; NaN for those that it lacks."""
    angle: FloatArray
    """(Q,) float64. The angle that is said beside the box, as it was written; NaN without one."""


@dataclass(frozen=True, slots=True, eq=False)
class Tracks:
    """Annotations that belong to a track."""

    row: IndexArray
    """(T,) int64."""
    code: IndexArray
    """(T,) int64. The track, as a place in `track_names`."""


@dataclass(frozen=True, slots=True, eq=False)
class AnnotationColumns:
    """The annotations of a file in its order, sound or not."""

    record: ByteArray
    """(N,) uint8. The `Kind` of each record; anything but DICT has no keys."""
    kind: dict[str, ByteArray]
    """dict of str to (N,) uint8. By key: the `Kind` of its value."""
    id: IndexArray
    image_id: IndexArray
    category_id: IndexArray
    """(N,) int64. As whole numbers, also where written as "7" or 7.0. Other texts and fractions
    have a large number that no other value has; what is no id has 0."""
    whole: dict[str, BoolArray]
    """dict of str to (N,) bool. Whether each of the three is a whole number, however written."""
    bbox: FloatArray
    """(N, 4) float64. x, y, width, height in pixels; NaN where they are not 4 finite numbers."""
    area: FloatArray
    """(N,) float64. NaN where it is not a finite number."""
    iscrowd: IntArray
    """(N,) int8. -1 where it is not 0 or 1."""
    num_keypoints: IndexArray
    """(N,) int64. -1 where it is not a whole number."""
    has_caption: BoolArray
    """(N,) bool. Whether the caption is a text that is not blank."""
    form: ByteArray
    """(N,) uint8. The `Form` of the outline."""
    rings: Rings
    rles: Rles
    keypoints: Keypoints
    scores: Scores
    segments: Segments
    rotations: Rotations
    tracks: Tracks
    track_names: tuple[str, ...]
    annotator: dict[str, IntArray]
    """dict of str to (N,) int32. By annotator key: indices into `annotator_names`; -1 where the key
    is absent."""
    annotator_names: tuple[str, ...]

    def mapped_columns(self) -> list[NDArray[Any]]:
        """Return the columns that are mapped from files."""
        holders = (
            self, self.rings, self.rles, self.keypoints, self.scores, self.segments,
            self.rotations, self.tracks,
        )  # fmt: skip
        values = [getattr(holder, field.name) for holder in holders for field in fields(holder)]
        columns = [each for v in values for each in (v.values() if isinstance(v, dict) else [v])]
        return [each for each in columns if isinstance(each, np.ndarray) and is_mapped(each)]

    def __len__(self) -> int:
        return len(self.record)

    def named(self, key: str) -> BoolArray:
        """Return (N,) bool: whether there is an id under one of the three keys, of any type."""
        ids: IndexArray = getattr(self, key)
        result: BoolArray = self.whole[key] | (ids != 0)
        return result
