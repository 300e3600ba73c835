"""Refusing files of several videos, whose frames have the same numbers."""

import shlex
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from bboxqa.core.errors import DatasetError
from bboxqa.core.text import one_line
from bboxqa.formats.annotations.columns import AnnotationFile
from bboxqa.formats.dataset.people.places import folders_and_names, is_grid, places_of


def refuse_videos(files: Sequence[AnnotationFile]) -> None:
    """Refuse files of several videos without names, the frames of which have the same numbers.

    Tasks with different names are of different videos, and so are the files of one person in
    ann/clip1.xml, ann/clip2.xml, bob/clip1.xml and bob/clip2.xml.
    """
    folders, names = folders_and_names(places_of([Path(file.source.name) for file in files]))
    tasks = {file: file.task_of_frames for file in files if file.task_of_frames}
    pair = _with_one_image([*tasks], [""] * len(tasks), [*tasks.values()])
    shown = [f" (task {one_line(tasks[each] or '')!r})" for each in pair]
    if not pair and all(file.task_of_frames is not None for file in files):
        pair = _with_one_image(files, folders, names) if is_grid(folders, names) else ()
        shown = [""] * len(pair)
    if not pair:
        return
    found = " and ".join(
        f"{one_line(file.source.name)}{task}" for file, task in zip(pair, shown, strict=True)
    )
    problem = f"{found}: frames of the same numbers, but of different videos, as it seems"
    of_name = pattern_option(files, pair[0]) if max(Counter(names).values()) > 1 else ""
    advice = f"Measure one video at a time, {of_name}\n" if of_name else ""
    raise DatasetError(
        [f"{problem}; expected files of one video"],
        f"{advice}If all are of one video: bboxqa agree --annotator ann=FILE --annotator bob=FILE",
    )


def pattern_option(files: Sequence[AnnotationFile], file: AnnotationFile) -> str:
    """Return how to choose the files that have the name of one of them below their folders."""
    _, names = folders_and_names(places_of([Path(each.source.name) for each in files]))
    below, path = names[files.index(file)].rpartition("/")[0], Path(file.source.name)
    pattern = shlex.quote(f"{below}/{path.name}" if below else path.name)
    return f"by the names of its files: --pattern {pattern}"


def _with_one_image(
    files: Sequence[AnnotationFile], groups: Sequence[str], labels: Sequence[str | None]
) -> tuple[AnnotationFile, ...]:
    """Return the first two files of a group with an image in common and different labels."""
    seen: dict[tuple[str, str | None], tuple[AnnotationFile, str | None]] = {}
    for file, group, label in zip(files, groups, labels, strict=True):
        for image in file.images:
            other, before = seen.setdefault((group, image.file_name), (file, label))
            if before != label:
                return other, file
    return ()
