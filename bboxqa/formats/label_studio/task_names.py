"""Names of tasks that tell them apart."""

from collections import defaultdict
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
        self._names: dict[str, dict[TaskImages, str]] = defaultdict(dict)
        self._images: dict[str, TaskImages] = {}

    def named(self, task: Task, images: dict[str, list[str]]) -> Task:
        """Return a task under its own name, given its images by data key.

        Examples
        --------
        >>> names = TaskNames()
        >>> [names.named(Task("", "7", {}), {"x": [each]}).label for each in ("a", "b", "a")]
        ['task 7', 'task 7 (2)', 'task 7']
        """
        shown = tuple((key, _path(page)) for key, pages in images.items() for page in pages)
        known = self._names[task.name]
        more = f" ({len(known) + 1})" if known else ""
        name = known.setdefault(shown, f"{task.name}{more}")
        found = task if name == task.name else replace(task, name=name)
        self._images[found.label] = shown
        return found

    def images_of(self, label: str) -> TaskImages:
        """Return what the task with a label shows."""
        return tuple((key, without_upload(path)) for key, path in self._images[label])


def _path(page: str) -> str:
    # An image inside of a URL has no path.
    return whole_path(page) or blake2b(page.encode(errors="replace"), digest_size=16).hexdigest()
