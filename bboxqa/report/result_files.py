"""A result as a folder of complete files: written, and read again."""

import csv
import platform
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from bboxqa.core.errors import DatasetError, OutputError
from bboxqa.core.file_names import folder_problem
from bboxqa.core.files import digest_of, filled_folder, refuse_replacing, writing
from bboxqa.core.machine import gc_paused
from bboxqa.core.text import guarded, one_line
from bboxqa.model.annotations import Choices, Source, as_options
from bboxqa.model.diagnosis import Diagnosis
from bboxqa.model.results import MeasuredAgreement
from bboxqa.model.settings import AgreeSettings, ValidateSettings
from bboxqa.model.table import Categorical, Table, stacked_tables
from bboxqa.report.agreement_summary import diagnosis_summary, table_records
from bboxqa.report.numbers import in_json, json_text

MANIFEST = "manifest"
CSV_FILES = ("images", "annotators", "categories", "pairs", "units", "review")
"""The tables of a result that are always csv files."""
IN_DETAILS = ("diagnosis", "worst_images")
"""The documents of a result that are parts of details.json."""
_LIBRARIES = ("bboxqa", "msgspec", "numpy", "pycocotools", "rasterio", "pillow", "scipy", "shapely")


def check_folder(folder: Path, *, force: bool) -> None:
    """Refuse a folder that cannot be written, before anything is computed."""
    if folder.exists() and not folder.is_dir():
        raise OutputError(f"{folder}: is a file; name a folder with --out")
    if not force and folder.is_dir() and any(folder.iterdir()):
        raise OutputError(f"{folder}: is not empty; name another folder, or add --force")
    # A missing folder is created only when there is something to write.
    nearest = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    with writing(folder):
        Path(tempfile.mkdtemp(prefix=".bboxqa-", dir=nearest)).rmdir()


def documents_of(
    result: MeasuredAgreement, summary: dict[str, Any], diagnosis: Diagnosis | None
) -> dict[str, dict[str, Any]]:
    """Return what pages of a result of `agree` show, by name; see `write_folder`."""
    found = manifest(result.settings, result.sources, result.reading)
    documents = {"summary": summary, "manifest": found}
    if diagnosis is not None:
        documents["diagnosis"] = diagnosis_summary(diagnosis)
        documents["review"] = dict(diagnosis.review_document)
        documents["worst_images"] = dict(diagnosis.worst_images)
    return documents


def write_folder(
    result: MeasuredAgreement,
    documents: Mapping[str, dict[str, Any]],
    folder: Path,
    *,
    diagnosis: Diagnosis | None = None,
    details: bool = False,
    raw_csv: bool = False,
    kept: Iterable[Path] = (),
) -> list[Path]:
    """Write a result of `agree`, and its diagnosis if there is one; see `write_tables`."""
    own = {} if diagnosis is None else {**diagnosis.tables, "review": diagnosis.review}
    # Of a table of both, the one of all thresholds is kept.
    tables = own | {name: stacked_tables(of) for name, of in result.threshold_tables().items()}
    others = result.threshold_tables().keys() - {*CSV_FILES}
    inside = {name: documents[name] for name in IN_DETAILS if name in documents}
    files = {name: each for name, each in documents.items() if name not in IN_DETAILS}
    files["details"] = {"tables": table_records(tables, others), **inside}
    if not details:
        tables = {name: table for name, table in tables.items() if name in CSV_FILES}
    return write_tables(folder, files, tables, raw_csv=raw_csv, kept=kept)


