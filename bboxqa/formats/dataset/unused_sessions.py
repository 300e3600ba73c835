"""Noticing sessions in annotations for which no session key was given."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from bboxqa.formats.coco.reader import COCO_JSON
from bboxqa.formats.coco.sample import sample_records
from bboxqa.formats.registry import format_of

_KEY = "session"


def session_notes(paths: Iterable[Path], keys: Sequence[str]) -> Iterator[str]:
    """Yield a note on the session key if an annotator annotated an image in several sessions.

    Only a sample of the annotations is examined. `keys` are the keys that may name the annotator.
    """
    files = (path for path in paths if not path.is_dir() and format_of(path) in COCO_JSON)
    if any(_has_two(path, keys) for path in files):
        yield (
            f"annotations have a key '{_KEY}', and images were annotated again: --session-key "
            f"{_KEY} tells repeated images from boxes drawn twice"
        )


def _has_two(path: Path, keys: Sequence[str]) -> bool:
    """Return whether an annotator has annotations of two sessions in one image."""
    first: dict[tuple[str, ...], str] = {}
    with closing(sample_records(path)) as pieces:
        for records in pieces:
            known = [record for record in records if record.get(_KEY) is not None]
            if not known:
                return False
            for record in known:
                cell = (repr(record["image_id"]), *(_value(record, key) for key in keys))
                session = repr(record[_KEY])
                if first.setdefault(cell, session) != session:
                    return True
    return False


def _value(record: dict[str, Any], key: str) -> str:
    """Return the value of a key as text; "a.b" means key b of the object under a."""
    first, _, rest = key.partition(".")
    value = record.get(first)
    return repr(value.get(rest) if rest and isinstance(value, dict) else value)
