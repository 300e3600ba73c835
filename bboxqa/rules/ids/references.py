"""I: references of annotations to images and categories (I004, I005 and I007)."""

from collections.abc import Iterator

import numpy as np

from bboxqa.core.arrays import IndexArray, find
from bboxqa.core.json_values import pointer_to, shortened
from bboxqa.core.text import count
from bboxqa.formats.columns import Kind
from bboxqa.model.findings import Edit, Severity
from bboxqa.model.settings import ValidateSettings
from bboxqa.rules.base.reporting import record_defect, summary_hits
from bboxqa.rules.base.rule import Defect, Hits, Rule, hits
from bboxqa.rules.facts.document import Document
from bboxqa.rules.ids.numbering import Link, link, references


def _orphans(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    for key in references(document):
        found = link(document, key)
        rows = np.flatnonzero(found.named & (found.target < 0))
        if not found.is_complete or not len(rows):
            continue
        shift = _shift(found)
        if shift:
            yield from _shifted(found, rows, shift)
        else:
            yield from _without_target(document, found, rows)


def _shift(found: Link) -> int:
    """Return the number to add to all references so that they match; 0 if there is none."""
    ids, used = found.records.id[found.records.whole], found.ids[found.whole]
    if not len(ids) or not found.whole.all():
        return 0
    from_zero, from_one = bool(used.min() == 0), bool(used.min() > 0)
    for shift, fits in ((1, ids.min() == 1 and from_zero), (-1, ids.min() == 0 and from_one)):
        if fits and (find(ids, used + shift) >= 0).all():
            return shift
    return 0


def _shifted(found: Link, rows: IndexArray, shift: int) -> Iterator[Hits]:
    first, other = ("0", "1") if shift > 0 else ("1", "0")
    message = (
        f"{found.key} of {count(len(rows), 'annotation')} matches none of the {found.name}; all "
        f"match if {found.key} counts from {first} and the ids of {found.name} from {other}"
    )
    expected = f"the id of one of the {found.name}"
    yield from summary_hits(message, "annotations", rows, found.key, expected=expected)


def _without_target(document: Document, found: Link, rows: IndexArray) -> Iterator[Hits]:
    key = found.key
    expected, none = f"the id of one of the {found.name}", not len(found.records)
    # If most references fail, records are missing rather than annotations wrong.
    is_most = len(rows) >= 2 and 2 * len(rows) > len(document.annotations)

    def describe(row: int) -> Defect:
        value = document.record(row).get(key)
        return record_defect(
            document,
            ("annotations", row, key),
            f"{key} is {shortened(value)}, "
            + (f"but {found.name} is empty" if none else f"which none of the {found.name} has")
            + f"; expected {expected}",
            found=value,
            expected=expected,
            edits=() if is_most else (Edit(pointer_to("annotations", row), "remove"),),
        )

    summary = f"{key} of {{share}} matches none of the {found.name}; expected {expected}"
    if none:
        summary = f"{found.name} is empty, but {key} is set in {{share}}; expected the {found.name}"
    yield from hits(rows, describe, key=key, summary=summary, few=1)


def _mixed_types(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    for key in references(document):
        found = link(document, key)
        rows = np.flatnonzero(found.mixed)
        if len(rows):
            yield from _of_other_type(document, found, rows)


def _of_other_type(document: Document, found: Link, rows: IndexArray) -> Iterator[Hits]:
    key, name = found.key, found.name
    exact = found.kind == Kind.INT

    def edits(row: int) -> Iterator[Edit]:
        target, number = int(found.target[row]), int(found.ids[row])
        if found.fixable[row]:
            if not exact[row]:
                yield Edit(pointer_to("annotations", row, key), "replace", number)
            if not found.records.exact[target]:
                yield Edit(pointer_to(name, target, "id"), "replace", number)

    def describe(row: int) -> Defect:
        value = document.record(row).get(key)
        record_id = found.records.get(int(found.target[row]), "id")
        return record_defect(
            document,
            ("annotations", row, key),
            f"{key} is {shortened(value)}, but the id in {name} is {shortened(record_id)}; "
            "expected the same type",
            found=value,
            expected=f"the id as it is written in {name}",
            edits=tuple(edits(row)),
        )

    def summary(some: IndexArray, share: str) -> str:
        first = shortened(document.record(int(some[0])).get(key))
        return (
            f"{key} of {share} has another type than the ids in {name} (the first is {first}); "
            "expected the same type"
        )

    yield from hits(rows, describe, key=key, summary=summary, few=1)


def _unannotated(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    images = document.images
    if not document.complete("annotations") or not document.complete("images"):
        return
    # If images share an id, its annotations may belong to any of them.
    first = images.find(images.id)
    used = np.zeros(len(images), np.bool_)
    used[document.image[document.image >= 0]] = True
    rows = np.flatnonzero(images.named & ~used[first])
    origin = document.reading.origin
    is_told = origin is not None and (used.any() or origin.apart or origin.defects)
    if is_told or (origin is not None and len(images) == 1):
        # Tools list images in which nobody found an object, or which have shapes without a box;
        # annotations that cannot be read are reported as defects.
        return
    # If all annotations refer to other images, I004 reports it.
    if len(rows) and (used.any() or not len(document.annotations)):
        which = f"{len(rows):,} of {count(len(images), 'image')}"
        if not used.any():
            which = f"any of {len(images):,} images" if len(images) > 1 else "the one image"
        message = f"no annotations on {which}; expected only on images that show no objects"
        # A file without a single object is probably a failed export.
        severity = None if used.any() else Severity.WARNING
        yield from summary_hits(message, "images", rows, severity=severity)


RULES = (
    Rule(
        code="I004",
        title="annotation refers to a missing record",
        severity=Severity.ERROR,
        breaks="""COCOeval silently leaves the annotation out; detectron2 stops with a KeyError at
            an unknown category_id.""",
        explanation="""No image has the image_id of the annotation, or no category its category_id.
            Images or categories were removed, or ids count from 0 in one place and from 1 in
            another. If that explains all of them, it is one finding without a fix, since a wrong
            guess would relabel every object. The unsafe fix removes the annotation, unless more
            than half of all annotations refer to missing records.""",
        bad={"annotations": [{}, {}, {"image_id": 9}]},
        good={"images": [{"id": 9}], "annotations": [{"image_id": 9}]},
        check=_orphans,
        fix="unsafe",
    ),
    Rule(
        code="I005",
        title="reference has another type than the id",
        severity=Severity.ERROR,
        breaks="""In Python "0" and 0 are different keys: pycocotools finds no annotations for the
            image, and evaluates nothing. It finds no image for 0.0 either.""",
        explanation="""The reference is text where the id is a number, or the other way round, or it
            is 7.0 where the id is 7. Exports of VGG Image Annotator and tables written by pandas
            have such references. The fix writes both as whole numbers.""",
        bad={"annotations": [{"image_id": "1"}]},
        good={"annotations": [{"image_id": 1}]},
        check=_mixed_types,
        fix="safe",
    ),
    Rule(
        code="I007",
        title="image without annotations",
        severity=Severity.INFO,
        scope="data set",
        breaks="""Objects in an unfinished image are learned as background, and each correct
            detection counts as false.""",
        explanation="""No annotation refers to the image. That is right if it shows no objects, and
            wrong if it has not been annotated yet; the file does not show which. It is a warning if
            no image has annotations.""",
        bad={"images": [{}, {}]},
        good={"images": [{}, {}], "annotations": [{}, {"image_id": 2}]},
        check=_unannotated,
    ),
)
