"""Reading Label Studio JSON: who was asked about which image, and what they drew."""

from collections import Counter, defaultdict
from hashlib import blake2b
from pathlib import Path

import msgspec

from bboxqa.core.json_values import pointer_to
from bboxqa.core.text import count, first_few, one_line
from bboxqa.formats.document import Record, Where
from bboxqa.formats.heads import as_list
from bboxqa.formats.images import given_size
from bboxqa.formats.label_studio.tasks import (
    GROUND_TRUTH,
    REVIEW,
    SHAPES,
    TIMES,
    Region,
    image_names,
    images_of,
    joints_of,
    person,
    regions_of,
    shape_of,
    short_path,
)
from bboxqa.formats.member import Member
from bboxqa.formats.records import UNNAMED, whole_number
from bboxqa.formats.source import members_like, only_file
from bboxqa.formats.translation.collector import SIDES, Collector
from bboxqa.formats.translation.reading import NOT_JSON, broken_json
from bboxqa.formats.translation.shapes import (
    GIVE_SIZE,
    UnknownSizeError,
    ValueProblemError,
    items,
    mapping,
    plain_text,
    size_of,
)

_LISTS = ("annotations", "completions", "predictions")
_SIDES = ("original_width", "original_height")
# The keys of annotations in JSON-MIN, among those of the data of their task.
_OF_MINIMAL = ("annotator", "annotation_id", "lead_time")
_OF_WORK = ("id", "annotator", "annotation_id", "agreement", *TIMES)
# The keys of a region in JSON-MIN, by the type of its result.
_TYPES = (
    ("points", "polygon"), ("radiusX", "ellipse"), ("rle", "brush"), ("height", "rectangle"),
    ("width", "keypoint"),
)  # fmt: skip
_APART = {"choices": "image label", "relation": "relation", "keypoint": "key point"}
_NO_TASK = (
    "has none of the keys of a task; tasks inside of it are taken out by: "
    """jq '[.. | objects | select(has("annotations"))]' FILE > OUT.json"""
)
_NOTES = (
    ("cancelled", "annotation", "left out: cancelled by the annotator"),
    ("draft", "draft", "left out: not submitted"),
    ("copy", "annotation", "left out: copies of others of their task, with the same ids"),
    ("reviewed", "prediction", "left out: annotations as they were before the review"),
    ("bare", "prediction", "left out: a number instead of regions"),
    ("several", "region", "with several labels: one annotation for each label"),
    ("empty", "mask", "left out: no pixels"),
)


def translate(path: Path, into: Collector) -> None:
    """Translate Label Studio JSON; raises BrokenTextError if the file is not JSON."""
    member = only_file(path, members_like(path, "Label Studio", ".json"), "Label Studio")
    into.title, into.named_by = "Label Studio JSON", "completed_by"
    into.advice = (
        "Shapes in images are compared. Labels of texts: export a table, and bboxqa stats; "
        "videos: track in CVAT, whose XML is read."
    )
    records, text = _Records(member, into), as_list(member.text())
    try:
        is_list = text[:64].lstrip().startswith(b"[")
        # Tasks are decoded one at a time.
        tasks = msgspec.json.decode(text, type=list[msgspec.Raw]) if is_list else [text]
        for place, raw in enumerate(tasks):
            pointer = f"/{place}" if is_list else ""
            records.add_task(msgspec.json.decode(raw), pointer, place + 1)
            into.step(place + 1, place + 2)
    except NOT_JSON as error:
        raise broken_json(member, error, into.title) from error
    records.finish()


class _Work(msgspec.Struct):
    """An annotation or a prediction of a task, with the results of its regions by pointer."""

    content: Record
    pointer: str
    results: list[tuple[str, Record]]
    is_prediction: bool = False
    is_cancelled: bool = False


class _Task(msgspec.Struct):
    pointer: str
    name: str
    """Its id, or its place in the file from 1."""
    data: Record = msgspec.field(default_factory=dict)
    works: list[_Work] = msgspec.field(default_factory=list)
    images: dict[str, list[str]] = msgspec.field(default_factory=dict)
    records: dict[str, Record] = msgspec.field(default_factory=dict)
    n_unnamed: int = 0
    has_answers: bool = False
    """Whether its data may hold answers of the annotator, as in JSON-MIN."""

    @property
    def label(self) -> str:
        return f"task {self.name}"

    @property
    def is_review(self) -> bool:
        return self.data.items() >= REVIEW.items()

    def shown(self) -> str:
        """Return a digest of what the task shows; links to one image differ in signatures."""
        pages = self.images.items()
        shown: Record = {key: [short_path(e) or e for e in listed] for key, listed in pages}
        shown = shown or ({} if self.has_answers else self.data)
        # An address may be a whole picture.
        encoded = msgspec.json.encode(shown, order="deterministic")
        return blake2b(encoded, digest_size=16).hexdigest()


