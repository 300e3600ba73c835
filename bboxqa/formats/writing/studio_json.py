"""Writing Label Studio JSON, with one task per image."""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from bboxqa.formats.label_studio.brush import brush_numbers
from bboxqa.formats.label_studio.studio_notes import GROUND_TRUTH
from bboxqa.formats.label_studio.tasks import REVIEW
from bboxqa.formats.writing.content import Content, image_name, shown_id
from bboxqa.formats.writing.key_points import KEY_POINT, Joint, has_joints, joints_of
from bboxqa.formats.writing.outlines import Record, ellipse_of, rings_of
from bboxqa.formats.writing.studio_losses import (
    BEGUN,
    LINES,
    TIMES,
    TITLE,
    address,
    studio_losses,
    written_person,
)
from bboxqa.formats.writing.writer import Options, Writer, Written
from bboxqa.model.shapes.rotated_boxes import corners

_CONTROLS = {
    "rectangle": "label",
    "polygon": "polygon",
    "ellipse": "ellipse",
    "brush": "brush",
    "keypoint": "keypoint",
    "vector": "vector",
}
# The displayed size of a point, in percent.
_DOT = 0.5


def _files(content: Content, options: Options) -> Iterator[Written]:
    encode = msgspec.json.Encoder().encode
    tasks = (encode(_task(content, place, options)) for place in range(len(content.images)))
    yield Written((), b"[" + b",\n".join(tasks) + b"]\n")


def _task(content: Content, place: int, options: Options) -> Record:
    image = content.images[place]
    data: Record = {"image": address(image_name(image))}
    data |= {key: image[key] for key in ("width", "height") if key in image}
    data |= _gain(image)
    if options.as_predictions and "gain" in data:
        data |= REVIEW
    task: Record = {"id": image["id"], "data": data, "annotations": []}
    works = content.works(place)
    if options.as_predictions:
        task["predictions"] = [_prediction(content, place, *work) for work in works]
    else:
        task["annotations"] = [_work(content, place, *work) for work in works]
    return task


def _work(content: Content, place: int, name: str, drawn: Sequence[Record]) -> Record:
    work: Record = {"was_cancelled": False, "ground_truth": name == GROUND_TRUTH}
    if name and name != GROUND_TRUTH:
        work["completed_by"] = written_person(name)
    for key in TIMES:
        if drawn and key in drawn[0]:
            work[key] = drawn[0][key]
    return work | {"result": _regions(content, place, name, drawn)}


def _prediction(content: Content, place: int, name: str, drawn: Sequence[Record]) -> Record:
    scores = [each["score"] for each in drawn if isinstance(each.get("score"), int | float)]
    found: Record = {"model_version": name or "predictions"}
    if scores:
        found["score"] = sum(scores) / len(scores)
    elif "gain" in content.images[place]:
        found["score"] = content.images[place]["gain"]
    return found | {"result": _regions(content, place, name, drawn)}


def _gain(image: Record) -> dict[str, float]:
    """Return the gain in agreement by reviewing an image, from review.json, by the given key."""
    gain = image.get("gain")
    return {"gain": gain} if isinstance(gain, int | float) else {}


def _regions(content: Content, place: int, name: str, drawn: Sequence[Record]) -> list[Record]:
    """Return the regions of annotations, each followed by its joints, and of lines."""
    image = content.images[place]
    found = [_line(image, each) for each in content.lines(place, name, LINES)]
    for each in drawn:
        region = _region(content, image, each)
        found.append(region)
        if region["type"] != "keypointlabels" and has_joints(each):
            found += _joints(content, image, each)
    return found


def _joints(content: Content, image: Record, annotation: Record) -> Iterator[Record]:
    """Yield the labelled key points of an annotation as children of its region."""
    own = shown_id(annotation)
    for place, joint in enumerate(joints_of(content, annotation)):
        if joint.visibility:
            yield {
                "id": f"{own}-{place + 1}",
                "parentID": own,
                "type": "keypointlabels",
                "from_name": _CONTROLS["keypoint"],
                **_of_image(image),
                "value": {**_point(joint, image), "keypointlabels": [joint.name]},
            }


