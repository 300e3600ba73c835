"""Refusing a mix of files that name several annotators and files that name none."""

from collections.abc import Sequence

from bboxqa.core.errors import DatasetError
from bboxqa.formats.annotations.columns import AnnotationFile
from bboxqa.formats.annotations.records import ANNOTATOR_KEYS

_ADVICE = (
    "Two versions of one data set are compared with: bboxqa compare BEFORE AFTER\n"
    "If each file is by one annotator nevertheless: --attribution files"
)


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
