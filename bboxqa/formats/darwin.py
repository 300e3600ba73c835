"""Reading the files of V7 Darwin JSON 2.0, one for each image."""

from pathlib import Path

import numpy as np

from bboxqa.core.text import one_line
from bboxqa.formats.document import Record, Where
from bboxqa.formats.heads import begins
from bboxqa.formats.member import Member
from bboxqa.formats.source import members_of, members_with
from bboxqa.formats.translation import shapes
from bboxqa.formats.translation.collector import SIDES, Collector
from bboxqa.formats.translation.masks import RowMask, checked_size
from bboxqa.formats.translation.reading import json_objects
from bboxqa.formats.translation.shapes import MaskProblemError, items, mapping, plain_text
from bboxqa.model.masks import MAX_MASK_PIXELS, joined

_LAYER = "raster_layer"
_NOTES = (
    ("other", "file", "of videos or documents left out"),
    ("elsewhere", "annotation", "left out: not in an image of the item"),
    ("several", "annotation", "by several people, here by the first"),
    ("holes", "polygon", "with holes: the outer outlines are compared"),
    ("left out", "JSON file", "left out: not of Darwin"),
)
# Names of shapes that are kept but not compared; the first that an annotation has counts.
_APART = {
    "keypoint": "key point", "line": "polyline", "skeleton": "skeleton", "tag": "image tag",
    "cuboid": "cuboid", "eye": "eye", "string": "string", "table": "table", "graph": "graph",
    "link": "link", "simple_table": "table",
}  # fmt: skip
_LEAST_OF_SPAN = 4
"""Characters that a number and a run length take at least, with their commas."""


def translate(path: Path, into: Collector) -> None:
    """Translate Darwin files."""
    into.title = "Darwin JSON"
    into.advice = "Shapes in images are compared, not those in videos: export Darwin JSON 2.0."
    into.named_by = "annotators of Darwin"
    named = [*members_with(members_of(path), ".json")]
    files = [each for each in named if not each.name or begins("Darwin", each.head())]
    for member, content in json_objects(files, into):
        _add_file(into, member, content)
    into.ask_only()
    into.tally["left out"] += len(named) - len(files)
    into.count(_NOTES)


def _add_file(into: Collector, member: Member, content: Record) -> None:
    """Add the annotations of an item, which has one image per slot."""
    item = mapping(content.get("item"))
    listed = [mapping(each) for each in items(item.get("slots"))]
    images: dict[str, Record] = {}
    where, name = Where(member.name, ""), plain_text(item.get("name"))
    for slot in listed:
        if plain_text(slot.get("type")) in {"", "image"}:
            own = plain_text(slot.get("slot_name"))
            shown = own if len(listed) > 1 else ""
            image = images[own] = into.image((member.name, shown), where)
            into.size(image, name, [slot.get(side) for side in SIDES], where)
            # Without its folder, an image would be joined with images of the same name.
            folder = plain_text(item.get("path")).strip("/")
            parts = [folder, name or member.name or "(no name)", shown]
            image["file_name"] = "/".join(filter(None, parts))
    into.tally["other"] += not images
    if not images:
        return
    annotations = [mapping(each) for each in items(content.get("annotations"))]
    rasters: dict[str, RowMask] = {}
    problem = "is in no raster_layer of the file"
    try:
        for each in (e for e in annotations if _LAYER in e):
            rasters |= _masks_of(mapping(each[_LAYER]), _image_of(each, images) or {})
    except MaskProblemError as error:
        problem = str(error)
    for place, given in enumerate(annotations):
        found = _image_of(given, images)
        # The other slots hold videos and the like, or are not listed.
        into.tally["elsewhere"] += found is None
        if found is None or _LAYER in given:
            continue
        own, at = plain_text(given.get("id")), Where(member.name, f"/annotations/{place}")
        label = f"{one_line(name)}, annotation {place + 1}"
        # Only one annotation has a mask, as each takes memory.
        raster = rasters.pop(own, problem)
        with into.refusing(label, at):
            if "mask" not in given:
                shape = _shape_of(into, given)
            elif isinstance(raster, str):
                raise MaskProblemError(raster)
            else:
                shape = into.masks.record(raster, (found["width"], found["height"]))
            record = {**into.boxed(shape), "image_id": found["id"], "own_id": own or at.at}
            people = [mapping(each) for each in items(given.get("annotators"))]
            first = people[0] if people else {}
            into.sign(record, plain_text(first.get("email")) or plain_text(first.get("full_name")))
            into.tally["several"] += len(people) > 1 and "bbox" in record
            into.labelled(record, plain_text(given.get("name")), at, f"{label}: has no name")


