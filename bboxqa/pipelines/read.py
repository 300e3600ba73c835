"""Reading data sets; defects that would falsify agreement are refused with findings of rules."""

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from functools import partial
from itertools import islice
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, TypeGuard, cast

import numpy as np
from msgspec.structs import replace

from bboxqa.core.arrays import (
    AnyPath,
    Files,
    FloatArray,
    IndexArray,
    Progress,
    Rows,
    find,
    listed_by,
)
from bboxqa.core.errors import ConfigError, DatasetError, NothingToCompareError, naming
from bboxqa.core.json_values import document_bytes
from bboxqa.core.plugins import lookup
from bboxqa.formats.choices import given
from bboxqa.formats.columns import Kind
from bboxqa.formats.dataset.people import Attribution, composed_names
from bboxqa.formats.dataset.reader import read_dataset
from bboxqa.formats.document import STOPPING as TOOL_STOPPING
from bboxqa.formats.records import (
    ANNOTATOR_KEYS,
    ID_KEYS,
    LISTS,
    LOWEST_SCORE,
    AnnotationFile,
    ReadSettings,
    is_id,
)
from bboxqa.formats.registry import document_of
from bboxqa.formats.sources import as_paths
from bboxqa.geometry import registry as similarities
from bboxqa.geometry.similarity import OUTLINES
from bboxqa.matching.matchers import MATCHERS
from bboxqa.model.annotations import NO_CHOICES, Choices, Dataset, as_options
from bboxqa.model.settings import (
    AgreeKeywords,
    AgreeSettings,
    Asked,
    JoinBy,
    read_settings_file,
    settings_from,
)
from bboxqa.rules.layout import (
    FEW_OF_ALL,
    FEW_REPEATS,
    Boxes,
    boxes_in,
    copies_of,
    first_equal,
    layout_of,
    outlines_elsewhere,
)

if TYPE_CHECKING:
    from bboxqa.model.findings import Finding
    from bboxqa.rules.document import Document

Data = Files | Mapping[str, Any] | Rows
"""Files, or a COCO document or a table in memory."""


def is_document(source: object) -> TypeGuard[Mapping[str, Any]]:
    """Return whether a source is a COCO document in memory."""
    return isinstance(source, Mapping) and any(
        isinstance(source.get(name), list | tuple) for name in LISTS
    )


def paths_of(source: Dataset | Data) -> list[AnyPath]:
    """Return the files and folders of a source; none of a document or a table in memory."""
    if isinstance(source, Dataset):
        return [each.name for each in source.sources]
    if is_document(source):
        return []
    with suppress(TypeError):
        return as_paths(cast("Files", source))
    return []


def read(
    source: Data,
    *,
    annotator_key: str | None = None,
    attribution: str | None = None,
    segmentation: bool = True,
    keypoints: bool = False,
    pattern: str | None = None,
    join: JoinBy = "path",
    category_map: Mapping[str, str] | None = None,
    min_annotators: int = 2,
    asked: Asked = "authors",
    session_key: str | None = None,
    time_key: str | None = None,
    tracks: bool = False,
    predictions: AnyPath | None = None,
    score: float = LOWEST_SCORE,
    pseudonyms: AnyPath | None = None,
    digest: bool = True,
    progress: Progress | None = None,
) -> Dataset:
    """Read images annotated by several annotators.

    Parameters
    ----------
    source : path, sequence of paths, mapping of annotators to paths, COCO document, or table
        Files of a format that is read, or folders of them; the content of a COCO file; a frame
        of pandas or polars, a table of pyarrow or a list of dicts with columns as in files.
    annotator_key, attribution, join, category_map, asked, session_key, time_key, pattern
        Who drew what, in which image and when; see `AgreeSettings`, where `pattern` is `filter`.
    segmentation, keypoints, tracks : bool
        Whether to read outlines and rotated boxes; key points; which boxes show one object.
    min_annotators : int
        How many annotators an image has to have; with 1, files may name nobody.
    predictions, score : path, float
        COCO results of a model, with the ids of the source: one more annotator, asked about all
        images, with the name of the file. Results with a lower score are left out.
    pseudonyms, digest : path, bool
        The key: a JSON file of pseudonyms of annotators, to which missing ones are added. Whether a
        single file gets a digest, as several always do.
    progress : callable, optional
        Called as ``progress(stage, done, total)``.

    Returns
    -------
    Dataset

    Raises
    ------
    DatasetError
        With everything that would falsify a result.

    Examples
    --------
    >>> read([{"image": "a", "annotator": who, "bbox": "8 1 5 5"} for who in "ab"]).annotator_names
    ('a', 'b')
    """
    if category_map is not None and not isinstance(category_map, Mapping):
        raise ConfigError(f"is {category_map!r}; expected such as {{'Cat': 'cat'}}", "category_map")
    reading = ReadSettings(
        annotator_key=annotator_key, attribution=cast("Any", attribution), filter=pattern,
        join=join, outlines=segmentation, keypoints=keypoints, rotated=segmentation, tracks=tracks,
        category_map=dict(category_map or {}), min_annotators=min_annotators, asked=asked,
        session_key=session_key, time_key=time_key, scores=True, score=score,
        predictions=None if predictions is None else Path(predictions),
        pseudonyms=None if pseudonyms is None else Path(pseudonyms),
        digest=digest, progress=progress, choices=given(),
    )  # fmt: skip
    return _read(source, reading)


