"""Reading results of `agree` from the folder to which they were saved."""

import shlex
from collections.abc import Iterator, Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any

import msgspec

from bboxqa.core.errors import ConfigError, DatasetError
from bboxqa.core.file_names import folder_problem
from bboxqa.core.files import digest_of
from bboxqa.core.pseudonyms import hider, is_telling, people_among, pseudonyms_of
from bboxqa.formats.source import named_errors
from bboxqa.model.annotations import Source

_KEYS = {"summary": "thresholds", "manifest": "settings", "details": "tables"}
_IN_DETAILS = ("diagnosis", "worst_images")
_AGAIN = "make the result again with `bboxqa agree … --out FOLDER`"
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
        hint = "Name the folder that `bboxqa agree … --out FOLDER` wrote."
        raise DatasetError([problem], hint)
    contents: dict[str, bytes] = {}
    found: dict[str, dict[str, Any]] = {}
    for name, key in _KEYS.items():
        path = folder / f"{name}.json"
        if not path.is_file():
            hint = f"Make one: bboxqa agree FILE --out {shlex.quote(f'{folder}/result')}"
            if (folder / "projects").is_dir():
                hint = f"Of a run of `bboxqa batch`, name a folder in {folder / 'projects'}."
            problem = "it is not a result of `bboxqa agree --out`"
            if "manifest" in found:
                problem = "it is a result of an earlier version"
                hint = f"Make it again: bboxqa agree FILE --out {shlex.quote(str(folder))} --force"
            if (folder / "changes.csv").is_file():
                problem, hint = "it is a result of `bboxqa compare`", "Name one of `bboxqa agree`."
            raise DatasetError([f"{folder}: has no {path.name}: {problem}"], hint)
        with named_errors(path, "a file"):
            contents[path.name] = path.read_bytes()
        found[name] = _document(path, key, contents[path.name])
    _check_outputs(folder, contents, found["manifest"])
    details = found.pop("details")
    return found | {name: details[name] for name in _IN_DETAILS if name in details}


def _document(path: Path, key: str, content: bytes) -> dict[str, Any]:
    """Return the object in a file, checked for a key."""
    try:
        found = msgspec.json.decode(content)
        problem = "" if isinstance(found, dict) and key in found else f"has no key {key!r}"
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        problem = f"is not JSON: {error}"
    if problem:
        hint = f"It may be cut off, or come from another version: {_AGAIN}."
        raise DatasetError([f"{path}: {problem}"], hint)
    return found  # type: ignore[no-any-return]


def _check_outputs(
    folder: Path, contents: Mapping[str, bytes], manifest: Mapping[str, Any]
) -> None:
    """Refuse files that differ from the files written with the manifest."""
    try:
        listed = msgspec.convert(manifest.get("outputs"), list[Source])
    except msgspec.ValidationError:
        problem = f"{folder / 'manifest.json'}: has no list of outputs with their digests"
        hint = f"It comes from another version, or was edited: {_AGAIN}."
        raise DatasetError([problem], hint) from None
    outputs = {each.name: each.blake2b or "" for each in listed}
    digests = {name: blake2b(content).hexdigest() for name, content in contents.items()}
    del digests["manifest.json"]
    # Other files are not part of the page: they may be missing, but must not differ.
    for name in sorted(outputs.keys() - digests.keys()):
        path = folder / name
        if path.name == name and path.is_file():
            with named_errors(path, "a file"):
                digests[name] = digest_of(path)
    problems = []
    for name, digest in digests.items():
        if name not in outputs:
            problem = "does not belong to this run: manifest.json does not list it"
            problems.append(f"{folder / name}: {problem}")
        elif digest != outputs[name]:
            found = f"found BLAKE2b {digest[:_DIGITS]}…"
            expected = f"expected {outputs[name][:_DIGITS]}…, as manifest.json says"
            problems.append(f"{folder / name}: {found}; {expected}")
    if problems:
        hint = f"Files were edited, or come from different runs: restore them, or {_AGAIN}."
        raise DatasetError(problems, hint)


def pseudonymous_documents(
    documents: Mapping[str, Mapping[str, Any]], key: Path
) -> dict[str, dict[str, Any]]:
    """Return the documents of a result with annotator names replaced by pseudonyms.

    Names that are pseudonyms in the key stay, as the result was made with this key. So do those of
    splits and models, and words for nobody. Raises ConfigError if a name may be an ordinary word
    or number in sentences.
    """
    known = {*pseudonyms_of(key, ()).values()}
    annotators = {*_annotators(documents)}
    names = {*people_among(annotators)} - _models(documents) - known
    unclear = sorted(name for name in names if not is_telling(name) or len(name) > _LONGEST)
    if unclear:
        raise ConfigError(
            f"the annotator {unclear[0]!r} cannot be distinguished from other words in the "
            "sentences "
            "of a saved result; measure again: bboxqa agree FILE --pseudonyms KEY --out FOLDER"
        )
    given = pseudonyms_of(key, names)
    found: dict[str, dict[str, Any]] = hider({each: given[each] for each in names})(documents)
    return found


def _models(documents: Mapping[str, Mapping[str, Any]]) -> set[str]:
    """Return the names of models."""
    try:
        inputs = msgspec.convert(documents["manifest"].get("inputs"), list[Source])
    except msgspec.ValidationError:
        return set()
    return {each.annotator for each in inputs if each.role == "predictions" and each.annotator}


def _annotators(documents: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Yield the names of annotators in the documents of a result."""
    for threshold in documents["summary"]["thresholds"]:
        for pair in threshold.get("pairs", ()):
            yield from (pair["annotator_1"], pair["annotator_2"])
    for each in documents.get("diagnosis", {}).get("annotators", ()):
        yield each["name"]
    for image in documents.get("worst_images", {}).get("images", ()):
        yield from (shape["annotator"] for shape in image["shapes"])
