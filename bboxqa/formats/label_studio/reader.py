"""Reading Label Studio JSON: who was asked about which image, and what they drew."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import msgspec

from bboxqa.core.errors import DatasetError
from bboxqa.core.text import count, one_line
from bboxqa.formats.document import Where
from bboxqa.formats.images import given_size, given_words
from bboxqa.formats.label_studio.format import studio_members
from bboxqa.formats.label_studio.images import (
    ImageKey,
    Images,
    TaskImages,
    image_of,
    short_path,
    tag_of,
)
from bboxqa.formats.label_studio.regions import (
    Region,
    beyond,
    joints_of,
    points_by_parent,
    regions_of,
    shape_of,
)
from bboxqa.formats.label_studio.tasks import GROUND_TRUTH, Task, Work, names_in, person, tasks_of
from bboxqa.formats.member import Member
from bboxqa.formats.records import whole_number
from bboxqa.formats.source import only_file
from bboxqa.formats.translation.collector import (
    SESSIONS,
    SIDES,
    UNLABELLED,
    UNNAMED,
    Add,
    BrokenTextError,
    Collector,
    Record,
    Translated,
    Wanted,
    tally_notes,
)
from bboxqa.formats.translation.json_files import AGAIN, json_damage
from bboxqa.formats.translation.masks import Masks, Size
from bboxqa.formats.translation.untrusted import (
    EmptyMaskProblemError,
    ValueProblemError,
    plain_text,
    side_of,
    size_of,
)

_TIMES = ("created_at", "updated_at", "lead_time")
_SIDES = ("original_width", "original_height")
_TRACK = "videorectangle"
_APART = {
    "choices": "image label",
    "relation": "relation",
    "keypoint": "key point",
    _TRACK: "video track",
}
# The counted facts, with the noun and the text of their notes.
_NOTES = (
    ("cancelled", "annotation", "left out: cancelled by the annotator"),
    ("draft", "draft", "left out: not submitted"),
    ("reviewed", "prediction", "left out: annotations as they were before the review"),
    ("bare", "prediction", "left out: a number instead of regions"),
    ("several", "region", "with several labels: one annotation for each label"),
    ("empty", "mask", "left out: no pixels"),
    ("turned", "region", "drawn on an image that was rotated on the screen"),
)


def translate(path: Path, add: Add, wanted: Wanted) -> Translated:
    """Translate Label Studio JSON; see `bboxqa.formats.translation.collector.Translate`.

    Raises BrokenTextError if the file is not JSON, and DatasetError if it has no images.
    """
    member = only_file(path, studio_members(path), "Label Studio")
    text, number = member.text(), 0
    records = _Records(member, text, add, wanted)
    try:
        for number, task in enumerate(tasks_of(text), start=1):
            records.add_task(task)
            if wanted.progress is not None and number % 100 == 0:
                wanted.progress(number, number + 1)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        problem = f"{member.shown}: {json_damage(text, error, 'JSON of Label Studio')}"
        raise BrokenTextError([problem], AGAIN, files=[path]) from None
    found = records.done()
    if not found.images:
        problem = f"{member.shown}: has {count(number, 'task')} of Label Studio, none with an image"
        if records.n_tracks:
            tracks = count(records.n_tracks, "tracked object")
            raise DatasetError(
                [f"{problem}, but {tracks} in videos, which are not read"],
                "Annotate frames as images, or track in CVAT: its XML of videos is read.",
            )
        raise DatasetError(
            [problem],
            "Shapes in images are compared. For labels of texts, export a table: bboxqa stats",
        )
    return found


class _Records:
    """Converts tasks to COCO records, and collects images, categories and counts."""

    def __init__(self, member: Member, text: bytes, add: Add, wanted: Wanted) -> None:
        self._member = member.name
        self._wanted = wanted
        self._masks = Masks(outlines=wanted.outlines)
        self._into = Collector("Label Studio JSON", add)
        self._images = TaskImages(text)
        self._names = names_in(text)
        # How often each annotator annotated a task.
        self._works: dict[tuple[object, ...], Counter[str]] = defaultdict(Counter)
        self._tags_on_said: dict[str, None] = {}
        # Annotations that name nobody, as the label of the task and the place.
        self._unnamed: list[tuple[str, str]] = []
        self._n_unnamed: Counter[str] = Counter()
        self._is_anybody_named = False
        self._models: Counter[str] = Counter()
        self._tally: Counter[str] = Counter()
        self.n_tracks = 0

    def _where(self, pointer: str) -> Where:
        return Where(self._member, pointer)

    def add_task(self, task: Task) -> None:
        """Add the annotations and predictions of a task."""
        images = self._images.images_of(task)
        self._images.tell_apart(task, images)
        for pointer, found in task.odd:
            problem = f"{task.label}: found {found}; expected an object"
            self._into.defect("T001", problem, self._where(pointer))
        if task.n_bare:
            problem = f"{task.label}: {count(task.n_bare, 'prediction')} without regions: a number"
            self._into.defect("T009", problem, self._where(f"{task.pointer}/predictions/0"))
        self._tally["bare"] += task.n_bare
        self._tally["draft"] += task.n_drafts
        sizes = self._sizes(task, images)
        keys = self._images.of_task(task, images) or sizes.keys()
        # A task with a single image gives it its number.
        number = whole_number(task.name) if len(keys) == 1 else None
        records = {key: self._image(task, key, sizes.get(key), number) for key in sorted(keys)}
        for work in task.works:
            self._add_work(task, work, images, records)

    def _sizes(self, task: Task, images: Images) -> dict[ImageKey, Size]:
        """Return the first size that results give for each image."""
        sizes: dict[ImageKey, Size] = {}
        for work in task.works:
            for _, result in work.results:
                size = size_of(*map(result.get, _SIDES))
                if size is not None:
                    sizes.setdefault(image_of(images, result, self._images.said), size)
                    if len(images) <= 1 and sum(map(len, images.values())) <= 1:
                        return sizes
        return sizes

    def _image(self, task: Task, key: ImageKey, size: Size | None, number: int | None) -> Record:
        record = self._into.image((task.label, key), self._where(task.pointer), number)
        if "file_name" not in record:
            record["file_name"] = ""
            self._images.add(record, key, task.label)
            if size is None and not key.tag:
                if len(self._images.images_of(task)) <= 1:
                    size = size_of(task.data.get("width"), task.data.get("height"))
                if size is None and (size := given_size(short_path(key.address))) is not None:
                    self._tally["given"] += 1
        if size is not None:
            record.setdefault("width", size[0])
            record.setdefault("height", size[1])
        return record

    def _author(self, task: Task, work: Work) -> str:
        """Return the annotator of an annotation, or the model of a prediction."""
        content = work.content
        if work.is_prediction:
            model = plain_text(content.get("model_version")) or "predictions"
            # A numeric version would look like an annotator.
            model = f"model {model}" if model.isdecimal() else model
            self._models[model] += not task.is_review
            return model
        name = person(content.get("completed_by"), self._names)
        self._is_anybody_named |= bool(name)
        if content.get("ground_truth") is True:
            self._tally["truth"] += 1
            return GROUND_TRUTH
        if name:
            return name
        self._unnamed.append((task.label, work.pointer))
        self._n_unnamed[task.label] += 1
        number = self._n_unnamed[task.label]
        self._tally["numbered"] += number > 1
        return f"(not named {number})" if number > 1 else UNNAMED

    def _add_work(
        self,
        task: Task,
        work: Work,
        images: Images,
        records: Mapping[ImageKey, Record],
    ) -> None:
        """Add an annotation or a prediction, if it counts."""
        if work.is_cancelled:
            self._tally["cancelled"] += 1
            if work.results:
                some = count(len(work.results), "result")
                problem = f"{task.label}: an annotation with {some} was cancelled, and is left out"
                self._into.defect("T006", problem, self._where(work.pointer))
            return
        if work.is_prediction and task.is_reviewed:
            self._tally["reviewed"] += 1
            return
        annotator = self._author(task, work)
        # In sessions, images are annotated again; else tasks are.
        has_addresses = all(key.address for key in records)
        by_image = self._wanted.sessions and has_addresses
        works = self._works[(*records,) if by_image else (task.label, *records)]
        works[annotator] += 1
        if works[annotator] > 1 and not self._wanted.sessions:
            self._tally["again"] += 1
            problem = f"{task.label}: {one_line(annotator)} annotated it {works[annotator]} times"
            self._into.defect("T007", f"{problem}; the first counts", self._where(work.pointer))
            return
        for record in records.values():
            self._into.ask(record, annotator)
        shared: Record = {key: work.content[key] for key in _TIMES if work.content.get(key)}
        shared |= {"annotator": annotator, "session": str(works[annotator])}
        regions = regions_of(work.results)
        points = points_by_parent(regions) if self._wanted.keypoints else {}
        said = self._images.said
        is_said = said in images and len(images) > 1
        pages = [page for pages in images.values() for page in pages]
        only = ImageKey(pages[0]) if len(pages) == 1 else None
        inside = {id(point) for group in points.values() for point in group}
        for region in regions:
            if id(region) not in inside:
                key = only or image_of(images, region.result, said)
                if is_said and region.is_shape and (tag := tag_of(region.result)) not in images:
                    self._check_tag(task, region, tag)
                joints = points.get(region.id, [])
                self._add_region(task, region, records.get(key), shared, joints)

    def _check_tag(self, task: Task, region: Region, tag: str) -> None:
        """Report, once, that the user's image would get the regions of several tags."""
        self._tags_on_said[tag] = None
        if len(self._tags_on_said) == 2 and not self._tally["tags"]:
            self._tally["tags"] += 1
            first, second = map(repr, map(one_line, self._tags_on_said))
            problem = f"is on the tag {second}, others are on {first}: --columns image="
            problem += f"{one_line(self._images.said)} would put them on one image; leave it out"
            label = _label(task, region)
            self._into.defect("T001", f"{label}: {problem}", self._where(region.pointer))

    def _add_region(
        self, task: Task, region: Region, image: Record | None, shared: Record, points: list[Region]
    ) -> None:
        """Add a region with its key points, as one annotation per label."""
        where = self._where(region.pointer)
        if not region.is_shape or image is None:
            self.n_tracks += region.kind == _TRACK
            apart = _APART.get(region.kind, f"{one_line(region.kind) or 'other'} result")
            self._into.annotation({"shape": apart}, where)
            return
        try:
            size = self._size(task, region, image, where)
            if size is None:
                return
            shape = shape_of(region, size, self._masks)
            shape = self._wanted.boxed(shape | joints_of(points, size) if points else shape)
        except ValueProblemError as error:
            self._tally["empty"] += isinstance(error, EmptyMaskProblemError)
            self._into.refuse(_label(task, region), error, where)
            return
        problem = beyond(region, shape["bbox"], size) if "bbox" in shape else ""
        record = {**shape, "image_id": image["id"], **shared}
        given = region.result
        if plain_text(given.get("origin")).startswith("prediction") and not task.is_review:
            record["source"] = "prediction"
        if isinstance(given.get("score"), int | float):
            record["score"] = given["score"]
        record["own_id"] = region.id or where.at
        if region.attributes:
            record["attributes"] = record.get("attributes", {}) | region.attributes
        if given.get("image_rotation"):
            self._tally["turned"] += 1
        if len(region.labels) > 1:
            self._tally["several"] += 1
        self._add_labels(task, region, record, where, problem)

    def _size(self, task: Task, region: Region, image: Record, where: Where) -> Size | None:
        """Return the size by which a region is drawn; None, with a defect, if it is unknown."""
        sides = [region.result.get(side) for side in _SIDES]
        if sides == [image.get(side) for side in SIDES] != [None, None]:
            return image["width"], image["height"]
        size = size_of(*sides)
        if size is None:
            for key in _SIDES:
                side_of(region.result.get(key), key)
        if "width" not in image:
            problem = "has no original_width and original_height, so that percent cannot become"
            advice = "--image-size gives them: 1920x1080, or the folder of images"
            problem = f"{_label(task, region)}: {problem} pixels: {advice}"
            self._into.defect("T002", problem, where)
            return None
        known = (image["width"], image["height"])
        if size is not None and size != known:
            problem = f"{_label(task, region)}: the image is {size[0]} × {size[1]}; other regions"
            self._into.defect("T010", f"{problem} of it say {known[0]} × {known[1]}", where)
        return size or known

    def _add_labels(
        self, task: Task, region: Region, record: Record, where: Where, problem: str
    ) -> None:
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
        self._images.name()
        for problem, pointer in self._unnamed_problems():
            self._into.defect("T005", problem, self._where(pointer))
        repeats = []
        if number := self._tally["again"]:
            left_out = "left out: by someone who had annotated the task before"
            repeats = [f"{count(number, 'annotation')} {left_out}; {SESSIONS}"]
        found = self._into.done([*self._notes()], "completed_by", repeats)
        return replace(
            found,
            nobody_notes=[*self._nobody_notes()],
            numbered_images=self._images.numbered(),
        )

    def _unnamed_problems(self) -> Iterator[tuple[str, str]]:
        """Yield the problem and place of what names nobody; of all at once if nobody is named."""
        if self._is_anybody_named:
            for label, pointer in self._unnamed:
                yield f"{label}: an annotation does not say who completed it", pointer
        elif self._unnamed:
            number = count(len(self._unnamed), "annotation")
            problem = f"no annotation of the file says who completed it ({number})"
            yield problem, self._unnamed[0][1]

    def _notes(self) -> Iterator[str]:
        for model, number in (+self._models).items():
            counts = f"counts as an annotator: {count(number, 'prediction')} in the file"
            yield f"{one_line(model)} is a model and {counts}"
        if number := self._tally["truth"]:
            by = f"here by an annotator {GROUND_TRUTH!r}; to measure the others against it"
            marked = f"{count(number, 'annotation')} marked as ground truth"
            yield f"{marked}, {by}: --reference {GROUND_TRUTH!r}"
        if number := self._tally["given"]:
            yield f"{count(number, 'image')} without original_width: {given_words()}"
        yield from tally_notes(self._tally, _NOTES)
        yield from self._images.notes()

    def _nobody_notes(self) -> Iterator[str]:
        number = len(self._unnamed)
        what = f"{count(number, 'annotation')} without completed_by"
        if self._tally["numbered"]:
            numbered = "annotators are numbered task by task, so results per annotator mix people"
            yield f"{what}: {numbered}"
        elif number:
            who = ", who may be several people" if number > 1 else ""
            yield f"{what}, here by '{UNNAMED}'{who}"


def _label(task: Task, region: Region) -> str:
    return f"{task.label}, region {one_line(region.id)}" if region.id else task.label
