"""Small data sets made from rows, and COCO documents made from records."""

import csv
import io
import json
from random import Random

import numpy as np
from msgspec.structs import replace

from bboxqa.model.annotations import Annotations, Dataset
from bboxqa.model.masks import SegmentationKind, Segmentations
from bboxqa.model.rotated_boxes import upright


def segmentations(outlines):
    """Return outlines given as lists of flat rings, COCO masks (dicts of bytes), or None."""
    kind, rings, parts, texts, size = [], [], [0], [], []
    for outline in outlines:
        is_mask = isinstance(outline, dict)
        of_rings = SegmentationKind.POLYGON if outline else SegmentationKind.NONE
        kind.append(SegmentationKind.RLE if is_mask else of_rings)
        own = [] if is_mask or not outline else outline
        rings += [np.array(ring, float).reshape(-1, 2) for ring in own]
        parts.append(len(rings))
        texts.append(outline["counts"] if is_mask else b"")
        size.append(outline["size"] if is_mask else (0, 0))
    lengths = np.cumsum([0] + [len(text) for text in texts])
    return Segmentations(
        kind=np.array(kind, np.uint8),
        xy=np.concatenate([np.zeros((0, 2)), *rings]),
        ring_offsets=np.cumsum([0] + [len(ring) for ring in rings]),
        part_start=np.array(parts[:-1], np.int64),
        part_stop=np.array(parts[1:], np.int64),
        counts=np.frombuffer(b"".join(texts), np.uint8).copy(),
        counts_start=lengths[:-1],
        counts_stop=lengths[1:],
        size=np.array(size, np.int32).reshape(-1, 2),
    )


def annotations(rows, outlines=None):
    """Return annotations from rows of image, annotator, category, bbox, in their right order."""
    order = sorted(range(len(rows)), key=lambda place: rows[place][:2])
    columns = [[rows[place][column] for place in order] for column in range(4)]
    return Annotations(
        id=np.array(order, np.int64),
        image=np.array(columns[0], np.int32),
        annotator=np.array(columns[1], np.int32),
        category=np.array(columns[2], np.int32),
        bbox=np.array(columns[3], float).reshape(-1, 4),
        iscrowd=np.zeros(len(rows), np.bool_),
        segmentation=None if outlines is None else segmentations([outlines[i] for i in order]),
        rotated_box=upright(np.array(columns[3], float).reshape(-1, 4)),
    )


def dataset(rows, outlines=None, *, size=(0, 0), n_images=None, n_annotators=None):
    """Return a data set in which everybody was asked about everything.

    `id` of an annotation is the place of its row.
    """
    n_images = n_images or max((row[0] for row in rows), default=0) + 1
    n_annotators = n_annotators or max((row[1] for row in rows), default=1) + 1
    n_categories = max((row[2] for row in rows), default=0) + 1
    return Dataset(
        image_names=tuple(f"image {i:04}" for i in range(n_images)),
        image_size=np.tile(np.array(size, np.int32), (n_images, 1)),
        category_names=tuple(f"category {c:04}" for c in range(n_categories)),
        annotator_names=tuple(f"annotator {a:04}" for a in range(n_annotators)),
        annotations=annotations(rows, outlines),
        assigned=np.ones((n_images, n_annotators), np.bool_),
    )


