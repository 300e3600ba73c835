"""What a fix keeps of a file: its records, what they refer to, and the pixels of their masks."""

import json

from pycocotools import mask as coco

from bboxqa.model.settings import ValidateSettings
from bboxqa.rules.fixes import fix
from support.validation import document_of

__all__ = ["MARK", "fixed", "lost", "marked", "mask_of", "records"]

MARK = "row in the test"
LISTS = ("images", "categories", "annotations")


def fixed(document, *, unsafe=False):
    """Return a document after all its fixes, as it is or read by `document_of`."""
    content = json.dumps(document) if isinstance(document, dict) else document
    text = fix(document_of(content), ValidateSettings(), unsafe=unsafe).text
    return json.loads(bytes(text))


def records(document, name):
    """Return the records of a list; none where it is not a list of objects."""
    values = document.get(name) if isinstance(document, dict) else document
    return [value for value in values or () if isinstance(value, dict)]


def marked(document):
    """Return a document whose records have a mark by which they are found again."""
    changed = dict(document)
    for name in LISTS:
        changed[name] = [
            {**record, MARK: row} for row, record in enumerate(records(document, name))
        ]
    return changed


def referred(document, name, key):
    """Return the mark of the record that each annotation refers to; None for none."""
    rows = {}
    for record in records(document, name):
        rows.setdefault(str(record.get("id")), record[MARK])
    return {
        annotation[MARK]: rows.get(str(annotation.get(key)))
        for annotation in records(document, "annotations")
    }


def lost(before, after):
    """Return what records of a marked document are missing or refer to something else after it."""
    result = []
    for name in LISTS:
        found = {record[MARK] for record in records(after, name)}
        result += [(name, record) for record in records(before, name) if record[MARK] not in found]
    for name, key in (("images", "image_id"), ("categories", "category_id")):
        old, new = referred(before, name, key), referred(after, name, key)
        result += [
            (key, row) for row, mark in old.items()
            if row in new and mark is not None and new[row] != mark
        ]  # fmt: skip
    return result


def mask_of(annotation, image):
    """Return the run lengths that pycocotools makes of an outline; None where it makes none."""
    outline = annotation.get("segmentation")
    height, width = image.get("height"), image.get("width")
    if not outline or type(height) is not int or type(width) is not int:
        return None
    try:
        if isinstance(outline, list):
            return coco.merge(coco.frPyObjects(outline, height, width))
        if isinstance(outline["counts"], list):
            return coco.frPyObjects(outline, *outline["size"])
    except (TypeError, ValueError, KeyError, IndexError):
        return None
    return outline