class _Records:
    def __init__(self, member: Member, into: Collector) -> None:
        self._member = member.name
        self._into, self._tally = into, into.tally
        self._said = into.settings.choices.columns.get("image", "")
        self._images: list[tuple[Record, str, _Task]] = []
        # What the tasks of each id show, by which they are told apart.
        self._told: dict[str, dict[str, int]] = defaultdict(dict)
        self._ids: set[tuple[str, bool, str, str]] = set()
        # Data keys of tasks with several images, and of those that somebody drew on.
        self._several: dict[str, None] = {}
        self._drawn: set[str] = set()
        self._unnamed: list[tuple[str, str]] = []
        self._is_anybody_named = False
        self._models: Counter[str] = Counter()

    def _defect(self, code: str, task: _Task, problem: str, pointer: str) -> None:
        self._into.defect(code, f"{task.label}: {problem}", Where(self._member, pointer))

    def add_task(self, item: object, pointer: str, number: int) -> None:
        """Add a task in any layout: a full task, a single annotation, or one of JSON-MIN."""
        given = mapping(item)
        task = _Task(pointer, plain_text(given.get("id")) or str(number))
        works: list[tuple[object, str, bool]] = []
        if any(isinstance(given.get(key, 0), list | None) for key in _LISTS):
            task.data = mapping(given.get("data"))
            self._tally["draft"] += len(items(given.get("drafts")))
            works = [
                (work, f"{pointer}/{key}/{place}", key == "predictions")
                for key in _LISTS
                for place, work in enumerate(items(given.get(key)))
            ]
        elif isinstance(given.get("result"), list):
            # As in Label Studio's target storage.
            of_task = mapping(given.get("task"))
            own = plain_text(of_task.get("id")) or plain_text(given.get("task"))
            task.name, task.data = own or str(number), mapping(of_task.get("data"))
            works = [(given, pointer, "completed_by" not in given and "model_version" in given)]
        elif not given.keys().isdisjoint(_OF_MINIMAL):
            _fill_minimal(task, given)
        else:
            problem = _NO_TASK if given else f"found {_shown(item)}; expected an object"
            self._defect("T001", task, problem, pointer)
            return
        for work, at, is_prediction in works:
            if is_prediction and isinstance(work, int | float):
                self._tally["bare"] += 1
            elif (content := self._object(task, work, at)) is not None:
                result = content.get("result")
                listed = result if isinstance(result, list) else [result][: result is not None]
                results = ((f"{at}/result/{place}", each) for place, each in enumerate(listed))
                found = [(here, self._object(task, each, here)) for here, each in results]
                kept = [(here, each) for here, each in found if each is not None]
                is_cancelled = content.get("was_cancelled") is True
                task.works.append(_Work(content, at, kept, is_prediction, is_cancelled))
        self._add(task)

    def _object(self, task: _Task, value: object, pointer: str) -> Record | None:
        if type(value) is dict:
            return value
        self._defect("T001", task, f"found {_shown(value)}; expected an object", pointer)
        return None

    def _add(self, task: _Task) -> None:
        task.images = images_of(task.data, self._said)
        # Merged exports have several tasks of one id.
        known = self._told[task.name]
        if place := known.setdefault(task.shown(), len(known)):
            task.name = f"{task.name} ({place + 1})"
        done = [each for each in task.works if not (each.is_prediction or each.is_cancelled)]
        if task.is_review and done:
            self._tally["reviewed"] += sum(each.is_prediction for each in task.works)
            task.works = [each for each in task.works if not each.is_prediction]
        given, task.works = task.works, []
        for each in given:
            own, by = plain_text(each.content.get("id")), person(each.content.get("completed_by"))
            key = task.name, each.is_prediction, own, by
            # An annotation or a prediction counts where it is the first with its id.
            if not own or key not in self._ids:
                task.works.append(each)
            self._ids.add(key)
        if n_copies := len(given) - len(task.works):
            self._tally["copy"] += n_copies
            problem = "is in the file twice (same annotation ids); counted once"
            self._defect("T007", task, problem, task.pointer)
        self._add_images(task)
        for work in task.works:
            self._tally["cancelled"] += work.is_cancelled
            if not work.is_cancelled:
                self._add_work(task, work)

    def _add_images(self, task: _Task) -> None:
        """Add the images that annotators of a task were asked about, with their sizes."""
        if len(task.images) > 1:
            self._several |= dict.fromkeys(task.images)
        pages = [page for pages in task.images.values() for page in pages]
        sizes: dict[str, tuple[int, int] | None] = dict.fromkeys(pages)
        for result in (result for work in task.works for _, result in work.results):
            address = self._address(task, result)
            size = size_of(*map(result.get, _SIDES))
            if address is not None and size is not None and sizes.get(address) is None:
                sizes[address] = size
            if len(task.images) <= 1 and len(sizes) == 1 and all(sizes.values()):
                break
        # A task with a single image gives it its number.
        number = whole_number(task.name) if len(sizes) == 1 else None
        for address in sorted(sizes):
            where, size = Where(self._member, task.pointer), sizes[address]
            record = self._into.image((task.name, address), where, number)
            task.records[address] = record
            if "file_name" not in record:
                record["file_name"] = ""
                self._images.append((record, address, task))
                if size is None and len(task.images) <= 1:
                    size = size_of(task.data.get("width"), task.data.get("height"))
                size = size or given_size(self._into.settings.choices, short_path(address))
            for side, pixels in zip(SIDES, size or (), strict=False):
                record.setdefault(side, pixels)

    def _address(self, task: _Task, result: Record) -> str | None:
        """Return the address of the image that a result is on; None if it is not known."""
        if not task.images:
            return ""
        tag = plain_text(result.get("to_name"))
        if tag not in task.images and len(task.images) > 1:
            return None
        key = tag if tag in task.images else next(iter(task.images))
        self._drawn.add(key)
        pages, page = task.images[key], result.get("item_index") or 0
        if len(pages) > 1 and tag != key and "item_index" not in result:
            # A Repeater gives each page a tag with its number, such as page_0.
            page = int(tag[len(tag.rstrip("0123456789")) :][-6:] or 0)
        return pages[page] if type(page) is int and 0 <= page < len(pages) else None

    def _add_work(self, task: _Task, work: _Work) -> None:
        content = work.content
        annotator = person(content.get("completed_by"))
        if work.is_prediction:
            annotator = plain_text(content.get("model_version")) or "predictions"
            # A numeric version would look like an annotator.
            annotator = f"model {annotator}" if annotator.isdecimal() else annotator
            self._models[annotator] += not task.is_review
        else:
            self._is_anybody_named |= bool(annotator)
            if content.get("ground_truth") is True:
                self._tally["truth"] += 1
                annotator = GROUND_TRUTH
        if not annotator:
            self._unnamed.append((task.label, work.pointer))
            task.n_unnamed += 1
            self._tally["numbered"] += task.n_unnamed > 1
            annotator = f"(not named {task.n_unnamed})" if task.n_unnamed > 1 else UNNAMED
        # In sessions, images are annotated again; else tasks are.
        by_image = self._into.sessions and all(task.records)
        key = (*task.records,) if by_image else task.label
        images, where = [*task.records.values()], Where(self._member, work.pointer)
        shared = self._into.begin_work(key, images, annotator, task.label, where)
        if shared is None:
            return
        shared |= {key: content[key] for key in TIMES if content.get(key)}
        for region in regions_of(work.results, joined=self._into.settings.keypoints):
            where = Where(self._member, region.pointer)
            if region.kind not in SHAPES or not task.records:
                apart = _APART.get(region.kind, f"{one_line(region.kind) or 'other'} result")
                self._into.annotation({"shape": apart}, where)
                continue
            label = f"{task.label}, region {one_line(region.id)}" if region.id else task.label
            with self._into.refusing(label, where):
                self._add_region(label, where, task, region, shared)

    def _add_region(
        self, label: str, where: Where, task: _Task, region: Region, shared: Record
    ) -> None:
        given = region.result
        if (address := self._address(task, given)) is None:
            keys, tag = first_few([*task.images], 5, one_line), _shown(given.get("to_name"))
            problem = f"is on the tag {tag}; its task has images under {keys}"
            raise ValueProblemError(f"{problem}: --columns image=KEY says which is drawn on")
        image = task.records[address]
        self._into.size(image, task.label, [given.get(side) for side in _SIDES], where)
        if "width" not in image:
            raise UnknownSizeError(f"has no original_width and original_height; {GIVE_SIZE}")
        size = (image["width"], image["height"])
        shape = shape_of(region, size, self._into.masks) | joints_of(region.points, size)
        shape = self._into.boxed(shape)
        record = {**shape, "image_id": image["id"], **shared}
        if str(given.get("origin")).startswith("prediction") and not task.is_review:
            record["source"] = "prediction"
        if isinstance(given.get("score"), int | float):
            record["score"] = given["score"]
        record["own_id"] = region.id or where.at
        if region.attributes:
            record["attributes"] = record.get("attributes", {}) | region.attributes
        self._tally["several"] += len(region.labels) > 1
        for name in region.labels or [""]:
            row = self._into.labelled({**record}, name, where, f"{label}: has no label")
            if row < 0 or region.value.get("rotation"):
                continue
            x, y, width, height = shape["bbox"]
            if not (x < size[0] and y < size[1] and x + width > 0 and y + height > 0):
                problem = "is outside of its image; expected 0 to 100, in percent of the image"
                self._into.defect("T003", f"{label}: {problem}", where, row)

    def finish(self) -> None:
        names = image_names(address for _, address, _ in self._images)
        for record, address, task in self._images:
            record["file_name"] = names.get(address) or task.label
            if not short_path(address):
                self._into.numbered_images[record["file_name"]] = task.shown()
        into, number = self._into, count(len(self._unnamed), "annotation")
        for label, pointer in self._unnamed[: None if self._is_anybody_named else 1]:
            problem = f"no annotation of the file says who completed it ({number})"
            if self._is_anybody_named:
                problem = f"{label}: an annotation does not say who completed it"
            into.defect("T005", problem, Where(self._member, pointer))
        if self._unnamed:
            more = ", numbered in each task" * (self._tally["numbered"] > 0)
            more += ", who may be several people" * (len(self._unnamed) > 1)
            into.nobody_notes.append(f"{number} without completed_by, here by '{UNNAMED}'{more}")
        if self._models and not (self._is_anybody_named or self._unnamed):
            into.named_by = "the model_version of predictions"
        for model, n in (+self._models).items():
            counts = f"counts as an annotator: {count(n, 'prediction')} in the file"
            into.notes.append(f"{one_line(model)} is a model and {counts}")
        if n := self._tally["truth"]:
            marked = f"{count(n, 'annotation')} marked as ground truth"
            into.notes.append(f"{marked}; as the truth of the others: --reference {GROUND_TRUTH!r}")
        if undrawn := [each for each in self._several if each not in self._drawn]:
            keys = first_few(undrawn, 5, lambda each: repr(one_line(each)))
            some = f"nobody drew on the images under {keys}, which count as empty"
            into.notes.append(f"{some}; if these are not to annotate: --columns image=KEY")
        into.count(_NOTES)
        if into.numbered_images:
            some = count(len(into.numbered_images), "image")
            todo = "--columns image=KEY says which key of the data names it"
            into.notes.append(f"{some} named by the number of its task; {todo}")


def _fill_minimal(task: _Task, item: Record) -> None:
    """Fill in the task of a JSON-MIN annotation, whose regions are under tag names."""
    results: list[tuple[str, Record]] = []
    task.has_answers = True
    for key, value in item.items():
        if isinstance(value, list) and value and all(isinstance(each, dict) for each in value):
            for place, region in enumerate(value):
                kind = next((kind for key_of, kind in _TYPES if key_of in region), "")
                labels = next((each for each in region if each == f"{kind}labels"), kind)
                more = {"type": labels, "value": region, "from_name": key}
                results.append((f"{task.pointer}{pointer_to(key, place)}", {**region, **more}))
        elif key not in _OF_WORK:
            task.data[key] = value
    content = {**item, "completed_by": item.get("annotator"), "id": item.get("annotation_id")}
    task.works.append(_Work(content, task.pointer, results))


def _shown(value: object) -> str:
    return one_line(repr(value))[:40]
