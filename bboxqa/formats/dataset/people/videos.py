"""Refusing files of several videos, whose frames have the same numbers."""

from collections.abc import Sequence
from pathlib import Path

from bboxqa.core.errors import DatasetError
from bboxqa.core.text import one_line
from bboxqa.formats.annotations.columns import AnnotationFile
from bboxqa.formats.commands import typed_paths
from bboxqa.formats.dataset.people.places import folders_and_names, is_grid, places_of


def refuse_videos(files: Sequence[AnnotationFile], *, are_named: bool) -> None:
    """Refuse files of several videos without names, the frames of which have the same numbers.

    Tasks with different names are of different videos, and so are the files of one person in
    ann/clip1.xml, ann/clip2.xml, bob/clip1.xml and bob/clip2.xml, unless annotators `are_named`
    in the files.
    """
    folders, names = folders_and_names(places_of([Path(file.source.name) for file in files]))
    tasks = {file: file.task_of_frames for file in files if file.task_of_frames}
    pair = _with_one_image([*tasks], [""] * len(tasks), [*tasks.values()])
    shown = [f" (task {one_line(tasks[each] or '')!r})" for each in pair]
    if not (pair or are_named) and all(file.task_of_frames is not None for file in files):
        pair = _with_one_image(files, folders, names) if is_grid(folders, names) else ()
        shown = [""] * len(pair)
    if not pair:
        return
    found = " and ".join(
        f"{one_line(file.source.name)}{task}" for file, task in zip(pair, shown, strict=True)
    )
    problem = f"{found}: frames of the same numbers, but of different videos, as it seems"
    typed = one_video(files, pair[0])
    advice = f"Give the files of one video at a time: {typed}\n" if typed else ""
    way = "annotator-key" if are_named else "files"
    raise DatasetError(
        [f"{problem}; expected files of one video"],
        f"{advice}If all are of one video nevertheless: --attribution {way}",
    )


def one_video(files: Sequence[AnnotationFile], file: AnnotationFile) -> str:
    """Return the files of the video of one file, to be typed; empty if it has no other.

    They are of tasks of one name, or have the same name in several folders.
    """
    folders, names = folders_and_names(places_of([Path(each.source.name) for each in files]))
    place = files.index(file)
    if file.task_of_frames:
        same = [each for each in files if each.task_of_frames == file.task_of_frames]
    else:
        found = zip(files, folders, names, strict=True)
        same = [each for each, folder, name in found if folder and name == names[place]]
    return "" if len(same) < 2 else typed_paths([each.source.name for each in same])


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
