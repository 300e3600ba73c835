"""Who drew what, by the first of three ways: a key, a list in image records, or the files."""

import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

import msgspec
import numpy as np
from msgspec.structs import replace

from bboxqa.core.arrays import IntArray, component_of_each, listed_by
from bboxqa.core.errors import ConfigError, DatasetError, NothingToCompareError
from bboxqa.core.file_names import is_split
from bboxqa.core.text import clean, count, first_few, one_line, typed_paths
from bboxqa.formats.dataset.names import join_advice
from bboxqa.formats.document import apart_note
from bboxqa.formats.measured import more_rows
from bboxqa.formats.records import (
    ANNOTATOR_KEYS,
    FILE,
    UNNAMED,
    AnnotationFile,
    Authors,
    Image,
    ReadSettings,
    annotator_name,
)
from bboxqa.formats.registry import format_of, refuse_idle_columns
from bboxqa.formats.sources import Sources
from bboxqa.model.annotations import Choices
from bboxqa.model.table import ShownIds

WAYS = ("annotator-key", "image-records", "files")
"""The ways of attribution, in the order in which they are tried."""

_SHOWN, _LINES = 3, 20
# Fewer boxes may be equal by chance.
_SEVERAL = 10
_CVAT = "CVAT names the assignee of a job in its export, not that of a task."
_BY_ATTRIBUTE = "an attribute (--annotator-key attributes.NAME)"
_NEVERTHELESS = "If each file is by another person nevertheless: --attribution files"
_Asked = list[tuple[str, ...] | None]
_Drawn = dict[str, list[tuple[str, list[float], int]]]


class Attribution(msgspec.Struct, frozen=True, eq=False):
    """The annotators of all annotations and images in several files."""

    way: str
    """A description for the user; "" where the files name nobody."""
    author: list[IntArray]
    """list of (N,) int32. By file, the annotator of each annotation as an index into `names`; -1
    where none is named.
    """
    asked: list[_Asked]
    """By file, who was asked about each image record; None where the record does not say."""
    names: tuple[str, ...]
    """The names of the annotators."""
    of_files: bool = False
    """Whether each file was made by one annotator."""
    n_beside: int = 0
    """The number of lists of results at the end, which say nothing about who else was asked."""
    key: str = ""
    """The key on annotations that names annotators; "" for other ways."""

    @property
    def is_of_nobody(self) -> bool:
        """Whether the files name nobody."""
        return self.names == (UNNAMED,)


def attribute(
    files: Sequence[AnnotationFile], sources: Sources, reading: ReadSettings
) -> Attribution:
    """Return the annotator of each annotation."""
    way, is_one_enough = reading.attribution, reading.min_annotators == 1
    if way is not None and way not in WAYS:
        raise ConfigError(f"attribution is {way!r}; expected one of {', '.join(WAYS)}")
    if sources.is_named and way not in (None, "files"):
        raise ConfigError(f"named files are one annotator each, not {way!r}")
    if not is_one_enough and not any(len(file.columns.id) for file in files):
        raise nothing_to_compare(files, reading.choices.mask)
    if sources.is_named:
        return _by_file(files, sources, reading)
    if reading.annotator_key is not None:
        way = way or "annotator-key"
    found: list[Attribution] = []
    if way in (None, "annotator-key"):
        found += _by_key(files, reading, chosen=way is not None)
    if way == "image-records" or (way is None and all(each.is_of_nobody for each in found)):
        found += _by_records(files, chosen=way is not None)
    if several := [each for each in found if len(each.names) > 1]:
        return several[0]
    # The field of a tool counts even where it names one person.
    is_own = all(file.named_by for file in files)
    of_tool = [e for e in found if is_own and e.key == ANNOTATOR_KEYS[0] and not e.is_of_nobody]
    if way == "files" or (way is None and not of_tool):
        are_several = len({file.person for file in files}) > 1
        if (way == "files" and is_one_enough) or (
            are_several and _are_people(files, sources, reading)
        ):
            return _by_file(files, sources, reading)
    if is_one_enough and found:
        return [*of_tool, *found][0]
    if is_one_enough and way is None:
        authors = [np.zeros(len(file.columns.id), np.int32) for file in files]
        asked: list[_Asked] = [[(UNNAMED,)] * len(file.images) for file in files]
        return Attribution("", authors, asked, (UNNAMED,))
    raise _nothing_found(files, found, reading)


