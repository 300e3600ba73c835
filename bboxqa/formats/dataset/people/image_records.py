"""Annotators by image records: one record of an image for each annotator."""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from bboxqa.core.arrays import find
from bboxqa.core.errors import DatasetError
from bboxqa.formats.annotations.columns import AnnotationFile
from bboxqa.formats.annotations.records import (
    ASKED_KEYS,
    Image,
    annotator_name,
    ids_of,
    image_field,
)
from bboxqa.formats.dataset.people.attributed import Attribution
from bboxqa.formats.dataset.people.wrong_values import unnamed


def by_records(
    files: Sequence[AnnotationFile], session_key: str | None, *, chosen: bool
) -> list[Attribution]:
    """Return the attribution by repeated image records."""
    repeated = [
        any(count > 1 for name, count in Counter(i.file_name for i in file.images).items() if name)
        for file in files
    ]
    named = [all(image.annotator is not None for image in file.images) for file in files]
    if not chosen and not (repeated[0] if len(files) == 1 else all(named)):
        return []
    _check_records(files, session_key)
    labels: list[list[str]] = []
    for file in files:
        counter: Counter[str | None] = Counter()
        label = {}
        for place in sorted(range(len(file.images)), key=lambda place: file.images[place].id):
            image = file.images[place]
            counter[image.file_name] += 1
            label[place] = (
                f"annotator {counter[image.file_name]}"
                if image.annotator is None
                else annotator_name(image.annotator)
            )
        labels.append([label[place] for place in range(len(file.images))])
    names = tuple(sorted({label for part in labels for label in part}))
    number = {name: place for place, name in enumerate(names)}
    authors = []
    for file, part in zip(files, labels, strict=True):
        ids = ids_of(file.images)
        code = np.array([number[label] for label in part] + [-1], np.int32)
        authors.append(code[find(ids, file.columns.image_id)])
    asked: list[list[tuple[str, ...] | None]] = [[(label,) for label in part] for part in labels]
    way = "repeated image records with one file_name"
    if not all(named):
        way += ", numbered, since they do not name their annotator"
    return [Attribution(way, authors, asked, names, numbered=not all(named))]


def _check_records(files: Sequence[AnnotationFile], session_key: str | None) -> None:
    """Refuse image records if only some name an annotator, or if two name the same annotator.

    Two may name one annotator in different sessions.
    """
    session = image_field(session_key or "session")
    problems = []
    for file in files:
        name = file.source.name
        named = [image for image in file.images if image.annotator is not None]
        if named and len(named) < len(file.images):
            lacking = [image.id for image in file.images if image.annotator is None]
            total = len(file.images)
            problems += [f"{name}: {each}" for each in unnamed(lacking, total, "image record")]
        authors = Counter(
            (image.file_name, annotator_name(image.annotator), repr(getattr(image, session, None)))
            for image in named
        )
        problems += [
            f"{name}: image {label!r}: {count} records of it name the annotator {author!r}; "
            "expected one"
            for (label, author, _), count in authors.items()
            if label and count > 1
        ]
    if problems:
        raise DatasetError(problems, "Name every annotator by the key `annotator` on its records.")


def asked_in(images: Sequence[Image]) -> list[tuple[str, ...] | None]:
    """Return who was asked about each image: the names in a list, or the keys of an object."""
    # Most images have the same list, so each distinct list is converted once.
    names_of: dict[str, tuple[str, ...]] = {}
    result: list[tuple[str, ...] | None] = []
    for image in images:
        # Some tools write an empty list on every image, which says nothing.
        value = next((value for key in ASKED_KEYS if (value := getattr(image, key))), None)
        text = repr(value)
        if value is not None and text not in names_of:
            names_of[text] = tuple(sorted({annotator_name(name) for name in value}))
        result.append(names_of.get(text))
    return result


def names_in(file: AnnotationFile, key: str) -> set[str]:
    """Return whom annotations name by a key, or who was asked where nobody drew anything."""
    if len(file.columns.id):
        return {*file.columns.authors[key].names}
    return {name for names in asked_in(file.images) for name in names or ()}