def _shape_of(into: Collector, annotation: Record) -> Record:
    if "polygon" in annotation:
        polygon = mapping(annotation["polygon"])
        if not (paths := items(polygon.get("paths"))):
            raise shapes.ValueProblemError("polygon.paths are missing; expected lists of points")
        rings = [shapes.points_of(path, "polygon.paths") for path in paths]
        outer = shapes.outer_rings(rings)
        into.tally["holes"] += len(outer) < len(rings)
        record: Record = {"bbox": shapes.bounds(np.concatenate(rings))}
        return {**record, "segmentation": [shapes.ring(each) for each in outer]}
    if "bounding_box" in annotation:
        box = {"bbox": shapes.numbers_of(annotation["bounding_box"], ("x", "y", "w", "h"))}
        return {**box, **_key_points(annotation)}
    if "ellipse" in annotation:
        ellipse = mapping(annotation["ellipse"])
        x, y = shapes.numbers_of(ellipse.get("center"), ("x", "y"))
        wide, high = shapes.numbers_of(ellipse.get("radius"), ("x", "y"))
        degrees = shapes.degrees_of(ellipse.get("angle"), "angle", in_radians=True)
        return shapes.outlined(shapes.ellipse((x, y), (wide, high), degrees))
    for key, name in _APART.items():
        if key in annotation:
            record = {"shape": name, **_key_points(annotation)}
            if key == "line":
                path = mapping(annotation["line"]).get("path")
                record["points"] = shapes.ring(shapes.points_of(path, "line.path"))
            return record
    raise shapes.ValueProblemError(f"has no shape among {', '.join(sorted(annotation))[:80]}")


def _image_of(annotation: Record, images: dict[str, Record]) -> Record | None:
    """Return the image of an annotation; the first if the annotation names no slot."""
    slot = plain_text(next(iter(items(annotation.get("slot_names"))), ""))
    return images.get(slot) or (None if slot else next(iter(images.values())))


def _key_points(annotation: Record) -> Record:
    if "keypoint" in annotation:
        return {"keypoints": [*shapes.numbers_of(annotation["keypoint"], ("x", "y")), 2]}
    keypoints: list[float] = []
    joints = []
    for node in map(mapping, items(mapping(annotation.get("skeleton")).get("nodes"))):
        visibility = 1 if node.get("occluded") is True else 2
        keypoints += [*shapes.numbers_of(node, ("x", "y")), visibility]
        joints.append(plain_text(node.get("name")))
    return {"keypoints": keypoints, "joints": joints} if joints else {}


def _masks_of(layer: Record, image: Record) -> dict[str, RowMask]:
    """Return the masks of a raster layer, whose pixels hold their numbers, by id."""
    if "width" not in image:
        raise MaskProblemError("is in an image whose size the file does not say")
    width, height = size = checked_size((image["width"], image["height"]))
    given = mapping(layer.get("mask_annotation_ids_mapping"))
    numbers = {own_id: number for own_id, number in given.items() if type(number) is int}
    if len({*numbers.values()}) < len(numbers):
        raise MaskProblemError("is in a raster_layer that gives several annotations one number")
    # Alternating numbers and run lengths, row by row.
    flat = items(layer.get("dense_rle"))
    if len(flat) % 2 or not all(type(each) is int and 0 <= each < MAX_MASK_PIXELS for each in flat):
        raise MaskProblemError("has a dense_rle that is not a list of values and run lengths")
    values, runs = np.array(flat[::2], np.int64), np.array(flat[1::2], np.int64)
    if runs.sum() != width * height:
        found = f"has run lengths of {runs.sum():,} pixels"
        raise MaskProblemError(f"{found}; its image has {width} × {height}")
    stops = np.cumsum(runs)
    order = np.flatnonzero(runs > 0)
    order = order[np.argsort(values[order], kind="stable")]
    spans, values = np.stack([stops - runs, stops], 1)[order], values[order]
    firsts = np.flatnonzero(np.diff(values, prepend=-1))
    parts = dict(zip(values[firsts].tolist(), np.split(spans, firsts[1:]), strict=True))
    masks = {}
    for own_id, number in numbers.items():
        part = joined(parts[number]) if number in parts else np.zeros((0, 2), np.int64)
        masks[own_id] = RowMask(part, *size, n_characters=_LEAST_OF_SPAN * len(part))
    return masks
