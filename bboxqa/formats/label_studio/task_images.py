"""The images of all tasks of a file: which were shown, to whom, and what they are called."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property
from hashlib import blake2b
from itertools import count as counting
from typing import Any

import msgspec

from bboxqa.core.text import count, first_few, one_line
from bboxqa.formats.choices import choices
from bboxqa.formats.label_studio.images import (
    NO_IMAGE,
    ImageKey,
    Images,
    image_names,
    image_of,
    images_of,
    key_of,
    short_path,
    tag_of,
)
from bboxqa.formats.label_studio.regions import is_on_image
from bboxqa.formats.label_studio.tasks import Task, tasks_of
from bboxqa.formats.translation.collector import Record, Unshown

_LISTED = 5


class TaskImages:
    """The images of the tasks of a file, given its text."""

    def __init__(self, text: bytes) -> None:
        self._text = text
        self.said = choices().columns.get("image", "")
        """The data key under which the user says that the image is; "" for none."""
        # Records of images with what names them, and the label of their task.
        self._records: list[tuple[Record, ImageKey, str]] = []
        # The data by which tasks of one id are told apart, by id.
        self._told: dict[str, dict[str, int]] = defaultdict(dict)
        self._shows: dict[str, list[tuple[str, str]]] = {}
        # The data keys of images, and of tasks without images.
        self._keys: dict[str, None] = {}
        self._data_keys: dict[str, None] = {}
        # Of tasks with several images: the labels of tasks, by data key and address.
        self._several: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
        self._asked: dict[str, dict[str, None]] = defaultdict(dict)

    def images_of(self, task: Task) -> Images:
        """Return the addresses of the images of a task by data key."""
        return images_of(task.data, self.said, lambda: self._tags)

    def tell_apart(self, task: Task, images: Images) -> None:
        """Number a task that shares its id with another one, as merged exports have them."""
        # Rows of JSON-MIN hold answers among the data.
        told = images or ({} if task.has_answers else task.data)
        known = self._told[task.name]
        place = known.setdefault(_digest(told), len(known))
        if place:
            task.name = f"{task.name} ({place + 1})"
        if not images:
            self._data_keys |= dict.fromkeys(task.data)
        self._shows[task.label] = [
            (key, _shown_value(each))
            for key, value in sorted(told.items())
            for each in (value if isinstance(value, list) else [value])
        ]

    def of_task(self, task: Task, images: Images) -> set[ImageKey]:
        """Return the images of a task about which annotators were asked.

        Of tasks with several, these are the ones under the data keys that regions of the file are
        on, since others may be thumbnails or a logo; all if no region is on any.
        """
        self._keys |= dict.fromkeys(images)
        if len(images) <= 1:
            return {ImageKey(page) for pages in images.values() for page in pages}
        if self.said in images:
            drawn = {image_of(images, each, self.said) for each in _on_images(task)}
            return {*drawn, *map(ImageKey, images[self.said])}
        for key, pages in images.items():
            for page in pages:
                self._several[key][page].append(task.label)
        keys, tags = self._shown
        if len(tags) > len(images):
            # The file is of several projects, with other tags.
            tags = tags & {tag_of(each) for each in _on_images(task)}
        keys = (keys & images.keys()) or frozenset(() if tags else images)
        pages_of_keys = {ImageKey(page) for key in keys for page in images[key]}
        return {*pages_of_keys, *(ImageKey("", tag) for tag in tags)}

    # Only files with several images in a task are read again.
    @cached_property
    def _tags(self) -> AbstractSet[str]:
        """The tags that regions of the file are on."""
        results = (result for task in tasks_of(self._text) for result in _on_images(task))
        return {tag_of(result) for result in results}

    @cached_property
    def _shown(self) -> tuple[frozenset[str], frozenset[str]]:
        """The data keys that regions of the file are on, and the tags of no known key."""
        keys: set[str] = set()
        tags: set[str] = set()
        for task in tasks_of(self._text):
            images = self.images_of(task)
            for result in _on_images(task) if images else ():
                key = key_of(images, result)
                if key:
                    keys.add(key)
                elif len(images) > 1:
                    tags.add(tag_of(result) or "image")
        return frozenset(keys), frozenset(tags)

    def add(self, record: Record, key: ImageKey, label: str) -> None:
        """Add the record of an image of the task with a label."""
        self._records.append((record, key, label))

    def ask(self, label: str, annotator: str) -> None:
        """Add an annotator to those who were asked about the task with a label."""
        if self._several:
            self._asked[label][annotator] = None

    def name(self) -> dict[str, str]:
        """Name the images of all records; return the names by address."""
        # An image has the same name in a file in which somebody drew on others.
        several = (address for pages in self._several.values() for address in pages)
        names = image_names((key.address for _, key, _ in self._records), several)
        for record, key, label in self._records:
            named = names.get(key.address)
            record["file_name"] = named or (f"{label}/{key.tag}" if key.tag else label)
        return names

    def shown(self, names: dict[str, str]) -> set[tuple[str, str]]:
        """Return the key and the name of each shown image of tasks with several."""
        keys = self._several.keys() & self._shown[0] if self._several else ()
        return {(key, names[page]) for key in keys for page in self._several[key]}

    def unshown(self, names: dict[str, str]) -> Iterator[Unshown]:
        """Yield the images under keys that no region of the file is on; another file may."""
        if not self._several or self._shown[1]:
            return
        shown = {key.address for _, key, _ in self._records}
        ids = counting(1 + max((record["id"] for record, _, _ in self._records), default=0))
        for key, pages in self._several.items():
            images = [
                {"id": next(ids), "file_name": names[page], "annotators": self._people(labels)}
                for page, labels in pages.items()
                if page not in shown and names[page]
            ]
            if images:
                where = f"under {one_line(key)!r} in the data of tasks"
                note = f"{count(len(images), 'image')} {where} left out: no region is on any of"
                yield Unshown(key, images, f"{note} them")

    def _people(self, labels: Sequence[str]) -> list[str]:
        return [*dict.fromkeys(who for label in labels for who in self._asked[label])]

    def numbered(self) -> dict[str, list[tuple[str, str]]]:
        """Return the images that are named by the number of a task, with what the task shows."""
        return {
            record["file_name"]: self._shows[label]
            for record, key, label in self._records
            if not short_path(key.address)
        }

    def notes(self) -> Iterator[str]:
        """Yield notes on the user's key, and on images that are named by their tasks."""
        if self.said and self._keys and self.said not in self._keys:
            known = ", ".join(repr(one_line(each)) for each in self._keys)
            no_image = f"--columns image={one_line(self.said)} names no image"
            yield f"{no_image}: tasks have images under {known}"
        if number := sum(bool(key.tag) for _, key, _ in self._records):
            tagged = f"{count(number, 'image')} named by task and tag, as the file does not say"
            yield f"{tagged} which of several images of a task a tag shows. {self.advice()}"
        if number := sum(key == NO_IMAGE for _, key, _ in self._records):
            numbered = "named by the number of its task: no value of data names an image"
            yield f"{count(number, 'image')} {numbered}. {self.advice()}"

    def advice(self) -> str:
        """Return how to name images that are named by tasks."""
        if any(key.address.startswith("data:") for _, key, _ in self._records):
            return "Give images a URL in place of their content, by which they can be told apart."
        is_unnamed = any(key == NO_IMAGE for _, key, _ in self._records)
        keys = first_few(sorted(self._data_keys if is_unnamed else self._keys), _LISTED, one_line)
        if not keys:
            return "Name the image of each task in its data, under the key image."
        return (
            f"Say which key of the data has the image: --columns image=KEY (one of: {keys}); if "
            "several tags show one image each, set to_name of each region to its key"
        )


def _shown_value(value: object) -> str:
    """Return what tells an image, or another value, from those of other tasks."""
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return short_path(text) or _digest(text)


def _digest(value: object) -> str:
    # An address may be a whole picture.
    encoded = msgspec.json.encode(value, order="deterministic")
    return blake2b(encoded, digest_size=16).hexdigest()


def _on_images(task: Task) -> Iterator[dict[str, Any]]:
    """Yield the results of a task that are shapes in an image, and that count."""
    for work in task.works:
        if not work.is_cancelled and not (work.is_prediction and task.is_reviewed):
            yield from (result for _, result in work.results if is_on_image(result))
