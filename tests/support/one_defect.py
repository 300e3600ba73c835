"""Sound exports into which one defect is put, in all images or in part of them.

`DEFECTS` is data: what is wrong, in which export, and by which code and words it has to be found.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from support.layouts import WRITTEN
from support.masks import decode, encode
from support.originals import run_lengths
from support.record_defects import RECORD_DEFECTS

__all__ = ["DEFECTS", "Defect"]

Document = dict[str, Any]


@dataclass(frozen=True)
class Defect:
    """One defect.

    Attributes
    ----------
    original : str
        The name of a sound export; see `originals.ORIGINALS`.
    change : callable
        Puts the defect into a document, and returns how many records have it; None for unknown.
    code : str
        The rule that has to find it.
    words : str
        What the message has to contain.
    """

    original: str
    change: Callable[[Document], int | None]
    code: str
    words: str


EVERY, FOURTH = 1, 4
PARTS = {"all images": EVERY, "a quarter of the images": FOURTH}


def some(document: Document, step: int) -> list[tuple[Document, Document]]:
    """Return the annotations of every `step`-th image, each with its image."""
    chosen = {image["id"]: image for image in document["images"][::step]}
    return [
        (annotation, chosen[annotation["image_id"]])
        for annotation in document["annotations"]
        if annotation["image_id"] in chosen
    ]


def of_some(change, step=EVERY):
    """Return what applies a change of an annotation and its image to those of some images."""

    def whole(document):
        found = some(document, step)
        for annotation, image in found:
            change(annotation, image)
        return len(found)

    return whole


def of_one(change):
    """Return what applies a change to a single annotation."""

    def whole(document):
        annotation = document["annotations"][len(document["annotations"]) // 2]
        image = next(each for each in document["images"] if each["id"] == annotation["image_id"])
        change(annotation, image)
        return 1

    return whole


def written(write):
    """Return a change of boxes to another layout."""

    def change(annotation, image):
        numbers = write(*annotation["bbox"], image["width"], image["height"])
        annotation["bbox"] = [round(float(number), 4) for number in numbers]

    return change


def written_by_second(write):
    """Return what changes the layout of the boxes of the second annotator."""

    def whole(document):
        who = sorted({annotation["annotator"] for annotation in document["annotations"]})[1]
        pairs = [pair for pair in some(document, EVERY) if pair[0]["annotator"] == who]
        for annotation, image in pairs:
            written(write)(annotation, image)
        return len(pairs)

    return whole


def pixels_of(annotation):
    """Return the pixels of a mask, whether its run lengths are compressed or not."""
    mask = annotation["segmentation"]
    if isinstance(mask["counts"], str):
        return decode({**mask, "counts": mask["counts"].encode()})
    values = np.repeat(np.arange(len(mask["counts"])) % 2 == 1, mask["counts"])
    return values.reshape(mask["size"][::-1]).T


def by_rows(annotation, _image):
    """Write the run lengths of a mask row by row."""
    pixels, mask = pixels_of(annotation), annotation["segmentation"]
    if isinstance(mask["counts"], str):
        height, width = pixels.shape
        folded = pixels.ravel().reshape(width, height).T
        mask["counts"] = encode(folded)["counts"].decode()
    else:
        mask["counts"] = run_lengths(pixels.ravel())


def empty_mask(annotation, _image):
    """Remove all pixels of a mask."""
    mask = annotation["segmentation"]
    none = np.zeros(mask["size"], np.bool_)
    is_text = isinstance(mask["counts"], str)
    mask["counts"] = encode(none)["counts"].decode() if is_text else [none.size]


def transposed_size(annotation, _image):
    annotation["segmentation"]["size"].reverse()


def cut_off(annotation, _image):
    counts = annotation["segmentation"]["counts"]
    annotation["segmentation"]["counts"] = counts[: len(counts) // 2]


def shifted(annotation, image):
    """Move a box by a quarter of its image, so that it stays inside."""
    x, *rest = annotation["bbox"]
    quarter = image["width"] // 4
    annotation["bbox"] = [x + quarter if x < image["width"] / 2 else x - quarter, *rest]


def swapped_sizes(step):
    """Return what swaps width and height of images; their boxes show it where they leave them."""

    def whole(document):
        for image in document["images"][::step]:
            image["width"], image["height"] = image["height"], image["width"]
        return len({image["id"] for pair in some(document, step) for image in leaving(*pair)})

    return whole


def leaving(annotation, image):
    """Return the image of a box that extends beyond it by more than drawing explains."""
    x, y, w, h = annotation["bbox"]
    beyond = x + w > 1.02 * image["width"] + 2 or y + h > 1.02 * image["height"] + 2
    return [image] if beyond else []


def _layouts():
    """Yield a defect for each layout of boxes, with and without outlines."""
    for layout, (code, write) in WRITTEN.items():
        for part, step in PARTS.items():
            where = "" if step == EVERY else " in 12 of 48 images"
            yield (
                f"boxes beside polygons are {layout}, {part}",
                Defect(
                    "polygons", of_some(written(write), step), code,
                    f"boxes{where} look like {layout}: ",
                ),
            )  # fmt: skip
        if layout in _SHOWN_BY_AREAS:
            yield (
                f"boxes without outlines are {layout}, a quarter of the images",
                Defect(
                    "boxes", of_some(written(write), FOURTH), code,
                    f"boxes in 12 of 48 images look like {layout}",
                ),
            )  # fmt: skip
    for layout in ("x1, y1, x2, y2", "centre-x, centre-y, width, height", "y1, x1, y2, x2"):
        code, write = WRITTEN[layout]
        yield (
            f"boxes of one annotator are {layout}",
            Defect(
                "three annotators", written_by_second(write), code,
                f'boxes by annotator "bob" look like {layout}: ',
            ),
        )  # fmt: skip


_SHOWN_BY_AREAS = (
    "x1, y1, x2, y2",
    "y1, x1, y2, x2",
    "parts of the image (0 to 1)",
    "percent of the image (0 to 100)",
)


def _masks():
    """Yield defects of masks."""
    for original in ("compressed masks", "plain masks"):
        for part, step in PARTS.items():
            yield (
                f"sizes of {original} are transposed, {part}",
                Defect(original, of_some(transposed_size, step), "R001", "size"),
            )
            yield (
                f"boxes beside {original} are moved, {part}",
                Defect(original, of_some(shifted, step), "P007", "edge of bbox is at"),
            )
            yield (
                f"run lengths of {original} go along the rows, {part}",
                Defect(original, of_some(by_rows, step), "R007", "go row by row"),
            )
            yield (
                f"{original} have no pixels, {part}",
                Defect(original, of_some(empty_mask, step), "R008", "mask has no pixels"),
            )
        yield (
            f"one of {original} is cut off",
            Defect(original, of_one(cut_off), "R002", "run lengths add up to"),
        )
        yield (
            f"one of {original} has no pixels",
            Defect(original, of_one(empty_mask), "R008", "mask has no pixels, but its bbox is"),
        )
        yield (
            f"the box of one of {original} is moved",
            Defect(original, of_one(shifted), "P007", "edge of bbox"),
        )
    for part, step in PARTS.items():
        yield (
            f"width and height of images are swapped, {part}",
            Defect("boxes", swapped_sizes(step), "B012", "width and height look swapped"),
        )


DEFECTS = dict([*_layouts(), *_masks()])
DEFECTS |= {name: Defect(*parts) for name, parts in RECORD_DEFECTS.items()}
"""Words for a defect to the defect."""
