"""The tasks of a Label Studio file in any of its layouts."""

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import msgspec

from bboxqa.core.json_values import pointer_to
from bboxqa.formats.translation.untrusted import items, mapping, plain_text

Value = dict[str, Any]
GROUND_TRUTH = "ground truth"
"""The name of the annotator of annotations that are marked as ground truth."""
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
_PEOPLE = re.compile(rb'"(?:completed_by|annotator)"\s*:\s*(\{[^{}]*\})')
_WORDS = {"NoneType": "null", "str": "text", "list": "a list", "bool": "true or false"}


@dataclass(frozen=True, slots=True)
class Work:
    """An annotation or a prediction of a task."""

    content: Value
    pointer: str
    results: list[tuple[str, Value]]
    """The results of the regions, each with its pointer."""
    is_prediction: bool = False

    @property
    def is_cancelled(self) -> bool:
        """Whether the annotator cancelled it."""
        return self.content.get("was_cancelled") is True


@dataclass(slots=True)
class Task:
    """A task: the data shown to annotators, and their annotations."""

    pointer: str
    name: str
    """Its id, or its place in the file from 1."""
    data: Value
    works: list[Work] = field(default_factory=list)
    n_drafts: int = 0
    n_bare: int = 0
    """The number of predictions that are numbers instead of objects."""
    has_answers: bool = False
    """Whether its data may hold answers of the annotator, as in JSON-MIN."""
    odd: list[tuple[str, str]] = field(default_factory=list)
    """Values of an unexpected type, as pointer and type."""

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


def person(value: object, names: Mapping[str, str] | None = None) -> str:
    """Return who completed an annotation; "" if nobody is named.

    Some exports have numbers for annotators, others objects with number and e-mail; `names` are
    those of numbers.

    Examples
    --------
    >>> person({"id": 7, "email": "ann@example.org"}), person(7), person({"id": 8}), person(None)
    ('ann@example.org', '7', '8', '')
    """
    given = mapping(value)
    both = f"{plain_text(given.get('first_name'))} {plain_text(given.get('last_name'))}".strip()
    named = plain_text(given.get("email")) or plain_text(given.get("username")) or both
    number = plain_text(given.get("id")) or plain_text(value)
    return named or (names or {}).get(number, number)


def names_in(text: bytes) -> dict[str, str]:
    """Return the first name, alphabetically, of each number in objects that have both.

    Examples
    --------
    >>> names_in(b'{"annotations": [{"completed_by": {"id": 7, "email": "ann@example.org"}}]}')
    {'7': 'ann@example.org'}
    """
    names: dict[str, str] = {}
    for given in {found[1] for found in _PEOPLE.finditer(text)}:
        with suppress(msgspec.DecodeError):
            value = msgspec.json.decode(given)
            number, name = plain_text(value.get("id")), person(value)
            if number and name != number:
                names[number] = min(name, names.get(number, name))
    return names


def tasks_of(text: bytes) -> Iterator[Task]:
    """Yield the tasks of a file; see `task_of`.

    Raises msgspec.DecodeError if the file is not JSON.
    """
    if not text[:64].lstrip().startswith(b"["):
        yield _any_task(msgspec.json.decode(text), "", 0)
        return
    for number, raw in enumerate(msgspec.json.decode(text, type=list[msgspec.Raw])):
        yield _any_task(msgspec.json.decode(raw), pointer_to(number), number)


def _any_task(item: object, pointer: str, number: int) -> Task:
    if isinstance(item, dict):
        return task_of(item, pointer, number)
    return Task(pointer, f"task at {pointer}", {}, odd=[(pointer, _kind(item))])


def task_of(item: Value, pointer: str, number: int) -> Task:
    """Convert a JSON value to a task: a full task, a single annotation, or one of JSON-MIN.

    Examples
    --------
    >>> task = task_of({"id": 7, "label": [{"x": 1, "y": 2, "radiusX": 3}], "image": "a"}, "/4", 4)
    >>> task.label, task.data, task.works[0].results[0][0]
    ('task 7', {'image': 'a'}, '/4/label/0')
    """
    name = plain_text(item.get("id")) or str(number + 1)
    has_null = any(key in item and item[key] is None for key in _LISTS)
    if any(isinstance(item.get(key), list) for key in _LISTS) or (
        has_null and isinstance(item.get("data"), dict)
    ):
        return _whole(item, Task(pointer, name, mapping(item.get("data"))))
    if isinstance(item.get("result"), list):
        return _single(item, pointer, number)
    return _minimal(item, pointer, name)


def _whole(item: Value, task: Task) -> Task:
    task.n_drafts = len(items(item.get("drafts")))
    for key in _LISTS:
        for place, work in enumerate(items(item.get(key))):
            here = f"{task.pointer}/{key}/{place}"
            if isinstance(work, dict):
                task.works.append(_work(work, here, task, is_prediction=key == "predictions"))
            elif key == "predictions" and isinstance(work, int | float):
                task.n_bare += 1
            else:
                task.odd.append((here, _kind(work)))
    return task


def _single(item: Value, pointer: str, number: int) -> Task:
    """Return the task of a single annotation, as in Label Studio's target storage."""
    inside = item.get("task")
    of_task = mapping(inside)
    name = plain_text(of_task.get("id")) or plain_text(inside) or str(number + 1)
    is_prediction = "completed_by" not in item and "model_version" in item
    task = Task(pointer, name, mapping(of_task.get("data")))
    task.works.append(_work(item, pointer, task, is_prediction=is_prediction))
    return task


def _work(content: Value, pointer: str, task: Task, *, is_prediction: bool) -> Work:
    results = content.get("result")
    kept = []
    for place, result in enumerate(items(results)):
        here = f"{pointer}/result/{place}"
        if isinstance(result, dict):
            kept.append((here, result))
        else:
            task.odd.append((here, _kind(result)))
    if results is not None and not isinstance(results, list):
        task.odd.append((f"{pointer}/result", _kind(results)))
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
    other = "a number" if isinstance(value, int | float) else "an object"
    return _WORDS.get(type(value).__name__, other)
