"""Reading files into a data set: joined, ordered, and checked for errors that falsify results.

Lists of results are annotators with the images and categories of other files.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from msgspec.structs import replace

from bboxqa.core.arrays import Files
from bboxqa.core.errors import DatasetError
from bboxqa.core.file_names import is_split, own_name
from bboxqa.core.machine import check_free_memory, gc_paused
from bboxqa.core.pseudonyms import hider, pseudonyms_of
from bboxqa.core.text import count, first_few, one_line
from bboxqa.formats.coco.reader import read_file
from bboxqa.formats.dataset.join import join
from bboxqa.formats.dataset.names import with_category_map, with_join_names
from bboxqa.formats.dataset.people import Attribution, attribute, refuse_equal_names
from bboxqa.formats.records import EVERYTHING, AnnotationFile, ReadSettings, id_number
from bboxqa.formats.registry import format_of, is_results_list
from bboxqa.formats.source import SourcePath
from bboxqa.formats.sources import (
    Sources,
    people_in_paths,
    refuse_repeated_files,
    sources_of,
    without_files,
)
from bboxqa.model.annotations import Dataset

_NAMED = 3


# Reading creates millions of objects, which the garbage collector would visit while joining.
@gc_paused()
def read_dataset(source: Files, reading: ReadSettings = EVERYTHING) -> Dataset:
    """Return the data set of one or several files; see `bboxqa.read`."""
    sources = sources_of(source, reading)
    key, hide = reading.pseudonyms, None
    if key is not None:
        sources.notes = without_files(sources.notes)
    refuse_repeated_files(sources.files)
    try:
        check_free_memory(sources.files)
        options = replace(
            reading,
            digest=reading.digest or len(sources.files) > 1,
            tables=any(is_results_list(each, reading.choices) for each in sources.files),
            progress=None if reading.progress is None else partial(reading.progress, "reading"),
        )
        errors, files = list[DatasetError](), list[AnnotationFile]()
        for file, name in zip(sources.files, sources.names, strict=True):
            try:
                found = format_of(file, reading.choices).read(file, options)
            except DatasetError as error:
                errors.append(error)
                continue
            of = replace(found.source, annotator=name) if sources.is_named else found.source
            files.append(replace(found, source=of, path=file, person=name))
        if errors:
            raise errors[0] if len(sources.files) == 1 else _all_of(errors)
        tables, of_results = list[AnnotationFile](), list[str]()
        if reading.predictions is not None or any(each.records == "results" for each in files):
            files, tables, of_results = _with_results(files, sources, reading)
        if len(files) > 1 or reading.join != "path":
            files = with_join_names(files, reading.join)
        unused: dict[str, str] = {}
        if reading.category_map:
            files, unused = with_category_map(files, reading.category_map)
        attribution = _attribution_of(files, sources, reading)
        if key is not None:
            attribution, hide = _pseudonymous(attribution, sources, reading, key)
            files, tables = ([_renamed(each, hide) for each in of] for of in (files, tables))
        if reading.refuse_equal and reading.join == "path" and attribution.is_of_nobody:
            refuse_equal_names(files)
        if reading.check is not None:
            reading.check(files, attribution)
        data = join(files, attribution, reading)
    except DatasetError as error:
        # What is left out may be the work of other annotators.
        raise error.with_advice(sources.notes) from None
    # A name that is near to another is a typing error.
    headlines = tuple(each for each in unused.values() if each.endswith("?"))
    others = (each for each in unused.values() if each not in headlines)
    notes = (*sources.notes, *data.notes, *others, *of_results)
    left_out = (*sources.notes, *data.left_out)
    if hide is not None:
        notes, left_out = hide(notes), hide(left_out)
    return replace(
        data,
        notes=notes,
        headlines=(*data.headlines, *headlines),
        map_notes=unused,
        left_out=left_out,
        sources=(*data.sources, *(each.source for each in tables)),
        is_pseudonymous=key is not None,
    )


def _pseudonymous(
    found: Attribution, sources: Sources, reading: ReadSettings, key: Path
) -> tuple[Attribution, Callable[[Any], Any]]:
    """Return annotators by their pseudonyms, and a function that replaces names in texts."""
    kept = {each for each in found.names if is_split(each)}
    if reading.predictions is not None:
        kept.add(own_name(reading.predictions))
    # Files that name nobody may be named after people.
    is_by_name = (found.of_files or found.is_of_nobody) and not sources.is_named
    others = people_in_paths(sources.files) if is_by_name else set[str]()
    given = pseudonyms_of(key, {*found.names, *others} - kept)
    hide = hider(given)
    new = {name: name if name in kept else given.get(name, name) for name in found.names}
    asked = [
        [None if names is None else tuple(new[name] for name in names) for names in of_file]
        for of_file in found.asked
    ]
    return replace(found, way=hide(found.way), names=tuple(new.values()), asked=asked), hide


def _renamed(file: AnnotationFile, hide: Callable[[Any], Any]) -> AnnotationFile:
    """Return a file with pseudonyms in its name, by which it is shown."""
    source, places = file.source, file.own_ids
    if places is not None and places.dtype == object:
        places = np.array(hide(places.tolist()), object)
    source = replace(source, name=hide(source.name), annotator=hide(source.annotator))
    return replace(file, source=source, own_ids=places)


def _all_of(errors: Sequence[DatasetError]) -> DatasetError:
    """Return one error with the problems of several files."""
    return DatasetError(
        [problem for error in errors for problem in error.problems],
        "\n".join(dict.fromkeys(error.advice for error in errors if error.advice)),
        files=[origin for error in errors for origin in error.files],
    )


def _with_results(
    read: Sequence[AnnotationFile], sources: Sources, reading: ReadSettings
) -> tuple[list[AnnotationFile], list[AnnotationFile], list[str]]:
    """Return files whose lists of results, last, have the images of other files."""
    lists = [file for file in read if file.records == "results"]
    files = others = [file for file in read if file.records != "results"]
    tables: list[AnnotationFile] = []
    # Beside lists, a file without annotations is by nobody; without other files, ids are names, and
    # each list is about the images of all.
    if lists and not sources.is_named:
        tables = [file for file in files if not len(file.columns.id)]
        files = [file for file in files if len(file.columns.id)]
    options = replace(reading, progress=None)
    if reading.truth is not None and lists and not others:
        truth = SourcePath(reading.truth)
        others = [format_of(truth, options.choices).read(truth, replace(options, tables=True))]
    if reading.predictions is not None:
        path, name = SourcePath(reading.predictions), own_name(reading.predictions)
        found = read_file(path, options)
        source = replace(found.source, role="predictions", annotator=name)
        lists.append(replace(found, source=source, path=path, person=name))
    sources.notes += [
        f"{one_line(each.source.name)}: no annotations; the results take images and categories "
        "from there"
        for each in tables
    ]
    known = [each for each in others if not each.numbers_categories]
    if others and not known:
        problem = f"{lists[0].source.name}: the ids of results are those of COCO JSON, but "
        raise DatasetError(
            [f"{problem}{others[0].source.name} is of another format"],
            "Convert it and use the ids of the copy: bboxqa convert FILE OUT.json --to coco",
        )
    images = _by_id(known or lists, "images", "file_name")
    categories = _by_id(known or lists, "categories", "name")
    notes = [*_result_notes(lists, are_named=bool(others))]
    lists = [replace(each, images=images, categories=categories) for each in lists]
    return [*files, *lists], tables, notes


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


def _result_notes(lists: Sequence[AnnotationFile], *, are_named: bool) -> Iterator[str]:
    """Yield notes on the results that count as annotations, and on images known by id only."""
    for file in lists:
        source, n = file.source, len(file.columns.id)
        least = f"with a score of {source.score:g} or more"
        if source.role == "predictions":
            found = f"{source.annotator}: {count(n, 'result')} of {Path(source.name).name} {least}"
            yield f"{one_line(found)}; the model was asked about all images"
        else:
            found = f"results {least} count: {n:,} of {n + file.n_below:,}"
            yield f"{one_line(source.name)}: {found}; asked about all images"
    if not are_named:
        names = first_few(lists, _NAMED, lambda each: one_line(each.source.name))
        yield (
            f"images and categories of {names} are known by id only (image 7, category 3): to name "
            "them, give the COCO file with these ids as well"
        )


def _attribution_of(
    files: Sequence[AnnotationFile], sources: Sources, reading: ReadSettings
) -> Attribution:
    """Return the annotators of all files, among them those of lists of results, and a model."""
    given = [file for file in files if file.source.role != "predictions"]
    # Lists of results alone are attributed as other files are.
    others = [file for file in given if file.records != "results"] or given
    beside = files[len(others) :]
    found = attribute(others, sources, replace(reading, min_annotators=1) if beside else reading)
    if len(others) < len(given) and found.is_of_nobody:
        by_files = replace(reading, attribution="files", min_annotators=1)
        found = attribute(others, sources, by_files)
    for file in beside:
        # Who wrote a list of results was asked about all images.
        name = file.person
        if name in found.names:
            raise DatasetError(
                [f"{file.source.name}: an annotator is named {one_line(name)!r} as well"],
                "Results are by an annotator who is named after the file: rename the file.",
            )
        is_model = file.source.role == "predictions"
        way = found.way or "one file per annotator"
        if is_model or not found.of_files:
            way += f"; {one_line(name)} {'is a model' if is_model else 'by its list of results'}"
        author = np.full(len(file.columns.id), len(found.names), np.int32)
        found = replace(
            found, way=way, author=[*found.author, author],
            asked=[*found.asked, [(name,)] * len(file.images)], names=(*found.names, name),
            n_beside=found.n_beside + 1,
        )  # fmt: skip
    return found
