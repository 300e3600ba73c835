"""Reading exports of labelling services: SageMaker Ground Truth, Labelbox and Zooniverse."""

import csv
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from bboxqa.core.errors import DatasetError
from bboxqa.core.text import one_line
from bboxqa.formats.document import Record, Where
from bboxqa.formats.heads import as_list
from bboxqa.formats.member import Member, is_picture
from bboxqa.formats.opening import decoded
from bboxqa.formats.source import members_like, members_of, only_file
from bboxqa.formats.tables import delimited
from bboxqa.formats.translation import shapes
from bboxqa.formats.translation.collector import SIDES, Collector
from bboxqa.formats.translation.reading import NOT_JSON, json_of
from bboxqa.formats.translation.shapes import items, mapping, numbers_of, plain_text, points_of

_BOX = ("left", "top", "width", "height")
_DETECTION = "groundtruth/object-detection"
_DRAWN = ("boundingBoxes", "polygons")
_APART = {
    "line": "polyline",
    "point": "point",
    "mask": "mask",
    "composite_mask": "mask",
    "radio_answer": "image label",
    "checklist_answers": "image label",
    "text_answer": "image label",
}
_NAMES = ("filename", "file_name", "image_name", "image", "file", "name")
"""Keys by which projects of Zooniverse name the image of a subject, the best first."""
_NOTES = (
    ("unlabelled", "image", "left out: the manifest has no labels of it"),
    ("other", "answer", "left out: neither boxes nor polygons of the first frame"),
    ("earlier", "label", "of earlier jobs left out: the last job counts"),
)
_LONGEST_CELL = 1 << 26
_Object = dict[str, Any]


class _Images:
    """Adds images, the people asked about them, and their objects."""

    def __init__(self, into: Collector) -> None:
        self._into = into
        self._names: dict[str, str] = {}

    def image(self, key: str, name: str, size: _Object, where: Where) -> Record:
        """Return the record of an image; a second one of a name is named with its key as well."""
        image = self._into.image(key, where)
        if "file_name" not in image:
            known = self._names.setdefault(name or key, key)
            image["file_name"] = name or key if known == key else f"{name} ({key})"
        self._into.size(image, name, [*map(size.get, SIDES)], where)
        return image

    def add(
        self, image: Record, who: str, objects: Iterable[tuple[object, _Object]], where: Where
    ) -> None:
        """Add the labels and values of objects of a person, unless that person drew before."""
        into, label = self._into, one_line(image["file_name"])
        shared = into.begin_work(image["id"] if who else object(), [image], who, label, where)
        for number, (name, given) in enumerate(objects if shared is not None else (), start=1):
            named = f"{label}, object {number}"
            with into.refusing(named, where):
                record = into.boxed(_shape_of(given)) | {"image_id": image["id"]}
                record["own_id"] = plain_text(given.get("feature_id")) or named
                record |= shared or {}
                into.labelled(record, plain_text(name), where, f"{named}: has no label")


def _shape_of(given: _Object) -> Record:
    """Return a box or an outline; others are kept apart, also masks, which are at an address."""
    for key in given.keys() & {"vertices", "polygon"}:
        return shapes.outlined(points_of(given[key], key, least=3))
    if "tool" in given or "toolIndex" in given:
        return _rectangle_of(given)
    apart = next((each for key, each in _APART.items() if key in given), "")
    return (
        {"shape": apart} if apart else {"bbox": numbers_of(given.get("bounding_box", given), _BOX)}
    )


def _objects_of(members: Iterable[Member], into: Collector) -> Iterator[tuple[Where, _Object]]:
    """Yield the objects of JSON Lines, of lists, or the only one of a file, with their places."""
    for member in members:
        found = json_of(member, into, lambda text: msgspec.json.decode(as_list(text)))
        is_list = isinstance(found, list)
        for place, each in enumerate(found if is_list else [found]):
            yield Where(member.name, f"/{place}" if is_list else ""), mapping(each)


def _path_of(address: str) -> str:
    """Return the path in an address, such as s3://bucket/day/a.jpg, which names an image."""
    return urlsplit(address).path.lstrip("/") if "://" in address else address


def sagemaker(path: Path, into: Collector) -> None:
    """Translate answers of workers, as Ground Truth keeps them, or manifests of merged labels."""
    into.title, into.named_by = "SageMaker Ground Truth", "workerId"
    into.advice = "Manifests and answers of jobs of bounding boxes or polygons are read."
    images = _Images(into)
    found, members = set[str](), members_like(path, "SageMaker", (".manifest", ".json", ".jsonl"))
    folders = {e.name: e.folder or Path(e.shown).absolute().parent.name for e in members}
    for where, given in _objects_of(members, into):
        if "answers" in given or "dataObject" in given:
            address = plain_text(mapping(given.get("dataObject")).get("s3Uri"))
            name = folders[where.member] if "answers" in given else _path_of(address)
            answers = items(given.get("answers", given.get("annotations")))
            for who, form in _forms_of(answers, into):
                image = images.image(name, name, mapping(form.get("inputImageProperties")), where)
                drawn = [mapping(each) for key in _DRAWN for each in items(form.get(key))]
                images.add(image, who, [(each.get("label"), each) for each in drawn], where)
            continue
        end = "-metadata"
        about = {key.removesuffix(end): mapping(given[key]) for key in given if key.endswith(end)}
        jobs = [key for key, each in about.items() if each.get("type") == _DETECTION]
        if not jobs:
            into.tally["unlabelled"] += not about
            found |= {plain_text(each.get("type")) for each in about.values()}
            continue
        # Adjustment jobs add their labels behind those that they adjust.
        into.tally["earlier"] += len(jobs) - 1
        labels, names = mapping(given.get(jobs[-1])), mapping(about[jobs[-1]].get("class-map"))
        size = mapping(next(iter(items(labels.get("image_size"))), None))
        reference = plain_text(given.get("source-ref"))
        image = images.image(reference, _path_of(reference), size, where)
        drawn = [*map(mapping, items(labels.get("annotations")))]
        images.add(image, "", [(names.get(str(e.get("class_id"))), e) for e in drawn], where)
    if not into.images:
        kinds = f"its labels are of {', '.join(sorted(found))}" if found else "nothing is labelled"
        raise DatasetError([f"{path}: has no boxes of Ground Truth: {kinds}"], into.advice)
    into.count(_NOTES)


