"""Notes on how files were taken, where names and images do not tell who made which."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from bboxqa.core.text import first_few, in_natural_order, one_line
from bboxqa.formats.annotations.columns import AnnotationFile
from bboxqa.formats.commands import typed_names, typed_paths
from bboxqa.formats.dataset.people.attributed import Attribution
from bboxqa.formats.dataset.people.parts_of_people import images_of
from bboxqa.formats.dataset.people.places import places_of
from bboxqa.formats.dataset.people.told_by_images import (
    OF_FOLDERS,
    OF_NAMES,
    is_apart,
    is_apart_by,
)
from bboxqa.formats.task_files import without_split

# The most names that a note shows.
_SHOWN = 3
_NAMED_FILES = "--annotator NAME=FILE --annotator NAME=FILE …"


def folder_notes(
    files: Sequence[AnnotationFile], attribution: Attribution, *, hidden: bool
) -> list[str]:
    """Return a note on how files in folders were taken, where others may be by one person.

    Notes that are `hidden` do not say names of files.
    """
    if len(attribution.names) == len(files):
        return _one_name_notes(files, hidden=hidden)
    taken = {OF_FOLDERS: "folder", OF_NAMES: "name"}.get(attribution.way)
    if taken is None:
        return []
    # The order of names would tell whose a pseudonym is.
    who = first_few(in_natural_order(attribution.names), _SHOWN, one_line)
    note = f"files of one {taken} count as one annotator's ({who}), since they are about different"
    listed, named = "FILE FILE …", _NAMED_FILES
    if not hidden:
        paths = [file.source.name for file in files]
        listed, named = typed_paths(paths), typed_names([("NAME", path) for path in paths])
    each = f"if each is by another annotator: bboxqa agree --attribution files {listed}"
    return [f"{note} images; {each}; otherwise: bboxqa agree {named}"]


def _one_name_notes(files: Sequence[AnnotationFile], *, hidden: bool) -> list[str]:
    """Return a note on annotators of one name in several folders, who may be one person.

    In day1/ann.json, day1/bob.json, day2/ann.json and day2/eve.json, this is ann, if no image is in
    both files of that name, while those of a folder share images.
    """
    paths = [Path(file.source.name) for file in files]
    places, images = places_of(paths), images_of(files)
    names, folders = [place[-1] for place in places], [place[:-1] for place in places]
    repeated = [name for name, times in Counter(names).items() if times > 1]
    if not repeated or is_apart(images, folders) or not is_apart(images, names):
        return []
    files_of = sorted(zip(names, paths, strict=True), key=lambda each: each[0] not in repeated)
    some = "" if hidden else f" ({first_few(repeated, _SHOWN, one_line)})"
    note = f"files of one name in several folders{some} count as annotators of their own"
    typed = _NAMED_FILES if hidden else typed_names(files_of)
    return [f"{note}; if one person made them: bboxqa agree {typed}"]


def split_notes(files: Sequence[AnnotationFile]) -> list[str]:
    """Return a note on files that are named as different splits, but are about the same images."""
    paths = [Path(file.source.name) for file in files]
    of_files = [without_split(place)[0] for place in places_of(paths)]
    images = [each for each, split in zip(images_of(files), of_files, strict=True) if split]
    splits = [*filter(None, of_files)]
    if is_apart_by(splits, images):
        return []
    named = f"files are named as several splits ({', '.join(dict.fromkeys(splits))})"
    same = "images of the same names in them count as the same"
    return [f"{named}, and {same}: if they are others, measure files of one split only"]