def random_rows(rng, *, n_images=4, n_annotators=3, n_boxes=5, n_categories=3, side=30.0):
    """Return rows of boxes that often overlap, on a grid that makes ties likely."""
    rows = []
    for image in range(n_images):
        for annotator in range(n_annotators):
            for _ in range(rng.integers(0, n_boxes + 1)):
                corner, size = rng.integers(0, int(side), 2), rng.integers(2, int(side) // 2, 2)
                box = (*map(float, corner), *map(float, size))
                rows.append((image, annotator, int(rng.integers(n_categories)), box))
    return rows


def object_rows(rng, *, n_images=12, n_annotators=3, n_objects=4, n_categories=3):
    """Return rows of annotators who mostly agree: objects, shifted, missed, misnamed."""
    rows = []
    for image in range(n_images):
        for _ in range(rng.integers(0, n_objects + 1)):
            place, size = rng.integers(0, 40, 2), rng.integers(6, 16, 2)
            truth = rng.integers(n_categories)
            for annotator in range(n_annotators):
                if rng.random() < 0.8:
                    box = (*(place + rng.integers(-2, 3, 2)), *(size + rng.integers(-1, 2, 2)))
                    category = truth if rng.random() < 0.8 else rng.integers(n_categories)
                    rows.append((image, annotator, int(category), tuple(map(float, box))))
    return rows


def boxes_as_outlines(rows):
    """Return the box of each row as a polygon."""
    outlines = []
    for *_, (x, y, width, height) in rows:
        right, bottom = x + width, y + height
        outlines.append([[x, y, right, y, right, bottom, x, bottom]])
    return outlines


def with_assigned(data, assigned):
    """Return the data set with another table of who was asked."""
    return replace(data, assigned=np.array(assigned, np.bool_))


def image(number, name=None, **more):
    """Return an image record of 100 × 100 px."""
    name = f"{number}.jpg" if name is None else name
    return {"id": number, "file_name": name, "width": 100, "height": 100, **more}


def annotation(number, image_id=1, category_id=1, bbox=(10, 10, 20, 20), **more):
    """Return an annotation record."""
    ids = {"id": number, "image_id": image_id, "category_id": category_id}
    return {**ids, "bbox": list(bbox), **more}


def document(annotations, images=None, categories=None, **more):
    """Return a COCO document, of one image and one category if nothing else is said."""
    return {
        "images": [image(1)] if images is None else images,
        "annotations": annotations,
        "categories": [{"id": 1, "name": "cat"}] if categories is None else categories,
        **more,
    }


def document_of(rows, images=1, categories=("cat",), *, size=(100, 100), **of_images):
    """Return a COCO document from rows of image, annotator, category and box.

    Images and categories are names, or a number of images; their ids are their places, from 1 on.
    An annotator may be None, and a fifth part of a row holds further keys.
    """
    names = [f"{n}.jpg" for n in range(1, images + 1)] if isinstance(images, int) else images
    sides = dict(zip(("width", "height"), size, strict=True))
    return document(
        [
            annotation(
                n, at, what, box, **({} if who is None else {"annotator": who}), **dict(*more)
            )
            for n, (at, who, what, box, *more) in enumerate(rows, 1)
        ],
        [image(n, name, **sides, **of_images) for n, name in enumerate(names, 1)],
        [{"id": n, "name": name} for n, name in enumerate(categories, 1)],
    )


def noisy(seed, n_images, people=("ann", "bob"), *, outlines=False):
    """Return a document of annotators who see nearly the same objects, of two categories."""
    chance = Random(seed)
    rows = []
    for place in range(1, n_images + 1):
        for _ in range(chance.randint(0, 4)):
            x, y = chance.uniform(0, 60), chance.uniform(0, 60)
            for who in people:
                if chance.random() < 0.15:
                    continue
                left, top = x + chance.uniform(0, 4), y + chance.uniform(0, 4)
                ring = [left, top, left + 30, top, left + 30, top + 25, left, top + 25]
                more = {"segmentation": [ring]} if outlines else {}
                rows.append((place, who, chance.choice([1, 1, 2]), (left, top, 30, 25), more))
    return document_of(rows, n_images, ("cat", "dog"))


def two_annotators(**more):
    """Return a sound document of two annotators who agree."""
    return document([annotation(1, annotator="ann"), annotation(2, annotator="bob")], **more)


def write(path, content):
    """Write a document as JSON, or text as it is; return the path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        text = content if isinstance(content, str) else json.dumps(content)
        path.write_text(text, "utf-8")
    return path


def csv_rows(source):
    """Return the rows of a table, which is given as its path or its text."""
    text = source if isinstance(source, str) else source.read_bytes().decode()
    return [*csv.DictReader(io.StringIO(text, newline=""))]