def _forms_of(answers: Iterable[object], into: Collector) -> Iterator[tuple[str, _Object]]:
    """Yield the worker and the form of each answer that has boxes or polygons."""
    for answer in map(mapping, answers):
        content = answer.get("answerContent", mapping(answer.get("annotationData")).get("content"))
        if isinstance(content, str):
            with suppress(*NOT_JSON):
                content = msgspec.json.decode(content)
        # The name of the form element is that of the job's template.
        forms = map(mapping, mapping(content).values())
        form = next((each for each in forms if not each.keys().isdisjoint(_DRAWN)), None)
        into.tally["other"] += form is None
        if form is not None:
            yield plain_text(answer.get("workerId")), form


def labelbox(path: Path, into: Collector) -> None:
    """Translate an export of Labelbox, with a data row in each line."""
    into.title, into.named_by = "Labelbox NDJSON", "created_by of labels"
    into.advice = "Boxes and polygons of images are read."
    images = _Images(into)
    members = members_like(path, "Labelbox", (".ndjson", ".json", ".jsonl"))
    for where, given in _objects_of([only_file(path, members, "Labelbox")], into):
        row = mapping(given.get("data_row"))
        keys = ("external_id", "global_key", "row_data")
        names = [_path_of(name) for key in keys if (name := plain_text(row.get(key)))]
        name = next(filter(is_picture, names), names[0] if names else "")
        size, key = mapping(given.get("media_attributes")), plain_text(row.get("id")) or name
        if not key:
            into.defect("T001", "has no data_row with an id or a name", where)
            continue
        image = images.image(key, name, size, where)
        for project in map(mapping, mapping(given.get("projects")).values()):
            for label in map(mapping, items(project.get("labels"))):
                who = plain_text(mapping(label.get("label_details")).get("created_by"))
                found = mapping(label.get("annotations"))
                lists = (items(found.get(key)) for key in ("objects", "classifications"))
                drawn = map(mapping, chain.from_iterable(lists))
                images.add(image, who, [(each.get("name"), each) for each in drawn], where)
    into.count(_NOTES)


def zooniverse(path: Path, into: Collector) -> None:
    """Translate the classifications of a project of Zooniverse, which volunteers drew."""
    into.title, into.named_by = "Zooniverse classifications", "the column 'user_name'"
    into.advice = "Rectangles in the export of classifications are read."
    member = only_file(path, [*members_of(path)], "classifications of Zooniverse")
    table = delimited(member.shown, decoded(member.shown, member.read()))
    images = _Images(into)
    # A cell holds all that a volunteer drew.
    before = csv.field_size_limit(_LONGEST_CELL)
    try:
        rows = [*table.records()]
    finally:
        csv.field_size_limit(before)
    cells = ("metadata", "annotations", "subject_data")
    for at, row in rows:
        where = Where("", at)
        try:
            about, tasks, subjects = (msgspec.json.decode(row[key]) for key in cells)
        except NOT_JSON:
            problem = f"line {at}: metadata, annotations or subject_data is not JSON"
            into.defect("T001", problem, where)
            continue
        subject = mapping(next(iter(mapping(subjects).values()), None))
        plain = {key.lower().strip("#!/ "): plain_text(value) for key, value in subject.items()}
        known = (plain[each] for each in _NAMES if plain.get(each))
        name = next(known, f"subject {row['subject_ids']}")
        natural = mapping(next(iter(items(mapping(about).get("subject_dimensions"))), None))
        size = {side: natural.get(f"natural{side.capitalize()}") for side in SIDES}
        image = images.image(row["subject_ids"], name, size, where)
        values = (each for task in items(tasks) for each in items(mapping(task).get("value")))
        drawn = [each for each in map(mapping, values) if {"tool", "toolIndex"} & each.keys()]
        first = [each for each in drawn if not each.get("frame")]
        into.tally["other"] += len(drawn) - len(first)
        said = []
        for each in first:
            tool = f"tool {plain_text(each.get('toolIndex', each.get('tool')))}"
            said.append((plain_text(each.get("tool_label")) or tool, each))
        images.add(image, row["user_name"], said, where)
    into.count(_NOTES)


def _rectangle_of(given: _Object) -> Record:
    """Return a rectangle, which newer projects place by its centre; others are kept apart."""
    if "width" not in given or "height" not in given:
        # Circles and ellipses have radii.
        is_point = given.keys() >= {"x", "y"} and given.keys().isdisjoint(("r", "rx"))
        return {"shape": "point" if is_point else "other shape"}
    corner = ("x_center", "y_center") if "x_center" in given else ("x", "y")
    x, y, width, height = numbers_of(given, (*corner, "width", "height"))
    if "x_center" in given:
        x, y = x - width / 2, y - height / 2
    angle = shapes.degrees_of(given.get("angle"), "angle")
    return shapes.turned_box([x, y, width, height], angle)
