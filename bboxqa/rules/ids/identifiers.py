"""I: ids and references."""

from collections.abc import Iterator

import numpy as np

from bboxqa.core.arrays import BoolArray, IndexArray
from bboxqa.core.json_values import pointer_to, shortened
from bboxqa.core.text import count
from bboxqa.model.findings import Edit, Severity
from bboxqa.model.settings import ValidateSettings
from bboxqa.rules.base.reporting import (
    each_or_summary,
    first_occurrence,
    ids_of,
    n_records,
    summary_defect,
)
from bboxqa.rules.base.rule import Defect, Hits, LazyEdits, Rule
from bboxqa.rules.facts.document import Document
from bboxqa.rules.ids.numbering import new_ids

__all__ = ["RULES"]


def _again(ids: IndexArray, whole: BoolArray) -> tuple[IndexArray, IndexArray]:
    """Return the records whose id an earlier one has, and the first with the id of each record."""
    first = first_occurrence(ids, whole)
    return np.flatnonzero((first >= 0) & (first != np.arange(len(first)))), first


def _annotations_again(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    columns = document.annotations
    rows, first = _again(columns.id, columns.whole["id"])
    if len(rows):
        yield from _repeated(document, "annotations", rows, first, new_ids(document))


def _images_again(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    images = document.images
    rows, first = _again(images.id, images.whole)
    yield from _repeated(document, "images", rows, first, np.zeros(len(images), np.int64))


def _repeated(
    document: Document, name: str, rows: IndexArray, first: IndexArray, new: IndexArray
) -> Iterator[Hits]:
    """Yield records whose id an earlier one has; `new` is 0 where there is no other id for it."""
    total = n_records(document, name)

    def pointer(row: int) -> str:
        return pointer_to(name, row, "id")

    def edits(row: int) -> tuple[Edit, ...]:
        return (Edit(pointer(row), "replace", int(new[row])),) if new[row] else ()

    def describe(row: int) -> Defect:
        ids = ids_of(document, name, row)
        value = ids.get("annotation" if name == "annotations" else "image")
        return Defect(
            f"id {shortened(value)} is also that of {pointer_to(name, int(first[row]))}; "
            "expected each id once",
            pointer(row),
            found=value,
            expected="an id that no other record has",
            key=shortened(value),
            ids=ids,
            edits=edits(row),
        )

    def describe_all() -> Defect:
        message = f"{len(rows):,} of {total:,} {name} have the id of an earlier one"
        every = LazyEdits(lambda: (edit for row in rows.tolist() for edit in edits(row)))
        expected = "each id once"
        return summary_defect(f"{message}; expected {expected}", rows, pointer, edits=every)

    yield from each_or_summary(rows, total, describe, describe_all)


def _zero(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    columns = document.annotations
    rows = np.flatnonzero(columns.whole["id"] & (columns.id == 0))
    if not len(rows):
        return
    new = new_ids(document)

    def pointer(row: int) -> str:
        return pointer_to("annotations", row, "id")

    def edits(row: int) -> tuple[Edit, ...]:
        return (Edit(pointer(row), "replace", int(new[row])),) if new[row] else ()

    def describe(row: int) -> Defect:
        return Defect(
            "annotation id is 0, which COCOeval takes for no match; expected 1 or more",
            pointer(row),
            found=document.record(row).get("id"),
            expected="1 or more",
            ids=document.ids(row),
            edits=edits(row),
        )

    def describe_all() -> Defect:
        message = (
            f"id of {len(rows):,} of {len(columns):,} annotations is 0, which COCOeval takes for "
            "no match; expected 1 or more"
        )
        every = LazyEdits(lambda: (edit for row in rows.tolist() for edit in edits(row)))
        return summary_defect(message, rows, pointer, expected="1 or more", edits=every)

    yield from each_or_summary(rows, len(columns), describe, describe_all)


def _by_name(document: Document) -> dict[str, list[int]]:
    """Return the images of each file name."""
    result: dict[str, list[int]] = {}
    for row, image in enumerate(document.images.values):
        name = image.get("file_name") if isinstance(image, dict) else None
        if isinstance(name, str) and name:
            result.setdefault(name, []).append(row)
    return result


def _names_again(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    images = document.images
    names = _by_name(document)
    again = {row for rows in names.values() if len(rows) > 1 for row in rows}
    # In their order, since records may have to be decoded for it.
    ids_of_rows, owned = {}, {}
    for row in sorted(again):
        ids_of_rows[row] = shortened(images.get(row, "id"))
        owned[row] = images.get(row, "annotator") is not None
    repeated = [
        rows
        for rows in names.values()
        if len(rows) > 1 and len({ids_of_rows[row] for row in rows}) > 1
    ]
    named = all(owned[row] for rows in repeated for row in rows)
    regular = len(set(map(len, names.values()))) == 1

    def found(place: int) -> Defect:
        rows = repeated[place]
        name = images.get(rows[0], "file_name")
        ids = ", ".join(ids_of_rows[row] for row in rows[:3])
        more = ", …" if len(rows) > 3 else ""
        return Defect(
            f"file_name {shortened(name)} is that of "
            f"{count(len(rows), 'image')} (ids {ids}{more}); "
            "expected one, unless each is the work of another annotator",
            pointer_to("images", rows[1], "file_name"),
            found=name,
            expected="each file once",
            key=shortened(name),
            ids=ids_of(document, "images", rows[1]),
            count=len(rows),
            examples=tuple(pointer_to("images", row, "file_name") for row in rows[:3]),
        )

    severity = Severity.INFO if named or regular else None
    if repeated:
        yield Hits(np.zeros(len(repeated), np.int64), found, severity)


RULES: tuple[Rule, ...] = (
    Rule(
        code="I001",
        title="annotation id is there twice",
        severity=Severity.ERROR,
        scope="data set",
        breaks="""pycocotools keeps the last annotation of an id and returns it in place of the
            others; detectron2 refuses the file.""",
        explanation="""Several annotations have one id, as happens when files are joined without
            counting on. The fix gives every later one a new id above all others.""",
        bad={"annotations": [{}, {"id": 1, "bbox": [50, 10, 20, 30]}]},
        good={"annotations": [{}, {"id": 2, "bbox": [50, 10, 20, 30]}]},
        check=_annotations_again,
        fix="safe",
    ),
    Rule(
        code="I002",
        title="image id is there twice",
        severity=Severity.ERROR,
        scope="data set",
        breaks="""pycocotools keeps the last image of an id: the annotations of all of them are
            drawn on, and evaluated with, that one.""",
        explanation="""Several images have one id, so nobody can tell which of them an annotation
            belongs to. Look up the annotations in the files that were joined, and count on.""",
        bad={"images": [{}, {"id": 1}]},
        good={"images": [{}, {"id": 2}], "annotations": [{}, {"image_id": 2}]},
        check=_images_again,
    ),
    Rule(
        code="I003",
        title="annotation id is 0",
        severity=Severity.WARNING,
        scope="record",
        breaks="""COCOeval stores the id of the matched annotation and takes 0 for no match: a right
            detection counts as false (measured: AP 0.564 instead of 1.000).""",
        explanation="""Ids of annotations have to begin at 1; Roboflow and others begin at 0. The
            fix gives this annotation a new id above all others.""",
        bad={"annotations": [{"id": 0}]},
        good={"images": [{"id": 0}], "annotations": [{"id": 1, "image_id": 0}]},
        check=_zero,
        fix="safe",
    ),
    Rule(
        code="I006",
        title="one file, several images",
        severity=Severity.WARNING,
        scope="data set",
        breaks="""The same picture counts several times in an evaluation, each time with a part of
            its objects, and can get into training and test alike.""",
        explanation="""Several image records with ids of their own have one file_name. Label Studio
            writes one for each annotator: where the records name annotators, or all files are there
            equally often, this is only worth knowing (`bboxqa agree` compares them). Otherwise
            files were joined without looking for common images.""",
        bad={
            "images": [{}, {"file_name": "a.jpg"}, {"file_name": "b.jpg"}],
            "annotations": [{}, {"image_id": 2}, {"image_id": 3}],
        },
        good={
            "images": [{}, {"file_name": "b/a.jpg"}],
            "annotations": [{}, {"image_id": 2}],
        },
        check=_names_again,
    ),
)
