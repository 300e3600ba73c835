"""Which images of tasks with several were shown to annotators."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from functools import cached_property
from typing import NamedTuple

from bboxqa.formats.label_studio.regions import is_on_image
from bboxqa.formats.label_studio.studio_notes import tag_note, unshown_notes
from bboxqa.formats.label_studio.task_images import (
    UNTAGGED,
    ImageKey,
    images_of,
    key_of,
    said_key,
    tag_of,
)
from bboxqa.formats.label_studio.tasks import Task, tasks_of


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
        self._left_out: dict[str, set[ImageKey]] = defaultdict(set)

    @cached_property
    def _shown(self) -> Shown:
        # Most files have one image in each task, and are not read twice.
        return shown_by(tasks_of(self._text))

    def images_of_task(
        self, images: dict[str, list[str]], drawn_on: Collection[ImageKey]
    ) -> set[ImageKey]:
        """Return the images of a task, given those by data key, and those with regions."""
        pages = {key: {ImageKey(page) for page in images[key]} for key in images}
        if said := said_key(images):
            return {*drawn_on} | pages[said]
        if len(images) <= 1:
            return {*drawn_on}.union(*pages.values())
        found = self._shown.images_in(images)
        if self._shown.tags:
            self._keys |= dict.fromkeys(images)
        else:
            for key, of_key in pages.items():
                self._left_out[key] |= of_key - found
        return found

    def notes(self, n_tagged: int) -> Iterator[str]:
        """Yield notes on the `n_tagged` images that are named by a tag, and on those left out."""
        if n_tagged:
            yield tag_note(n_tagged, [*self._keys])
        yield from unshown_notes({key: len(images) for key, images in self._left_out.items()})


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
