"""Explaining how files of each format can name annotators, if too few were found."""

import shlex
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from bboxqa.core.errors import NothingToCompareError
from bboxqa.core.text import first_few, one_line
from bboxqa.formats.annotations.columns import AnnotationFile
from bboxqa.formats.annotations.records import ANNOTATOR_KEYS
from bboxqa.formats.annotations.shapes_apart import apart_advice, apart_note
from bboxqa.formats.registry import FORMATS, format_of
from bboxqa.formats.translation.heads import is_archive
from bboxqa.formats.translation.members import head_of, members_of

_NAMED = 3
_BEGIN = "Agreement needs at least two annotators. They are found in one of these ways:"
# With pseudonyms, an example that is the name of somebody would be replaced by that pseudonym.
_FILES = """\
one file per annotator: bboxqa agree FIRST.json SECOND.json
     or with names of your choice: bboxqa agree --annotator NAME=1.json --annotator NAME=2.json\
"""
_FOLDERS = """\
one folder per annotator: bboxqa agree FOLDER FOLDER
     or with names of your choice: bboxqa agree --annotator NAME=FOLDER --annotator NAME=FOLDER\
"""
EXPLANATION = f"""\
{_BEGIN}
  1. a key on each annotation, such as {{"id": 7, "image_id": 1, "annotator": "NAME", ...}};
     name it with --annotator-key if it is none of:
     {", ".join(ANNOTATOR_KEYS)}
  2. one image record per annotator, with the same file_name:
     {{"id": 1, "file_name": "a.jpg", "annotator": "NAME"}},
     {{"id": 2, "file_name": "a.jpg", "annotator": "OTHER NAME"}}
  3. {_FILES}"""

_INSIDE = {
    "label-studio": "completed_by of annotations, and model_version of predictions",
    "cvat": "the assignee of the task or job, else its owner: one export for each job",
    "supervisely": "labelerLogin of objects",
    "via": (
        "an attribute of regions named annotator, or another with\n"
        "     --annotator-key attributes.NAME"
    ),
    "darwin": "annotators of annotations, which releases can have",
    "datumaro": (
        "an attribute of annotations named annotator, or another with\n"
        "     --annotator-key attributes.NAME"
    ),
    "table": "a column named annotator, or another with --columns annotator=NAME",
}
_OF_FOLDERS = {"supervisely", "dota", "yolo", "darwin", "voc", "labelme"}


def ways_to_name(files: Sequence[AnnotationFile]) -> str:
    """Return an explanation of how files of these formats name annotators."""
    known = {id(found): name for name, found in FORMATS.items()}
    names = {known.get(id(format_of(Path(file.source.name)))) for file in files}
    if len(names) != 1 or not all(file.numbers_categories for file in files):
        return EXPLANATION
    (name,) = names
    if name not in _INSIDE and name not in _OF_FOLDERS:
        return EXPLANATION
    ways = [_INSIDE[name]] if name in _INSIDE else []
    ways.append(_FOLDERS if name in _OF_FOLDERS else _of_files(Path(files[0].source.name)))
    if len(ways) == 1:
        return f"Agreement needs at least two annotators. Give {ways[0]}"
    numbered = "\n".join(f"  {number}. {way}" for number, way in enumerate(ways, start=1))
    return f"{_BEGIN}\n{numbered}"


def _of_files(path: Path) -> str:
    """Return how to give a file per annotator, also where a folder or archive holds them."""
    if not path.is_dir() and not is_archive(head_of(path)):
        return _FILES.replace(".json", path.suffix)
    inside = [each.name for each in members_of(path) if each.name]
    if len(inside) < 2:
        return _FILES if path.is_dir() else _FILES.replace(".json", path.suffix)
    typed = shlex.quote(one_line(str((path / inside[0]).with_name("FILE"))))
    return f"one file per annotator, such as those inside: bboxqa agree {typed} {typed}"


def nothing_to_compare(files: Sequence[AnnotationFile]) -> NothingToCompareError:
    """Return the error for files without annotations to compare."""
    n_apart = sum((Counter(file.n_apart) for file in files), Counter[str]())
    if not n_apart:
        problem = f"{listed_files(files)}: no annotations; nothing to measure"
        # Such as a second, empty list under the same key.
        named = shlex.join(one_line(file.source.name) for file in files[:_NAMED])
        command = f"bboxqa validate {named}"
        return NothingToCompareError([problem], f"For a possible cause: {command}", command=command)
    problem = f"{listed_files(files)}: no annotations that have a box; nothing to measure"
    return NothingToCompareError([problem], f"{apart_note(n_apart)}\n{apart_advice(n_apart)}")


def asked_advice(file: AnnotationFile, *, all_listed: bool) -> str:
    """Return what to do if no image of a file has two annotators.

    `all_listed` says whether all images list who was asked about them.
    """
    if not all_listed:
        return (
            "Images may list who was asked about them under the key `annotators`. If all were "
            "asked about all images: --asked all"
        )
    if format_of(Path(file.source.name)) is FORMATS["cvat"]:
        return (
            "Images of several tasks are the same if they have one name and one subset. If tasks "
            "of several subsets are about the same images, export each task on its own: "
            "bboxqa agree task_1.zip task_2.zip"
        )
    return "All images list who was asked about them; expected two annotators in one of the lists."


def listed_files(files: Sequence[AnnotationFile]) -> str:
    """Return the names of files for a message, at most three of them."""
    return first_few(files, _NAMED, lambda file: file.source.name)
