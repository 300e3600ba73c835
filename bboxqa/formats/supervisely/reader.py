"""Reading the files of a Supervisely project, one for each image."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec
import numpy as np

from bboxqa.core.arrays import FloatArray
from bboxqa.core.errors import DatasetError
from bboxqa.core.text import count, one_line
from bboxqa.formats.document import Where
from bboxqa.formats.heads import begins
from bboxqa.formats.label_folders import short_names
from bboxqa.formats.member import Member
from bboxqa.formats.source import members_of, members_with
from bboxqa.formats.translation import shapes
from bboxqa.formats.translation.collector import (
    BY_NOBODY,
    SIDES,
    UNLABELLED,
    UNNAMED,
    Add,
    Collector,
    Record,
    Translated,
    Wanted,
    tally_notes,
)
from bboxqa.formats.translation.json_files import NoObject, decoded_parts, json_objects
from bboxqa.formats.translation.masks import Masks, checked_size, picture_mask
from bboxqa.formats.translation.untrusted import (
    MaskProblemError,
    ValueProblemError,
    items,
    line_of,
    mapping,
    number_of,
    plain_text,
    points_of,
)

_TIMES = (("createdAt", "created_at"), ("updatedAt", "updated_at"))
_NOTES = (
    ("other", "file", "of videos or point clouds left out"),
    ("unnamed", "object", f"without labelerLogin, {BY_NOBODY}"),
    ("holes", "polygon", "with holes: the outer outlines are compared"),
)


def translate(path: Path, add: Add, wanted: Wanted) -> Translated:
    """Translate a project, a dataset of it, or the annotations of one image.

    Raises DatasetError if the project has no annotations of images.
    """
    members = members_of(path)
    files = _annotations_of(members)
    records = _Records(path, members, _people(files), add, wanted)
    for number, (member, content) in enumerate(json_objects(files, records.into), start=1):
        records.add_image(member, content)
        if wanted.progress is not None and number % 100 == 0:
            wanted.progress(number, len(files))
    return records.done()


def _annotations_of(members: Sequence[Member]) -> list[Member]:
    """Return the files with annotations of images, in folders named "ann" if there are any."""
    named = [*members_with(members, ".json")]
    inside = [each for each in named if PurePosixPath(each.name).parent.name == "ann"]
    if not all(map(_is_meta, inside)):
        return [each for each in inside if not _is_meta(each)]
    return [each for each in named if not each.name or begins("Supervisely", each.head())]


class _Object(msgspec.Struct, rename="camel"):
    labeler_login: object = None


class _Objects(msgspec.Struct):
    """The part of a file that says who drew; tags are also by reviewers."""

    objects: list[_Object | NoObject] = []
    figures: object = msgspec.UNSET
    frames: object = msgspec.UNSET

    @property
    def is_of_video(self) -> bool:
        return self.figures is not msgspec.UNSET or self.frames is not msgspec.UNSET


def _people(files: Sequence[Member]) -> set[str]:
    """Return the people who drew in a project, before its objects are read."""
    parts = [each for each in decoded_parts(files, _Objects) if not each.is_of_video]
    objects = (each for part in parts for each in part.objects if isinstance(each, _Object))
    return {plain_text(each.labeler_login) for each in objects} - {""}


class _Records:
    """Converts files to COCO records, and collects images, categories and counts."""

    def __init__(
        self,
        path: Path,
        members: Sequence[Member],
        people: set[str],
        add: Add,
        wanted: Wanted,
    ) -> None:
        self.into = Collector("Supervisely JSON", add)
        self._path = path
        self._people = people
        self._wanted = wanted
        listed = _classes(members)
        self._classes = {
            plain_text(each.get("title")): plain_text(each.get("shape")) for each in listed
        }
        self._joints = _joints(listed)
        for each in listed:
            config = mapping(each.get("geometry_config"))
            names = [self._joints[key] for key in mapping(config.get("nodes"))]
            self.into.skeleton(plain_text(each.get("title")), names, _limbs(config, self._joints))
        self._masks = Masks(outlines=wanted.outlines)
        self._images: list[tuple[Record, str]] = []
        self._tally: Counter[str] = Counter()

    def add_image(self, member: Member, content: dict[str, Any]) -> None:
        """Add the objects of an image."""
        if "figures" in content or "frames" in content:
            self._tally["other"] += 1
            return
        where = Where(member.name, "")
        image = self.into.image(member.name, where)
        size = mapping(content.get("size"))
        sides = [size.get(side) for side in SIDES]
        pixels = self.into.size(image, member.name, sides, where)
        self._images.append((image, self._name(member.name, content)))
        if len(self._people) == 1:
            image["annotators"] = sorted(self._people)
        else:
            # Supervisely does not record who was asked about an image.
            del image["annotators"]
        for _ in items(content.get("tags")):
            self.into.annotation({"shape": "image tag"}, Where(member.name, "/tags"))
        for place, figure in enumerate(items(content.get("objects"))):
            at = Where(member.name, f"/objects/{place}")
            name = one_line(PurePosixPath(member.name).name or self._path.name)
            label = f"{name}, object {place + 1}"
            if isinstance(figure, dict):
                self._add_object(figure, image, pixels, label, at)
            else:
                self.into.defect("T001", f"{label}: expected an object of JSON", at)

    def _name(self, name: str, content: dict[str, Any]) -> str:
        """Return the name of an image with its datasets, which are nested folders."""
        if not name:
            own = _without_suffix(_without_suffix(self._path.name, ".gz"), ".json")
            return plain_text(content.get("name")) or own
        parts = PurePosixPath(_without_suffix(name, ".json")).parts
        return "/".join(part for part in parts[:-1] if part not in {"ann", "datasets"}) + (
            f"/{parts[-1]}"
        )

    def _add_object(
        self,
        figure: dict[str, Any],
        image: Record,
        pixels: tuple[int, int] | None,
        label: str,
        where: Where,
    ) -> None:
        kind = _kind_of(figure, self._classes)
        try:
            shape, n_holes = _shape_of(figure, kind, pixels, self._joints, self._masks)
            shape = self._wanted.boxed(shape)
        except ValueProblemError as error:
            self.into.refuse(label, error, where)
            return
        self._tally["holes"] += n_holes > 0
        record = {**shape, "image_id": image["id"], **self._shared(figure, image, label, where)}
        name = plain_text(figure.get("classTitle"))
        if "bbox" not in shape:
            self.into.annotation({**record, "label": name or UNLABELLED}, where)
            return
        record["category_id"] = self.into.category(name or UNLABELLED, where)
        row = self.into.annotation(record, where)
        if not name:
            self.into.defect("T004", f"{label}: has no classTitle", where, row)
        elif self._classes and name not in self._classes:
            problem = f"{label}: {one_line(name)!r} is not a class of meta.json"
            self.into.defect("T050", problem, where, row)

    def _shared(self, figure: dict[str, Any], image: Record, label: str, where: Where) -> Record:
        """Return the keys of an object's annotator, time and id."""
        shared: Record = {ours: figure[key] for key, ours in _TIMES if figure.get(key)}
        if figure.get("nnCreated") is True:
            shared["source"] = "prediction"
        shared["own_id"] = plain_text(figure.get("id")) or f"{where.member}{where.at}"
        person = plain_text(figure.get("labelerLogin"))
        if not self._people:
            return shared
        if not person:
            person = UNNAMED
            self._tally["unnamed"] += 1
            self.into.defect("T005", f"{label}: has no labelerLogin, as others have", where)
            if "annotators" in image and person not in image["annotators"]:
                image["annotators"] = [*image["annotators"], person]
        return {**shared, "annotator": person}

    def done(self) -> Translated:
        """Return the translation; raises DatasetError if there are no images, nor defects."""
        names = short_names(name for _, name in self._images)
        for image, name in self._images:
            image["file_name"] = names[name]
        found = self.into.done([*tally_notes(self._tally, _NOTES)], "labelerLogin")
        if not found.images and not found.defects:
            other = self._tally["other"]
            held = f"{count(other, 'file')} of videos or point clouds" if other else "no images"
            raise DatasetError(
                [f"{self._path}: is a project of Supervisely with {held}; expected images"],
                "Export the images of a project in Supervisely's format: meta.json and ann/*.json.",
            )
        return found


