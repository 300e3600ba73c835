"""Writing COCO JSON with annotators."""

from collections.abc import Iterator

from bboxqa.core.json_values import json_bytes
from bboxqa.formats.writing.content import Content, Writer, Written
from bboxqa.formats.writing.outlines import area_of


def _files(content: Content) -> Iterator[Written]:
    annotations = []
    for each in content.annotations:
        whole = {"iscrowd": 0, "area": area_of(each), **each}
        # Collinear points have neither box nor area.
        if whole.pop("shape", "") and not whole["area"]:
            del whole["area"], whole["bbox"]
        points = whole.get("keypoints")
        if points and "num_keypoints" not in whole:
            whole["num_keypoints"] = sum(seen > 0 for seen in points[2::3])
        annotations.append(whole)
    document = {
        **content.top,
        "images": content.images,
        "categories": [
            {**each, "name": content.own_names.get(each["id"], each["name"])}
            for each in content.categories
        ],
        "annotations": annotations,
    }
    yield Written((), json_bytes(document))


COCO_JSON = Writer(
    "COCO",
    "file",
    (".json",),
    _files,
    frozenset({
        "polygon", "holes", "mask", "rotation", "corners", "box and outline", "keypoints",
        "visibility", "area", "keypoint box", "keys", "crowd", "unasked images", "unnamed images",
        "image ids", "annotation ids", "category ids", "image sizes", "unused categories",
        "descriptions",
    }),
)  # fmt: skip
"""All data, with `annotator` on annotations and `annotators` on images."""
