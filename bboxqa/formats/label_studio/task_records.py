"""Translating Label Studio tasks to COCO records."""

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import count as counting
from pathlib import Path

import msgspec

from bboxqa.core.text import count, one_line
from bboxqa.formats.annotations.records import whole_number
from bboxqa.formats.document.origin import Where
from bboxqa.formats.label_studio.authors import Authors
from bboxqa.formats.label_studio.grouped_points import joints_of, points_by_parent
from bboxqa.formats.label_studio.image_paths import image_names, queried, short_path
from bboxqa.formats.label_studio.plain_boxes import PlainBoxes
from bboxqa.formats.label_studio.regions import (
    Region,
    beyond,
    regions_of,
    shape_of,
    size_in,
)
from bboxqa.formats.label_studio.shown_images import ShownImages
from bboxqa.formats.label_studio.studio_notes import (
    TRACK,
    apart_name,
    no_images,
    nobody_notes,
    notes_of,
    query_notes,
    repeat_notes,
    unnamed_advice,
    unnamed_note,
)
from bboxqa.formats.label_studio.task_images import NO_IMAGE, ImageKey, image_of
from bboxqa.formats.label_studio.task_names import TaskImages, TaskNames
from bboxqa.formats.label_studio.task_sizes import said_size, sizes_of
from bboxqa.formats.label_studio.tasks import Task, Work, tasks_of
from bboxqa.formats.translation.boxes.masks import Masks
from bboxqa.formats.translation.collector import Collector
from bboxqa.formats.translation.given_sizes import given_size
from bboxqa.formats.translation.json_files import json_damage
from bboxqa.formats.translation.member import Member
from bboxqa.formats.translation.translated import (
    UNLABELLED,
    Add,
    BrokenTextError,
    Record,
    Translated,
    Wanted,
)
from bboxqa.formats.translation.untrusted import (
    EmptyMaskProblemError,
    ValueProblemError,
    plain_text,
    side_of,
)

TITLE = "Label Studio JSON"
_TIMES = ("created_at", "updated_at", "lead_time")


def translate_tasks(path: Path, member: Member, add: Add, wanted: Wanted) -> Translated:
    """Translate the tasks of a file.

    Raises BrokenTextError if it is not JSON, and DatasetError if it has no images.
    """
    text, number = member.text(), 0
    records = _TaskRecords(member, text, add, wanted)
    try:
        for number, task in enumerate(tasks_of(text), start=1):
            records.add_task(task)
            if wanted.progress is not None and number % 100 == 0:
                wanted.progress(number, number + 1)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BrokenTextError(
            [f"{member.shown}: {json_damage(text, error, 'JSON of Label Studio')}"],
            "Export it again; the file may be cut off.",
            files=[path],
        ) from None
    found = records.done()
    if not found.images:
        raise no_images(member.shown, number, records.n_tracks)
    return found


