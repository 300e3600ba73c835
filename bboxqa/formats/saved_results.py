"""Reading results of `agree` from the folder to which they were saved."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import Any

import msgspec

from bboxqa.core.errors import ConfigError, DatasetError
from bboxqa.core.file_names import folder_problem
from bboxqa.core.pseudonyms import hider, is_telling, people_among, pseudonyms_of
from bboxqa.formats.source import read_whole
from bboxqa.model.annotations import Source

_KEYS = {"summary": "thresholds", "manifest": "settings", "details": "tables"}
_IN_DETAILS = ("diagnosis", "worst_images")
_NAME_IT = "Name the folder that `bboxqa agree … --out FOLDER` wrote"
_AGAIN = "make the result again with `bboxqa agree … --out FOLDER`."
_DIGITS = 16
# Longer names are shortened inside sentences.
_LONGEST = 100


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
    _check_outputs(folder, found["manifest"])
    details = found.pop("details")
    return found | {name: details[name] for name in _IN_DETAILS if name in details}


def _check_outputs(folder: Path, manifest: Mapping[str, Any]) -> None:
    """Refuse files that differ from the files written with the manifest."""
    expected = {each.name: each.blake2b or "" for each in _sources(manifest, "outputs")}
    problems = []
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


def _sources(manifest: Mapping[str, Any], key: str) -> list[Source]:
    """Return the files in a list of a manifest; none if the list was edited."""
    with suppress(msgspec.ValidationError):
        return msgspec.convert(manifest.get(key, ()), list[Source])
    return []


def pseudonymous_documents(
    documents: Mapping[str, Mapping[str, Any]], key: Path
) -> dict[str, dict[str, Any]]:
    """Return the documents of a result with annotator names replaced by pseudonyms.

    Names that are pseudonyms in the key stay, as the result was made with this key. So do those of
    splits and models, and words for nobody. Raises ConfigError if a name may be an ordinary word
    or number in sentences.
    """
    known = {*pseudonyms_of(key, ()).values()}
    inputs = _sources(documents["manifest"], "inputs")
    models = {each.annotator for each in inputs if each.role == "predictions"}
    names = {*people_among({*_annotators(documents)})} - models - known
    unclear = sorted(name for name in names if not is_telling(name) or len(name) > _LONGEST)
    if unclear:
        raise ConfigError(
            f"the annotator {unclear[0]!r} cannot be distinguished from other words in the "
            "sentences of a saved result; measure again: bboxqa agree FILE --pseudonyms KEY --out "
            "FOLDER"
        )
    given = pseudonyms_of(key, names)
    found: dict[str, dict[str, Any]] = hider({each: given[each] for each in names})(documents)
    return found


def _annotators(documents: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Yield the names of annotators in the documents of a result."""
    for threshold in documents["summary"]["thresholds"]:
        for pair in threshold.get("pairs", ()):
            yield from (pair["annotator_1"], pair["annotator_2"])
    for each in documents.get("diagnosis", {}).get("annotators", ()):
        yield each["name"]
    for image in documents.get("worst_images", {}).get("images", ()):
        yield from (shape["annotator"] for shape in image["shapes"])