# The name in earlier versions.
read_coco = read


def _read(source: Data, reading: ReadSettings) -> Dataset:
    """Return the data set of files, or of a document or a table in memory; see `read`."""
    if isinstance(source, Mapping) and not source:
        raise DatasetError(["the dictionary is empty; expected a COCO document, or files by name"])
    if is_document(source):
        return _read_bytes(document_bytes(source), "document.json", reading)
    is_list = isinstance(source, list | tuple) and not any(isinstance(e, Mapping) for e in source)
    if not (is_list or isinstance(source, str | PathLike | Mapping)):
        from bboxqa.formats.box_tables.columns import rows_in, table_bytes

        rows = rows_in(source, reading.choices)
        if rows is not None:
            return _read_bytes(table_bytes(rows, reading.choices), "table.jsonl", reading)
    files = cast("Files", source)
    with ExitStack() as stack:
        if reading.pseudonyms is not None:
            from bboxqa.rules.people import names_hidden

            hidden = names_hidden(reading.pseudonyms, files, reading.filter, reading.choices)
            stack.enter_context(hidden)
        try:
            return read_dataset(files, reading)
        except DatasetError as error:
            if not any(error.files):
                raise
            raise with_findings(error, reading.choices, reading.predictions, files) from None


def _read_bytes(content: bytes, file: str, reading: ReadSettings) -> Dataset:
    """Return the data set of a file in memory; messages call it by the stem of `file`."""
    name = Path(file).stem
    with TemporaryDirectory() as folder:
        path = Path(folder, file)
        path.write_bytes(content)
        try:
            data = _read(path, reading)
        except DatasetError as error:
            texts = [problem.replace(str(path), name) for problem in error.problems]
            problems = [re.sub(rf"{re.escape(file)}:(\d+)", r"of row \1", each) for each in texts]
            # Tables in memory are not validated.
            again = f"For all findings: bboxqa.validate({name})" if name == "document" else ""
            advice = again if str(folder) in error.advice else error.advice
            raise DatasetError(problems, advice, total=error.total) from None
    return replace(data, sources=tuple(replace(each, name=name) for each in data.sources))


AS_COMPARED = ReadSettings(outlines=False, by_files="none")
"""Outlines and key points are read if the similarity needs them, or on request."""


def read_for(source: Data, settings: AgreeSettings, reading: ReadSettings = AS_COMPARED) -> Dataset:
    """Return the data set of a source after checks for defects that would falsify agreement."""
    needs = similarities.similarity(settings.similarity).needs
    check, outlines = reading.check, reading.outlines or needs in OUTLINES
    if check is None and settings.checks:
        check = partial(check_files, boxes=not outlines, choices=reading.choices)
    reading = replace(
        reading,
        **{name: getattr(settings, name) for name in AgreeSettings.__struct_fields__},
        outlines=outlines,
        keypoints=reading.keypoints or needs == "keypoints",
        rotated=reading.outlines or needs == "rotated boxes",
        check=check,
    )
    return _read(source, reading)


