"""Refusing versions of one data set where parts of a data set are expected."""

import shlex
from collections.abc import Sequence

import numpy as np

from bboxqa.core.arrays import IntArray, compact
from bboxqa.core.errors import DatasetError
from bboxqa.core.text import count, one_line
from bboxqa.formats.annotations.columns import AnnotationFile
from bboxqa.formats.dataset.merge import IndexedAnnotations
from bboxqa.formats.dataset.parts_of_people import pattern_option


def refuse_versions(
    files: Sequence[AnnotationFile],
    indexed: Sequence[IndexedAnnotations],
    authors: Sequence[IntArray],
    image_names: Sequence[str],
    annotator_names: Sequence[str],
) -> None:
    """Refuse two files with annotations of the same image by the same annotator.

    This annotator would seem to have drawn everything twice. `authors` are, by file, indices into
    `annotator_names`, -1 where none is named. Raises DatasetError with the first two such files, an
    example, and the command that compares versions.
    """
    n_annotators = len(annotator_names)
    found = [
        compact(
            (part.image.astype(np.int64) * n_annotators + author)[author >= 0],
            n_annotators * len(image_names),
        )[0]
        for part, author in zip(indexed, authors, strict=True)
    ]
    key = np.concatenate(found)
    owner = np.repeat(np.arange(len(files)), [len(keys) for keys in found])
    order = np.argsort(key, kind="stable")
    repeated = np.flatnonzero(np.diff(key[order]) == 0)
    if not len(repeated):
        return
    place = int(repeated[0])
    image, annotator = divmod(int(key[order[place]]), n_annotators)
    pair = [files[int(owner[order[each]])] for each in (place, place + 1)]
    first, second = (file.source.name for file in pair)
    of_videos = ""
    if all(file.task_of_frames is not None for file in pair):
        how = pattern_option(files, pair[0])
        of_videos = f"If they are of different videos, measure one at a time, {how}\n"
    raise DatasetError(
        [
            f"{first} and {second}: both have annotations of image {one_line(image_names[image])!r}"
            f" by {one_line(annotator_names[annotator])!r}"
            + (f", and {count(len(repeated) - 1, 'more such case')}" if len(repeated) > 1 else "")
            + "; expected the annotations of one annotator of an image in one file"
        ],
        f"{of_videos}Two versions of one data set are compared with: "
        + shlex.join(["bboxqa", "compare", first, second])
        + "\nIf annotators annotated the images again and each file is a session: "
        "bboxqa agree --session-key file",
    )