def _are_people(files: Sequence[AnnotationFile], sources: Sources, reading: ReadSettings) -> bool:
    """Return whether several files that name nobody are people; always where two are needed."""
    by = reading.by_files
    if reading.attribution == "files" or reading.min_annotators > 1 or by == "all":
        return True
    is_once = not _shared_image(files) or reading.session_key == FILE
    is_asked = by == "any" or (by == "typed" and sources.is_typed)
    return is_asked and is_once and len(_groups(files)) == 1


def _by_key(
    files: Sequence[AnnotationFile], reading: ReadSettings, *, chosen: bool
) -> list[Attribution]:
    """Return one attribution for each annotator key that occurs, in the order of the keys."""
    keys = ANNOTATOR_KEYS if reading.annotator_key is None else (reading.annotator_key,)
    # The field of a tool counts even where it names one person.
    is_own = all(file.named_by for file in files)
    tables = [[key] * len(files) for key in keys]
    own = [next((key for key in keys if _names_in(file, key)), "") for file in files]
    # Where no key names people in all files, but each file has one, these together are the last.
    is_mixed = all(own) and not any(all(map(_names_in, files, each)) for each in tables)
    result = []
    for of_files in [*tables, *[own] * is_mixed]:
        pairs = [*zip(files, of_files, strict=True)]
        authors = [file.columns.authors[key] for file, key in pairs]
        names = tuple(sorted({name for author in authors for name in author.names}))
        if not names:
            continue
        # Users have never seen the keys of translated formats.
        ways = dict.fromkeys(
            (key == ANNOTATOR_KEYS[0] and file.named_by) or f"the key {key!r} on annotations"
            for file, key in pairs
        )
        way = " and ".join(ways)
        lacking = [] if chosen else [file for file, key in pairs if not _names_in(file, key)]
        if lacking and not (is_own and reading.min_annotators == 1):
            if len({*names} - {UNNAMED}) >= (1 if is_own else 2) and not is_mixed:
                problem = (
                    f"{listed_files(lacking)}: nobody is named, while {way} names "
                    f"{first_few(names, _SHOWN, one_line)} in the other files; expected all files "
                    "to name annotators, or each to be by one"
                )
                raise DatasetError([problem], f"{_lines(files)}\n{_NEVERTHELESS}")
            continue
        names = tuple(dict.fromkeys((*names, *[UNNAMED] * bool(lacking))))
        number = {name: place for place, name in enumerate(names)}
        nobody = number[UNNAMED] if lacking else -1
        if len(names) > 1 < reading.min_annotators:
            # Who is named in part is refused with the records.
            number[UNNAMED] = -1
        codes = [
            np.array([*(number[name] for name in author.names), nobody], np.int32)[author.code]
            for author in authors
        ]
        # The lists of what is translated have people, also where another key is chosen.
        asked: list[_Asked] = [
            [None] * len(file.images)
            if file.named_by and key != ANNOTATOR_KEYS[0]
            else _asked_in(file.images)
            for file, key in pairs
        ]
        listed = {name for images in asked for given in images for name in given or ()}
        names = (*names, *sorted(listed - {*names}))
        key = of_files[0] if len({*of_files}) == 1 else ""
        result.append(Attribution(way, codes, asked, names, key=key))
    return result


def _asked_in(images: Sequence[Image]) -> _Asked:
    """Return who was asked about each image: the names in a list, or the keys of an object."""
    # Most images have the same list, so each distinct list is converted once. Some tools write an
    # empty list on every image, which says nothing.
    names_of: dict[str, tuple[str, ...] | None] = {}
    result: _Asked = []
    for image in images:
        value = image.rater_list or image.annotators or ()
        text = repr(value)
        if text not in names_of:
            names_of[text] = tuple(sorted({annotator_name(name) for name in value})) or None
        result.append(names_of[text])
    return result


def _names_in(file: AnnotationFile, key: str) -> set[str]:
    """Return whom annotations name by a key, or who was asked where nobody drew anything."""
    if len(file.columns.id):
        return {*file.columns.authors[key].names}
    return {name for names in _asked_in(file.images) for name in names or ()}


def _by_records(files: Sequence[AnnotationFile], *, chosen: bool) -> list[Attribution]:
    """Return the attribution by repeated image records."""
    named = [image.annotator is not None for file in files for image in file.images]
    names = [image.file_name for image in files[0].images if image.file_name]
    is_repeated = len({*names}) < len(names) if len(files) == 1 else all(named)
    if not any(named) or not (chosen or is_repeated):
        return []
    if not all(named):
        lacking = [image.id for file in files for image in file.images if image.annotator is None]
        raise DatasetError(
            [f"{listed_files(files)}: {unnamed(lacking, len(named), 'image record')}"],
            "Name every annotator by the key `annotator` on its records.",
        )
    labels = [[annotator_name(image.annotator) for image in file.images] for file in files]
    people = tuple(sorted({label for part in labels for label in part}))
    code = {label: place for place, label in enumerate(people)}
    authors = [
        np.array([*map(code.__getitem__, part), -1], np.int32)[file.image_rows]
        for file, part in zip(files, labels, strict=True)
    ]
    asked: list[_Asked] = [[(label,) for label in part] for part in labels]
    return [Attribution("repeated image records with one file_name", authors, asked, people)]


