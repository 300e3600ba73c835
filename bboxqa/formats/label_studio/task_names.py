"""Names of tasks that tell them apart."""

from collections import defaultdict
from dataclasses import replace

from bboxqa.formats.label_studio.image_paths import whole_path
from bboxqa.formats.label_studio.tasks import Task


class TaskNames:
    """Tells tasks of different images apart that share an id, as merged exports have them.

    JSON-MIN has a task once for each annotation, with the same images.
    """

    def __init__(self) -> None:
        self._names: dict[str, dict[tuple[str, ...], str]] = defaultdict(dict)

    def named(self, task: Task, images: dict[str, list[str]]) -> Task:
        """Return a task under its own name, given its images by data key.

        Examples
        --------
        >>> names = TaskNames()
        >>> [names.named(Task("", "7", {}), {"x": [each]}).label for each in ("a", "b", "a")]
        ['task 7', 'task 7 (2)', 'task 7']
        """
        known = self._names[task.name]
        shown = tuple(whole_path(page) or page for pages in images.values() for page in pages)
        more = f" ({len(known) + 1})" if known else ""
        name = known.setdefault(shown, f"{task.name}{more}")
        return task if name == task.name else replace(task, name=name)
