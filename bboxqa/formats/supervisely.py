"""Reading the files of a Supervisely project, one for each image."""

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec
import numpy as np
from msgspec.structs import replace

from bboxqa.core.text import one_line
from bboxqa.formats.document import Record, Where
from bboxqa.formats.heads import begins
from bboxqa.formats.member import Member
from bboxqa.formats.source import members_of, members_with
from bboxqa.formats.translation import shapes
from bboxqa.formats.translation.collector import SIDES, Collector
from bboxqa.formats.translation.masks import Size, picture_mask
from bboxqa.formats.translation.reading import NOT_JSON, json_objects
from bboxqa.formats.translation.shapes import items, mapping, plain_text, points_of

_TIMES = (("createdAt", "created_at"), ("updatedAt", "updated_at"))
_NOTES = (
    ("other", "file", "of videos or point clouds left out"),
    ("holes", "polygon", "with holes: the outer outlines are compared"),
)
# Names of shapes that are kept but not compared.
_APART = {"point": "key point", "line": "polyline", "polyline": "polyline", "graph": "skeleton"}


def translate(path: Path, into: Collector) -> None:
    """Translate a project, a dataset of it, or the annotations of one image."""
    into.title = "Supervisely JSON"
    into.advice = "Export the images of the project: meta.json and ann/*.json."
    into.named_by = "labelerLogin"
    members = members_of(path)
    meta = [e for e in members if PurePosixPath(e.name).name.lower() == "meta.json"]
    named = [each for each in members_with(members, ".json") if each not in meta]
    # Files with annotations of images are in folders named "ann" if there are any.
    inside = [each for each in named if PurePosixPath(each.name).parent.name == "ann"]
    files = inside or [e for e in named if not e.name or begins("Supervisely", e.head())]
    content: Any = None
    with suppress(*NOT_JSON):
        content = next((msgspec.json.decode(each.text()) for each in meta), None)
    records = _Records(path, [*map(mapping, items(mapping(content).get("classes")))], into)
    for member, content in json_objects(files, into):
        records.add_image(member, content)
    # The last part of a path, or the whole path if several share the last part.
    times = Counter(name.rpartition("/")[2] for name in {name for _, name in records.paths})
    for image, name in records.paths:
        last = name.rpartition("/")[2]
        image["file_name"] = last if times[last] == 1 else name.lstrip("/")
    into.ask_only()
    into.count(_NOTES)


