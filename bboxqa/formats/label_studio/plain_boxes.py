"""Collecting upright boxes with one label each from many tasks, as columns or records."""

from collections.abc import Callable

import numpy as np

from bboxqa.formats.document.origin import Where
from bboxqa.formats.label_studio.plain_tasks import PlainResult
from bboxqa.formats.translation.collector import Collector
from bboxqa.formats.translation.translated import Boxes, Lines, Record

_TOGETHER = 1 << 14


class PlainBoxes:
    """Collects plain results of Label Studio, and passes them on as columns if only boxes are read.

    Parameters
    ----------
    member : str
        The name of the file in its archive.
    into : Collector
    add : callable or None
        Called with boxes as columns; None if full records are needed.
    """

    def __init__(self, member: str, into: Collector, add: Callable[[Boxes], None] | None) -> None:
        self._member = member
        self._into = into
        self._add = add
        self._ids: dict[str, int] = {}
        self._people: dict[str, int] = {}
        self._clear()

    def _clear(self) -> None:
        self._numbers: list[float] = []
        self._category: list[int] = []
        self._image: list[int] = []
        self._size: list[tuple[int, int]] = []
        self._person: list[int] = []
        self._own_ids: list[str] = []

    def take(self, results: list[PlainResult], image: Record, person: str, pointer: str) -> bool:
        """Take the results of the annotation at a pointer; return whether they were taken."""
        if self._add is None:
            return False
        for place, result in enumerate(results):
            value = result.value
            label = value.rectanglelabels[0]
            if label not in self._ids:
                where = Where(self._member, f"{pointer}/result/{place}")
                self._ids[label] = self._into.category(label.strip(), where)
            self._category.append(self._ids[label])
            self._numbers += (value.x, value.y, value.width, value.height)
            self._own_ids.append(result.id or f"{pointer}/result/{place}")
        code = self._people.setdefault(person, len(self._people))
        self._person += [code] * len(results)
        self._image += [image["id"]] * len(results)
        self._size += [(image["width"], image["height"])] * len(results)
        if len(self._category) >= _TOGETHER:
            self.end()
        return True

    def add_records(
        self, results: list[PlainResult], image: Record, shared: Record, pointer: str
    ) -> None:
        """Pass the results of the annotation at a pointer on as records with the shared keys."""
        wide, high = image["width"], image["height"]
        shared = {**shared, "image_id": image["id"]}
        for place, result in enumerate(results):
            value, where = result.value, Where(self._member, f"{pointer}/result/{place}")
            record = {
                **shared,
                "bbox": [
                    value.x * wide / 100,
                    value.y * high / 100,
                    value.width * wide / 100,
                    value.height * high / 100,
                ],
                "category_id": self._into.category(value.rectanglelabels[0].strip(), where),
                "own_id": result.id or where.at,
            }
            self._into.annotation(record, where)

    def end(self) -> None:
        """Pass the collected boxes on."""
        n = len(self._category)
        if not n or self._add is None:
            return
        boxes = Boxes(
            np.array(self._image),
            np.array(self._category),
            # The operations are in the same order as in `regions`, so that rounding is the same.
            np.array(self._numbers).reshape(n, 4) * np.tile(self._size, 2) / 100,
            Lines([self._member], np.zeros(n, np.int64), np.ones(n, np.int64)),
            np.array(self._person),
            [*self._people],
            self._own_ids,
        )
        self._clear()
        self._into.boxes(boxes, self._add)
