"""Names of tasks that tell them apart."""

from collections.abc import Sequence
from dataclasses import replace
from hashlib import blake2b
from operator import itemgetter
from typing import Any

import msgspec

from bboxqa.formats.label_studio.image_paths import is_address, whole_path, without_upload
from bboxqa.formats.label_studio.tasks import Task

TaskImages = tuple[tuple[str, str], ...]
"""The images of a task: data keys, and paths of URLs. If it names none, all of its data."""


class TaskNames:
    """Tells tasks of different images apart that share an id, as merged exports have them.

    JSON-MIN has a task once for each annotation, with the same images, but other answers. Without
    images, its tasks are told apart by their ids only.
    """

    def __init__(self) -> None:
        # Images by data key, or else all data.
        self._told: dict[str, dict[str, list[str]]] = {}
        self._names: dict[str, dict[TaskImages, str]] = {}
        # The data of tasks that name no image.
        self._data: dict[str, dict[str, Any]] = {}

    def named(self, task: Task, images: dict[str, list[str]]) -> Task:
        """Return a task under its own name, given its images by data key.

        Examples
        --------
        >>> names, pages = TaskNames(), ("/a", "/b", "/a")
        >>> [names.named(Task("", "7", {}), {"x": [each]}).label for each in pages]
        ['task 7', 'task 7 (2)', 'task 7']
        """
        told = images or _texts(task.data)
        first = self._told.setdefault(task.label, told)
        are_answers = task.has_answers and not images and task.label in self._data
        if told != first and not are_answers:
            known = self._names.setdefault(task.name, {_shown(first): task.name})
            name = known.setdefault(_shown(told), f"{task.name} ({len(known) + 1})")
            task = replace(task, name=name)
            self._told.setdefault(task.label, told)
        if not images:
            self._data.setdefault(task.label, task.data)
        return task

    def images_of(self, label: str) -> TaskImages:
        """Return what the task with a label shows."""
        return tuple((key, without_upload(path)) for key, path in _shown(self._told[label]))

    def telling_keys(self, labels: Sequence[str]) -> list[str]:
        """Return the data keys with texts that tell tasks without images apart, addresses first."""
        data = [self._data[label] for label in labels]
        first = data[0] if data else {}
        keys = [key for key in first if _n_texts(data, key) == len(data)]
        return sorted(keys, key=lambda key: not is_address(first[key]))


def _shown(images: dict[str, list[str]]) -> TaskImages:
    by_key = sorted(images.items(), key=itemgetter(0))
    return tuple((key, _path(page)) for key, pages in by_key for page in pages)


def _texts(data: dict[str, Any]) -> dict[str, list[str]]:
    return {key: [_text(value)] for key, value in data.items()}


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return msgspec.json.encode(value, order="deterministic").decode()


def _n_texts(data: Sequence[dict[str, Any]], key: str) -> int:
    values = (each.get(key) for each in data)
    return len({value for value in values if isinstance(value, str) and value})


def _path(page: str) -> str:
    # An image inside of a URL has no path.
    return whole_path(page) or blake2b(page.encode(errors="replace"), digest_size=16).hexdigest()