def write_tables(
    folder: Path,
    documents: Mapping[str, dict[str, Any]],
    tables: Mapping[str, Table],
    *,
    raw_csv: bool = False,
    kept: Iterable[Path] = (),
) -> list[Path]:
    """Write a JSON file per document and a csv file per table, and return their paths.

    The manifest gets the size and the digest of every other file. All are complete before the first
    one appears under its name, and those of an earlier manifest are removed. Raises OutputError if
    one of the files `kept` would be replaced.
    """
    names = [*(f"{name}.csv" for name in tables), *(f"{name}.json" for name in documents)]
    earlier = [folder / name for name in _earlier_files(folder) if name not in names]
    refuse_replacing((*(folder / name for name in names), *earlier), kept)
    with writing(folder):
        with filled_folder(folder) as scratch:
            for name, table in tables.items():
                _csv(scratch / f"{name}.csv", table, raw_csv)
            for name, document in documents.items():
                if name != MANIFEST:
                    (scratch / f"{name}.json").write_text(json_text(document), "utf-8")
            if MANIFEST in documents:
                outputs = [
                    {"name": each.name, "size": each.stat().st_size, "blake2b": digest_of(each)}
                    for each in sorted(scratch.iterdir())
                ]
                complete = documents[MANIFEST] | {"outputs": outputs}
                (scratch / f"{MANIFEST}.json").write_text(json_text(complete), "utf-8")
            written = [folder / file.name for file in sorted(scratch.iterdir())]
        for file in earlier:
            file.unlink(missing_ok=True)
    return written


def _earlier_files(folder: Path) -> list[str]:
    """Return the files that the manifest in a folder lists and that have not changed since."""
    try:
        listed = msgspec.json.decode((folder / f"{MANIFEST}.json").read_bytes())["outputs"]
        return [
            each["name"]
            for each in listed
            if Path(each["name"]).name == each["name"]
            and digest_of(folder / each["name"]) == each["blake2b"]
        ]
    except (OSError, KeyError, TypeError, AttributeError, msgspec.DecodeError):
        return []


@gc_paused()
def _csv(path: Path, table: Table, raw: bool) -> None:
    """Write a table; texts that a spreadsheet would run as formulas are guarded unless `raw`."""
    columns = dict(table.columns)
    for name, column in table.columns.items():
        if isinstance(column, Categorical):
            texts = map(one_line, column.names)
            columns[name] = replace(column, names=(*(texts if raw else map(guarded, texts)),))
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(table.columns)
        for part in Table(columns).parts():
            writer.writerows(zip(*part, strict=True))


def manifest(
    settings: AgreeSettings | ValidateSettings, sources: Sequence[Source], reading: Choices
) -> dict[str, Any]:
    """Return settings, versions and files that are needed to reproduce a result."""
    from importlib.metadata import PackageNotFoundError, version

    versions = {"python": platform.python_version()}
    for name in _LIBRARIES:
        with suppress(PackageNotFoundError):
            versions[name] = version(name)
    return {
        "settings": in_json(settings),
        "reading": as_options(reading),
        "versions": versions,
        "platform": sys.platform,
        "inputs": [msgspec.to_builtins(source) for source in sources],
    }


# A key that each document of a saved result has.
_KEYS = {"summary": "thresholds", "manifest": "settings", "details": "tables"}
_NAME_IT = "Name the folder that `bboxqa agree … --out FOLDER` wrote"
_AGAIN = "make the result again with `bboxqa agree … --out FOLDER`."


def read_saved(folder: Path) -> dict[str, dict[str, Any]]:
    """Return the contents of the JSON files that ``bboxqa agree --out`` saved."""
    if problem := folder_problem(folder):
        raise DatasetError([problem], f"{_NAME_IT}.")
    found: dict[str, dict[str, Any]] = {}
    for name, key in _KEYS.items():
        path, content = folder / f"{name}.json", None
        with suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            content = msgspec.json.decode(path.read_bytes()) if path.is_file() else None
        if not isinstance(content, dict) or key not in content:
            problem = "is not what `bboxqa agree --out` writes, or is of an earlier version"
            raise DatasetError([f"{path}: {problem}"], f"{_NAME_IT}, or {_AGAIN}")
        found[name] = content
    listed: dict[str, str] = {}
    with suppress(KeyError, TypeError):
        listed = {each["name"]: each["blake2b"] for each in found["manifest"]["outputs"]}
    if problems := [
        f"{folder / name}: is not the file that manifest.json lists"
        for name in ("summary.json", "details.json")
        if digest_of(folder / name) != listed.get(name)
    ]:
        hint = f"Files were edited, or come from different runs: restore them, or {_AGAIN}"
        raise DatasetError(problems, hint)
    details = found.pop("details")
    return found | {name: details[name] for name in IN_DETAILS if name in details}
