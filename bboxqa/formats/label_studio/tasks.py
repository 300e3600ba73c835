"""Reading the tasks of a Label Studio file in any of its layouts."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any

import msgspec

from bboxqa.core.json_values import pointer_to
from bboxqa.formats.label_studio.plain_tasks import PlainResult, PlainTask, plain_task
from bboxqa.formats.label_studio.region_tags import region_tags
from bboxqa.formats.label_studio.task_images import images_of
from bboxqa.formats.translation.untrusted import plain_text

Value = dict[str, Any]
REVIEW = {"bboxqa": "review"}
"""In the data of tasks whose predictions are annotations of people, to be reviewed."""
_LISTS = ("annotations", "completions", "predictions")
# The keys of annotations in JSON-MIN, among those of the data of their task.
_OF_WORK = (
    "id", "annotator", "annotation_id", "created_at", "updated_at", "lead_time", "agreement"
)  # fmt: skip
# The keys of a region in JSON-MIN, by the type of its result.
_TYPES = (
    ("points", "polygon"), ("radiusX", "ellipse"), ("rle", "brush"), ("height", "rectangle"),
    ("width", "keypoint"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Work:
    """An annotation or a prediction of a task."""

    content: Value
    pointer: str
    results: list[tuple[str, Value]]
    """The results of the regions, each with its pointer."""
    is_prediction: bool = False
    plain: list[PlainResult] = field(default_factory=list)
    """The results if all are upright boxes with one label; then `results` is empty."""

    @property
    def is_cancelled(self) -> bool:
        """Whether the annotator cancelled it."""
        return self.content.get("was_cancelled") is True


@dataclass(frozen=True, slots=True)
class Task:
    """A task: the data shown to annotators, and their annotations."""

    pointer: str
    name: str
    """Its id, or its place in the file from 1."""
    data: Value
    works: list[Work] = field(default_factory=list)
    n_drafts: int = 0
    odd: list[tuple[str, str]] = field(default_factory=list)
    """Values of an unexpected type, as pointer and type."""
    n_bare: int = 0
    """The number of predictions that are numbers instead of objects."""
    images: dict[str, list[str]] = field(default_factory=dict)
    """The URLs of its images by data key; see `images_of`."""
    has_answers: bool = False
    """Whether its data may hold answers of the annotator, as in JSON-MIN."""

    @property
    def label(self) -> str:
        """How messages call the task, such as "task 187"."""
        return f"task {self.name}"

    @property
    def is_review(self) -> bool:
        """Whether the predictions are annotations of people, to be reviewed."""
        return self.data.items() >= REVIEW.items()

    @property
    def is_reviewed(self) -> bool:
        """Whether somebody reviewed these predictions."""
        return self.is_review and any(
            not each.is_prediction and not each.is_cancelled for each in self.works
        )

    @property
    def compared(self) -> list[Work]:
        """The annotations and predictions that count, unless their author repeats them."""
        is_reviewed = self.is_reviewed
        return [
            each
            for each in self.works
            if not each.is_cancelled and not (each.is_prediction and is_reviewed)
        ]


def tasks_of(text: bytes) -> Iterator[Task]:
    """Yield the tasks of a file; see `task_of`.

    Raises msgspec.DecodeError if the file is not JSON.
    """
    is_list = text[:64].lstrip().startswith(b"[")
    items = msgspec.json.decode(text, type=list[msgspec.Raw]) if is_list else [msgspec.Raw(text)]
    is_open = True
    tags = cache(partial(region_tags, text))
    for number, raw in enumerate(items):
        pointer = pointer_to(number) if is_list else ""
        plain = plain_task(raw) if is_open else None
        images = images_of(plain.data, tags) if plain else {}
        if plain and not _are_several(images):
            yield replace(_plain(plain, pointer, number), images=images)
            continue
        task = _task(msgspec.json.decode(raw), pointer, number)
        images = images or images_of(task.data, tags)
        # A task with several images is not plain, and nor is the next one, most likely.
        is_open = not _are_several(images)
        yield replace(task, images=images)


def _are_several(images: dict[str, list[str]]) -> bool:
    return sum(map(len, images.values())) > 1


def _task(item: object, pointer: str, number: int) -> Task:
    if isinstance(item, dict):
        return task_of(item, pointer, number)
    return Task(pointer, f"task at {pointer}", {}, odd=[(pointer, _kind(item))])


def _plain(item: PlainTask, pointer: str, number: int) -> Task:
    works = []
    for place, work in enumerate(item.annotations):
        content = msgspec.structs.asdict(work)
        plain = content.pop("result")
        works.append(Work(content, f"{pointer}/annotations/{place}", [], plain=plain))
    return Task(pointer, _name(item.id, number), item.data, works)


def _name(own: object, number: int) -> str:
    return plain_text(own) or str(number + 1)


def task_of(item: Value, pointer: str, number: int) -> Task:
    """Convert a JSON value to a task: a full task, a single annotation, or one of JSON-MIN.

    Examples
    --------
    >>> task = task_of({"id": 7, "label": [{"x": 1, "y": 2, "radiusX": 3}], "image": "a"}, "/4", 4)
    >>> task.label, task.data, task.works[0].results[0][0]
    ('task 7', {'image': 'a'}, '/4/label/0')
    """
    name = _name(item.get("id"), number)
    if any(isinstance(item.get(key), list) for key in _LISTS) or _is_unannotated(item):
        return _whole(item, pointer, name)
    if isinstance(item.get("result"), list):
        return _single(item, pointer, number)
    return _minimal(item, pointer, name)


def _is_unannotated(item: Value) -> bool:
    """Return whether a task has null in place of a list of annotations."""
    has_null = any(key in item and item[key] is None for key in _LISTS)
    return has_null and isinstance(item.get("data"), dict)


def _whole(item: Value, pointer: str, name: str) -> Task:
    drafts = item.get("drafts")
    data = item.get("data")
    works: list[Work] = []
    odd: list[tuple[str, str]] = []
    n_bare = 0
    for key in _LISTS:
        listed = item.get(key)
        for place, work in enumerate(listed if isinstance(listed, list) else ()):
            here = f"{pointer}/{key}/{place}"
            if isinstance(work, dict):
                works.append(_work(work, here, odd, is_prediction=key == "predictions"))
            elif key == "predictions" and isinstance(work, int | float):
                n_bare += 1
            else:
                odd.append((here, _kind(work)))
    n_drafts = len(drafts) if isinstance(drafts, list) else 0
    return Task(pointer, name, _object(data), works, n_drafts, odd, n_bare)


def _single(item: Value, pointer: str, number: int) -> Task:
    """Return the task of a single annotation, as in Label Studio's target storage."""
    inside = item.get("task")
    of_task = _object(inside)
    found = plain_text(of_task.get("id")) or plain_text(inside) or str(number + 1)
    is_prediction = "completed_by" not in item and "model_version" in item
    odd: list[tuple[str, str]] = []
    work = _work(item, pointer, odd, is_prediction=is_prediction)
    return Task(pointer, found, _object(of_task.get("data")), [work], odd=odd)