def _point(joint: Joint, image: Record) -> dict[str, Any]:
    x, y = joint.x * 100 / image["width"], joint.y * 100 / image["height"]
    return {"x": x, "y": y, "width": _DOT}


def _of_image(image: Record) -> Record:
    return {
        "to_name": "image",
        "original_width": int(image["width"]),
        "original_height": int(image["height"]),
        "image_rotation": 0,
    }


def _region(content: Content, image: Record, annotation: Record) -> Record:
    if annotation.get("shape") == KEY_POINT:
        kind, value = "keypoint", _point(joints_of(content, annotation)[0], image)
    else:
        kind, value = _shape(content, image, annotation)
    return _labelled(
        image, annotation, kind, value, content.category_names[annotation["category_id"]]
    )


def _line(image: Record, line: Record) -> Record:
    """Return the region of a line, whose vertices each name the one before."""
    own = shown_id(line)
    across, down = 100 / image["width"], 100 / image["height"]
    pairs = zip(line["points"][::2], line["points"][1::2], strict=True)
    vertices = [
        {
            "id": f"{own}-{number}",
            "x": x * across,
            "y": y * down,
            "prevPointId": f"{own}-{number - 1}" if number > 1 else None,
            "isBezier": False,
        }
        for number, (x, y) in enumerate(pairs, start=1)
    ]
    return _labelled(image, line, "vector", {"vertices": vertices, "closed": False}, line["label"])


def _labelled(image: Record, annotation: Record, kind: str, value: Record, name: str) -> Record:
    region: Record = {
        "id": shown_id(annotation),
        "type": f"{kind}labels",
        "from_name": _CONTROLS[kind],
        **_of_image(image),
        "value": {**value, f"{kind}labels": [name]},
    }
    if isinstance(annotation.get("score"), int | float):
        region["score"] = annotation["score"]
    if annotation.get("source") == BEGUN:
        region["origin"] = BEGUN
    if "reason" in annotation:
        region["meta"] = {"text": [str(annotation["reason"])]}
    return region


def _shape(content: Content, image: Record, annotation: Record) -> tuple[str, dict[str, Any]]:
    """Return the type of a region, and its geometry in percent of the image."""
    kind = content.kind_of(annotation)
    across, down = 100 / image["width"], 100 / image["height"]
    if kind == "polygon" and (found := ellipse_of(annotation)) is not None:
        centre = {"x": found.x * across, "y": found.y * down}
        radii = {"radiusX": found.radius_x * across, "radiusY": found.radius_y * down}
        return "ellipse", {**centre, **radii, "rotation": found.degrees}
    if kind == "polygon":
        points = rings_of(annotation)[0] * [across, down]
        return "polygon", {"points": points.tolist(), "closed": True}
    if kind == "mask":
        runs = content.masks.runs_in_image(annotation)
        return "brush", {"format": "rle", "rle": brush_numbers(runs)}
    turned = content.rotated(annotation)
    x, y, wide, high = annotation["bbox"]
    degrees: float = 0
    if turned is not None:
        # Label Studio rotates a box about its first corner.
        x, y = corners(turned[None])[0, 0].tolist()
        wide, high, degrees = turned[2:].tolist()
    box = {"x": x * across, "y": y * down, "width": wide * across, "height": high * down}
    return "rectangle", {**box, "rotation": degrees}


STUDIO_JSON = Writer(
    TITLE,
    "file",
    (".json",),
    _files,
    frozenset({
        "polygon", "mask", "rotation", "keypoints", "keypoint box", "score", "source", "reason",
        "gain", "unasked images", "image ids", "annotation ids", "image sizes", *LINES, *TIMES,
    }),
    losses=studio_losses,
    needs_sizes="drawn images",
)  # fmt: skip
"""Tasks with annotations, or with predictions."""
