"""The annotations of objects to review, as a COCO document."""

from typing import Any

import numpy as np

from bboxqa.core.arrays import IndexArray
from bboxqa.model.annotations import Dataset


def review_document(
    data: Dataset, annotations: IndexArray, reasons: tuple[str, ...]
) -> dict[str, Any]:
    """Return a COCO document of some annotations and their images, each with why it is reviewed.

    Boxes only, without outlines. Images and categories are numbered anew; annotations keep their
    ids where these are unique.
    """
    of = data.annotations.take(annotations)
    images = np.unique(of.image)
    ids = of.id if len(np.unique(of.id)) == len(of) else np.arange(1, len(of) + 1)
    columns = zip(
        ids.tolist(),
        (np.searchsorted(images, of.image) + 1).tolist(),
        (of.category + 1).tolist(),
        of.bbox.tolist(),
        of.annotator.tolist(),
        reasons,
        strict=True,
    )
    return {
        "images": [_image(data, place, number) for number, place in enumerate(images.tolist(), 1)],
        "categories": [
            {"id": number, "name": name} for number, name in enumerate(data.category_names, 1)
        ],
        "annotations": [
            {
                "id": id_,
                "image_id": image,
                "category_id": category,
                "bbox": box,
                "area": box[2] * box[3],
                "iscrowd": 0,
                "annotator": data.annotator_names[annotator],
                "reason": reason,
            }
            for id_, image, category, box, annotator, reason in columns
        ],
    }


def _image(data: Dataset, place: int, number: int) -> dict[str, Any]:
    """Return the record of an image, with its size where it is known, and who was asked."""
    width, height = data.image_size[place].tolist()
    size = {"width": width, "height": height} if width > 0 and height > 0 else {}
    asked = np.flatnonzero(data.assigned[place]).tolist()
    return {
        "id": number,
        "file_name": data.image_names[place],
        **size,
        "annotators": [data.annotator_names[each] for each in asked],
    }
