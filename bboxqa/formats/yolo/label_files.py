"""Finding the files of a YOLO data set: labels, images, lists of images, and class names."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from bboxqa.core.errors import DatasetError
from bboxqa.formats.commands import typed_paths
from bboxqa.formats.translation.images.image_places import by_place, spelled_as
from bboxqa.formats.translation.images.label_images import pictures_of, shared_folders
from bboxqa.formats.translation.label_folders import LISTS, holds_labels, is_label_name
from bboxqa.formats.translation.member import Member
from bboxqa.formats.translation.members import files_in
from bboxqa.formats.translation.other_files import (
    json_or_xml_of_tools,
    labels_elsewhere,
    second_formats,
)
from bboxqa.formats.yolo.class_names import class_names_of
from bboxqa.formats.yolo.image_lists import listed_images
from bboxqa.formats.yolo.label_heads import (
    is_label_head,
    is_names_file,
    is_names_head,
    is_shape_head,
    is_yaml,
)

_ORDER = ("data.yaml", "data.yml", "dataset.yaml", "obj.names", "classes.txt")


@dataclass(slots=True)
class LabelFiles:
    """The files of a data set, by the places of images, which are paths without known folders."""

    labels: dict[str, Member] = field(default_factory=dict)
    pictures: dict[str, Member] = field(default_factory=dict)
    listed: dict[str, str] = field(default_factory=dict)
    """Image names in lists such as train.txt, by place."""
    names: Member | None = None
    n_names: int = 0
    key_point_shape: Member | None = None
    """The file that says how many key points there are, with or without names of classes."""
    inside: list[Member] = field(default_factory=list)
    """The files of both kinds that are inside the source, where findings can point to them."""
    others: list[Member] = field(default_factory=list)
    """Files of other tools in label folders."""
    elsewhere: list[Member] = field(default_factory=list)
    """Label files in other folders than those that training reads."""
    notes: list[str] = field(default_factory=list)
    """Notes on folders with annotations in other formats."""


def label_files_of(path: Path, members: list[Member]) -> LabelFiles:
    """Sort the files of a source by kind.

    Images and class names may be next to a label folder, shared by all annotators. Raises
    DatasetError if folders with labels have class names of their own that differ.
    """
    found = LabelFiles()
    texts: list[Member] = []
    others: list[Member] = []
    for each in members:
        is_label = is_label_name(each.name) or holds_labels(each.name, each.head, is_label_head)
        (texts if is_label else others).append(each)
    names, shapes = _names_and_shapes(others)
    longest = _longest_names(path, names, {each.folder for each in texts})
    found.inside, found.n_names = [*names, *shapes], len(names)
    for folder in shared_folders(path):
        names_beside, shapes_beside = _names_and_shapes(files_in(folder))
        names, shapes = names or names_beside, shapes or shapes_beside
    found.names = longest or min(names, key=_rank, default=None)
    found.key_point_shape = min(shapes, key=_rank, default=None)
    folders = {each.folder for each in texts}
    named = {each for each in folders if "labels" in each.lower().split("/")}
    if named and named != folders:
        # If there are label folders, other text files describe the data set.
        inside = [each for each in texts if each.folder in named]
        found.elsewhere = labels_elsewhere(texts, inside, is_label_head)
        texts = inside
    found.labels = by_place(texts)
    pictures = by_place(pictures_of(path, others, found.labels))
    found.pictures = spelled_as(pictures, found.labels)
    found.others = json_or_xml_of_tools(others, found.labels, found.pictures)
    found.notes = second_formats(path, others, found.labels.values(), found.others)
    known = {*found.labels, *found.pictures}
    for each in others:
        if LISTS.fullmatch(each.name.rpartition("/")[2]):
            listed = listed_images(each, known)
            found.listed |= spelled_as(listed, known)
    return found


def _names_and_shapes(members: Iterable[Member]) -> tuple[list[Member], list[Member]]:
    """Return the files with class names, and those that say how many key points there are.

    Without class names, the files that should have them but cannot be read are returned: by their
    name, or as the only YAML file.
    """
    heads = [(each, each.head()) for each in members if is_names_file(each.name)]
    names = [each for each, head in heads if is_names_head(each.name, head)]
    shapes = [each for each, head in heads if is_shape_head(each.name, head)]
    if names:
        return names, shapes
    yamls = [each for each, _ in heads if is_yaml(each.name)]
    expected = [
        each
        for each, _ in heads
        if yamls == [each] or PurePosixPath(each.name).name.lower() in _ORDER
    ]
    return [each for each in expected if each not in shapes and _is_damaged(each)], shapes


def _longest_names(
    path: Path, names: Sequence[Member], label_folders: Iterable[str]
) -> Member | None:
    """Return the longest of the lists of class names in folders with labels, if that one is read.

    LabelImg appends classes to a list when they occur, so one list may be the beginning of another.
    Folders with others are refused. They are data sets of their own, as those of several annotators
    in an archive are.
    """
    inside = {above for each in label_folders for above in (each, *_above(each))}
    own = sorted((each for each in names if each.folder in inside), key=_rank)
    alike = [each for each in own if _rank(each)[:2] == _rank(own[0])[:2]]
    if len(alike) < 2:
        return None
    classes = [class_names_of(each).names for each in alike]
    longest = max(range(len(alike)), key=lambda place: len(classes[place]))
    for place, each in enumerate(classes):
        if not each or not each.items() <= classes[longest].items():
            first, other = (alike[at] for at in sorted((longest, place)))
            problem = f"{path}: {first.name} and {other.name} have different classes"
            problem += "; expected the same in all folders that are read as one annotator"
            is_packed = path.is_file()
            around = Path("FOLDER") if is_packed else path
            typed = typed_paths([around / each.folder for each in (first, other)])
            todo = "Unpack the archive into FOLDER, and name" if is_packed else "Name"
            raise DatasetError([problem], f"{todo} each of these folders: {typed}")
    return alike[longest] if min(names, key=_rank) in alike else None


def _above(folder: str) -> list[str]:
    return [str(each) for each in PurePosixPath(folder).parents if each.name]


def _is_damaged(member: Member) -> bool:
    """Return whether a file that should have class names cannot be read."""
    try:
        return class_names_of(member).problem != ""
    except DatasetError:
        return True


def _rank(member: Member) -> tuple[int, int, str]:
    name = PurePosixPath(member.name).name.lower()
    known = _ORDER.index(name) if name in _ORDER else len(_ORDER)
    return member.name.count("/"), known, member.name
