"""Translating VIA images and regions to COCO records."""

from collections import Counter
from pathlib import Path

from bboxqa.core.errors import DatasetError
from bboxqa.core.text import count, first_few, one_line
from bboxqa.formats.document import Where
from bboxqa.formats.translation.collector import (
    UNLABELLED,
    Add,
    Collector,
    Record,
    Translated,
    Wanted,
    tally_notes,
)
from bboxqa.formats.translation.json_files import begins
from bboxqa.formats.translation.member import Member
from bboxqa.formats.translation.members import members_of
from bboxqa.formats.translation.untrusted import ValueProblemError
from bboxqa.formats.via.via_entries import Entry, Region, entries_of, refuse_empty
from bboxqa.formats.via.via_heads import looks_right
from bboxqa.formats.via.via_labels import Labels, labels_of
from bboxqa.formats.via.via_shapes import shape_of

_WORDS = (
    ("again", "image", "with several entries, which are merged"),
    ("several", "region", "with several labels: one annotation for each label"),
)


def translate_via(path: Path, add: Add, _wanted: Wanted) -> Translated:
    """Translate a VIA file; raises DatasetError if it has no images."""
    found = [each for each in members_of(path) if not each.name or begins(looks_right, each.head())]
    if len(found) != 1:
        names = first_few(found, 3, lambda each: one_line(each.name))
        raise DatasetError(
            [f"{path}: has {count(len(found), 'file')} of VIA: {names}; expected one"],
            "Unpack it, and name the files that belong together.",
        )
    (member,) = found
    entries = [*entries_of(member)]
    if not entries:
        refuse_empty(member)
    labels = labels_of([region.said for entry in entries for region in entry.regions])
    records = _ViaRecords(member, labels, add)
    for entry in entries:
        records.add_entry(entry)
    return records.done()


class _ViaRecords:
    """Converts regions to COCO records."""

    def __init__(self, member: Member, labels: Labels, add: Add) -> None:
        is_table = not begins(lambda head: head[:1] == b"{", member.head())
        self._into = Collector("VIA csv" if is_table else "VIA JSON", add)
        self._member = member.name
        self._labels = labels
        self._tally: Counter[str] = Counter()

    def add_entry(self, entry: Entry) -> None:
        """Add the regions of an image."""
        image = self._into.image(entry.name, Where(self._member, entry.at))
        self._tally["again"] += "file_name" in image
        image["file_name"] = entry.name
        # VIA does not record who was asked.
        image.pop("annotators", None)
        for number, region in enumerate(entry.regions, start=1):
            where = Where(self._member, region.at)
            label = f"{one_line(entry.name)}, region {number}"
            try:
                shape = shape_of(region.shape)
            except ValueProblemError as error:
                self._into.refuse(label, error, where)
                continue
            said = {**entry.said, **region.said}
            # The rotation is computed from the points; the tool's attribute would duplicate it.
            said.pop("rotation", None)
            record: Record = {**shape, "image_id": image["id"], "attributes": said}
            self._add_labels(label, region, record, where)

    def _add_labels(self, label: str, region: Region, record: Record, where: Where) -> None:
        labels = self._labels.of(region.said)
        if "bbox" not in record:
            self._into.annotation({**record, "label": next(iter(labels), UNLABELLED)}, where)
            return
        self._tally["several"] += len(labels) > 1
        for name in labels or [UNLABELLED]:
            category = self._into.category(name, where)
            row = self._into.annotation({**record, "category_id": category}, where)
            if not labels and (self._labels.attribute or self._labels.by_name):
                wanted = f" {self._labels.attribute!r}" if self._labels.attribute else ""
                self._into.defect("T004", f"{label}: has no label{wanted}", where, row)

    def done(self) -> Translated:
        """Return the translation, with all images, categories and notes."""
        notes = [self._labels.note] if self._labels.note else []
        return self._into.done([*notes, *tally_notes(self._tally, _WORDS)])
