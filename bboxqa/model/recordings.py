"""Time intervals that annotators marked in recordings, as columns."""

import numpy as np

from bboxqa.core.arrays import BoolArray, IndexArray, IntArray, frozen_arrays
from bboxqa.core.text import clean
from bboxqa.model.annotations import Source


@frozen_arrays
class Segments:
    """N labelled intervals, in the order of the files.

    Attributes
    ----------
    recording, annotator, tier, label : (N,) int32
        Indices into the tables of names.
    start, end : (N,) int64
        Milliseconds from the beginning of the recording; the end is exclusive.
    recording_names, annotator_names, tier_names, label_names : tuple of str
        A tier is a category of annotation, such as "posture" or "speech".
    duration : (R,) int64
        The length of each recording in milliseconds.
    asked : (R, A) bool
        Which annotators annotated which recordings: the whole recording, in every tier.
    file : (N,) int32
        An index into `sources`.
    line : (N,) int64
        Line of the segment in its file, counted from 1.
    sources : tuple of Source
        The files that were read; empty for segments from elsewhere.
    notes : tuple of str
        Remarks on the data for readers of a result.
    """

    recording: IntArray
    annotator: IntArray
    tier: IntArray
    start: IndexArray
    end: IndexArray
    label: IntArray
    recording_names: tuple[str, ...]
    annotator_names: tuple[str, ...]
    tier_names: tuple[str, ...]
    label_names: tuple[str, ...]
    duration: IndexArray
    asked: BoolArray
    file: IntArray | None = None
    line: IndexArray | None = None
    sources: tuple[Source, ...] = ()
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.start)


def describe(segments: Segments, place: int) -> tuple[str, str]:
    """Return the location of a segment in its file, and its content.

    For example ``"a.csv: line 7"`` and ``"'sit' from 0 ms to 1500 ms"``.
    """
    what = (
        f"'{clean(segments.label_names[segments.label[place]])}' from {segments.start[place]} ms "
        f"to {segments.end[place]} ms"
    )
    if segments.file is None or segments.line is None or not segments.sources:
        return f"segment {place}", what
    name = segments.sources[segments.file[place]].name
    return f"{name}: line {segments.line[place]}", what


def segment_problems(segments: Segments) -> list[str]:
    """Return the problems of single segments.

    A segment has a problem if it begins before the recording, ends after the recording, does not
    end after its own start, or belongs to an annotator who was not asked.
    """
    after = segments.end > segments.duration[segments.recording]
    checks = (
        (segments.start < 0, "expected a start of 0 or more"),
        (segments.end < segments.start, "ends before it starts; expected start, then end"),
        (segments.end == segments.start, "has no length; expected an end after the start"),
        (after, "ends after the recording, which lasts {duration} ms"),
        (
            ~segments.asked[segments.recording, segments.annotator],
            "is of an annotator who was not asked about the recording",
        ),
    )
    found = [
        (int(place), expected) for wrong, expected in checks for place in np.flatnonzero(wrong)
    ]
    return [
        f"{where}: {what}: {expected.format(duration=segments.duration[segments.recording[place]])}"
        for place, expected in sorted(found, key=lambda problem: problem[0])
        for where, what in [describe(segments, place)]
    ]