def _is_meta(member: Member) -> bool:
    return PurePosixPath(member.name).name.lower() == "meta.json"


def _without_suffix(name: str, suffix: str) -> str:
    return name[: -len(suffix)] if name.lower().endswith(suffix) else name


def _classes(members: Sequence[Member]) -> list[dict[str, Any]]:
    """Return the classes that meta.json lists; empty without meta.json."""
    for member in members:
        if not _is_meta(member):
            continue
        try:
            content = mapping(msgspec.json.decode(member.text()))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return []
        return [mapping(each) for each in items(content.get("classes"))]
    return []


def _limbs(config: dict[str, Any], joints: dict[str, str]) -> list[tuple[str, str]]:
    """Return the names of the two nodes of each edge of a class of graphs."""
    edges = map(mapping, items(config.get("edges")))
    keys = [(plain_text(edge.get("src")), plain_text(edge.get("dst"))) for edge in edges]
    return [(joints[src], joints[dst]) for src, dst in keys if joints.keys() >= {src, dst}]


def _joints(classes: Sequence[dict[str, Any]]) -> dict[str, str]:
    """Return the names of graph nodes from the classes, by the keys used in figures."""
    found: dict[str, str] = {}
    for each in classes:
        nodes = mapping(mapping(each.get("geometry_config")).get("nodes"))
        found |= {key: plain_text(mapping(node).get("label")) or key for key, node in nodes.items()}
    return found


