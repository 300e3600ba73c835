"""Names of a category map that no project has."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

from bboxqa.batch.result_folders import folder_of
from bboxqa.batch.rows import MEASURED, Row
from bboxqa.formats.dataset.category_names import no_category


def unused_names(out: Path, rows: Sequence[Row], names: Iterable[str]) -> list[str]:
    """Return the names that are categories of no measured project, by the notes of their results.

    A name that only some projects lack is as it should be: the map is for all of them.
    """
    left = list(names)
    measured = [row for row in rows if row.status == MEASURED]
    for row in measured:
        if not left:
            break
        notes = _notes(folder_of(out, row.project) / "summary.json")
        left = [each for each in left if any(no_category(each) in note for note in notes)]
    return left if measured else []


def _notes(file: Path) -> list[str]:
    try:
        notes = json.loads(file.read_bytes())["notes"]
    except (OSError, ValueError, KeyError, TypeError):
        return []
    return [note for note in notes if isinstance(note, str)] if isinstance(notes, list) else []
