"""Writing Label Studio JSON, with one task per image, and what it cannot hold."""

import re
from collections.abc import Iterator
from urllib.parse import quote

import msgspec
import numpy as np

from bboxqa.formats.label_studio.reader import GROUND_TRUTH, REVIEW, person
from bboxqa.formats.label_studio.tasks import brush_numbers, image_names, images_of
from bboxqa.formats.writing.content import (
    Content,
    Loss,
    Options,
    Writer,
    Written,
    image_name,
    is_point,
    shown_id,
)
from bboxqa.formats.writing.losses import losses_of, name_losses
from bboxqa.formats.writing.outlines import Record, rings_of
from bboxqa.model.rotated_boxes import corners

_TITLE = "Label Studio"
# Keys of the work of an annotator on a task.
_TIMES = ("created_at", "updated_at", "lead_time")
# The source of annotations that a machine began.
_BEGUN = "prediction"
_LINES = ("polyline", "line")
# Characters of a URL that need an escape.
_ESCAPED = re.compile(r"[^\w/.~+,@()-]")
# The displayed size of a point, in percent.
_DOT = 0.5


def _files(content: Content, options: Options) -> Iterator[Written]:
    tasks = []
    for place, image in enumerate(content.images):
        data: Record = {"image": _address(image_name(image))}
        data |= {key: image[key] for key in ("width", "height") if key in image}
        if isinstance(image.get("gain"), int | float):
            # The gain in agreement by reviewing the image, from review.json.
            data["gain"] = image["gain"]
        if options.as_predictions and "gain" in data:
            data |= REVIEW
        task: Record = {"id": image["id"], "data": data, "annotations": []}
        listed = task.setdefault("predictions" if options.as_predictions else "annotations", [])
        for name, drawn in content.works(place):
            work: Record = {"was_cancelled": False, "ground_truth": name == GROUND_TRUTH}
            if options.as_predictions:
                scores = [e["score"] for e in drawn if isinstance(e.get("score"), int | float)]
                scores = scores or [data[key] for key in ("gain",) if key in data]
                work = {"model_version": name or "predictions"}
                work |= {"score": sum(scores) / len(scores)} if scores else {}
            else:
                if name and name != GROUND_TRUTH:
                    work["completed_by"] = _written_person(name)
                work |= {key: drawn[0][key] for key in _TIMES if drawn and key in drawn[0]}
            lines = [_vector(image, line) for line in content.lines(place, name, _LINES)]
            regions = (region for each in drawn for region in _regions(content, image, each))
            listed.append(work | {"result": [*lines, *regions]})
        tasks.append(msgspec.json.encode(task))
    yield Written((), b"[" + b",\n".join(tasks) + b"]\n")


def _vector(image: Record, line: Record) -> Record:
    """Return the region of a line, each vertex of which names the one before."""
    own, sides = shown_id(line), (image["width"], image["height"])
    points = np.reshape(line["points"], (-1, 2)) * (100 / np.array(sides))
    vertices = [
        {"id": f"{own}-{n}", "x": x, "y": y, "prevPointId": f"{own}-{n - 1}" if n > 1 else None}
        for n, (x, y) in enumerate(points.tolist(), start=1)
    ]
    value = {"vertices": [{**each, "isBezier": False} for each in vertices], "closed": False}
    return {"id": own, **_labelled(image, "vector", value, line["label"])}


def _regions(content: Content, image: Record, annotation: Record) -> Iterator[Record]:
    """Yield the region of an annotation, followed by its joints."""
    joints = content.joints_of(annotation)
    width, height = image["width"], image["height"]
    dots = [{"x": e.x * 100 / width, "y": e.y * 100 / height, "width": _DOT} for e in joints]
    is_alone, own = is_point(annotation), shown_id(annotation)
    kind, value = ("keypoint", dots[0]) if is_alone else _shape(content, image, annotation)
    label = content.category_names[annotation["category_id"]]
    region = {"id": own, **_labelled(image, kind, value, label)}
    if isinstance(annotation.get("score"), int | float):
        region["score"] = annotation["score"]
    if annotation.get("source") == _BEGUN:
        region["origin"] = _BEGUN
    if "reason" in annotation:
        region["meta"] = {"text": [str(annotation["reason"])]}
    yield region
    for number, (joint, dot) in enumerate(zip(joints, dots, strict=True), start=1):
        if not is_alone and joint.visibility:
            inside = {"id": f"{own}-{number}", "parentID": own}
            yield inside | _labelled(image, "keypoint", dot, joint.name)


def _labelled(image: Record, kind: str, value: Record, name: str) -> Record:
    return {
        "type": f"{kind}labels",
        "from_name": "label" if kind == "rectangle" else kind,
        "to_name": "image",
        "original_width": int(image["width"]),
        "original_height": int(image["height"]),
        "image_rotation": 0,
        "value": {**value, f"{kind}labels": [name]},
    }


def _shape(content: Content, image: Record, annotation: Record) -> tuple[str, Record]:
    """Return the type of a region, and its geometry in percent of the image."""
    kind = content.kind_of(annotation)
    across, down = 100 / image["width"], 100 / image["height"]
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


def _losses(content: Content, options: Options) -> Iterator[Loss]:
    lost = []
    for drawn in (drawn for of in content.by_image.values() for drawn in of.values()):
        kept = {} if options.as_predictions else drawn[0]
        lost += [e for e in drawn if any(e.get(key) != kept.get(key) for key in _TIMES)]
    why = f"{_TITLE} holds one time for all annotations of an annotator in an image"
    why = f"{_TITLE} has no times of predictions" if options.as_predictions else why
    yield from losses_of(lost, "differing time", why)
    names = [image_name(each) for each in content.images]
    read = image_names(map(_address, names))
    yield from name_losses("image", names, lambda name: read[_address(name)])
    ids = [str(each["id"]) for each in content.images if not 0 < each["id"] < 1 << 53]
    if ids:
        why = f"{_TITLE} numbers tasks from 1"
        yield Loss(len(ids), "id of an image", why, ids[0], "changed")

    def read_person(name: str) -> str:
        if options.as_predictions:
            return f"model {name}" if name.isdecimal() else name.strip()
        return name if name == GROUND_TRUTH else person(_written_person(name))

    yield from name_losses("annotator", content.annotators, read_person)


def _written_person(name: str) -> object:
    """Return an annotator as Label Studio writes people: by number, or by e-mail."""
    return int(name) if name.isdecimal() and str(int(name)) == name else {"email": name}


def _address(name: str) -> str:
    """Return the name of an image as a part of a URL."""
    plain = _ESCAPED.sub(lambda found: quote(found[0]), name)
    return plain if images_of({"image": plain}) else quote(name)


STUDIO_JSON = Writer(
    _TITLE,
    "file",
    (".json",),
    _files,
    frozenset({
        "polygon", "mask", "rotation", "keypoints", "keypoint box", "score", "source", "reason",
        "gain", "unasked images", "image ids", "annotation ids", "image sizes", *_LINES, *_TIMES,
    }),
    keeps=lambda key, value: key != "source" or value == _BEGUN,
    reads={"category": str.strip},
    losses=_losses,
    needs_sizes="drawn images",
)  # fmt: skip
"""Tasks with annotations, or with predictions."""
