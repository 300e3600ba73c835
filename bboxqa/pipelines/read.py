"""Reading data sets; a file that is refused is refused with the findings of the rules."""

import shlex
from pathlib import Path

from bboxqa.core.errors import DatasetError
from bboxqa.core.types import Files, Progress
from bboxqa.formats.coco.strict import COCO
from bboxqa.formats.dataset.reader import read_dataset
from bboxqa.formats.registry import format_of
from bboxqa.model.annotations import Dataset
from bboxqa.model.settings import JoinBy

_LISTED = 10
_FILES_NAMED = 3


def read_coco(
    source: Files,
    *,
    annotator_key: str | None = None,
    attribution: str | None = None,
    segmentation: bool = True,
    pattern: str | None = None,
    join: JoinBy = "path",
    digest: bool = True,
    memory: int | None = None,
    progress: Progress | None = None,
) -> Dataset:
    """Read images annotated by several annotators.

    Parameters
    ----------
    source : path, sequence of paths, or mapping of annotator to path
        COCO json files, or folders of them.
    annotator_key : str, optional
        The key of annotations that names the annotator; ``"a.b"`` means b inside of a.
    attribution : {"annotator-key", "image-records", "files"}, optional
        How to find out who annotated what. By default the first way that finds two annotators.
    segmentation : bool
        Whether to read the outlines; boxes alone are read much faster.
    pattern : str, optional
        A glob that the names of files in folders have to match.
    join : {"path", "name", "stem"}
        What of their file names joins images of several files: all of it, the part behind the
        last folder, or this part without its suffix and the mark of Roboflow.
    digest : bool
        Whether to compute the digest of a single file; of several it is always computed.
    memory : int, optional
        Limits memory, in bytes: a quarter for vertices, and as much for all columns together.
        What exceeds it is kept in temporary files. The result is the same.
    progress : callable, optional
        Called as ``progress(stage, done, total)``.

    Returns
    -------
    Dataset

    Raises
    ------
    DatasetError
        With everything that would falsify a result: what `bboxqa.validate` finds in the file, or,
        where that finds nothing, why the file cannot be measured.
    OutputError
        If there is no room for temporary files, or so many annotations need more memory.

    Examples
    --------
    >>> from bboxqa.examples import example_file
    >>> data = read_coco(example_file("fruits"))
    >>> data.annotator_names, len(data.annotations)
    (('Ann1', 'Ann2', 'Ann3'), 9)
    """
    try:
        return read_dataset(
            source,
            annotator_key=annotator_key,
            attribution=attribution,
            segmentation=segmentation,
            pattern=pattern,
            join_by=join,
            digest=digest,
            memory=memory,
            progress=progress,
        )
    except DatasetError as error:
        if not error.contents:
            raise
        raise _with_findings(error, memory) from None


def _with_findings(error: DatasetError, memory: int | None) -> DatasetError:
    """Return the error with the findings of `validate` in place of the reader's words."""
    lines: list[str] = []
    files: list[str] = []
    replaced: set[str] = set()
    n_left_out, mends = 0, False
    for name, problems in error.contents.items():
        # The rules look at COCO files only.
        if format_of(Path(name)) is not COCO:
            continue
        found, n_found, safe = _findings(name, memory)
        if found:
            files.append(name)
            replaced.update(problems)
            lines += found
            n_left_out += n_found - len(found)
            mends |= safe
    if not files:
        return error
    # What concerns the annotators or several files is not in the content of one.
    lines += [problem for problem in error.problems if problem not in replaced]
    command = "bboxqa validate " + shlex.join(files[:_FILES_NAMED])
    if mends:
        advice = f"What can be mended safely is mended in a copy by: {command} --fix"
    else:
        advice = f"For all findings, and what to do about them: {command}"
    return DatasetError(lines[:_LISTED], advice, total=len(lines) + n_left_out)


def _findings(name: str, memory: int | None) -> tuple[list[str], int, bool]:
    """Return the first errors that the rules find in a file.

    Where there are none, a file may still be refused for how it is encoded, which is a warning.

    Returns
    -------
    lines : list of str
        A finding each.
    n_findings : int
        All of them.
    safe : bool
        Whether one of those listed can be mended safely.
    """
    from bboxqa.formats.document.tolerant import read_path
    from bboxqa.model.findings import Severity
    from bboxqa.model.settings import ValidateSettings
    from bboxqa.report.findings.concise import concise_line
    from bboxqa.rules.facts.document import Document
    from bboxqa.rules.registry import known_rules
    from bboxqa.rules.runner import validate_documents

    codes = [rule.code for rule in known_rules().values() if rule.severity is Severity.ERROR]
    document = Document(read_path(Path(name), name, memory=memory))
    report = validate_documents([document], ValidateSettings(select=(*codes, "F")), _LISTED)
    errors = [each for each in report.findings if each.severity is Severity.ERROR]
    found = errors or [each for each in report.findings if each.severity is Severity.WARNING]
    listed = found[:_LISTED]
    safe = any(finding.fix == "safe" for finding in listed)
    n_findings = report.severities[listed[0].severity] if listed else 0
    return [concise_line(each) for each in listed], n_findings, safe
