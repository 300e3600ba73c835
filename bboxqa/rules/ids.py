"""S and I: ids, references to images and categories, and videos and tracks."""

import re
from functools import partial
from pathlib import PurePosixPath
from typing import Any

import numpy as np

from bboxqa.core.arrays import BoolArray, IndexArray, find, listed_by
from bboxqa.core.json_values import pointer_to, shortened
from bboxqa.core.text import count, first_few
from bboxqa.formats.columns import Kind
from bboxqa.formats.records import id_number
from bboxqa.model.findings import Severity
from bboxqa.model.settings import ValidateSettings
from bboxqa.rules import layout
from bboxqa.rules.base import Checked, Rows, ids_of, record_edit, rule, summary, value_at
from bboxqa.rules.document import Document, kind_of

_LISTS = {"image_id": "images", "category_id": "categories"}
_LARGEST = 2**63 - 1
_WHOLE = "a whole number, 0 or more"
# Floats, and so JavaScript, represent every integer up to this one exactly.
_EXACT = 2**53
_DIGITS = re.compile(r"0|[1-9]\d*")


def _first_rows(ids: IndexArray, named: BoolArray) -> IndexArray:
    """Return the first record with the id of each record, (N,) int64; -1 without an id."""
    rows, result = np.flatnonzero(named), np.full(len(ids), -1)
    result[rows] = rows[layout.first_equal([ids[rows]])]
    return result


def _new_ids(document: Document) -> IndexArray:
    """Return the id of each annotation after all fixes of annotation ids, (N,) int64."""
    columns = document.annotations
    whole = columns.whole["id"]
    result = np.where(whole, columns.id, 0)
    first = _first_rows(columns.id, whole)
    repeated = (first >= 0) & (first != np.arange(len(first)))
    replaced = np.flatnonzero(whole & (repeated | (columns.id == 0)))
    largest = int(max(result.max(initial=0), 0))
    fits = largest + len(replaced) <= _LARGEST
    result[replaced] = largest + 1 + np.arange(len(replaced)) if fits else 0
    return result


def _is_unique(ids: IndexArray, whole: BoolArray) -> BoolArray:
    """Return which ids are unique whole numbers, (N,) bool."""
    first = _first_rows(ids, whole)
    single: BoolArray = np.bincount(first[whole], minlength=len(ids))[first] == 1
    return whole & single


_TWO_BOXES = [{}, {"id": 1, "bbox": [50, 10, 20, 30]}]


@rule(
    "S003 error, safe fix: id is not a valid whole number",
    breaks='pycocotools finds nothing for text or 12.0: "0", 0.0 and 0 are different ids.',
    explanation="""An id is text, a fraction, negative, too large, or no number. The fix writes "7"
        and 7.0 as 7, with the references to it, if no other record has that id. Other ids, such as
        "im_1" or "007", have no fix; `bboxqa convert` writes a copy with whole numbers.""",
    bad={"annotations": [{"id": "7"}]},
    good={"annotations": [{"id": 7}]},
)
def _id_types(document: Document, _settings: ValidateSettings) -> Checked:
    columns = document.annotations
    lists = [("annotations", columns.kind["id"], columns.id, columns.whole["id"])]
    lists += [(name, each.kind, each.id, each.whole) for name, each in document.lists]
    found: list[tuple[str, str, BoolArray, IndexArray]] = []
    for name, kind, ids, whole in lists:
        odd = (kind != Kind.MISSING) & ~((kind == Kind.INT) & whole & (ids >= 0))
        if odd.any():
            # An annotation may not have the id 0.
            new, least = (_new_ids(document), 1) if name == "annotations" else (ids, 0)
            fixable = _is_unique(ids, whole) & (kind != Kind.INT) & (new >= least)
            found.append((name, "id", odd, np.where(fixable, new, -1)))
    for key in (key for key in _LISTS if key in kind_of(document).required):
        (records, ids, target), kind = document.references[key], columns.kind[key]
        odd = (kind != Kind.MISSING) & ~((kind == Kind.INT) & columns.whole[key])
        odd &= (key != "image_id") | (document.once(_named_images) < 0)
        if odd.any():
            # "7" and 7 may be ids of two records. An id that is no integer becomes one where no
            # other record has it.
            whole, is_text = records.whole, records.kind == Kind.TEXT
            exact = _is_unique(records.id, whole & (records.id >= 0))
            exact |= whole & (records.kind == Kind.INT)
            ambiguous = find(records.id[whole & is_text], ids) >= 0
            ambiguous &= find(records.id[whole & ~is_text], ids) >= 0
            fixable = np.append(exact, False)[target] & ~ambiguous & document.complete(_LISTS[key])
            found.append(("annotations", key, odd, np.where(fixable, ids, -1)))
    for name, key, odd, new in found:
        to_new = partial(_new_id, document, name, key, new)
        yield Rows(odd, at=f"{name}/{key}", expected=_WHOLE, new=to_new)