def _by_file(
    files: Sequence[AnnotationFile], sources: Sources, reading: ReadSettings
) -> Attribution:
    """Attribute each file to one annotator."""
    is_chosen = sources.is_named or reading.attribution == "files"
    is_checked, are_sessions = reading.min_annotators > 1, reading.session_key == FILE
    groups = _groups(files)
    # Images without a name are refused later.
    are_named = all(image.file_name for file in files for image in file.images)
    are_splits = sum(map(is_split, {file.person for file in files})) > 1
    if not is_chosen and is_checked and (len(groups) > 1 or are_splits) and are_named:
        shown = first_few(groups, _SHOWN, lambda each: f"({first_few(each, _SHOWN, one_line)})")
        why = f"as people they fall into {len(groups):,} groups that share no image: {shown}"
        why = why if len(groups) > 1 else "they are named as parts of one data set"
        joining = join_advice([file.image_names for file in files])
        advice = [f"Images are joined by file_name: {joining}"] if joining else []
        lines = [_lines(files), _NEVERTHELESS]
        counts = Counter(name for file in files for name in file.image_names)
        if max(counts.values(), default=0) < 2:
            why = "no two of the files share an image: there is nothing to compare"
            lines = [] if joining else ["Agreement needs files by other people of the same images."]
        elif repeated := _repeated(files):
            lines = [repeated, _NEVERTHELESS]
        problem = f"{listed_files(files)}: nobody is named in the files, and {why}"
        raise NothingToCompareError([problem], "\n".join([*advice, *lines]))
    if not is_chosen and is_checked and reading.choices.mask is None:
        _refuse_folders_of_images(files)
    if not are_sessions and (shared := _shared_image(files)):
        name, image, first, second = map(one_line, shared)
        problem = f"annotator {name!r}: image {image!r} is in {first} and in {second}"
        again = "If a person annotated the images again and each file is a session:"
        raise NothingToCompareError(
            [f"{problem}; expected one file, or files about different images"],
            f"{_lines(files)}\n{again} --session-key file",
        )
    if not (sources.is_named or sources.is_typed) and (is_chosen or is_checked):
        _refuse_equal(files, reading.choices)
    names = tuple(sorted({file.person for file in files}))
    authors = [np.full(len(f.columns.id), names.index(f.person), np.int32) for f in files]
    asked: list[_Asked] = [[(file.person,)] * len(file.images) for file in files]
    is_one_each = len(names) == len(files)
    way = "one folder per annotator"
    if is_one_each and not all(f.path.is_folder and not f.path.is_file() for f in files):
        way = "one file per annotator"
    elif not is_one_each and are_sessions:
        way = "several files per annotator, each a session"
    return Attribution(way, authors, asked, names, of_files=names != (UNNAMED,))


def _groups(files: Sequence[AnnotationFile]) -> list[list[str]]:
    """Return the people in groups that share images, directly or by others."""
    people: dict[str, int] = {}
    first: dict[str, int] = {}
    pairs = []
    for file in files:
        place = people.setdefault(file.person, len(people))
        pairs += [(first.setdefault(image, place), place) for image in file.image_names]
    group = component_of_each(len(people), *np.array(pairs, np.int64).reshape(-1, 2).T)
    return [*listed_by(zip(group.tolist(), people, strict=True)).values()]


def _shared_image(files: Sequence[AnnotationFile]) -> tuple[str, ...]:
    """Return the first person with an image in two files, the image, and these; () for none."""
    seen: dict[tuple[str, str], str] = {}
    for file in files:
        for image in sorted(file.image_names):
            other = seen.setdefault((file.person, image), file.source.name)
            if other != file.source.name:
                return file.person, image, other, file.source.name
    return ()