class _TaskRecords:
    """Converts tasks to COCO records, and collects images, categories and counts."""

    def __init__(self, member: Member, text: bytes, add: Add, wanted: Wanted) -> None:
        self._member = member.name
        self._shown = ShownImages(text)
        self._wanted = wanted
        self._masks = Masks(outlines=wanted.outlines)
        self._into = Collector(TITLE, add)
        add_boxes = None if wanted.in_full else wanted.add_boxes
        self._boxes = PlainBoxes(member.name, self._into, add_boxes)
        self._authors = Authors(text)
        self._own_names = TaskNames()
        self._works: dict[Hashable, Counter[str]] = defaultdict(Counter)
        self._addresses: list[tuple[Record, ImageKey, str]] = []
        self._tally: Counter[str] = Counter()
        self.n_tracks = 0

    def _where(self, pointer: str) -> Where:
        return Where(self._member, pointer)

    def add_task(self, task: Task) -> None:
        """Add the annotations and predictions of a task."""
        images = task.images
        task = self._own_names.named(task, images)
        for pointer, found in task.odd:
            problem = f"{task.label}: found {found}; expected an object"
            self._into.defect("T001", problem, self._where(pointer))
        if task.n_bare:
            problem = f"{task.label}: {count(task.n_bare, 'prediction')} without regions: a number"
            self._into.defect("T009", problem, self._where(f"{task.pointer}/predictions/0"))
        self._tally["bare"] += task.n_bare
        self._tally["draft"] += task.n_drafts
        sizes = sizes_of(task, images)
        keys = self._shown.images_of_task(task, images) or sizes.keys()
        # A task with a single image gives it its number.
        number = whole_number(task.name) if len(keys) == 1 else None
        records = {key: self._image(task, key, sizes.get(key), number) for key in sorted(keys)}
        for work in task.works:
            self._add_work(task, work, images, records)

    def _image(
        self, task: Task, key: ImageKey, size: tuple[int, int] | None, number: int | None
    ) -> Record:
        record = self._into.image((task.label, key), self._where(task.pointer), number)
        if "file_name" not in record:
            record["file_name"] = ""
            self._addresses.append((record, key, task.label))
            if size is None and not key.tag:
                size = said_size(task) or self._given_size(key)
        if size is not None:
            record.setdefault("width", size[0])
            record.setdefault("height", size[1])
        return record

    def _given_size(self, key: ImageKey) -> tuple[int, int] | None:
        size = given_size(short_path(key.address))
        self._tally["given"] += size is not None
        return size

    def _add_work(
        self,
        task: Task,
        work: Work,
        images: dict[str, list[str]],
        records: dict[ImageKey, Record],
    ) -> None:
        """Add an annotation or a prediction, if it counts."""
        if work.is_cancelled:
            self._tally["cancelled"] += 1
            n_results = len(work.results) + len(work.plain)
            if n_results:
                some = count(n_results, "result")
                problem = f"{task.label}: an annotation with {some} was cancelled, and is left out"
                self._into.defect("T006", problem, self._where(work.pointer))
            return
        if work.is_prediction and task.is_reviewed:
            self._tally["reviewed"] += 1
            return
        annotator = self._authors.author(task, work)
        works = self._works[self._repeated(task, records)]
        works[annotator] += 1
        if works[annotator] > 1 and not self._wanted.sessions:
            self._tally["again"] += 1
            problem = f"{task.label}: {one_line(annotator)} annotated it {works[annotator]} times"
            self._into.defect("T007", f"{problem}; the first counts", self._where(work.pointer))
            return
        self._shown.ask(task.label, annotator)
        for record in records.values():
            self._into.ask(record, annotator)
        shared: Record = {key: work.content[key] for key in _TIMES if work.content.get(key)}
        shared |= {"annotator": annotator, "session": str(works[annotator])}
        if work.plain:
            (only,) = records.values()
            if not self._boxes.take(work.plain, only, annotator, work.pointer):
                self._boxes.add_records(work.plain, only, shared, work.pointer)
        regions = list(regions_of(work.results))
        points = points_by_parent(regions) if self._wanted.keypoints else {}
        inside = {id(point) for group in points.values() for point in group}
        for region in regions:
            if id(region) not in inside:
                if region.is_shape and (problem := self._shown.tag_problem(images, region.result)):
                    where = self._where(region.pointer)
                    self._into.defect("T001", f"{_label(task, region)}: {problem}", where)
                image = records.get(image_of(images, region.result) or NO_IMAGE)
                self._add_region(task, region, image, shared, points.get(region.id, ()))

    def _repeated(self, task: Task, images: Iterable[ImageKey]) -> Hashable:
        """Return what is annotated again: the task, or, in sessions, its images."""
        of_images = self._wanted.sessions and all(each.address for each in images)
        return tuple(images) if of_images else task.label

    def _add_region(
        self,
        task: Task,
        region: Region,
        image: Record | None,
        shared: Record,
        points: Sequence[Region] = (),
    ) -> None:
        """Add a region with its key points, as one annotation per label."""
        self._boxes.end()
        where = self._where(region.pointer)
        if not region.is_shape or image is None:
            self.n_tracks += region.kind == TRACK
            self._into.annotation({"shape": apart_name(region.kind)}, where)
            return
        try:
            for key in ("original_width", "original_height"):
                side_of(region.result.get(key), key)
        except ValueProblemError as error:
            self._into.defect("T001", f"{_label(task, region)}: {error}", where)
            return
        size = size_in(region.result)
        if "width" not in image:
            problem = "has no original_width and original_height, so that percent cannot become"
            advice = "--image-size gives them: 1920x1080, or the folder of images"
            problem = f"{_label(task, region)}: {problem} pixels: {advice}"
            self._into.defect("T002", problem, where)
            return
        known = (image["width"], image["height"])
        if size is not None and size != known:
            problem = f"{_label(task, region)}: the image is {size[0]} × {size[1]}; other regions"
            self._into.defect("T010", f"{problem} of it say {known[0]} × {known[1]}", where)
        try:
            shape = shape_of(region, size or known, self._masks)
            shape = self._wanted.boxed(shape | joints_of(points, size or known))
        except ValueProblemError as error:
            self._tally["empty"] += isinstance(error, EmptyMaskProblemError)
            self._into.refuse(_label(task, region), error, where)
            return
        problem = beyond(region, shape["bbox"], size or known) if "bbox" in shape else ""
        record = {**shape, "image_id": image["id"], **shared}
        self._add_labels(task, region, record, where, problem)

    def _add_labels(
        self, task: Task, region: Region, record: Record, where: Where, problem: str
    ) -> None:
        if region.result.get("image_rotation"):
            self._tally["turned"] += 1
        if len(region.labels) > 1:
            self._tally["several"] += 1
        origin = plain_text(region.result.get("origin"))
        if origin.startswith("prediction") and not task.is_review:
            record["source"] = "prediction"
        score = region.result.get("score")
        if isinstance(score, int | float):
            record["score"] = score
        record["own_id"] = region.id or where.at
        if region.attributes:
            record["attributes"] = record.get("attributes", {}) | region.attributes
        for name in region.labels or [UNLABELLED]:
            if "bbox" not in record:
                self._into.annotation({**record, "label": name}, where)
                continue
            category = self._into.category(name, where)
            row = self._into.annotation({**record, "category_id": category}, where)
            if not region.labels:
                self._into.defect("T004", f"{_label(task, region)}: has no label", where, row)
            if problem:
                self._into.defect("T003", f"{_label(task, region)}: {problem}", where, row)

    def done(self) -> Translated:
        """Return the translation, with all images, categories and notes."""
        self._boxes.end()
        for problem, pointer in self._authors.problems():
            self._into.defect("T005", problem, self._where(pointer))
        self._tally.update(self._authors.tally())
        # An image has the same name in a file in which somebody drew on others.
        shown = [key.address for _, key, _ in self._addresses]
        names = image_names(shown, self._shown.addresses())
        numbered = self._numbered(names)
        n_tagged = sum(bool(key.tag) for _, key, _ in self._addresses)
        unnamed = [label for _, key, label in self._addresses if key == NO_IMAGE]
        keys = self._own_names.telling_keys(unnamed)
        advice = unnamed_advice(keys) if unnamed else self._shown.naming_advice(n_tagged)
        notes = [*notes_of(self._tally, self._authors.models), *self._shown.key_notes(n_tagged)]
        notes += [unnamed_note(len(unnamed), keys)] if unnamed else []
        notes += query_notes(len(queried({each: names[each] for each in shown})))
        found = self._into.done(notes, "completed_by", [*repeat_notes(self._tally)])
        ids = counting(1 + max((image["id"] for image in found.images), default=0))
        return replace(
            found,
            nobody_notes=[*nobody_notes(self._tally)],
            shown_images=self._shown.named(names),
            unshown=[*self._shown.unshown(names, {*shown}, ids)],
            numbered_images=numbered,
            numbered_advice=advice if numbered else "",
        )

    def _numbered(self, names: Mapping[str, str]) -> dict[str, TaskImages]:
        """Name all images, and return what those named by their tasks show."""
        numbered = {}
        for record, key, label in self._addresses:
            named = names.get(key.address)
            record["file_name"] = named or (f"{label}/{key.tag}" if key.tag else label)
            if not named:
                numbered[record["file_name"]] = self._own_names.images_of(label)
        return numbered


def _label(task: Task, region: Region) -> str:
    return f"{task.label}, region {one_line(region.id)}" if region.id else task.label
