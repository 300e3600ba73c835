"""Reading results of `agree` from the folder to which they were saved."""

from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import Any

import msgspec

from bboxqa.core.errors import DatasetError
from bboxqa.core.file_names import folder_problem
from bboxqa.formats.source import read_whole
from bboxqa.model.annotations import Source

_KEYS = {"summary": "thresholds", "manifest": "settings", "details": "tables"}
_IN_DETAILS = ("diagnosis", "worst_images")
_NAME_IT = "Name the folder that `bboxqa agree … --out FOLDER` wrote"
_AGAIN = "make the result again with `bboxqa agree … --out FOLDER`."
_DIGITS = 16


def read_saved(folder: Path) -> dict[str, dict[str, Any]]:
    """Return the contents of the JSON files that ``bboxqa agree --out`` saved.

    "diagnosis" and "worst_images" are included if they were made. Raises DatasetError if the folder
    has no such result or one of an earlier version, if a file is broken, or if a file is not the
    one listed in the manifest.
    """
    if problem := folder_problem(folder):
        raise DatasetError([problem], f"{_NAME_IT}.")
    found: dict[str, dict[str, Any]] = {}
    for name, key in _KEYS.items():
        path, problem = folder / f"{name}.json", f"has no key {key!r}"
        try:
            content = msgspec.json.decode(read_whole(path)) if path.is_file() else None
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            content, problem = (), f"is not JSON: {error}"
        if content is None:
            problem = "is missing: the folder is not a result of `bboxqa agree --out`, or is a "
            problem += "result of an earlier version"
        if not isinstance(content, dict) or key not in content:
            raise DatasetError([f"{path}: {problem}"], f"{_NAME_IT}, or {_AGAIN}")
        found[name] = content
    outputs: list[Source] = []
    # None if the list was edited.
    with suppress(msgspec.ValidationError):
        outputs = msgspec.convert(found["manifest"].get("outputs", ()), list[Source])
    expected, problems = {each.name: each.blake2b or "" for each in outputs}, []
    for name in sorted(expected.keys() | {"summary.json", "details.json"}):
        path = folder / name
        # Other files are not part of the page: they may be missing, but must not differ.
        if path.name == name and path.is_file():
            digest = blake2b(read_whole(path)).hexdigest()
            if digest != expected.get(name):
                wanted = f"{expected[name][:_DIGITS]}…" if name in expected else "no such file"
                problem = f"found BLAKE2b {digest[:_DIGITS]}…; expected {wanted}, as manifest.json"
                problems.append(f"{path}: {problem} says")
    if problems:
        hint = f"Files were edited, or come from different runs: restore them, or {_AGAIN}"
        raise DatasetError(problems, hint)
    details = found.pop("details")
    return found | {name: details[name] for name in _IN_DETAILS if name in details}