def _refuse_folders_of_images(files: Sequence[AnnotationFile]) -> None:
    """Refuse folders of which any may be people: image1/ann/a.txt, image1/bob/a.txt."""
    names = {name.rpartition("/")[2] for file in files for name in file.image_names}
    are_folders = all(file.path.is_folder and not file.path.is_file() for file in files)
    if are_folders and len(names) == 1 and any(len(file.image_names) > 1 for file in files):
        problem = f"all label files are named {one_line(*names)!r}; either folder may be a person"
        raise NothingToCompareError(
            [f"{listed_files(files)}: nobody is named in the files, and {problem}"],
            f"To measure one image: bboxqa agree {typed_paths([files[0].source.name])}\n"
            f"For several, name label files after their images.\n{_NEVERTHELESS}",
        )


def refuse_equal_names(files: Sequence[AnnotationFile]) -> None:
    """Refuse files that name nobody and have images of equal names, which may be others."""
    if shared := _shared_image([replace(file, person=UNNAMED) for file in files]):
        _, image, first, second = map(one_line, shared)
        problem = f"{first} and {second}: both have an image {image!r}"
        again = _repeated(files) or "If each holds a part of the labels of one image: --join name"
        raise DatasetError(
            [f"{problem}, and nobody is named in the files"],
            f"If each file is by another person: --attribution files\n{again}\n"
            "If these are different images, keep them apart as FILE/IMAGE: --join none",
        )


def _repeated(files: Sequence[AnnotationFile]) -> str:
    """Return what to type where files hold the same annotations for the most part; else ""."""
    drawn = [{(image, *map(str, each[:2])) for image, of in _drawn_by_image(file).items()
              for each in of} for file in files]  # fmt: skip
    n = sum(n > 1 for n in Counter(each for of in drawn for each in of).values())
    name = shlex.quote(max(files, key=lambda file: len(file.columns.id)).path.name)
    some = count(n, "annotation is", "annotations are")
    one = f"{some} in several of them; to read one only, name it, or --pattern {name} in a folder"
    return one * (2 * n > min(map(len, drawn)))


def _refuse_equal(files: Sequence[AnnotationFile], choices: Choices) -> None:
    """Refuse two people of a folder with equal annotations, or a part beside the whole."""
    drawn = [*map(_drawn_by_image, files)]
    holders = listed_by((image, n) for n, images in enumerate(drawn) for image in images)
    for file, own in zip(files, drawn, strict=True):
        for other in holders[next(iter(own))] if own else ():
            pair, held = (file, files[other]), (own, drawn[other])
            if pair[0].person == pair[1].person or not _is_part(*held, file.image_names):
                continue
            rows = [[row for image in own for *_, row in each[image]] for each in held]
            if _outlines(pair[0], rows[0], choices) == _outlines(pair[1], rows[1], choices):
                first, second = (one_line(each.source.name) for each in pair)
                problem = f"{first}: has the same annotations as {second} in all its images: one "
                problem += "file twice, a part of it, or one person copied the other"
                advice = f"Name one of them only, or both if these are two people.\n{_lines(files)}"
                raise NothingToCompareError([problem], advice)


def _drawn_by_image(file: AnnotationFile) -> _Drawn:
    """Return label, box and row of the annotations of each image that has some, sorted."""
    images = np.array([*(image.file_name or str(image.id) for image in file.images), ""])
    labels = np.array([*(clean(each.name) for each in file.categories), ""])
    box = (np.round(file.columns.bbox, 2) + 0.0).tolist()
    of_boxes = images[file.image_rows].tolist(), labels[file.category_rows].tolist(), box
    found: _Drawn = {}
    for image, *each in sorted(zip(*of_boxes, range(len(box)), strict=True)):
        found.setdefault(image, []).append((*each,))
    return found


def _is_part(own: _Drawn, other: _Drawn, seen: AbstractSet[str]) -> bool:
    """Return whether the other drew the same in the images seen: nothing else, or several boxes."""
    n_drawn, shared = sum(map(len, own.values())), other.keys() & (seen | own.keys())
    return (
        shared == own.keys()
        and (len(shared) == len(other) or n_drawn >= _SEVERAL)
        and all([e[:2] for e in own[image]] == [e[:2] for e in other[image]] for image in own)
    )


def _outlines(file: AnnotationFile, rows: Sequence[int], choices: Choices) -> list[bytes]:
    """Return the outlines and key points of annotations, which may tell equal boxes apart."""
    settings = ReadSettings(keypoints=True, choices=choices)
    columns, at = format_of(file.path, choices).read(file.path, settings).columns, np.array(rows)
    found = []
    if columns.segmentation is not None:
        outlines = columns.segmentation.take(at).packed()
        found = [outlines.xy.tobytes(), outlines.counts.tobytes()]
    points = None if columns.keypoints is None else columns.keypoints.take(at).packed()
    return [*found, b"" if points is None else points.xy.tobytes()]