_OF_READING = {*AgreeSettings.__struct_fields__, "predictions", "score"} - {
    *AgreeKeywords.__annotations__
}


def agree_settings_from(values: Mapping[str, Any]) -> AgreeSettings:
    """Return checked settings; settings that are not given keep their defaults."""
    settings = settings_from(values)
    similarities.check_name(settings.similarity)
    lookup("matcher", MATCHERS, settings.matcher)
    similarity = similarities.similarity(settings.similarity)
    if settings.sigmas and similarity.needs != "keypoints":
        raise ConfigError(
            f"is given, but similarity is {settings.similarity!r}, which compares no key points; "
            "expected 'keypoints'",
            "sigmas",
        )
    for threshold in settings.iou_threshold:
        if not similarity.lowest < threshold <= 1:
            raise ConfigError(
                f"is {threshold:g}; expected more than {similarity.lowest:g} and at most 1 for "
                f"similarity {settings.similarity!r}",
                "iou_threshold",
            )
    return settings


def read_agree_settings(name: str) -> dict[str, Any]:
    """Return the checked settings of `agree` in a TOML file, or in one that comes with bboxqa."""
    values = read_settings_file(name).agree
    with naming(name):
        agree_settings_from(values)
    return values


def settings_of_keywords(keywords: Mapping[str, Any]) -> AgreeSettings:
    """Return the settings of a call from Python; raise ConfigError for settings of `read`."""
    for name in _OF_READING & keywords.keys():
        if keywords[name] is not None:
            raise ConfigError(f"{name} is for `bboxqa.read`, before the data set is measured")
    return agree_settings_from(
        {name: value for name, value in keywords.items() if name not in _OF_READING}
    )


STOPPING = (
    "F001", "F002", "F003", "F004", "F005", "F006",
    "S001", "S002", "S003", "S005", "S006", "S007", "S008", "S009", "S010", "S012", "S015",
    "I001", "I002", "I004", "B001", "P002", "P003", "R002", "C001", "C008", "A002",
    "G001", "G003", "E001",
    *TOOL_STOPPING,
)  # fmt: skip
"""Rules on defects that keep a file from being read; findings of other rules are no reason."""

_LAYOUTS = ("B005", "B006", "B007", "P007")
_LISTED_OF_A_RULE, _LISTED, _DESCRIBED, _FILES_NAMED = 3, 10, 100, 3
# Sample size for the search for repeated boxes.
_SAMPLE = 100_000
_ANYWAY = "To measure the annotations as they are: --no-checks (in bboxqa.toml checks = false)."
_A_RESULT = '[{"image_id": 1, "category_id": 1, "bbox": [x, y, width, height], "score": 0.9}, …]'
_Causes = tuple[list[str], int]
"""Findings of the rules in a file: the first lines, and the number of all."""
_POINTS = "--similarity keypoints compares key points, which need no bbox."


def check_files(
    files: Sequence[AnnotationFile],
    attribution: Attribution,
    *,
    boxes: bool,
    choices: Choices = NO_CHOICES,
) -> None:
    """Refuse files with lists as names of annotators, or with wrong, copied or repeated boxes.

    The boxes that were read show which files are suspect; the rules decide.
    """
    found: dict[Path, _Causes] = {}
    key = attribution.key
    for file, author in zip(files, attribution.author, strict=True):
        path, bbox, points = file.path, file.columns.bbox, file.columns.keypoints
        if points is not None:
            # Only key points were drawn.
            bbox = np.where(points.are_extents(bbox)[:, None], np.nan, bbox)
        drawn = Boxes(bbox, *_images_of(file, file.columns.image_id), author, attribution.names)
        layout, lines, n_found = layout_of(drawn) if boxes else None, list[str](), 0
        codes = _suspect_codes(file, drawn, boxes=boxes) + _LAYOUTS * (layout is not None)
        if codes and (read := document_of(path, choices)) is not None:
            from bboxqa.rules.document import Document

            lines, n_found = _causes(Document(read), codes, errors_only=True)
        if not lines and layout is not None:
            # The rules know the common annotator keys only.
            lines, n_found = [f"{path}: {layout.layout.code} error {layout.message}"], 1
        if key and file.records != "results":
            named = (file.named_by if key == ANNOTATOR_KEYS[0] else "") or key
            names = [*composed_names(file.shown_ids, named, file.columns.authors[key])]
            lines, n_found = [f"{path}: {e}" for e in names] + lines, n_found + len(names)
        if lines:
            found[path] = lines, n_found
    if found:
        raise _refused(found, [], _validate_command(found, choices), _ANYWAY)


