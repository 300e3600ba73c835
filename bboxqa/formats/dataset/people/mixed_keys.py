"""Refusing files of which it is not sure whether each is by one annotator."""

import shlex
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from bboxqa.core.errors import DatasetError
from bboxqa.core.text import clean, first_few, one_line
from bboxqa.formats.annotations.columns import AnnotationFile
from bboxqa.formats.annotations.records import ANNOTATOR_KEYS
from bboxqa.formats.dataset.people.places import folders_and_names, is_grid, places_of

_ADVICE = (
    "Two versions of one data set are compared with: bboxqa compare BEFORE AFTER\n"
    "If each file is by one annotator nevertheless: --attribution files"
)

_ONE_OF_EACH = """\
If each folder is by one person, read one file of each, such as: --pattern {}
If each file is by another person: --attribution files\
"""


def check_keys(files: Sequence[AnnotationFile]) -> None:
    """Refuse a file that names several annotators together with a file that names none.

    If the first were taken as one annotator, this annotator would seem to draw every object twice.
    """
    for key in ANNOTATOR_KEYS:
        authors = [file.columns.authors[key].names for file in files]
        several = [file for file, names in zip(files, authors, strict=True) if len(names) > 1]
        unnamed = [file for file, names in zip(files, authors, strict=True) if not names]
        if several and unnamed:
            n_names = max(len(names) for names in authors)
            found = (
                f"{several[0].source.name}: has {n_names} annotators by the key {key!r} on "
                f"annotations, but {unnamed[0].source.name} does not name any; expected all "
                "files to name annotators, or each to be by one"
            )
            raise DatasetError([found], _ADVICE)


def check_folders(files: Sequence[AnnotationFile]) -> None:
    """Refuse folders with several files of the same names, as people with parts of their work.

    If each file were taken as one annotator, the parts of one person would seem to be by several.
    """
    paths = [Path(file.source.name) for file in files]
    folders, names = folders_and_names(places_of(paths))
    if not is_grid(folders, names):
        return
    images = [{image.file_name for image in file.images} for file in files]
    if sum(map(len, images)) == len(set().union(*images)):
        return
    times = Counter(names)
    shared = [row for row, name in enumerate(names) if times[name] > 1]
    shared = [row for row in shared if folders[row] == folders[shared[0]]]
    shown = [
        f"{names[row].rpartition('/')[0]}/{paths[row].name}".removeprefix("/") for row in shared
    ]
    listed = first_few(shown, 3, one_line)
    problem = (
        f"{paths[shared[0]].parent}: has several files with the same names as in another folder "
        f"({listed}), which do not say who drew what; expected one file of each person"
    )
    read = shlex.quote(clean(shown[0]))
    raise DatasetError([problem], _ONE_OF_EACH.format(read))
