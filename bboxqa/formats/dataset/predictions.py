"""Lists of results as annotators, with the images and categories of other files."""

from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from msgspec.structs import replace

from bboxqa.core.errors import DatasetError
from bboxqa.core.file_names import own_name
from bboxqa.core.text import count, first_few, one_line
from bboxqa.formats.coco.reader import COCO, begins_as_results, results_file
from bboxqa.formats.dataset.people import Attribution, attribute
from bboxqa.formats.dataset.reading import Predictions, Reading
from bboxqa.formats.opening import named_errors, read_whole
from bboxqa.formats.records import UNNAMED, AnnotationFile, ReadSettings, id_number
from bboxqa.formats.registry import format_of
from bboxqa.formats.scanner import read_bytes
from bboxqa.formats.sources import Sources
from bboxqa.model.annotations import Choices, Source

_NAMED = 3


def read_predictions(predictions: Predictions, options: ReadSettings) -> AnnotationFile:
    """Return results of at least the minimum score, with images and categories known by id.

    Raises DatasetError if the file is not a list of results, if a score is missing or not between 0
    and 1, or if no result reaches the minimum score.
    """
    path = predictions.path
    with named_errors(path, "a JSON file of results"):
        content = read_whole(path)
    options = replace(options, score=predictions.score)
    source = Source(
        str(path),
        len(content),
        blake2b(content).hexdigest() if options.digest else None,
        role="predictions",
        annotator=predictions.annotator,
    )
    return results_file(read_bytes(content, str(path), options), path, options, source)


def is_results_list(path: Path, choices: Choices) -> bool:
    """Return whether a file is a list of results by its beginning."""
    return format_of(path, choices) is COCO and begins_as_results(path)


def are_results(file: AnnotationFile) -> bool:
    """Return whether a file is a list of results."""
    return file.records == "results"


def with_tables(
    files: Sequence[AnnotationFile], tables: Sequence[AnnotationFile]
) -> list[AnnotationFile]:
    """Return files in which lists of results have the images and categories of other files.

    Without other files, images and categories keep their ids as names, and each list is about the
    images of all lists. `tables` are the other files, also those that are not measured. Raises
    DatasetError if the ids can mean several things.
    """
    lists = [file for file in files if are_results(file)]
    if not lists:
        return [*files]
    known = [each for each in tables if not each.numbers_categories]
    if tables and not known:
        problem = f"{lists[0].source.name}: the ids of results are those of COCO JSON, but "
        raise DatasetError(
            [f"{problem}{tables[0].source.name} is of another format"],
            "Convert it and use the ids of the copy: bboxqa convert FILE OUT.json --to coco",
        )
    images = _by_id(known or lists, "images", "file_name")
    categories = _by_id(known or lists, "categories", "name")
    return [
        replace(file, images=images, categories=categories) if are_results(file) else file
        for file in files
    ]


def _by_id(files: Sequence[AnnotationFile], name: str, label: str) -> list[Any]:
    """Return the records of all files, each id once; refuse ids with several meanings."""
    known: dict[int, tuple[AnnotationFile, Any]] = {}
    for file in files:
        for record in getattr(file, name):
            first, other = known.setdefault(id_number(record.id), (file, record))
            here, there = (one_line(str(getattr(each, label))) for each in (other, record))
            if here != there:
                problem = (
                    f"{name}: {record.id} is {here!r} in {first.source.name}, "
                    f"but {there!r} in {file.source.name}: the results can mean either"
                )
                advice = "Name only the annotated file that the results belong to."
                raise DatasetError([problem], advice)
    return [record for _, record in known.values()]


def _with_results(attribution: Attribution, file: AnnotationFile, name: str) -> Attribution:
    """Return an attribution with a further file, of an annotator asked about all its images.

    Raises DatasetError if another annotator has the name.
    """
    if name in attribution.names:
        raise DatasetError(
            [f"{file.source.name}: an annotator is named {one_line(name)!r} as well"],
            "Results are by an annotator who is named after the file: rename the file.",
        )
    author = np.full(len(file.columns.id), len(attribution.names), np.int32)
    way = attribution.way
    if file.source.role == "predictions":
        said = f"{one_line(name)} is a model"
        way = f"{way}; {said}" if way else f"one file per annotator: {said}, the other is not named"
    elif not attribution.of_files:
        way = f"{way}; {one_line(name)} by its list of results"
    return replace(
        attribution,
        way=way,
        author=[*attribution.author, author],
        asked=[*attribution.asked, [(name,)] * len(file.images)],
        names=(*attribution.names, name),
        n_beside=attribution.n_beside + 1,
    )


def attribution_of(
    read: Sequence[AnnotationFile], sources: Sources, reading: Reading
) -> Attribution:
    """Return the annotators of all files, among them a model."""
    names = sources.names
    n_whole = sum(not are_results(each) for each in read)
    # Lists of results alone are attributed as other files are.
    n_attributed = n_whole or len(names)
    has_more = reading.predictions is not None or n_attributed < len(names)
    least = 1 if has_more else reading.min_annotators
    whole = replace(sources, names=names[:n_attributed])
    found = attribute(read[:n_attributed], whole, replace(reading, min_annotators=least))
    if n_attributed < len(names) and found.names == (UNNAMED,):
        by_files = replace(reading, attribution="files", min_annotators=1)
        found = attribute(read[:n_attributed], whole, by_files)
    for file, name in zip(read[n_attributed:], names[n_attributed:], strict=False):
        found = _with_results(found, file, name)
    if reading.predictions is None:
        return found
    return _with_results(found, read[-1], reading.predictions.annotator)


def result_notes(files: Sequence[AnnotationFile], tables: Sequence[AnnotationFile]) -> list[str]:
    """Return notes on the results that count as annotations, and on images known by id only."""
    lists = [file for file in files if are_results(file)]
    notes = []
    for file in lists:
        source, n = file.source, len(file.columns.id)
        path, least = Path(source.name), f"with a score of {source.score:g} or more"
        if source.role == "predictions":
            who = f"{one_line(own_name(path))}: {count(n, 'result')} of {one_line(path.name)}"
            notes.append(f"{who} {least}; the model was asked about all images")
        else:
            found = f"results {least} count: {n:,} of {n + file.n_below:,}"
            notes.append(f"{one_line(source.name)}: {found}; asked about all images")
    if lists and not tables:
        names = first_few(lists, _NAMED, lambda each: one_line(each.source.name))
        notes.append(
            f"images and categories of {names} are known by id only (image 7, category 3): to name "
            "them, give the COCO file with these ids as well"
        )
    return notes


def without_empty(
    files: Sequence[AnnotationFile],
) -> tuple[list[int], list[AnnotationFile], list[str]]:
    """Return the files to measure, those that only list images, and a note on these.

    Beside lists of results, a file without annotations is not by an annotator.
    """
    kept = [place for place, file in enumerate(files) if are_results(file) or len(file.columns.id)]
    left = [file for place, file in enumerate(files) if place not in kept]
    if not left or not any(map(are_results, files)):
        return [*range(len(files))], [], []
    names = first_few(left, _NAMED, lambda each: one_line(each.source.name))
    note = f"{names}: no annotations; the results take images and categories from there"
    return kept, left, [note]
