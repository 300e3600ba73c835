"""Errors of readers, with the findings of the rules in the refused files."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bboxqa.core.errors import DatasetError, OtherKindError
from bboxqa.core.types import Files
from bboxqa.formats.inputs import paths_in
from bboxqa.formats.registry import format_of
from bboxqa.pipelines.refusals.causes import STOPPING, causes, fix_advice, validate_command

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bboxqa.rules.facts.document import Document
    from bboxqa.rules.facts.file_kinds import FileKind

_LISTED = 10
_A_RESULT = '[{"image_id": 1, "category_id": 1, "bbox": [x, y, width, height], "score": 0.9}, …]'
_GROUND_TRUTH = " --ground-truth ANNOTATIONS"
_POINTS = "--similarity keypoints compares key points, which need no bbox."
# Without a score, results cannot be chosen.
_OF_SCORES = ("E001",)


def with_findings(error: DatasetError) -> DatasetError:
    """Return the error with the findings of `validate` in place of the reader's words."""
    from bboxqa.rules.facts.document import Document
    from bboxqa.rules.facts.file_kinds import kind_of

    lines: list[str] = []
    files: list[Path] = []
    others: dict[Path, FileKind] = {}
    n_left_out, all_safe, are_points, of_truth = 0, True, False, True
    for path in dict.fromkeys(path for path in error.files if path is not None):
        read = format_of(path).document
        if read is None:
            continue
        document = Document(read(path))
        kind = kind_of(document)
        if kind.name and not kind.is_measured:
            others[path] = kind
            continue
        found = causes(document, (*STOPPING, *_OF_SCORES))
        are_points |= _are_points(document)
        if found.lines:
            files.append(path)
            lines += found.lines
            n_left_out += found.n_found - len(found.lines)
            all_safe &= found.fix == "safe" and found.is_complete
            of_truth &= kind.is_of_truth
    if others:
        return _unmeasured(others).with_advice(error.added)
    if not files:
        return error.with_advice([_POINTS] if are_points else [])
    # Problems of annotators or of several files cannot be found in the content of one file.
    of_files = zip(error.problems, error.files, strict=True)
    rest = [problem for problem, path in of_files if path not in files]
    command = validate_command(files)
    command += _GROUND_TRUTH * of_truth
    if all_safe and not rest:
        words = "Safe fixes, written to a copy"
        advice, command = fix_advice(words, f"{command} --fix", files)
    else:
        advice = f"For all findings, and what to do about them: {command}"
    if are_points:
        advice += f"\n{_POINTS}"
    lines += rest
    n_lines = len(lines) + n_left_out
    explained = DatasetError(lines[:_LISTED], advice, command=command, total=n_lines)
    return explained.with_advice(error.added)


def _are_points(document: "Document") -> bool:
    """Return whether annotations have key points, and none has a box."""
    columns = document.annotations
    return bool(len(columns.keypoints.row)) and bool(np.isnan(columns.bbox).all())


def of_predictions(error: DatasetError, path: Path, source: Files) -> DatasetError:
    """Return the error about a file of results with the findings of `validate`."""
    from bboxqa.formats.document.tolerant import read_path
    from bboxqa.rules.facts.document import Document
    from bboxqa.rules.facts.file_kinds import RESULTS, kind_of

    sources = paths_in(source)
    named = Path(sources[0])
    truth = read_path(named) if len(sources) == 1 and named.is_file() else None
    document = Document(read_path(path), truth=truth)
    kind = kind_of(document)
    if kind is not RESULTS and isinstance(document.reading.top, list):
        return DatasetError(error.problems, f"Expected a list of COCO results, {_A_RESULT}")
    if kind is not RESULTS:
        held = kind.name or ("annotations" if len(document.annotations) else "no results")
        command = validate_command([path])
        advice = f"What can be checked of it: {command}"
        if kind.is_measured:
            advice, command = (
                f"Annotations of a model are one more file: --annotator NAME={path}",
                "",
            )
        return OtherKindError(
            [f"{path}: holds {held}; expected a list of COCO results, {_A_RESULT}"],
            advice,
            command=command,
            files=[path],
        )
    found = causes(document, (*STOPPING, *_OF_SCORES))
    if not found.lines:
        return error
    command = validate_command([path])
    command += f" --ground-truth {shlex.quote(str(named))}" * (truth is not None)
    advice = f"For all findings, and what to do about them: {command}"
    return DatasetError(found.lines[:_LISTED], advice, command=command, total=found.n_found)


def _unmeasured(kinds: "Mapping[Path, FileKind]") -> OtherKindError:
    """Return the error about files whose annotations have no boxes and categories."""
    expected = "expected objects with boxes, polygons or masks"
    of_truth = all(kind.is_of_truth and kind.required for kind in kinds.values())
    command = validate_command(kinds)
    command += _GROUND_TRUTH * of_truth
    return OtherKindError(
        [f"{path}: holds {kind.name}; {expected}" for path, kind in kinds.items()],
        f"What can be checked of it: {command}",
        command=command,
        files=list(kinds),
    )
