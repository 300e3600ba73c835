"""Reading data sets; errors of files come with the findings of the rules."""

import re
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from functools import partial
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeGuard, cast

from msgspec.structs import replace

from bboxqa.core.arrays import AnyPath, Files, Progress, Rows
from bboxqa.core.errors import ConfigError, DatasetError, naming
from bboxqa.core.json_values import document_bytes
from bboxqa.core.plugins import lookup
from bboxqa.formats.choices import given
from bboxqa.formats.dataset.people import Attribution
from bboxqa.formats.dataset.reader import read_dataset
from bboxqa.formats.records import LISTS, LOWEST_SCORE, AnnotationFile, ReadSettings
from bboxqa.formats.sources import as_paths
from bboxqa.geometry import registry as similarities
from bboxqa.geometry.similarity import OUTLINES
from bboxqa.matching.matchers import MATCHERS
from bboxqa.model.annotations import Dataset
from bboxqa.model.settings import (
    AgreeKeywords,
    AgreeSettings,
    Asked,
    JoinBy,
    read_settings_file,
    settings_from,
)
from bboxqa.pipelines.refusals import check_files, with_findings

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

            stack.enter_context(names_hidden(reading.pseudonyms))
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
    """Return the data set of a source after checks for defects that would falsify agreement.

    What the settings say comes before `reading`, whose `check` replaces the checks of the settings.
    """
    needs = similarities.similarity(settings.similarity).needs
    if reading.choices.rotated is not None and needs == "keypoints":
        raise ConfigError(
            "--rotated says what boxes of five numbers hold, but --similarity keypoints does not "
            "compare boxes; leave --rotated out, or compare with --similarity obb"
        )
    own_check, outlines = reading.check, reading.outlines or needs in OUTLINES
    if own_check is None and settings.checks:
        own_check = partial(check_files, boxes=not outlines, choices=reading.choices)

    def check(files: Sequence[AnnotationFile], who: Attribution) -> None:
        # The outlines of panoptic COCO are not read.
        if problems := [
            f"{file.path}: is panoptic COCO, with the outlines of segments in PNG files, which are "
            f"not read; similarity {settings.similarity!r} compares outlines"
            for file in files
            if file.records == "segments"
        ]:
            raise DatasetError(problems, "Compare boxes: --similarity bbox")
        if own_check is not None:
            own_check(files, who)

    reading = replace(
        reading,
        **{name: getattr(settings, name) for name in AgreeSettings.__struct_fields__},
        outlines=outlines,
        keypoints=reading.keypoints or needs == "keypoints",
        rotated=reading.outlines or needs == "rotated boxes",
        check=check if needs in OUTLINES else own_check,
    )
    return _read(source, reading)


_OF_READING = {*AgreeSettings.__struct_fields__, "predictions", "score"} - {
    *AgreeKeywords.__annotations__
}


def agree_settings_from(values: Mapping[str, Any]) -> AgreeSettings:
    """Return checked settings; settings that are not given keep their defaults.

    Errors are as those of `settings_from`. The similarity and the matcher are looked up in their
    registries, which include those of other packages.

    Examples
    --------
    >>> agree_settings_from({"similarity": "poligon"})  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    bboxqa.core.errors.ConfigError: similarity is 'poligon'; expected one of ...; \
did you mean 'polygon'?
    """
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
    """Return the checked settings of `agree` in a TOML file, or in one that comes with bboxqa.

    Parameters and errors are as those of `read_settings_file`.
    """
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
