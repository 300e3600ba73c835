"""Refusing files of which it is not sure whether each is by one annotator."""

from collections.abc import Iterator, Sequence
from operator import itemgetter
from pathlib import Path

from bboxqa.core.errors import DatasetError
from bboxqa.core.text import first_few, one_line
from bboxqa.formats.annotations.columns import AnnotationFile
from bboxqa.formats.annotations.records import ANNOTATOR_KEYS, annotator_name
from bboxqa.formats.commands import typed_names, typed_paths
from bboxqa.formats.dataset.people.image_records import names_in
from bboxqa.formats.dataset.people.parts_of_people import OF_EACH, images_of
from bboxqa.formats.dataset.people.places import Place, folders_and_names, places_of
from bboxqa.formats.dataset.people.told_by_images import is_apart, unsure_files
from bboxqa.formats.translation.translated import UNNAMED

_ADVICE = (
    "Two versions of one data set are compared with: bboxqa compare BEFORE AFTER\n"
    "If each file is by one annotator nevertheless: --attribution files"
)
_ONE_PERSON = """\
Name the annotator of each file, several times if need be: --annotator NAME=FILE …
If each file is by another annotator nevertheless: --attribution files\
"""
_ONE_OF_EACH = """\
If each folder is by one person, read one {} of each, such as: {}
If the folders have parts of one person's work each, such as clips:
bboxqa agree {}
If each folder is a session, name the files of each person, those of the first session first:
bboxqa agree {} --session-key file
{}If each file is by another person: --attribution files\
"""
_TYPED = 4


def check_keys(files: Sequence[AnnotationFile]) -> None:
    """Refuse a file that names nobody beside files that name several annotators, or one twice.

    If each file were taken as one annotator, one that names several would seem to draw every object
    twice, and the parts of one person would seem to be by several.
    """
    for named_by, found in _names_of(files):
        names = [set() if each == {UNNAMED} else each for each in found]
        unnamed = next((file for file, each in zip(files, names, strict=True) if not each), None)
        if unnamed is None:
            continue
        none = f"but {one_line(unnamed.source.name)} does not name any"
        expected = "expected all files to name annotators, or each to be by one"
        for file, each in zip(files, names, strict=True):
            if len(each) > 1:
                several = f"{one_line(file.source.name)}: has {len(each)} annotators by {named_by}"
                raise DatasetError([f"{several}, {none}; {expected}"], _ADVICE)
        seen: dict[str, str] = {}
        for file, each in zip(files, names, strict=True):
            name = one_line(file.source.name)
            other = seen.setdefault(next(iter(each), name), name)
            if other != name:
                same = f"{other} and {name} are by one annotator, by {named_by}"
                raise DatasetError([f"{same}, {none}; {expected}"], _ONE_PERSON)


def names_by_file(files: Sequence[AnnotationFile], file_names: Sequence[str]) -> list[str]:
    """Return the annotator of each file: the only one that it names, or else its own name.

    All files have their own names if one names several, or if two files had the same name.
    """
    for _, names in _names_of(files):
        found = [
            next(iter(each), own) if each != {UNNAMED} else own
            for each, own in zip(names, file_names, strict=True)
        ]
        if any(names) and max(map(len, names)) == 1 and len({*found}) == len(found):
            return found
    return [*file_names]


def _names_of(files: Sequence[AnnotationFile]) -> Iterator[tuple[str, list[set[str]]]]:
    """Yield how annotators are named, and the names in each file."""
    of_format = dict.fromkeys(file.named_by for file in files if file.named_by)
    for key in ANNOTATOR_KEYS:
        is_translated = of_format and key == ANNOTATOR_KEYS[0]
        named_by = " and ".join(of_format) if is_translated else f"the key {key!r} on annotations"
        yield named_by, [names_in(file, key) for file in files]
    of_records = [
        {annotator_name(image.annotator) for image in file.images if image.annotator is not None}
        for file in files
    ]
    yield "the key 'annotator' on image records", of_records


def check_folders(files: Sequence[AnnotationFile]) -> None:
    """Refuse folders with several files that may be parts of one person's work.

    If each file were taken as one annotator, the parts of one person would seem to be by several.
    """
    paths = [Path(file.source.name) for file in files]
    places, images = places_of(paths), images_of(files)
    rows = unsure_files(places, images)
    if not rows:
        return
    # A file beside the folder may have its name.
    row = min(rows, key=lambda each: len(places[each]))
    folder = paths[row].parents[max(len(places[row]) - 2, 0)]
    shown = [str(paths[row].relative_to(folder)) for row in rows]
    listed = first_few(shown, 3, one_line)
    if is_apart([images[row] for row in rows], [""] * len(rows)):
        problem = f"about different images ({listed}), which may be by one person or by several"
        advice = OF_EACH
    else:
        found = "with the same names as in another folder"
        problem = f"{found} ({listed}), which do not say who drew what"
        _, names = folders_and_names(places)
        # Those of one name are by one person.
        files_of = sorted(zip(names, paths, strict=True), key=itemgetter(0))
        named = typed_names(files_of, _TYPED)
        advice = _ONE_OF_EACH.format(
            *_one_of_each(shown[0], paths),
            _in_parts(places, paths),
            named,
            _comparison(places, paths),
        )
    problem = f"{folder}: has several files {problem}; expected one file of each person"
    raise DatasetError([problem], advice)


def _one_of_each(name: str, paths: Sequence[Path]) -> tuple[str, str]:
    """Return the kind of source that is read of each folder, and what reads those of one name."""
    if not paths[0].is_dir():
        return "file", f"--pattern {typed_paths([name])}"
    alike = [path for path in paths if path.as_posix().endswith(f"/{name}")]
    return "folder", f"bboxqa agree {typed_paths(alike, _TYPED)}"


def _in_parts(places: Sequence[Place], paths: Sequence[Path]) -> str:
    """Return what names the folders as those of people."""
    around = {path.parents[len(place) - 2] for place, path in zip(places, paths, strict=True)}
    return typed_names([(each.name, each) for each in sorted(around)], _TYPED)


def _comparison(places: Sequence[Place], paths: Sequence[Path]) -> str:
    """Return how to compare two folders; empty if there are more."""
    around = {path.parents[len(place) - 2] for place, path in zip(places, paths, strict=True)}
    if len(around) != 2:
        return ""
    command = f"bboxqa compare {typed_paths(sorted(around))}"
    return f"If the folders are two versions of one data set: {command}\n"
