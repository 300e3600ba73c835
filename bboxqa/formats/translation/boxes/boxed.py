"""Numbering annotations with boxes, and counting annotations without."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import compress

from bboxqa.core.text import count
from bboxqa.formats.document.origin import Where
from bboxqa.formats.translation.translated import Boxes, Record

OWN_ID = "own_id"
"""The key of an annotation that holds the id shown by its tool."""


class Boxed:
    """Numbers the annotations with boxes, and counts the others."""

    def __init__(self) -> None:
        self.n = 0
        self._n_rotated = 0
        self.n_apart: Counter[str] = Counter()
        self.categories_apart: set[int] = set()

    def take(
        self, records: Sequence[Record], places: Sequence[Where]
    ) -> tuple[list[Record], list[Where]]:
        """Return the annotations with boxes, and their locations."""
        kept, kept_places = list(records), list(places)
        if not all("bbox" in record for record in records):
            has_box = ["bbox" in record for record in records]
            kept = [*compress(records, has_box)]
            kept_places = [*compress(places, has_box)]
            apart = [record for record in records if "bbox" not in record]
            self.n_apart.update(record["shape"] for record in apart)
            self.categories_apart.update(
                record["category_id"] for record in apart if "category_id" in record
            )
        for number, record in enumerate(kept, start=self.n + 1):
            record.setdefault("id", number)
            if "attributes" in record:
                self._n_rotated += bool(record["attributes"].get("rotation"))
        self.n += len(kept)
        return kept, kept_places

    def take_columns(self, boxes: Boxes) -> int:
        """Count annotations with boxes; return the number of the first one."""
        first = self.n + 1
        self.n += len(boxes)
        self._n_rotated += boxes.n_rotated
        return first

    def notes(self, *, are_upright: bool) -> Iterator[str]:
        """Yield a note if rotated boxes are not compared as drawn."""
        if self._n_rotated and are_upright:
            some = count(self._n_rotated, "rotated box", "rotated boxes")
            is_ = "is" if self._n_rotated == 1 else "are"
            yield (
                f"{some} {is_} compared by the upright bounds; --similarity obb compares rotated "
                "boxes"
            )
