"""Data sets and findings of files of annotation tools, in forms that are easy to compare."""

import json

import numpy as np

from bboxqa import read_coco, validate
from bboxqa.formats.choices import choices_of
from bboxqa.formats.translation.collector import Collector, Wanted


def write(folder, **files):
    """Write texts, bytes or values as JSON below a folder, by their names; return the folder."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        text = content if isinstance(content, str | bytes) else json.dumps(content)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return folder


def drawn(data):
    """Return (image, annotator, category, x, y, width, height) of each annotation, sorted."""
    each = data.annotations
    return sorted(
        (data.image_names[image], data.annotator_names[who], data.category_names[label], *box)
        for image, who, label, box in zip(
            each.image, each.annotator, each.category, each.bbox.round(6).tolist(), strict=True
        )
    )


def exact_rows(data):
    """Return (image, annotator, category, box) of each annotation, in order and not rounded."""
    each = data.annotations
    boxes = map(tuple, each.bbox.tolist())
    return [
        (data.image_names[image], data.annotator_names[who], data.category_names[label], box)
        for image, who, label, box in zip(
            each.image, each.annotator, each.category, boxes, strict=True
        )
    ]


def asked(data):
    """Return who was asked about each image."""
    names = np.array(data.annotator_names, object)
    rows = zip(data.image_names, data.assigned, strict=True)
    return {image: names[row].tolist() for image, row in rows}


def alone(path):
    """Return the data set of a source with one annotator."""
    return read_coco(path, min_annotators=1)


def found(path, code):
    """Return (file, line, pointer, message) of the findings of a rule."""
    return [
        (each.file, each.spot.line, each.pointer, each.message)
        for each in validate(path).findings
        if each.code == code
    ]


def translation_of(translate, source, **choices):
    """Return the translation of a source, and its annotations."""
    records = []
    wanted = Wanted(choices=choices_of(choices))
    found = Collector(lambda new, _places: records.extend(new), wanted)
    translate(source, found)
    found.flush()
    return found, records
