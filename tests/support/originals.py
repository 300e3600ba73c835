"""Small sound exports such as tools write them, for a corpus of files with one defect each.

Each function returns a new document. Nothing in it is wrong: validation finds nothing at all.
"""

import json
from functools import cache

import numpy as np

__all__ = ["ORIGINALS", "first_images"]

SIZES = ((640, 480), (480, 640), (800, 600), (1920, 1080), (1280, 720))
N_IMAGES = 48
CATEGORIES = ("car", "bicycle", "person")


def document(images, annotations, categories=CATEGORIES):
    """Return a document of images and annotations, which are numbered here."""
    if isinstance(categories[0], str):
        categories = [{"name": name, "supercategory": "street"} for name in categories]
    for records in (images, annotations, categories):
        for number, record in enumerate(records, 1):
            record["id"] = number
    return {
        "info": {"description": "street", "year": 2026, "date_created": "2026-03-02"},
        "licenses": [{"id": 1, "name": "CC BY 4.0", "url": "https://creativecommons.org"}],
        "images": images,
        "categories": categories,
        "annotations": annotations,
    }


def pictures(rng, sizes=SIZES):
    """Return images of different sizes, without ids."""
    result = []
    for number in range(N_IMAGES):
        width, height = sizes[rng.integers(len(sizes))]
        name = f"street_{number:03}_{rng.integers(16**6):06x}.jpg"
        result.append({"file_name": name, "width": width, "height": height, "license": 1})
    return result


def places(rng, width, height):
    """Yield the boxes of a few objects: one in each of some cells of an image."""
    for cell in rng.permutation(9)[: rng.integers(3, 7)].tolist():
        across, down = width / 3, height / 3
        w, h = rng.uniform(0.5, 0.9, 2) * (across, down)
        x, y = rng.uniform(0, 1, 2) * (across - w, down - h) + (cell % 3 * across, cell // 3 * down)
        yield np.round([x, y, w, h], 1)


def outline(rng, x, y, w, h):
    """Return a polygon in a box that it need not fill, and its area."""
    n_points = int(rng.integers(9, 15))
    angles = np.sort(rng.uniform(0, 2 * np.pi, n_points) / 3 + np.arange(n_points) * 2 * np.pi)
    angles = (angles / n_points) % (2 * np.pi)
    reach = rng.uniform(0.7, 1, n_points)
    xy = np.stack(
        [x + w / 2 * (1 + reach * np.cos(angles)), y + h / 2 * (1 + reach * np.sin(angles))]
    )
    xy = np.round(xy, 2)
    after = np.roll(xy, -1, axis=1)
    return xy.T.ravel().tolist(), float(abs((xy[0] * after[1] - after[0] * xy[1]).sum()) / 2)


def drawn(rng, box):
    """Return an annotation with a polygon in a box."""
    ring, area = outline(rng, *box)
    xs, ys = ring[::2], ring[1::2]
    sides = min(xs), min(ys), max(xs) - min(xs), max(ys) - min(ys)
    return {"bbox": [round(n, 2) for n in sides], "segmentation": [ring], "area": round(area, 2)}


def annotated(rng, images, draw):
    """Return annotations of images, each as `draw` makes it of a box."""
    return [
        {"image_id": number, "category_id": int(rng.integers(1, 4)), "iscrowd": 0, **draw(rng, box)}
        for number, image in enumerate(images, 1)
        for box in places(rng, image["width"], image["height"])
    ]


def polygons(seed=15):
    """Return polygons, as CVAT and others export them."""
    rng = np.random.default_rng(seed)
    images = pictures(rng)
    annotations = annotated(rng, images, drawn)
    for annotation in annotations:
        annotation["attributes"] = {"occluded": False}
    return document(images, annotations)


def boxes(seed=16):
    """Return boxes without outlines, as Roboflow exports them."""
    rng = np.random.default_rng(seed)

    def draw(_rng, box):
        return {"bbox": box.tolist(), "area": round(float(box[2] * box[3]), 2), "segmentation": []}

    images = pictures(rng)
    annotations = annotated(rng, images, draw)
    for image in images:
        stem = image["file_name"].removesuffix(".jpg")
        image["file_name"] = f"{stem}_jpg.rf.{rng.bytes(16).hex()}.jpg"
    return document(images, annotations)


def copies(make):
    """Return a function that returns a document anew, which is made once."""
    content = cache(lambda: json.dumps(make()))
    return lambda: json.loads(content())


ORIGINALS = {"polygons": copies(polygons), "boxes": copies(boxes)}
"""What is in a sound export to a function that makes it."""


def first_images(document, n_images):
    """Return a document of the first images only."""
    images = document["images"][:n_images]
    ids = {image["id"] for image in images}
    kept = [each for each in document["annotations"] if each["image_id"] in ids]
    return {**document, "images": images, "annotations": kept}
