"""I: repeated or reserved ids of annotations and images, and files listed twice."""

from collections.abc import Iterator

import numpy as np

from bboxqa.core.arrays import BoolArray, IndexArray
from bboxqa.core.json_values import pointer_to, shortened
from bboxqa.core.text import count
from bboxqa.model.findings import Edit, Severity
from bboxqa.model.settings import ValidateSettings
from bboxqa.rules.base.reporting import (
    first_occurrence,
    ids_of,
    record_defect,
    summary_defect,
)
from bboxqa.rules.base.rule import Defect, Hits, Rule, hits
from bboxqa.rules.facts.document import Document
from bboxqa.rules.ids.numbering import new_ids


def _repeats(ids: IndexArray, named: BoolArray) -> tuple[IndexArray, IndexArray]:
    """Return the records that repeat an earlier id, and the first record with each record's id."""
    first = first_occurrence(ids, named)
    return np.flatnonzero((first >= 0) & (first != np.arange(len(first)))), first


def _repeated_annotations(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    columns = document.annotations
    rows, first = _repeats(columns.id, columns.named("id"))
    if len(rows):
        yield from _repeated(document, "annotations", rows, first, new_ids(document))


def _repeated_images(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    images = document.images
    rows, first = _repeats(images.id, images.named)
    yield from _repeated(document, "images", rows, first, np.zeros(len(images), np.int64))


def _id_edits(name: str, row: int, new: IndexArray) -> tuple[Edit, ...]:
    return (Edit(pointer_to(name, row, "id"), "replace", int(new[row])),) if new[row] else ()


def _repeated(
    document: Document, name: str, rows: IndexArray, first: IndexArray, new: IndexArray
) -> Iterator[Hits]:
    """Yield records that repeat an earlier id; `new` is 0 where no new id is known."""

    def describe(row: int) -> Defect:
        value = ids_of(document, name, row).get("annotation" if name == "annotations" else "image")
        return record_defect(
            document,
            (name, row, "id"),
            f"id {shortened(value)} is already used by {pointer_to(name, int(first[row]))}; "
            "expected a unique id",
            found=value,
            expected="an id that no other record has",
            key=shortened(value),
            edits=_id_edits(name, row, new),
        )

    def edits(row: int) -> tuple[Edit, ...]:
        return _id_edits(name, row, new)

    summary = "{share} have the id of an earlier one; expected unique ids"
    yield from hits(rows, describe, name=name, summary=summary, few=1, edits=edits)


def _zero(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    columns = document.annotations
    rows = np.flatnonzero(columns.whole["id"] & (columns.id == 0))
    if not len(rows):
        return
    new = new_ids(document)
    why = "which COCOeval treats as no match; expected 1 or more"

    def describe(row: int) -> Defect:
        return record_defect(
            document,
            ("annotations", row, "id"),
            f"annotation id is 0, {why}",
            found=document.record(row).get("id"),
            expected="1 or more",
            edits=_id_edits("annotations", row, new),
        )

    yield from hits(rows, describe, summary=f"id of {{share}} is 0, {why}", few=1)


def _files_of_several_images(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    images = document.images
    names: dict[str, list[int]] = {}
    for row, image in enumerate(images.values):
        name = image.get("file_name") if isinstance(image, dict) else None
        if isinstance(name, str) and name:
            names.setdefault(name, []).append(row)
    shared = {row for rows in names.values() if len(rows) > 1 for row in rows}
    # In ascending order, since records may be decoded window by window.
    ids = {row: shortened(images.get(row, "id")) for row in sorted(shared)}
    repeated = [
        rows for rows in names.values() if len(rows) > 1 and len({ids[row] for row in rows}) > 1
    ]
    is_named = all(
        images.get(row, "annotator") is not None
        for row in sorted(row for rows in repeated for row in rows)
    )
    is_regular = len({len(rows) for rows in names.values()}) == 1

    def describe(place: int) -> Defect:
        rows = repeated[place]
        name = images.get(rows[0], "file_name")
        listed = ", ".join(ids[row] for row in rows[:3]) + (", …" if len(rows) > 3 else "")
        return summary_defect(
            f"file_name {shortened(name)} is used by {count(len(rows), 'image')} (ids {listed}); "
            "expected one image per file, unless each belongs to another annotator",
            "images",
            rows,
            "file_name",
            pointer=pointer_to("images", rows[1], "file_name"),
            found=name,
            expected="each file once",
            key=shortened(name),
            ids=ids_of(document, "images", rows[1]),
        )

    severity = Severity.INFO if is_named or is_regular else None
    if repeated:
        yield Hits(np.zeros(len(repeated), np.int64), describe, severity, name="")


RULES: tuple[Rule, ...] = (
    Rule(
        code="I001",
        title="annotation id used twice",
        severity=Severity.ERROR,
        scope="data set",
        breaks="""pycocotools keeps the last annotation with an id and returns it instead of the
            others; detectron2 refuses the file.""",
        explanation="""Several annotations have the same id, for example because files were joined
            without renumbering. The fix gives every later one a new id above all others.""",
        bad={"annotations": [{}, {"id": 1, "bbox": [50, 10, 20, 30]}]},
        good={"annotations": [{}, {"id": 2, "bbox": [50, 10, 20, 30]}]},
        check=_repeated_annotations,
        fix="safe",
    ),
    Rule(
        code="I002",
        title="image id used twice",
        severity=Severity.ERROR,
        scope="data set",
        breaks="""pycocotools keeps the last image with an id, so the annotations of all of them are
            drawn on that image and evaluated with it.""",
        explanation="""Several images have the same id, so it is unknown which of them an annotation
            belongs to. Look the annotations up in the files that were joined, and renumber.""",
        bad={"images": [{}, {"id": 1}]},
        good={"images": [{}, {"id": 2}], "annotations": [{}, {"image_id": 2}]},
        check=_repeated_images,
    ),
    Rule(
        code="I003",
        title="annotation id is 0",
        severity=Severity.WARNING,
        breaks="""COCOeval stores the id of the matched annotation and treats 0 as no match: a
            correct detection counts as false (measured: AP 0.564 instead of 1.000).""",
        explanation="""Annotation ids have to start at 1; Roboflow and other tools start at 0. The
            fix gives this annotation a new id above all others.""",
        bad={"annotations": [{"id": 0}]},
        good={"images": [{"id": 0}], "annotations": [{"id": 1, "image_id": 0}]},
        check=_zero,
        fix="safe",
    ),
    Rule(
        code="I006",
        title="file_name used by several images",
        severity=Severity.WARNING,
        scope="data set",
        breaks="""The same image counts several times in an evaluation, each time with a part of its
            objects, and can end up in both training and test data.""",
        explanation="""Several image records with different ids have the same file_name. Label
            Studio writes one record per annotator: if the records name annotators, or all files
            occur equally often, this is an info finding (`bboxqa agree` compares the annotators).
            Otherwise files were joined without merging common images.""",
        bad={
            "images": [{}, {"file_name": "a.jpg"}, {"file_name": "b.jpg"}],
            "annotations": [{}, {"image_id": 2}, {"image_id": 3}],
        },
        good={
            "images": [{}, {"file_name": "b/a.jpg"}],
            "annotations": [{}, {"image_id": 2}],
        },
        check=_files_of_several_images,
    ),
)
