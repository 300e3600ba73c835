"""Lists of results as annotators, with the images and categories of other files."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from msgspec.structs import replace

from bboxqa.core.errors import DatasetError
from bboxqa.core.file_names import own_name
from bboxqa.core.text import count, first_few, one_line
from bboxqa.formats.coco.reader import read_results
from bboxqa.formats.dataset.people import Attribution, attribute
from bboxqa.formats.dataset.reading import Reading
from bboxqa.formats.records import UNNAMED, AnnotationFile, ReadSettings, id_number
from bboxqa.formats.registry import format_of
from bboxqa.formats.source import SourcePath
from bboxqa.formats.sources import Sources

_NAMED = 3


def are_results(file: AnnotationFile) -> bool:
    """Return whether a file is a list of results."""
    return file.records == "results"


def with_results(
    read: Sequence[AnnotationFile], sources: Sources, reading: Reading, options: ReadSettings
) -> tuple[list[AnnotationFile], Sources, list[str]]:
    """Return files whose lists of results, last, have images and categories of others; and notes.

    The results of a model are the last file. Beside lists, a file without annotations is by nobody:
    it is among the `tables` of the sources. Without other files, images and categories keep their
    ids as names, and each list is about the images of all lists. Raises DatasetError if the results
    cannot be read, or if the ids can mean several things.
    """
    triples = [*zip(read, sources.files, sources.names, strict=True)]
    tables: list[AnnotationFile] = []
    if any(map(are_results, read)) and not sources.is_named:
        tables = [each for each in read if not (are_results(each) or len(each.columns.id))]
        triples = [each for each in triples if each[0] not in tables]
    triples.sort(key=lambda each: are_results(each[0]))
    others = [*tables, *(file for file, _, _ in triples if not are_results(file))]
    if reading.truth is not None and not others and triples:
        wanted = replace(options, tables=True, progress=None)
        truth = SourcePath(reading.truth)
        others = [format_of(truth, options.choices).read(truth, wanted)]
    if (model := reading.predictions) is not None:
        found = read_results(model.path, replace(options, score=model.score))
        source = replace(found.source, role="predictions", annotator=model.annotator)
        triples.append((replace(found, source=source), SourcePath(model.path), model.annotator))
    files = [file for file, _, _ in triples]
    notes = [*sources.notes]
    if tables:
        names = first_few(tables, _NAMED, lambda each: one_line(each.source.name))
        notes.append(f"{names}: no annotations; the results take images and categories from there")
    left = replace(
        sources,
        files=[path for _, path, _ in triples],
        names=[name for _, _, name in triples],
        notes=notes,
        tables=tables,
    )
    lists = [file for file in files if are_results(file)]
    if not lists:
        return files, left, []
    known = [each for each in others if not each.numbers_categories]
    if others and not known:
        problem = f"{lists[0].source.name}: the ids of results are those of COCO JSON, but "
        raise DatasetError(
            [f"{problem}{others[0].source.name} is of another format"],
            "Convert it and use the ids of the copy: bboxqa convert FILE OUT.json --to coco",
        )
    images = _by_id(known or lists, "images", "file_name")
    categories = _by_id(known or lists, "categories", "name")
    files = [
        replace(file, images=images, categories=categories) if are_results(file) else file
        for file in files
    ]
    return files, left, _result_notes(lists, are_named=bool(others))


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


def _result_notes(lists: Sequence[AnnotationFile], *, are_named: bool) -> list[str]:
    """Return notes on the results that count as annotations, and on images known by id only."""
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
    if not are_named:
        names = first_few(lists, _NAMED, lambda each: one_line(each.source.name))
        notes.append(
            f"images and categories of {names} are known by id only (image 7, category 3): to name "
            "them, give the COCO file with these ids as well"
        )
    return notes


def attribution_of(
    read: Sequence[AnnotationFile], sources: Sources, reading: Reading
) -> Attribution:
    """Return the annotators of all files, among them those of lists of results, and a model."""
    n_given = len(read) - (reading.predictions is not None)
    # Lists of results alone are attributed as other files are.
    n = sum(not are_results(each) for each in read) or n_given
    whole = replace(sources, names=sources.names[:n], files=sources.files[:n])
    least = 1 if n < len(read) else reading.min_annotators
    found = attribute(read[:n], whole, replace(reading, min_annotators=least))
    if n < n_given and found.names == (UNNAMED,):
        by_files = replace(reading, attribution="files", min_annotators=1)
        found = attribute(read[:n], whole, by_files)
    for file, name in zip(read[n:], sources.names[n:], strict=True):
        # Who wrote a list of results was asked about all images.
        if name in found.names:
            raise DatasetError(
                [f"{file.source.name}: an annotator is named {one_line(name)!r} as well"],
                "Results are by an annotator who is named after the file: rename the file.",
            )
        way, said = found.way, f"{one_line(name)} is a model"
        if file.source.role == "predictions" and way:
            way += f"; {said}"
        elif file.source.role == "predictions":
            way = f"one file per annotator: {said}, the other is not named"
        elif not found.of_files:
            way += f"; {one_line(name)} by its list of results"
        author = np.full(len(file.columns.id), len(found.names), np.int32)
        found = replace(
            found, way=way, author=[*found.author, author],
            asked=[*found.asked, [(name,)] * len(file.images)], names=(*found.names, name),
            n_beside=found.n_beside + 1,
        )  # fmt: skip
    return found