def _lines(files: Sequence[AnnotationFile]) -> str:
    """Return a line for each file that names who made it, to be edited."""
    names = (typed_paths([f"NAME={file.source.name}"]) for file in files[:_LINES])
    lines = [f"  --annotator {each}" for each in names]
    if len(files) > _LINES:
        lines.append(f"  … and {len(files) - _LINES:,} more")
    say = "Name who made each file, a person as often as needed (edit NAME):"
    return "\n".join([*[_CVAT] * (files[0].named_by == "the assignee"), say, *lines])


def _nothing_found(
    files: Sequence[AnnotationFile], found: Sequence[Attribution], reading: ReadSettings
) -> NothingToCompareError:
    """Return an error for files by fewer than two annotators, with how to name them."""
    refuse_idle_columns([file.path for file in files], reading.choices)
    named = [each for each in found if not each.is_of_nobody]
    problem = "no annotator is named in the files"
    if named:
        problem = f"one annotator only, {named[0].names[0]!r}, by {named[0].way}"
        if named[0].way == "completed_by" and len(files) > 1 and named[0].names[0].isdecimal():
            problem += ", which each Label Studio counts from 1"
    elif reading.annotator_key is not None and not found:
        problem = f"no annotation has the key {reading.annotator_key!r}"
    path, by = files[0].path, f"{files[0].named_by} in the export,\nor by "
    each = "a file or folder for each: --annotator NAME=1{0} --annotator NAME=2{0}"
    if not files[0].title:
        by = (
            f"a key on annotations\n({', '.join(ANNOTATOR_KEYS)}, or --annotator-key KEY),\n"
            "by the key annotator of image records, one for each with the same file_name,\nor by "
        )
    elif not files[0].named_by and format_of(path, reading.choices).folders_in_parts:
        by, each = "", "a folder for each: --annotator NAME=FOLDER --annotator NAME=FOLDER"
    elif not files[0].named_by:
        is_table = format_of(path, reading.choices).name == "table"
        by = "a column (--columns annotator=NAME)" if is_table else _BY_ATTRIBUTE
        by += ",\nor by "
    advice = f"Agreement needs at least two annotators, named by {by}{each.format(path.suffix)}"
    if len(files) > 1:
        advice = f"{_lines(files)}\n{_NEVERTHELESS}"
    return NothingToCompareError([f"{listed_files(files)}: {problem}"], advice)


def nothing_to_compare(
    files: Sequence[AnnotationFile], mask: str | None, where: str = ""
) -> NothingToCompareError:
    """Return the error for files without annotations to compare, read as masks or not."""
    n_apart = sum((Counter(file.n_apart) for file in files), Counter[str]())
    typed = typed_paths([file.source.name for file in files])
    command = f"bboxqa validate {typed}{f' --mask {mask}' if mask else ''}"
    what, advice = "annotations", f"For a possible cause: {command}"
    if n_apart:
        what, command = "annotations that have a box", ""
        todo = (
            "Agreement needs boxes, outlines, masks or key points: export those. Labels of whole "
            "images are measured in a table with a row for each image and annotator: bboxqa stats "
            "FILE.csv --value COLUMN"
        )
        if not n_apart.keys().isdisjoint(("key point", "point set", "skeleton")):
            todo = "--similarity keypoints compares key points."
        advice = f"{apart_note(n_apart)}\n{todo}"
    problem = f"{listed_files(files)}: no {what}{where}; nothing to measure"
    return NothingToCompareError([problem], advice, command=command)


def listed_files(files: Sequence[AnnotationFile]) -> str:
    """Return the names of files for a message, at most three of them."""
    return first_few(files, _SHOWN, lambda file: file.source.name)


def unnamed(ids: Sequence[Any] | ShownIds, total: int, noun: str) -> str:
    """Return the problem of records that do not name their annotator."""
    number = f"{len(ids):,} of {count(total, noun)}"
    return f"{number} do not name their annotator (such as {ids[0]}); expected a name on each"


def composed_names(ids: ShownIds, key: str, authors: Authors) -> Iterator[str]:
    """Yield one problem for all annotations with a list or an object as annotator, if any."""
    if authors.composed:
        codes = [code for code, name in enumerate(authors.names) if name in authors.composed]
        rows = np.flatnonzero(np.isin(authors.code, codes))
        yield (
            f"annotation {ids[int(rows[0])]}{more_rows(rows)}: {key} is "
            f"{authors.names[authors.code[rows[0]]]}; expected the name of one annotator "
            f"(inside an object: --annotator-key {key}.KEY)"
        )
