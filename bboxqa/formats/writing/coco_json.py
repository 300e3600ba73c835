"""Writing COCO JSON with annotators."""

from collections import Counter
from collections.abc import Iterator

import msgspec

from bboxqa.formats.writing.content import Content, Record
from bboxqa.formats.writing.losses import Loss, Noun
from bboxqa.formats.writing.shapes.outlines import area_of
from bboxqa.formats.writing.writer import Options, Writer, Written


def _losses(content: Content, _options: Options) -> Iterator[Loss]:
    apart = Counter(each["shape"] for each in content.apart)
    for shape, n in apart.most_common():
        yield Loss(
            n, Noun(shape, f"{shape}s"), "COCO only has boxes, polygons, masks and key points"
        )


def _files(content: Content, _options: Options) -> Iterator[Written]:
    annotations = [_annotation(each) for each in content.annotations]
    document = {
        **content.top,
        "images": content.images,
        "categories": [
            {**each, "name": content.own_names.get(each["id"], each["name"])}
            for each in content.categories
        ],
        "annotations": annotations,
    }
    yield Written((), msgspec.json.encode(document))


def _annotation(annotation: Record) -> Record:
    """Return an annotation as in COCO; collinear points have neither box nor area."""
    whole = {"iscrowd": 0, "area": area_of(annotation), **annotation}
    if whole.pop("shape", "") and not whole["area"]:
        del whole["area"], whole["bbox"]
    points = whole.get("keypoints")
    if points and "num_keypoints" not in whole:
        whole["num_keypoints"] = sum(seen > 0 for seen in points[2::3])
    return whole


_HELD = ("descriptions", "unused categories", "images", "annotations", "categories")
COCO_JSON = Writer(
    "COCO", "file", (".json",), _losses, _files, has_keypoints=True, adds_boxes=True, holds=_HELD
)
"""All data, with `annotator` on annotations and `annotators` on images."""
