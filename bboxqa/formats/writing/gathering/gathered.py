"""Gathering the content to write from files of any format."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from bboxqa.core.memory import gc_paused
from bboxqa.core.pseudonyms import without_names
from bboxqa.formats.annotations.columns import AnnotationFile
from bboxqa.formats.annotations.records import (
    ANNOTATOR_KEYS,
    annotator_name,
)
from bboxqa.formats.dataset.people import Attribution
from bboxqa.formats.dataset.remarks import file_notes
from bboxqa.formats.dataset.versions import notes_on, repeated_work
from bboxqa.formats.translation.translated import UNNAMED
from bboxqa.formats.writing.content import Content
from bboxqa.formats.writing.gathering.joined_records import JoinedRecords
from bboxqa.formats.writing.gathering.source_records import records_of
from bboxqa.formats.writing.outlines import Record
from bboxqa.model.annotations import Dataset


class Gathering:
    """Keeps the files that were read, to make a `Content` from their records.

    `keep` is passed to `read_dataset` as `check`.
    """

    def __init__(self) -> None:
        self.notes: list[str] = []
        self._paths: Sequence[Path] = ()
        self._files: Sequence[AnnotationFile] = ()
        self._authors: Sequence[list[str]] = ()
        self._of_files: Sequence[str] = ()
        self._left_out: Sequence[frozenset[int]] = ()
        self._is_named = False

    def keep(
        self, paths: Sequence[Path], files: Sequence[AnnotationFile], attribution: Attribution
    ) -> tuple[str, ...]:
        """Keep the files and their attribution."""
        self._paths, self._files = paths, files
        names = np.array([*attribution.names, ""], object)
        self._authors = [names[author].tolist() for author in attribution.author]
        self._of_files = [
            asked[0][0] if attribution.of_files and asked and asked[0] else ""
            for asked in attribution.asked
        ]
        self._is_named = attribution.names != (UNNAMED,)
        self.notes = [*file_notes(files, attribution, with_losses=False)]
        # As in `join`, what somebody drew again in later records of an image counts once.
        parts = zip(files, attribution.author, strict=True)
        repeated = [repeated_work(*part) if attribution.way else None for part in parts]
        self._left_out = [frozenset(each.equal.tolist() if each else ()) for each in repeated]
        for file, found in zip(files, repeated, strict=True):
            of_file = f"{file.source.name}: " if len(files) > 1 else ""
            self.notes += [f"{of_file}{note}" for note in (notes_on(found) if found else ())]
        return ()

    @gc_paused()
    def content(self, data: Dataset, pseudonyms: Mapping[str, str]) -> Content:
        """Return the records of all files, joined as in their data set.

        Names in the records are replaced by pseudonyms.
        """
        joined = JoinedRecords(data, is_named=self._is_named)
        sources = zip(
            self._paths, self._files, self._authors, self._of_files, self._left_out, strict=True
        )
        for path, file, authors, author, left_out in sources:
            records = records_of(path, file)
            if pseudonyms:
                records = _without_people(records, pseudonyms)
            joined.add(file, records, authors, author, left_out)
        return joined.done()


def _without_people(records: Record, pseudonyms: Mapping[str, str]) -> Record:
    """Return records without names, even if annotators are numbers."""
    found: Record = without_names(records, pseudonyms, any_case=True)
    for each in found["annotations"]:
        inside = each.get("attributes")
        for holder in (each, inside if isinstance(inside, dict) else {}):
            for key in holder.keys() & {*ANNOTATOR_KEYS}:
                name = annotator_name(holder[key])
                holder[key] = pseudonyms.get(name, name)
    return found
