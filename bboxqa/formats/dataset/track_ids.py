"""Finding the annotations that belong to the same track."""

from collections.abc import Sequence

import numpy as np

from bboxqa.core.arrays import IndexArray, IntArray
from bboxqa.core.errors import DatasetError
from bboxqa.core.text import count
from bboxqa.formats.dataset.merge import IndexedAnnotations
from bboxqa.formats.dataset.people import listed_files
from bboxqa.formats.records import AnnotationFile, annotator_name, image_field
from bboxqa.model.shapes.tracks import Tracks

VIDEO_KEY = "video_id"
"""The key of image records that names the video."""

TRACK_KEYS = ("track_id", "instance_id", "attributes.track_id", "attributes.track")
"""The keys that may name the track of an annotation, in order of preference."""


def read_tracks(
    files: Sequence[AnnotationFile],
    indexed: Sequence[IndexedAnnotations],
    authors: Sequence[IntArray],
    image_names: Sequence[str],
) -> tuple[list[IntArray], Tracks]:
    """Return the track of each annotation by file, (N,) int32, -1 for none, and all tracks.

    An id identifies a track of one annotator in one video of one file. The video is named by the
    image record, or else by the folder of the image.

    Raises DatasetError if no annotation has a track.
    """
    known: dict[str, int] = {}
    videos, of_image = _videos(files, indexed, image_names)
    keys = []
    parts = zip(files, indexed, authors, strict=True)
    for number, (file, part, author) in enumerate(parts):
        track = _ids(file, known)[part.place]
        keys.append(np.stack([np.full(len(track), number), author, of_image[part.image], track], 1))
    table = np.concatenate(keys)
    has_one = np.flatnonzero(table[:, 3] >= 0)
    if not len(has_one):
        raise DatasetError(
            [f"{listed_files(files)}: none of {count(len(table), 'annotation')} is in a track"],
            f"The track of an annotation is under one of the keys {', '.join(TRACK_KEYS)}; in a "
            "table, --columns track=NAME names its column.",
        )
    # The order of names varies, and bootstrap draws depend on the order of tracks.
    names_of = sorted(known, key=lambda name: (len(name) if name.isdecimal() else 0, name))
    rank = {name: place for place, name in enumerate(names_of)}
    table[has_one, 3] = np.array([rank[name] for name in known])[table[has_one, 3]]
    distinct, number_of = np.unique(table[has_one], axis=0, return_inverse=True)
    found = np.full(len(table), -1, np.int32)
    found[has_one] = number_of.reshape(-1)
    tracks = Tracks(
        tuple(names_of[code] for code in distinct[:, 3].tolist()),
        distinct[:, 2].astype(np.int32),
        videos,
    )
    return np.split(found, np.cumsum([len(each) for each in keys])[:-1]), tracks


def trackless_notes(track: IntArray | None) -> tuple[str, ...]:
    """Return a note on annotations outside tracks, if there are any."""
    n_without = 0 if track is None else int((track < 0).sum())
    if track is None or not n_without:
        return ()
    some = f"{n_without:,} of {count(len(track), 'annotation')}"
    return (
        f"{some} {'is' if n_without == 1 else 'are'} in no track, and not in figures of tracks",
    )


def _ids(file: AnnotationFile, known: dict[str, int]) -> IndexArray:
    """Return the code in `known` of each annotation's track id; -1 without a track."""
    found = np.full(len(file.columns.id), -1)
    for key in TRACK_KEYS:
        said = file.columns.authors[key]
        numbers = [known.setdefault(name, len(known)) for name in said.names]
        found = np.where(found < 0, np.array([*numbers, -1])[said.code], found)
    return found


def _videos(
    files: Sequence[AnnotationFile],
    indexed: Sequence[IndexedAnnotations],
    image_names: Sequence[str],
) -> tuple[tuple[str, ...], IndexArray]:
    """Return the sorted names of videos, and the index of each image's video, (I,) int64."""
    said: dict[int, str] = {}
    field = image_field(VIDEO_KEY)
    for file, part in zip(files, indexed, strict=True):
        for place, image in zip(part.image_of_record.tolist(), file.images, strict=True):
            value = getattr(image, field, None)
            if value is not None:
                said.setdefault(place, annotator_name(value))
    names = [said.get(place, name.rpartition("/")[0]) for place, name in enumerate(image_names)]
    videos = {name: number for number, name in enumerate(sorted({*names}))}
    return tuple(videos), np.array([videos[name] for name in names], np.int64)