def _object(value: object) -> Value:
    return value if isinstance(value, dict) else {}


def _work(content: Value, pointer: str, odd: list[tuple[str, str]], *, is_prediction: bool) -> Work:
    results = content.get("result")
    kept = []
    for place, result in enumerate(results if isinstance(results, list) else ()):
        here = f"{pointer}/result/{place}"
        if isinstance(result, dict):
            kept.append((here, result))
        else:
            odd.append((here, _kind(result)))
    if results is not None and not isinstance(results, list):
        odd.append((f"{pointer}/result", _kind(results)))
    return Work(content, pointer, kept, is_prediction)


def _minimal(item: Value, pointer: str, name: str) -> Task:
    """Return the task of a JSON-MIN annotation, whose regions are under tag names."""
    data, results = {}, []
    for key, value in item.items():
        if isinstance(value, list) and value and all(isinstance(each, dict) for each in value):
            for place, region in enumerate(value):
                kind = next((kind for key_of, kind in _TYPES if key_of in region), "")
                labels = next((each for each in region if each == f"{kind}labels"), kind)
                more = {"type": labels, "value": region, "from_name": key}
                results.append((f"{pointer}{pointer_to(key, place)}", {**region, **more}))
        elif key not in _OF_WORK:
            data[key] = value
    content = {**item, "completed_by": item.get("annotator"), "id": item.get("annotation_id")}
    return Task(pointer, name, data, [Work(content, pointer, results)], has_answers=True)


def _kind(value: object) -> str:
    words = {"NoneType": "null", "str": "text", "list": "a list", "bool": "true or false"}
    name = type(value).__name__
    return words.get(name, "a number" if isinstance(value, int | float) else "an object")
