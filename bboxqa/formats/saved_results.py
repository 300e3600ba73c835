"""Results of `agree`, as they were saved to a folder."""

from pathlib import Path
from typing import Any

import msgspec

from bboxqa.core.errors import DatasetError

_NEEDED = ("summary", "manifest")
_FURTHER = ("diagnosis", "worst_images")
_KEYS = {
    "summary": "thresholds",
    "manifest": "settings",
    "diagnosis": "tables",
    "worst_images": "images",
}
# The largest are those of a thousand images with 200,000 outlines.
_MOST_BYTES = 1 << 30


def read_saved(folder: Path) -> dict[str, dict[str, Any]]:
    """Return the contents of the json files of a result that ``bboxqa agree --out`` saved.

    Those of a diagnosis are there if it was made. Raises DatasetError if the folder holds no such
    result, or a file of it is broken.
    """
    if not folder.is_dir():
        found = "is a file" if folder.exists() else "no such folder"
        hint = "Name the folder that `bboxqa agree … --out FOLDER` wrote."
        raise DatasetError([f"{folder}: {found}"], hint)
    documents = {}
    for name in (*_NEEDED, *_FURTHER):
        path = folder / f"{name}.json"
        if path.is_file():
            documents[name] = _document(path, _KEYS[name])
        elif name in _NEEDED:
            raise DatasetError(
                [f"{folder}: has no {path.name}, so it is no result of `bboxqa agree --out`"],
                f"Make one: bboxqa agree FILE --diagnose --out {folder.name}",
            )
    return documents


def _document(path: Path, key: str) -> dict[str, Any]:
    """Return the object in a file, which has a key."""
    hint = "It may be cut off, or of another version: make the result again."
    try:
        size = path.stat().st_size
        if size > _MOST_BYTES:
            problem = f"has {size:,} bytes; expected at most {_MOST_BYTES:,}"
            raise DatasetError([f"{path}: {problem}"], hint)
        found = msgspec.json.decode(path.read_bytes())
    except OSError as error:
        raise DatasetError([f"{path}: cannot be read: {error.strerror}"]) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DatasetError([f"{path}: is not json: {error}"], hint) from None
    if not isinstance(found, dict) or key not in found:
        raise DatasetError([f"{path}: has no key {key!r}"], hint)
    return found