def _new_id(document: Document, name: str, key: str, new: IndexArray, row: int) -> int | None:
    """Return the new id in place of a number, or of a text in plain digits; None for others."""
    value = value_at(document, name, row, key)
    is_number = isinstance(value, float) or bool(_DIGITS.fullmatch(str(value)))
    return int(new[row]) if is_number and 0 <= new[row] <= _EXACT else None


def _repeated(name: str, document: Document, _settings: ValidateSettings) -> Checked:
    """I001 to I003: records that repeat the id of an earlier one, or have the id 0."""
    columns, images = document.annotations, document.images
    are_images = name == "images"
    ids, named = (images.id, images.named) if are_images else (columns.id, columns.named("id"))
    first, zero = _first_rows(ids, named), columns.whole["id"] & (columns.id == 0)
    rows = np.flatnonzero((first >= 0) & (first != np.arange(len(first))))
    needs_new = not are_images and (len(rows) > 0 or zero.any())
    new = _new_ids(document) if needs_new else np.zeros_like(ids)
    to_new, code = (lambda row: int(new[row]) or None), "I002" if are_images else "I001"

    def value(row: int) -> Any:
        return ids_of(document, name, row).get("image" if are_images else "annotation")

    def says(row: int) -> str:
        earlier = pointer_to(name, int(first[row]))
        return f"id {shortened(value(row))} is already used by {earlier}; expected a unique id"

    yield Rows(
        rows, says, f"{name}/id", found=value, new=to_new, few=1, code=code,
        mark=lambda row: shortened(value(row)),
        summary="{share} have the id of an earlier one; expected unique ids",
    )  # fmt: skip
    why = "which COCOeval treats as no match"
    yield Rows(
        [] if are_images else zero, f"annotation id is 0, {why}", "annotations/id", "1 or more",
        few=1, new=to_new, summary=f"id of {{share}} is 0, {why}", code="I003",
    )  # fmt: skip


_of_annotations = partial(_repeated, "annotations")


@rule(
    "I004 error, unsafe fix: annotation refers to a missing record",
    breaks="COCOeval leaves the annotation out; detectron2 stops with a KeyError.",
    explanation="""No image has the image_id of the annotation, or no category its category_id.
        Where the image_id is the name of an image, the fix writes its id. The unsafe fix removes
        other annotations, unless more than half of all refer to missing records, or ids that count
        from 0 and from 1 explain all of them.""",
    bad={"annotations": [{}, {}, {"image_id": 9}]},
    good={"images": [{"id": 9}], "annotations": [{"image_id": 9}]},
)
def _orphans(document: Document, _settings: ValidateSettings) -> Checked:
    columns, images, of = document.annotations, document.images, document.once(_named_images)
    new = np.where(images.kind == Kind.INT, images.id, -1)
    yield Rows(
        of >= 0, "image_id is {value}, the name of an image", "annotations/image_id", "its id",
        new=lambda row: int(new[of[row]]) if new[of[row]] >= 0 else None, few=1, fix="safe",
        summary="image_id of {share} is the name of an image",
    )  # fmt: skip
    for key in (key for key in _LISTS if key in kind_of(document).required):
        (records, ids, target), name = document.references[key], _LISTS[key]
        missing = columns.named(key) & (target < 0) & ((key != "image_id") | (of < 0))
        rows = np.flatnonzero(missing)
        if not document.complete(name) or not len(rows):
            continue
        known, least = records.id[records.whole], int(ids.min())
        expected, first = f"the id of one of the {name}", 1 - min(least, 1)
        # References may count from 0 and ids from 1, or the reverse.
        shifted = ids + (1 if first else -1)
        is_shift = columns.whole[key].all() and least >= 0 and len(known) and known.min() == first
        if is_shift and (find(known, shifted) >= 0).all():
            what = f"{key} counts from {1 - first} and the ids of {name} from {first}"
            yield summary(what, f"annotations/{key}", rows, expected=expected)
            continue
        # If most references fail, records are missing rather than annotations wrong.
        is_most = len(rows) >= 2 and 2 * len(rows) > len(document.annotations)
        says = f"{key} is {{value}}, which none of the {name} has"
        edits = partial(record_edit, "annotations")
        yield Rows(
            rows, says, f"annotations/{key}", expected, edits=None if is_most else edits, key=key,
            summary=f"{key} of {{share}} matches none of the {name}", few=1,
        )  # fmt: skip


