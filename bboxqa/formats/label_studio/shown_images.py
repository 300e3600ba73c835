"""Which images of tasks with several were shown to annotators."""

from collections import defaultdict
from collections.abc import Collection, Container, Iterable, Iterator, Mapping
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple

from bboxqa.core.text import one_line
from bboxqa.formats.label_studio.regions import is_on_image
from bboxqa.formats.label_studio.studio_notes import tag_note, unshown_note
from bboxqa.formats.label_studio.task_images import (
    UNTAGGED,
    ImageKey,
    images_of,
    key_of,
    known_key,
    said_key,
    tag_of,
)
from bboxqa.formats.label_studio.tasks import Task, tasks_of
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
        self._labels: dict[str, dict[str, dict[str, None]]] = {}
        self._said_tags: list[str] = []

    @cached_property
    def _shown(self) -> Shown:
        # Only files with several images in a task are read twice.
        return shown_by(tasks_of(self._text))

    def images_of_task(
        self, label: str, images: dict[str, list[str]], drawn_on: Collection[ImageKey]
    ) -> set[ImageKey]:
        """Return the shown images of the task with a label.

        Parameters
        ----------
        label : str
        images : dict of str to list of str
            The URLs of all its images, by data key.
        drawn_on : collection of ImageKey
            The images of its regions. They count where its images are under one key, or the user
            says which key is shown.
        """
        if len(images) <= 1:
            return {*drawn_on, *map(ImageKey, chain.from_iterable(images.values()))}
        if said := said_key(images):
            return {*drawn_on, *map(ImageKey, images[said])}
        for key, of_key in images.items():
            for page in of_key:
                self._labels.setdefault(key, {}).setdefault(page, {})[label] = None
        self._keys |= dict.fromkeys(images)
        return self._shown.images_in(images)

    def said_twice(self, images: dict[str, list[str]], result: dict[str, Any]) -> str:
        """Return the problem of a result on a second tag whose image only the user says; else "".

        The regions of both tags would be on one image.
        """
        said, tag = said_key(images), tag_of(result)
        if not said or tag in self._said_tags or known_key(images, tag):
            return ""
        self._said_tags.append(tag)
        if len(self._said_tags) != 2:
            return ""
        first, second = (repr(one_line(each)) for each in self._said_tags)
        both = f"--columns image={one_line(said)} would put both on one image; leave it out"
        return f"is on the tag {second}, others are on {first}: {both}"

    def ask(self, label: str, annotator: str) -> None:
        """Add an annotator to those who were asked about the task with a label."""
        if self._labels:
            self._asked[label][annotator] = None

    def tag_notes(self, n_tagged: int) -> Iterator[str]:
        """Yield a note on the `n_tagged` images that are named by a tag."""
        if n_tagged:
            yield tag_note(n_tagged, [*self._keys], len(self._shown.tags))

    def addresses(self) -> Iterator[str]:
        """Yield the URLs of all images of tasks with several."""
        return chain.from_iterable(self._labels.values())

    def named(self, names: Mapping[str, str]) -> set[tuple[str, str]]:
        """Return the key and the name of each shown image, given names by URL."""
        if not self._labels:
            return set()
        keys = self._labels.keys() & self._shown.keys
        return {(key, names[page]) for key in keys for page in self._labels[key]}

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
        if not self._labels or self._shown.tags:
            return
        for key, pages in self._labels.items():
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
    keys: set[str] = set()
    tags: set[str] = set()
    for task in tasks:
        images = images_of(task.data)
        for work in task.works:
            if work.plain:
                keys.update(images)
            for _, result in work.results if images else ():
                if not is_on_image(result):
                    continue
                tag = tag_of(result)
                if key := key_of(images, tag):
                    keys.add(key)
                else:
                    tags.add(tag or UNTAGGED)
    return Shown(frozenset(keys), frozenset(tags))
