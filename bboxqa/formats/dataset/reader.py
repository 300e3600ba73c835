"""Reading files into a data set: joined, ordered, and checked for errors that falsify results."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from bboxqa.core.arrays import Files
from bboxqa.core.errors import ConfigError, DatasetError, NothingToCompareError
from bboxqa.core.file_names import is_split
from bboxqa.core.machine import check_free_memory, gc_paused
from bboxqa.core.pseudonyms import hider, pseudonyms_of
from bboxqa.formats.dataset.join import join
from bboxqa.formats.dataset.names import (
    left_out_by,
    with_category_map,
    with_join_names,
    with_one_order,
)
from bboxqa.formats.dataset.people import Attribution, refuse_equal_names
from bboxqa.formats.dataset.predictions import (
    are_results,
    attribution_of,
    with_results,
)
from bboxqa.formats.dataset.reading import EVERYTHING, Reading
from bboxqa.formats.dataset.sessions import (
    read_sessions,
    read_times,
    trackless_notes,
    untimed_notes,
)
from bboxqa.formats.records import UNNAMED, AnnotationFile, ReadSettings
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
from bboxqa.model.table import FilePlaces

# What notes of readers say of files that are not read.
_LEFT_OUT = " left out"
_NO_SESSIONS = "a model has no sessions: give either a session key or predictions"


# Reading creates millions of objects, which the garbage collector would visit while joining.
@gc_paused()
def read_dataset(source: Files, reading: Reading = EVERYTHING) -> Dataset:
    """Return the data set of one or several files; see `bboxqa.read`.

    Raises DatasetError with every problem that would falsify a result.
    """
    session_key, time_key = reading.session_key, reading.time_key
    left_out_by(reading.category_map)
    if reading.predictions is not None and session_key is not None:
        raise ConfigError(_NO_SESSIONS)
    options = reading.settings()
    are_files = reading.min_annotators > 1 or reading.attribution == "files"
    may_be_people = None if reading.by_files == "all" else reading.by_files == "any"
    sources = sources_of(
        source,
        reading.pattern,
        within=reading.within,
        are_people=are_files or may_be_people,
        choices=reading.choices,
    )
    if reading.pseudonyms is not None:
        sources.notes = without_files(sources.notes)
    refuse_repeated_files(sources.files)
    has_lists = any(is_results_list(each, reading.choices) for each in sources.files)
    try:
        read = _read_all(sources.files, replace(options, tables=has_lists))
    except DatasetError as error:
        raise error.with_advice(sources.notes) from None
    if session_key is not None and any(map(are_results, read)):
        raise ConfigError(_NO_SESSIONS)
    if sources.is_named:
        pairs = zip(read, sources.names, strict=True)
        read = [replace(f, source=replace(f.source, annotator=name)) for f, name in pairs]
    read, found, of_results = with_results(read, sources, reading, options)
    read = with_join_names(read, reading.join_by, found.names)
    read, unused = with_category_map(read, reading.category_map)
    read = with_one_order(read)
    attributed, hide = _attributed(read, found, reading), hider({})
    if reading.pseudonyms is not None:
        attributed, hide = _pseudonymous(attributed, found, reading, reading.pseudonyms)
        read = [_renamed(each, hide) for each in read]
    if reading.refuse_equal and reading.join_by == "path" and attributed.names == (UNNAMED,):
        refuse_equal_names(read)
    if reading.check is not None:
        reading.check(found.files, read, attributed)
    sessions = None if session_key is None else read_sessions(read, attributed, session_key)
    seconds = None if time_key is None else read_times(read, time_key)
    try:
        data = join(read, found.files, attributed, reading, sessions, seconds)
    except NothingToCompareError as error:
        # What is left out, or is read as one annotator's, may be the work of others.
        raise error.with_advice(found.notes) from None
    notes = [*found.notes, *data.notes, *unused.values(), *trackless_notes(data.annotations.track)]
    if time_key is not None and seconds is not None:
        notes += untimed_notes(seconds, time_key)
    tables = [_renamed(each, hide).source for each in found.tables]
    return replace(
        data,
        notes=tuple(hide([*notes, *of_results])),
        map_notes=unused,
        left_out=tuple(hide(found.notes)),
        sources=(*data.sources, *tables),
        is_pseudonymous=reading.pseudonyms is not None,
    )


def _attributed(read: Sequence[AnnotationFile], sources: Sources, reading: Reading) -> Attribution:
    """Return the annotators of all files."""
    try:
        return attribution_of(read, sources, reading)
    except DatasetError as error:
        # What is left out may be the work of other annotators.
        inside = (note for each in read for note in each.notes if _LEFT_OUT in note)
        raise error.with_advice([*sources.notes, *inside]) from None


def _pseudonymous(
    found: Attribution, sources: Sources, reading: Reading, key: Path
) -> tuple[Attribution, Callable[[Any], Any]]:
    """Return annotators by their pseudonyms, and a function that replaces names in texts."""
    kept, files = {each for each in found.names if is_split(each)}, sources.files
    if reading.predictions is not None:
        kept, files = kept | {reading.predictions.annotator}, files[:-1]
    # Files that name nobody may be named after people.
    is_by_name = (found.of_files or found.names == (UNNAMED,)) and not sources.is_named
    others = people_in_paths(files) if is_by_name else set[str]()
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
    if isinstance(places, FilePlaces):
        places = replace(places, files=hide(places.files))
    source = replace(source, name=hide(source.name), annotator=hide(source.annotator))
    return replace(file, source=source, own_ids=places)


def _read_all(files: Sequence[SourcePath], options: ReadSettings) -> list[AnnotationFile]:
    """Read all files, or raise the problems of all of them."""
    check_free_memory(sum(each.size for each in files), str(files[0]), len(files) - 1)
    if len(files) > 1:
        options = replace(options, digest=True)
    problems: list[str] = []
    advice: list[str] = []
    origins: list[Path | None] = []
    read = []
    for file in files:
        try:
            found = format_of(file, options.choices).read(file, options)
            read.append(found)
        except DatasetError as error:
            if len(files) == 1:
                raise
            problems += error.problems
            origins += error.files
            advice += [error.advice] if error.advice else []
    if problems:
        raise DatasetError(problems, "\n".join(dict.fromkeys(advice)), files=origins)
    return read
