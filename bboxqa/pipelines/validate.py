"""Validation: files → documents → rules → report, and fixes → files."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from os import PathLike
from os.path import lexists, realpath
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from msgspec.structs import asdict, replace

from bboxqa.core.arrays import AnyPath, Progress
from bboxqa.core.errors import DatasetError
from bboxqa.core.json_values import document_bytes
from bboxqa.core.machine import check_free_memory
from bboxqa.formats.choices import given
from bboxqa.formats.coco.reader import COCO, read_document
from bboxqa.formats.document import RawDocument
from bboxqa.formats.images import by_ends
from bboxqa.formats.opening import refuse_results
from bboxqa.formats.records import WHOLE
from bboxqa.formats.registry import format_of, formats_of
from bboxqa.formats.scanner import Scanner
from bboxqa.formats.source import SourcePath, no_such_file
from bboxqa.formats.sources import as_paths, listed, without_files
from bboxqa.model.annotations import NO_CHOICES, Choices, Dataset
from bboxqa.model.settings import ValidateKeywords, ValidateSettings, validate_settings_from
from bboxqa.report.findings import Report
from bboxqa.rules.document import Document, kind_of
from bboxqa.rules.people import names_hidden
from bboxqa.rules.runner import validate_documents

if TYPE_CHECKING:
    from bboxqa.formats.format import DocumentReader
    from bboxqa.rules.fixes import Fixed


def validate(
    source: AnyPath | Sequence[AnyPath] | Mapping[str, Any] | Dataset,
    *,
    images: AnyPath | Sequence[AnyPath] | None = None,
    ground_truth: AnyPath | None = None,
    max_findings: int = 0,
    progress: Progress | None = None,
    **settings: Unpack[ValidateKeywords],
) -> Report:
    """Check files of annotations for defects.

    Parameters
    ----------
    source : path, sequence of paths, mapping or Dataset
        Files, folders of them, a COCO document, or what `read` made of files, which are checked.
    images : path or sequence of paths, optional
        Folders of the images; images beside an annotation file in one of them are found as well. By
        default images are not read.
    ground_truth : path, optional
        The file whose images and categories results refer to.
    max_findings : int
        List at most so many findings of one rule and file; 0 for all of them.
    progress : callable, optional
        Called as ``progress(stage, done, total)``.
    select, ignore : sequence of str
        Codes of rules or their beginnings; if none is selected, all rules apply.
    per_file_ignores : mapping of str to sequence of str, optional
        Glob of file names to the codes that are ignored in these files.
    fail_on, min_severity : {"error", "warning", "info"}
        The least severity that fails the run, and the least that is listed, which is not above it.
    show_consequences : bool
        Also report findings that follow from another one, such as the area of an empty box.
    overshoot_px, min_side_px, … : float
        Limits of rules; see `ValidateSettings`.

    Returns
    -------
    Report

    Raises
    ------
    ConfigError
        If a setting is not known or has a wrong type.
    DatasetError
        If there is no such file. Defects inside a file are findings.

    Examples
    --------
    >>> report = validate({"images": [], "annotations": [], "categories": [{"id": 1, "name": 7}]})
    >>> [(finding.code, finding.pointer) for finding in report.findings if finding.code[0] == "C"]
    [('C008', '/categories/0/name')]
    """
    checked = validate_settings_from(settings)
    if isinstance(source, Dataset):
        source = [each.name for each in source.sources]
    if not isinstance(source, Mapping):
        more = (checked, images, ground_truth, max_findings, progress)
        return validate_with(as_paths(source), *more, choices=given())
    reading = Scanner(document_bytes(source), "document").read()
    document = _document(images, _read_truth(ground_truth), progress, (), reading)
    return Report(**asdict(validate_documents([document], checked, max_findings)))


def validate_with(
    paths: Sequence[AnyPath],
    settings: ValidateSettings,
    images: AnyPath | Sequence[AnyPath] | None = None,
    ground_truth: AnyPath | None = None,
    max_findings: int = 0,
    progress: Progress | None = None,
    pseudonyms: Path | None = None,
    choices: Choices = NO_CHOICES,
) -> Report:
    """Look at files with checked settings; `pseudonyms` is the key of `read`."""
    if not paths:
        raise DatasetError(["no file given"])
    refuse_results(map(Path, paths))
    with names_hidden(pseudonyms, paths, choices=choices) as people:
        sources = [listed(each, choices=choices) for each in paths]
        inside = [file for files, _ in sources for file in files]
        notes = [note for _, more in sources for note in more]
        notes = notes if pseudonyms is None else without_files(notes)
        # A file that is named twice would be reported as a copy of itself. Path.resolve stops at a
        # link that leads to itself.
        files = list({realpath(file): file for file in reversed(inside)}.values())[::-1]
        documents = _documents(files, images, _read_truth(ground_truth), progress, choices)
        if people is not None:
            documents = map(people.noted, documents)
        found = validate_documents(documents, settings, max_findings, progress)
        found = replace(found, notes=(*notes, *found.notes))
        return Report(**asdict(found if people is None else people.hidden(found)))


def _documents(
    files: Sequence[SourcePath],
    images: AnyPath | Sequence[AnyPath] | None,
    truth: RawDocument | None,
    progress: Progress | None,
    choices: Choices,
) -> Iterator[Document]:
    if missing := [each for each in files if not (lexists(each) or each.archive)]:
        raise no_such_file(missing)
    readers: list[tuple[SourcePath, DocumentReader]] = []
    for file in files:
        formats = formats_of(file, choices) if choices.from_format is None else []
        for each in formats or [format_of(file, choices)]:
            if each.document is None:
                raise DatasetError([f"{file}: is of the format {each.name}, which is not checked"])
            readers.append((file, each.document))
    on_step = None if progress is None else partial(progress, "reading")
    wanted = replace(WHOLE, choices=choices, progress=on_step)
    # Several files can share a folder of images: a record in any of them counts.
    several = readers if images is not None and len(readers) > 1 else []
    named = [(Path(file), read(file, wanted).images) for file, read in several]
    for file, read in readers:
        check_free_memory([file])
        document = _document(images, truth, progress, named, read(file, wanted))
        origin, disk = document.reading.origin, document.disk
        lacks_sizes = origin is not None and any(each.code == "T002" for each in origin.defects)
        if lacks_sizes and disk is not None and choices.image_size is None:
            sizes = zip(document.images.texts("file_name"), disk.shown.tolist(), strict=True)
            known = by_ends({name: (width, height) for name, (width, height) in sizes if width > 0})
            again = replace(wanted, choices=replace(choices, image_size=known))
            document = Document(read(file, again), disk, truth) if known else document
        yield document


def _read_truth(ground_truth: AnyPath | None) -> RawDocument | None:
    """Return the file that results refer to."""
    if ground_truth is None:
        return None
    truth = read_document(Path(ground_truth))
    lacking = [name for name in ("images", "categories") if name not in truth.sections]
    if lacking:
        raise DatasetError(
            [f"{truth.name}: has no list of {name}" for name in lacking],
            "--ground-truth expects the COCO file that the results were made for.",
        )
    return truth


def _document(
    images: AnyPath | Sequence[AnyPath] | None,
    truth: RawDocument | None,
    progress: Progress | None,
    named: Sequence[tuple[Path, Sequence[Any]]],
    reading: RawDocument,
) -> Document:
    """Return a document with its images on disk, or with its ground truth if it is of results."""
    if truth is not None and not kind_of(Document(reading)).is_of_truth:
        raise DatasetError(
            [f"{reading.name}: holds no results, to be compared with {truth.name}"],
            "Leave out --ground-truth, or name files of results only.",
        )
    if images is None:
        return Document(reading, truth=truth)
    # Only needed to read images.
    from bboxqa.rules.pictures import check_folders, scan_images

    folders = list(map(Path, [images] if isinstance(images, str | PathLike) else images))
    check_folders(folders)
    file = Path(reading.name)
    disk = scan_images(
        reading.images, *folders, source=file if file.exists() else None, others=named,
        # Names in COCO JSON are what programs for training open.
        by_folders=reading.origin is not None,
        progress=None if progress is None else partial(progress, "looking at images"),
    )  # fmt: skip
    return Document(reading, disk, truth)


def fix_file(
    file: Path,
    settings: ValidateSettings,
    *,
    unsafe: bool,
    images: AnyPath | Sequence[AnyPath] | None = None,
    ground_truth: AnyPath | None = None,
    choices: Choices = NO_CHOICES,
) -> "Fixed":
    """Return the result of fixing one file in memory; nothing is written."""
    is_coco = format_of(file, choices) is COCO
    if not is_coco or SourcePath.at(file).is_packed:
        advice = "Correct it in the tool or script that wrote it, and export it again; "
        advice += "--max-findings 0 in place of --fix lists all places."
        advice = "Unpack the archive, and name the file." if is_coco else advice
        raise DatasetError([f"{file}: fixes are written to files of COCO JSON only"], advice)
    from bboxqa.rules.fixes import fix

    again = partial(_document, images, _read_truth(ground_truth), None, ())
    return fix(again(read_document(file)), settings, unsafe=unsafe, again=again)
