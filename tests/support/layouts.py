"""Files whose boxes are written in another layout than COCO's."""

import json

import numpy as np

SIZES = ((640, 480), (480, 640), (800, 600), (1920, 1080), (1280, 720))


def shares(whole):
    """Return what writes a box as shares of its image, of which the whole is a number."""
    return lambda x, y, w, h, across, down: (
        x / across * whole, y / down * whole, w / across * whole, h / down * whole,
    )  # fmt: skip


# Layout in words, code, and how it writes a box of an image.
WRITTEN = {
    "x1, y1, x2, y2": ("B005", lambda x, y, w, h, *_: (x, y, x + w, y + h)),
    "y1, x1, y2, x2": ("B005", lambda x, y, w, h, *_: (y, x, y + h, x + w)),
    "y, x, height, width": ("B005", lambda x, y, w, h, *_: (y, x, h, w)),
    "centre-x, centre-y, width, height": (
        "B006", lambda x, y, w, h, *_: (x + w / 2, y + h / 2, w, h)
    ),
    "parts of the image (0 to 1)": ("B007", shares(1)),
    "percent of the image (0 to 100)": ("B007", shares(100)),
    "thousandths of the image (0 to 1000)": ("B007", shares(1e3)),
    "y1, x1, y2, x2 in thousandths of the image (0 to 1000)": (
        "B007", lambda x, y, w, h, *size: shares(1e3)(y, x, y + h, x + w, *size[::-1])
    ),
}  # fmt: skip


def document(write, *, outlines=True, areas=True, part=slice(None), seed=1, least=1, side=0.05):
    """Return 60 images with boxes that `write` changes in part of them, and the true boxes.

    An image has `least` boxes or more, which fill the share `side` of it or more in each direction.
    """
    rng = np.random.default_rng(seed)
    changed = set(range(60)[part])
    images, annotations, truth = [], [], []
    for number in range(60):
        width, height = SIZES[rng.integers(len(SIZES))]
        images.append(
            {"id": number + 1, "file_name": f"{number:03}.jpg", "width": width, "height": height}
        )
        for _ in range(rng.integers(least, 7)):
            w, h = rng.uniform(side, 0.4, 2) * (width, height)
            x, y = rng.uniform(0, 1, 2) * (width - w, height - h)
            box = [x, y, w, h] = [round(float(value), 2) for value in (x, y, w, h)]
            truth.append(box)
            if number in changed:
                box = [round(float(value), 4) for value in write(x, y, w, h, width, height)]
            annotation = {
                "id": len(annotations) + 1, "image_id": number + 1, "bbox": box, "iscrowd": 0,
                "category_id": int(rng.integers(1, 3)),
                "area": round(w * h if areas else box[2] * box[3], 4),
            }  # fmt: skip
            if outlines:
                annotation["segmentation"] = [[x, y, x + w, y, x + w, y + h, x, y + h]]
            annotations.append(annotation)
    categories = [{"id": 1, "name": "cat"}, {"id": 2, "name": "dog"}]
    info = {"description": "boxes", "year": 2026}
    content = {
        "info": info, "licenses": [], "images": images, "annotations": annotations,
        "categories": categories,
    }  # fmt: skip
    return json.dumps(content), truth


def by_annotators(write, *, outlines, normal=("ann", "cid")):
    """Return a file whose images three people annotate; `write` changes the boxes of the others."""

    def plainly(*box):
        return box[:4]

    files = []
    for name in ("ann", "bob", "cid"):
        written = plainly if name in normal else write
        files.append(json.loads(document(written, outlines=outlines, areas=outlines)[0]))
        for annotation in files[-1]["annotations"]:
            annotation["annotator"] = name
    annotations = [annotation for file in files for annotation in file["annotations"]]
    for number, annotation in enumerate(annotations, 1):
        annotation["id"] = number
    return files[0] | {"annotations": annotations}
