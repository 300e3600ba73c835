"""Who drew the annotations of several files, and who was asked about their images."""

from collections.abc import Sequence

import numpy as np

from bboxqa.core.arrays import BoolArray, IntArray
from bboxqa.formats.dataset.drawn_images import others_may_be_asked
from bboxqa.formats.dataset.joined import Joined
from bboxqa.formats.dataset.merge import IndexedAnnotations
from bboxqa.formats.dataset.people import Attribution
from bboxqa.formats.dataset.wrong_values import unnamed
from bboxqa.formats.records import AnnotationFile


def assign_all(
    joined: Joined,
    files: Sequence[AnnotationFile],
    indexed: Sequence[IndexedAnnotations],
    attribution: Attribution,
    annotator_names: Sequence[str],
) -> tuple[list[IntArray], BoolArray, BoolArray]:
    """Return the authors in each file, (I, A) who was asked, and which images list that."""
    number = {name: place for place, name in enumerate(annotator_names)}
    code = np.array([number[name] for name in attribution.names] + [-1], np.int32)
    authors = [
        code[author[part.place]] for author, part in zip(attribution.author, indexed, strict=True)
    ]
    assigned = np.zeros((len(joined.images), len(annotator_names)), np.bool_)
    listed = np.zeros(len(joined.images), np.bool_)
    parts = zip(files, indexed, authors, attribution.asked, strict=True)
    n_listing = len(files) - attribution.n_beside
    for place, (file, part, author, names) in enumerate(parts):
        found = _assign(joined, assigned, file, part, author, names, number)
        if place < n_listing:
            listed |= found
    if attribution.of_files:
        asked = attribution.asked
        listed &= ~others_may_be_asked(files, indexed, authors, asked, number, assigned)
    return authors, assigned, listed


def _assign(
    joined: Joined,
    assigned: BoolArray,
    file: AnnotationFile,
    part: IndexedAnnotations,
    author: IntArray,
    asked: Sequence[tuple[str, ...] | None],
    number: dict[str, int],
) -> BoolArray:
    """Mark in `assigned` who was asked about the images of a file; return which images list it."""
    ids = file.shown_ids[part.place]
    joined.add_shared(file, unnamed(ids[author < 0], len(ids), "annotation"))
    listed = np.zeros(len(assigned), np.bool_)
    lists: dict[tuple[str, ...], list[int]] = {}
    for image, names in zip(part.image_of_record.tolist(), asked, strict=True):
        if names is not None:
            lists.setdefault(names, []).append(image)
    for names, images in lists.items():
        listed[images] = True
        assigned[np.ix_(images, [number[label] for label in names])] = True
    named = author >= 0
    uninvited = named & listed[part.image] & ~assigned[part.image, author]
    labels = {place: label for label, place in number.items()}
    joined.add(
        file,
        (
            f"annotation {ids[row]}: is by {labels[int(author[row])]!r}, who is not in the "
            "list of annotators of its image; add the name there, or correct it"
            for row in np.flatnonzero(uninvited).tolist()
        ),
    )
    free = named & ~listed[part.image]
    assigned[part.image[free], author[free]] = True
    return listed
