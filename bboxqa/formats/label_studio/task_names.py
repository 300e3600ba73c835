"""Names of tasks that tell them apart."""

from dataclasses import replace
from hashlib import blake2b

from bboxqa.formats.label_studio.image_paths import whole_path, without_upload
from bboxqa.formats.label_studio.tasks import Task

TaskImages = tuple[tuple[str, str], ...]
"""The images of a task: data keys, and paths of URLs."""


class TaskNames:
    """Tells tasks of different images apart that share an id, as merged exports have them.

    JSON-MIN has a task once for each annotation, with the same images.
    """

    def __init__(self) -> None:
        self._images: dict[str, dict[str, list[str]]] = {}
        self._names: dict[str, dict[TaskImages, str]] = {}

    def named(self, task: Task, images: dict[str, list[str]]) -> Task:
        """Return a task under its own name, given its images by data key.

        Examples
        --------
        >>> names, pages = TaskNames(), ("/a", "/b", "/a")
        >>> [names.named(Task("", "7", {}), {"x": [each]}).label for each in pages]
        ['task 7', 'task 7 (2)', 'task 7']
        """
        first = self._images.setdefault(task.label, images)
        if images == first:
            return task
        known = self._names.setdefault(task.name, {_shown(first): task.name})
        name = known.setdefault(_shown(images), f"{task.name} ({len(known) + 1})")
        found = replace(task, name=name)
        self._images.setdefault(found.label, images)
        return found

    def images_of(self, label: str) -> TaskImages:
        """Return what the task with a label shows."""
        shown = _shown(self._images[label])
        return tuple((key, without_upload(path)) for key, path in shown)


def _shown(images: dict[str, list[str]]) -> TaskImages:
    return tuple((key, _path(page)) for key, pages in images.items() for page in pages)


def _path(page: str) -> str:
    # An image inside of a URL has no path.
    return whole_path(page) or blake2b(page.encode(errors="replace"), digest_size=16).hexdigest()