class _Records:
    def __init__(self, path: Path, classes: Sequence[dict[str, Any]], into: Collector) -> None:
        self._into, self._path = into, path
        self._classes = {plain_text(e.get("title")): plain_text(e.get("shape")) for e in classes}
        # The names of the nodes of graphs, by the keys used in figures.
        self._joints: dict[str, str] = {}
        for each in classes:
            config = mapping(each.get("geometry_config"))
            nodes = mapping(config.get("nodes")).items()
            names = {key: plain_text(mapping(node).get("label")) or key for key, node in nodes}
            edges = map(mapping, items(config.get("edges")))
            ends = [(plain_text(edge.get("src")), plain_text(edge.get("dst"))) for edge in edges]
            limbs = [(names[src], names[dst]) for src, dst in ends if names.keys() >= {src, dst}]
            into.skeleton(plain_text(each.get("title")), [*names.values()], limbs)
            self._joints |= names
        self.paths: list[tuple[Record, str]] = []

    def add_image(self, member: Member, content: dict[str, Any]) -> None:
        if "figures" in content or "frames" in content:
            self._into.tally["other"] += 1
            return
        where, inner = Where(member.name, ""), PurePosixPath(member.name or self._path.name)
        image = self._into.image(member.name, where)
        size = mapping(content.get("size"))
        self._into.size(image, member.name, [size.get(side) for side in SIDES], where)
        # Images are named with their datasets, which are nested folders.
        last = inner.name.removesuffix(".gz").removesuffix(".json")
        folders = inner.parts[:-1] if member.name else ()
        own = "" if member.name else plain_text(content.get("name")).replace("\\", "/")
        kept = (part for part in folders if part not in {"ann", "datasets"})
        self.paths.append((image, own or "/".join(("", *kept, last))))
        for _ in items(content.get("tags")):
            self._into.annotation({"shape": "image tag"}, Where(member.name, "/tags"))
        for place, figure in enumerate(items(content.get("objects"))):
            at = Where(member.name, f"/objects/{place}")
            label = f"{one_line(inner.name)}, object {place + 1}"
            with self._into.refusing(label, at):
                if not isinstance(figure, dict):
                    raise shapes.ValueProblemError("expected an object of JSON")
                sides = (image["width"], image["height"]) if "width" in image else None
                record = {
                    **self._into.boxed(self._shape_of(figure, sides)),
                    "image_id": image["id"],
                }
                record |= {ours: figure[key] for key, ours in _TIMES if figure.get(key)}
                if figure.get("nnCreated") is True:
                    record["source"] = "prediction"
                record["own_id"] = plain_text(figure.get("id")) or f"{at.member}{at.at}"
                self._into.sign(record, plain_text(figure.get("labelerLogin")))
                name = plain_text(figure.get("classTitle"))
                row = self._into.labelled(record, name, at, f"{label}: has no classTitle")
                if row >= 0 and name and self._classes and name not in self._classes:
                    problem = f"{label}: {one_line(name)!r} is not a class of meta.json"
                    self._into.defect("T050", problem, at, row)

    def _shape_of(self, figure: dict[str, Any], size: Size | None) -> Record:
        # Old exports have it in classes only.
        of_class = self._classes.get(plain_text(figure.get("classTitle")), "any")
        kind = plain_text(figure.get("geometryType")) or plain_text(figure.get("shape")) or of_class
        points = mapping(figure.get("points"))
        if kind in ("rectangle", "oriented_bbox"):
            corners = points_of(points.get("exterior"), "points.exterior", least=2)
            turned = figure.get("angle") if kind == "oriented_bbox" else None
            degrees = shapes.degrees_of(turned, "angle", in_radians=True)
            return shapes.turned_box(shapes.bounds(corners), degrees)
        if kind in ("polygon", "multipolygon"):
            parts = [points] if kind == "polygon" else [*map(mapping, items(figure.get("parts")))]
            if not parts:
                raise shapes.ValueProblemError("has no parts")
            rings = [points_of(part.get("exterior"), "points.exterior") for part in parts]
            self._into.tally["holes"] += any(items(part.get("interior")) for part in parts)
            bounds = shapes.bounds(np.concatenate(rings))
            return {"bbox": bounds, "segmentation": [shapes.ring(each) for each in rings]}
        if kind in ("bitmap", "alpha_mask"):
            bitmap = mapping(figure.get(kind) or figure.get("bitmap"))
            if size is None:
                raise shapes.MaskProblemError("is in an image whose size the file does not say")
            ((left, top),) = points_of([bitmap.get("origin")], "origin").astype(np.int64).tolist()
            crop = picture_mask(bitmap.get("data"), self._into.masks, within=size, packed=True)
            return self._into.masks.record(replace(crop, left=left, top=top), size)
        if kind == "any":
            raise shapes.ValueProblemError("has no geometryType, nor has its class in meta.json")
        record: Record = {"shape": _APART.get(kind, kind.replace("_", " "))}
        if record["shape"] in ("polyline", "key point"):
            line = points_of(points.get("exterior"), "points.exterior")
            is_line = record["shape"] == "polyline"
            return record | (
                {"points": shapes.ring(line)} if is_line else {"keypoints": [*line[0].tolist(), 2]}
            )
        keypoints: list[float] = []
        nodes = mapping(figure.get("nodes")) if kind == "graph" else {}
        for node in map(mapping, nodes.values()):
            x, y = points_of([node.get("loc")], "nodes.loc")[0].tolist()
            keypoints += [x, y, 1 if node.get("disabled") is True else 2]
        joints = [self._joints.get(key, key) for key in nodes]
        return record | ({"keypoints": keypoints, "joints": joints} if joints else {})