def _refused(
    found: Mapping[Path, _Causes], rest: Sequence[str], command: str, more: str = ""
) -> DatasetError:
    """Return the error with the findings in files, other problems, and how to go on."""
    advice = f"For all findings, and what to do about them: {command}"
    lines = [*(line for each, _ in found.values() for line in each), *rest]
    total = sum(n_found for _, n_found in found.values()) + len(rest)
    advice = "\n".join(filter(None, (advice, more)))
    return DatasetError(lines[:_LISTED], advice, command=command, total=total)


def _suspect_codes(file: AnnotationFile, read: Boxes, *, boxes: bool) -> tuple[str, ...]:
    """Return the codes of rules that the boxes of a file seem to break."""
    codes: tuple[str, ...] = ()
    sample, of = file.sample, file.columns
    is_looked_at = read.image % max(1, len(read.bbox) // _SAMPLE) == 0
    if boxes and sample is not None:
        # Outlines and areas of some annotations may contradict the boxes.
        keys = (key for key in ANNOTATOR_KEYS if (sample.annotator[key] >= 0).any())
        author = sample.annotator[next(keys, ANNOTATOR_KEYS[0])]
        found = boxes_in(sample, _images_of(file, sample.image_id), author)
        if layout_of(found) or outlines_elsewhere(found, np.ones(len(found.bbox), np.bool_)):
            codes = _LAYOUTS
    if file.records == "annotations":
        columns = (read.image, of.category_id, read.author, of.iscrowd, *read.bbox.T)
        first = first_equal([column[is_looked_at] for column in columns])
        n_repeats = np.count_nonzero(first != np.arange(len(first)))
        if n_repeats >= max(FEW_REPEATS, FEW_OF_ALL * len(first)):
            codes += ("D001",)
    if boxes and sample is not None and not codes and len(copies_of(read, is_looked_at)[0]):
        codes = ("B014",)
    return codes


def _images_of(file: AnnotationFile, image_id: IndexArray) -> tuple[FloatArray, IndexArray, int]:
    """Return the size and the row of the image of each annotation, and the number of images."""
    sizes = np.vstack([file.image_sizes, [[0, 0]]])
    sizes[~(sizes > 0)] = np.nan
    image = find(file.image_ids, image_id)
    return sizes.take(image, axis=0), image, len(file.images)


def check_boxes(data: Dataset) -> Dataset:
    """Return a data set; raise DatasetError if its boxes are proved to have another layout."""
    annotations, outlines = data.annotations, data.annotations.segmentation
    size = data.image_size.astype(np.float64)
    size[~(size > 0)] = np.nan
    bounds = None
    if outlines is not None:
        from bboxqa.geometry.polygons import polygon_bounds

        bounds = polygon_bounds(outlines)
        bounds[~bounds.any(1)] = np.nan
    image, n_images = annotations.image, len(data.image_names)
    found = layout_of(
        Boxes(
            annotations.bbox, size[image], image, n_images, annotations.annotator,
            data.annotator_names, bounds=bounds,
        )
    )  # fmt: skip
    if found is not None:
        raise DatasetError([f"{found.layout.code}: {found.message}"], _ANYWAY)
    return data


def _causes(document: "Document", codes: tuple[str, ...], *, errors_only: bool = False) -> _Causes:
    """Return the findings of some rules in a file: errors, or warnings if there are no errors."""
    from bboxqa.model.findings import Severity
    from bboxqa.model.settings import ValidateSettings
    from bboxqa.report.findings import concise_line
    from bboxqa.rules.runner import validate_documents

    of = document.annotations
    are_read = all((of.whole[key] | (of.kind[key] == Kind.TEXT)).all() for key in ID_KEYS)
    records = (each for _, listed in document.lists for each in listed.values)
    if are_read and all(is_id(each.get("id")) for each in records if isinstance(each, dict)):
        # All ids are whole numbers or text; S003 reports ids that are text.
        codes = tuple(code for code in codes if code != "S003")
    report = validate_documents([document], ValidateSettings(select=codes), _DESCRIBED)
    every = [each for each in report.findings if each.severity is Severity.ERROR]
    errors = [*filter(_is_stopping, every)]
    # A missing value is only a warning if readers can do without it.
    warnings = [
        each
        for each in report.findings
        if each.severity is Severity.WARNING and each.found is not None and not errors_only
    ]
    of_code = listed_by((each.code, each) for each in errors or warnings)
    lines = [concise_line(e) for some in of_code.values() for e in some[:_LISTED_OF_A_RULE]]
    n_others = sum(each.code in of_code for each in every if each not in errors)
    return lines, sum(report.counts[code] for code in of_code) - n_others


def _is_stopping(error: "Finding") -> bool:
    """Return whether reading stops for an error: sides may be 0, and ids may be text."""
    if error.code == "B001":
        return not isinstance(error.found, list) or min(error.found[2:], default=-1) < 0
    return error.code != "S003" or not isinstance(error.found, str)


def _validate_command(paths: Iterable[Path], said: Choices) -> str:
    """Return the command that validates the first files, read as the user said."""
    from bboxqa.report.reproduction import option_words

    options = as_options(said)
    if not isinstance(said.image_size, tuple) and said.image_size_file is None:
        # Sizes that a Python program gave by image are no option.
        options.pop("image_size", None)
    words = (word for option in options.items() for word in option_words(*option))
    return shlex.join(["bboxqa", "validate", *map(str, islice(paths, _FILES_NAMED)), *words])


def with_findings(
    error: DatasetError, choices: Choices, results: Path | None, source: Files
) -> DatasetError:
    """Return the error with the findings of `validate` in place of the reader's words."""
    from bboxqa.formats.coco.reader import read_document
    from bboxqa.rules.document import RESULTS, Document, kind_of

    found: dict[Path, _Causes] = {}
    others: dict[Path, str] = {}
    are_points, truth, more = False, None, ""
    given = [*map(Path, as_paths(source))]
    if results is not None and results in error.files and len(given) == 1 and given[0].is_file():
        truth, more = read_document(given[0]), f" --ground-truth {shlex.quote(str(given[0]))}"
    for path in dict.fromkeys(path for path in error.files if path is not None):
        is_list = path == results
        read = read_document(path) if is_list else document_of(path, choices)
        if read is None:
            continue
        document = Document(read, truth=truth if is_list else None)
        kind, columns = kind_of(document), document.annotations
        if is_list and kind is not RESULTS:
            advice = f"A list of results: {_A_RESULT}"
            if not isinstance(read.top, list):
                advice += f"\nAnnotations of a model are one more file: --annotator NAME={path}"
            return NothingToCompareError(error.problems, advice, files=[path])
        if kind.name and not (kind.is_measured or is_list):
            expected = "expected objects with boxes, polygons or masks"
            others[path] = f"{path}: holds {kind.name}; {expected}"
            continue
        are_points |= bool(len(columns.keypoints.row)) and bool(np.isnan(columns.bbox).all())
        causes = _causes(document, STOPPING)
        if causes[0]:
            found[path] = causes
    if not found and not others:
        return error.with_advice([_POINTS] if are_points else [])
    command = _validate_command(others or found, choices) + more
    if others:
        problems, advice = [*others.values()], f"What can be checked of it: {command}"
        if any(each.is_dir() for each in given):
            advice += "\nTo read others of the folder: --pattern GLOB, such as 'instances*.json'"
        other = NothingToCompareError(problems, advice, command=command, files=list(others))
        return other.with_advice(error.added)
    # Problems of annotators or of several files cannot be found in the content of one file.
    of_files = zip(error.problems, error.files, strict=True)
    rest = [problem for problem, path in of_files if path not in found]
    return _refused(found, rest, command, _POINTS * are_points).with_advice(error.added)
