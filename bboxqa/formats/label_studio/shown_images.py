"""Which images of tasks with several were shown to annotators."""

from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple

from bboxqa.core.text import one_line
from bboxqa.formats.label_studio.regions import is_on_image
from bboxqa.formats.label_studio.studio_notes import (
    CONTENT_ADVICE,
    naming_advice,
    tag_note,
    unknown_key_note,
    unshown_note,
)
from bboxqa.formats.label_studio.task_images import (
    NO_IMAGE,
    UNTAGGED,
    ImageKey,
    image_of,
    key_of,
    known_key,
    said_key,
    tag_of,
)
from bboxqa.formats.label_studio.tasks import Task, Work, tasks_of
from bboxqa.formats.translation.choices import choices
from bboxqa.formats.translation.translated import Unshown


class Shown(NamedTuple):
    """What the regions of a file are on."""

    keys: frozenset[str]
    """The data keys of images."""
    tags: frozenset[str]
    """The tags of which the file does not say which image of a task they show."""

    def images_in(self, images: dict[str, list[str]]) -> set[ImageKey]:
        """Return the shown images of a task; all if no region of the file is on any like them.

        Examples
        --------
        >>> shown = Shown(frozenset({"image"}), frozenset())
        >>> shown.images_in({"image": ["a.jpg"], "logo": ["x.png"]})
        {ImageKey(address='a.jpg', tag='')}
        """
        tagged = {ImageKey("", tag) for tag in self.tags}
        keys = self.keys & images.keys()
        if not keys and not tagged:
            keys = frozenset(images)
        return {ImageKey(page) for key in keys for page in images[key]} | tagged


class ShownImages:
    """The images of each task about which annotators were asked.

    Of tasks with several images, these are the ones under the data keys that regions of the file
    are on: others may be thumbnails, or a logo.
    """

    def __init__(self, text: bytes) -> None:
        self._text = text
        self._keys: dict[str, None] = {}
        self._asked: dict[str, dict[str, None]] = defaultdict(dict)
        # The labels of tasks, by key and URL.
        self._tasks: dict[str, dict[str, dict[str, None]]] = {}
        self._all_keys: dict[str, None] = {}
        # The tags on the user's image; True if the file says it.
        self._said_tags: dict[str, bool] = {}
        self._is_said_twice = False

    @cached_property
    def _shown(self) -> Shown:
        # Only files with several images in a task are read twice.
        return shown_by(tasks_of(self._text))

    def images_of_task(self, task: Task, images: dict[str, list[str]]) -> set[ImageKey]:
        """Return the shown images of a task, given the URLs of all its images by data key."""
        self._all_keys |= dict.fromkeys(images)
        if len(images) <= 1:
            return {*map(ImageKey, chain.from_iterable(images.values()))}
        if said := said_key(images):
            others = {image_of(images, result) or NO_IMAGE for result in _on_images(task.compared)}
            return {*others, *map(ImageKey, images[said])}
        for key, of_key in images.items():
            for page in of_key:
                self._tasks.setdefault(key, {}).setdefault(page, {})[task.label] = None
        self._keys |= dict.fromkeys(images)
        shown = self._shown
        if len(shown.tags) > len(images):
            # The file is of several projects, with other tags.
            shown = Shown(shown.keys, shown_by([task]).tags)
        return shown.images_in(images)

    def tag_problem(self, images: dict[str, list[str]], result: dict[str, Any]) -> str:
        """Return the problem of a region whose tag is not the first on the user's image.

        The regions of both tags would be on one image. "" if there is none, or the file had one.
        """
        said, tag = said_key(images), tag_of(result)
        known = known_key(images, tag)
        if not said or len(images) == 1 or self._is_said_twice or known not in ("", said):
            return ""
        self._said_tags.setdefault(tag, bool(known))
        if len(self._said_tags) < 2 or all(self._said_tags.values()):
            return ""
        self._is_said_twice = True
        others = ", ".join(repr(one_line(each)) for each in self._said_tags if each != tag)
        advice = "name another key" if any(self._said_tags.values()) else "leave it out"
        return (
            f"is on the tag {one_line(tag)!r}, others are on {others}: --columns "
            f"image={one_line(said)} would put them on one image; {advice}"
        )

    def ask(self, label: str, annotator: str) -> None:
        """Add an annotator to those who were asked about the task with a label."""
        if self._tasks:
            self._asked[label][annotator] = None

    def _open_keys(self) -> list[str]:
        """Return the data keys one of which a tag shows; none if there are several such tags."""
        known, tags = self._shown
        return [] if len(tags) > 1 else [each for each in self._keys if each not in known]

    def key_notes(self, n_tagged: int) -> Iterator[str]:
        """Yield notes on the user's key, and on the `n_tagged` images that are named by a tag."""
        said = choices().columns.get("image", "")
        if said and self._all_keys and said not in self._all_keys:
            yield unknown_key_note(said, [*self._all_keys])
        if n_tagged:
            yield tag_note(n_tagged, [*self._keys], self._open_keys())

    def naming_advice(self, n_tagged: int) -> str:
        """Return how to name images that are named by their task, `n_tagged` of them by a tag."""
        return naming_advice([*self._keys], self._open_keys()) if n_tagged else CONTENT_ADVICE

    def addresses(self) -> Iterator[str]:
        """Yield the URLs of all images of tasks with several."""
        return chain.from_iterable(self._tasks.values())

    def named(self, names: Mapping[str, str]) -> set[tuple[str, str]]:
        """Return the key and the name of each shown image, given names by URL."""
        if not self._tasks:
            return set()
        keys = self._tasks.keys() & self._shown.keys
        return {(key, names[page]) for key in keys for page in self._tasks[key]}

    def unshown(
        self, names: Mapping[str, str], shown: Container[str], ids: Iterator[int]
    ) -> Iterator[Unshown]:
        """Yield the images under other keys, which another file may show.

        Parameters
        ----------
        names : mapping of str to str
            Names by URL.
        shown : container of str
            The URLs of the images that this file shows.
        ids : iterator of int
            Ids for the others.
        """
        if not self._tasks or self._shown.tags:
            return
        for key, pages in self._tasks.items():
            images = [
                {"id": next(ids), "file_name": names[page], "annotators": [*self._people(labels)]}
                for page, labels in pages.items()
                if page not in shown and names[page]
            ]
            if images:
                yield Unshown(key, images, unshown_note(key, len(images)))

    def _people(self, labels: Iterable[str]) -> dict[str, None]:
        return {who: None for label in labels for who in self._asked[label]}


def shown_by(tasks: Iterable[Task]) -> Shown:
    """Return what the regions of all tasks are on."""
    named: set[str] = set()
    only: set[str] = set()
    tags: set[str] = set()
    for task in tasks:
        images, works = task.images, task.compared
        keys = named if len(images) > 1 else only
        if any(work.plain for work in works):
            keys |= images.keys()
        for result in _on_images(works) if images else ():
            tag = tag_of(result)
            if key := key_of(images, tag):
                keys.add(key)
            else:
                tags.add(tag or UNTAGGED)
    # In tasks with a single image, the tag that shows it may be any of these.
    return Shown(frozenset(named if tags else named | only), frozenset(tags))


def _on_images(works: Iterable[Work]) -> Iterator[dict[str, Any]]:
    """Yield the results that are shapes in an image."""
    for work in works:
        yield from (result for _, result in work.results if is_on_image(result))