# Names of shapes that are kept but not compared.
_APART = {"point": "key point", "line": "polyline", "polyline": "polyline", "graph": "skeleton"}
_MASKS = ("bitmap", "alpha_mask")


def _kind_of(figure: dict[str, Any], classes: dict[str, str]) -> str:
    """Return the kind of a shape, from the shape or else from its class.

    Old exports have it in classes only.
    """
    own = plain_text(figure.get("geometryType")) or plain_text(figure.get("shape"))
    if own:
        return own
    if isinstance(figure.get("bitmap"), dict):
        return "bitmap"
    of_class = classes.get(plain_text(figure.get("classTitle")), "")
    return of_class if of_class != "any" else ""


def _shape_of(
    figure: dict[str, Any],
    kind: str,
    size: tuple[int, int] | None,
    joints: Mapping[str, str],
    masks: Masks,
) -> tuple[Record, int]:
    """Return the COCO geometry keys of a shape, and its number of holes.

    `joints` are the names of the nodes of graphs. Raises ValueProblemError if the values are not as
    Supervisely writes them.
    """
    points = mapping(figure.get("points"))
    if kind == "rectangle":
        corners = points_of(points.get("exterior"), "points.exterior", least=2)
        return {"bbox": shapes.bounds(corners)}, 0
    if kind == "oriented_bbox":
        return _oriented(figure, points_of(points.get("exterior"), "points.exterior", least=2)), 0
    if kind == "polygon":
        return _polygons([points])
    if kind == "multipolygon":
        return _polygons(items(figure.get("parts")))
    if kind in _MASKS:
        return _mask(mapping(figure.get(kind) or figure.get("bitmap")), size, masks), 0
    if not kind:
        raise ValueProblemError("has no geometryType, and its class in meta.json has none either")
    name = _APART.get(kind, kind.replace("_", " "))
    line = line_of(points.get("exterior")) if name == "polyline" else {}
    return {"shape": name, **line, **_key_points(figure, kind, joints)}, 0


def _key_points(figure: dict[str, Any], kind: str, joints: Mapping[str, str]) -> Record:
    """Return the key points of a point or a graph, with their names; empty for other shapes."""
    if kind == "point":
        exterior = mapping(figure.get("points")).get("exterior")
        return {"keypoints": [*points_of(exterior, "points.exterior", least=1)[0].tolist(), 2]}
    keypoints: list[float] = []
    names = []
    for key, node in mapping(figure.get("nodes")).items() if kind == "graph" else ():
        x, y = points_of([mapping(node).get("loc")], "nodes.loc", least=1)[0].tolist()
        keypoints += [x, y, 1 if mapping(node).get("disabled") is True else 2]
        names.append(joints.get(key, key))
    return {"keypoints": keypoints, "joints": names} if names else {}


def _oriented(figure: dict[str, Any], corners: FloatArray) -> Record:
    """Return a box that is rotated clockwise about its centre by an angle in radians."""
    x, y, width, height = shapes.bounds(corners)
    turned = figure.get("angle")
    degrees = float(np.rad2deg(number_of(turned, "angle"))) % 360 if turned else 0.0
    if not degrees:
        return {"bbox": [x, y, width, height]}
    centre = (x + width / 2, y + height / 2)
    points = shapes.rotated(shapes.corners(x, y, width, height), centre, degrees)
    return {**shapes.outlined(points), "attributes": {"rotation": degrees}}


def _polygons(parts: list[Any]) -> tuple[Record, int]:
    if not parts:
        raise ValueProblemError("has no parts")
    rings = [points_of(mapping(part).get("exterior"), "points.exterior") for part in parts]
    n_holes = sum(len(items(mapping(part).get("interior"))) for part in parts)
    record: Record = {"bbox": shapes.bounds(np.concatenate(rings))}
    return {**record, "segmentation": [shapes.ring(each) for each in rings]}, n_holes


def _mask(bitmap: dict[str, Any], size: tuple[int, int] | None, masks: Masks) -> Record:
    if size is None:
        raise MaskProblemError("is in an image whose size the file does not say")
    width, height = checked_size(size)
    (origin,) = points_of([bitmap.get("origin")], "origin").astype(np.int64).tolist()
    crop = picture_mask(bitmap.get("data"), masks, within=size, packed=True)
    left, top = origin
    if left < 0 or top < 0 or left + crop.width > width or top + crop.height > height:
        found = f"{crop.width} × {crop.height} pixels at ({left}, {top})"
        raise MaskProblemError(f"has {found}, beyond the image of {width} × {height}")
    return masks.record(replace(crop, left=left, top=top), size)