def _named_images(document: Document) -> IndexArray:
    """Return the image whose file_name, or its last part, each image_id is, (N,); -1 for none."""
    columns, known = document.annotations, dict[int, int]()
    result = np.full(len(columns), -1)
    rows = np.flatnonzero((columns.kind["image_id"] == Kind.TEXT) & (document.image < 0))
    for row, name in enumerate(document.images.texts("file_name") if len(rows) else ()):
        for each in {*map(id_number, (name, PurePosixPath(name).name, PurePosixPath(name).stem))}:
            known[each] = -1 if each in known else row
    result[rows] = [known.get(each, -1) for each in columns.image_id[rows].tolist()]
    return result


def _images(document: Document, _settings: ValidateSettings) -> Checked:
    """I006 and I007: images that share a file_name, and images without annotations."""
    images, origin = document.images, document.reading.origin
    rows_of = listed_by((name, row) for row, name in enumerate(images.texts("file_name")))
    names = {name: rows for name, rows in rows_of.items() if name}
    shared = {name: rows for name, rows in names.items()
              if len({shortened(images.get(row, "id")) for row in rows}) > 1}  # fmt: skip
    named = {row for row in range(len(images)) if images.get(row, "annotator") is not None}
    of_people = named.issuperset(row for rows in shared.values() for row in rows)
    is_mild = of_people or len({len(rows) for rows in names.values()}) == 1
    for name, rows in shared.items():
        own = first_few([shortened(images.get(row, "id")) for row in rows], 3)
        what = f"file_name {shortened(name)} is used by {count(len(rows), 'image')} (ids {own}); "
        what += "expected one image per file, unless each belongs to another annotator"
        yield summary(
            what, "images/file_name", rows, found=name, expected="each file once",
            pointer=pointer_to("images", rows[1], "file_name"), key=shortened(name),
            ids=ids_of(document, "images", rows[1]), code="I006",
            severity=Severity.INFO if is_mild else None,
        )  # fmt: skip
    # If images share an id, its annotations may belong to any of them.
    used = np.isin(np.arange(len(images)), document.image)
    bare = np.flatnonzero(images.named & ~used[images.find(images.id)])
    # Tools list images in which nobody found an object, or which have shapes without a box;
    # annotations that cannot be read are reported as defects.
    is_expected = origin is not None and (
        used.any() or origin.apart or origin.defects or len(images) == 1
    )
    is_complete = document.complete("annotations") and document.complete("images")
    # If all annotations refer to other images, I004 reports it.
    if is_complete and not is_expected and (used.any() or not len(document.annotations)):
        # A file without a single object is probably a failed export.
        severity = None if used.any() else Severity.WARNING
        which = f"{len(bare):,} of {count(len(images), 'image')}"
        what = f"no annotations on {which}; expected only on images that show no objects"
        yield summary(what, "images", bare, severity=severity, code="I007")


RULES = (
    rule(
        "I001 error, safe fix: annotation id used twice",
        breaks="pycocotools returns the last annotation with the id instead of the others.",
        explanation="""Several annotations have the same id, often because files were joined. The
            fix gives every later one a new id above all others.""",
        bad={"annotations": _TWO_BOXES},
        good={"annotations": [{}, {**_TWO_BOXES[1], "id": 2}]},
        requires=("D001",),
    )(_of_annotations),
    rule(
        "I002 error: image id used twice",
        breaks="Annotations of all images with the id are drawn and evaluated on the last.",
        explanation="""Several images have the same id, so it is unknown which of them an annotation
            belongs to. Look the annotations up in the files that were joined, and renumber.""",
        bad={"images": [{}, {"id": 1}]},
        good={"images": [{}, {"id": 2}], "annotations": [{}, {"image_id": 2}]},
    )(partial(_repeated, "images")),
    rule(
        "I003 warning, safe fix: annotation id is 0",
        breaks="COCOeval treats the id 0 as no match: a correct detection counts as false.",
        explanation="""Annotation ids have to start at 1. The fix gives this annotation a new id
            above all others.""",
        bad={"annotations": [{"id": 0}]},
        good={"images": [{"id": 0}], "annotations": [{"id": 1, "image_id": 0}]},
    )(_of_annotations),
    rule(
        "I006 warning: file_name used by several images",
        breaks="The image counts several times, and can be in training and test data.",
        explanation="""Several image records have the same file_name. It is an info finding if they
            are of several annotators. Otherwise files were joined without merging common
            images.""",
        bad={
            "images": [{}, {"file_name": "a.jpg"}, {"file_name": "b.jpg"}],
            "annotations": [{}, {"image_id": 2}, {"image_id": 3}],
        },
        good={"images": [{}, {"file_name": "b/a.jpg"}], "annotations": [{}, {"image_id": 2}]},
    )(_images),
    rule(
        "I007 info: image without annotations",
        breaks="Objects in an unfinished image are learned as background.",
        explanation="""No annotation refers to the image: it shows no objects, or is not annotated
            yet. It is a warning if no image has annotations.""",
        bad={"images": [{}, {}]},
        good={"images": [{}, {}], "annotations": [{}, {"image_id": 2}]},
    )(_images),
)
