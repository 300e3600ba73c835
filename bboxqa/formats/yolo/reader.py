"""Reading YOLO label files: boxes, oriented boxes, outlines and key points."""

import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Literal

import numpy as np

from bboxqa.core.arrays import FloatArray
from bboxqa.core.errors import DatasetError
from bboxqa.core.text import count, one_line
from bboxqa.formats.commands import typed_paths
from bboxqa.formats.document import Where
from bboxqa.formats.heads import (
    is_label_head,
    is_names_file,
    is_names_head,
    is_shape_head,
    is_yaml,
)
from bboxqa.formats.images import FileImages, pictures_of, shared_folders
from bboxqa.formats.label_folders import (
    LISTS,
    by_place,
    holds_labels,
    is_label_name,
    place_of,
    spelled_as,
)
from bboxqa.formats.member import Member, is_picture
from bboxqa.formats.source import files_in
from bboxqa.formats.translation import shapes
from bboxqa.formats.translation.collector import (
    Add,
    Boxes,
    Collector,
    Record,
    Translated,
    Wanted,
    tally_notes,
)
from bboxqa.formats.translation.label_batches import (
    LabelFile,
    add_files,
    label_batches,
    lines_of,
    rows_of,
)
from bboxqa.formats.translation.other_files import NO_LABELS, add_others, json_or_xml_of_tools
from bboxqa.formats.translation.untrusted import LEAST_PIXELS, MOST_BEYOND
from bboxqa.formats.yolo.names import ClassNames, class_names_of

TITLE = "YOLO labels"
_ORDER = ("data.yaml", "data.yml", "dataset.yaml", "obj.names", "classes.txt")
_MOST_CLASSES = 1 << 20
_WORDS = (
    ("nameless", "image", "without a picture: named as the label file, without suffix"),
    ("sizeless", "label", "left out: the size of the image is not known"),
    ("pose", "label", "with key points, which are not compared"),
    ("score", "label", "with a further number, taken as the confidence of a model"),
)


def translate(path: Path, add: Add, wanted: Wanted) -> Translated:
    """Translate a folder or archive of label files.

    Raises DatasetError if it has no label files.
    """
    source = wanted.files_of(path)
    files = _files_of(path, source.members)
    if not files.labels and not files.pictures:
        raise DatasetError([f"{path}: has no label files of YOLO"])
    records = _LabelRecords(files, add, wanted)
    records.add_classes()
    records.add_key_points()
    for batch in label_batches(source, files.labels, wanted.progress):
        records.take(batch)
    return records.done()


@dataclass(slots=True)
class _Files:
    """The files of a data set, by the places of images, which are paths without known folders."""

    labels: dict[str, Member]
    pictures: dict[str, Member]
    others: list[Member]
    """Files of other tools in label folders."""
    inside: list[Member]
    """The files of class names inside the source, where findings can point to them."""
    listed: dict[str, str] = field(default_factory=dict)
    """Image names in lists such as train.txt, by place."""
    names: Member | None = None
    n_names: int = 0
    shape: Member | None = None
    """The file that says how many key points there are, with or without names of classes."""


def _files_of(path: Path, members: list[Member]) -> _Files:
    """Sort the files of a source by kind."""
    texts: list[Member] = []
    others: list[Member] = []
    for each in members:
        is_label = is_label_name(each.name) or holds_labels(each.name, each.head, is_label_head)
        (texts if is_label else others).append(each)
    names, shapes_inside = _names_and_shapes(others)
    longest = _longest_names(path, names, {each.folder for each in texts})
    inside, n_names, key_point_shapes = [*names, *shapes_inside], len(names), shapes_inside
    for folder in shared_folders(path):
        beside, shapes_beside = _names_and_shapes(files_in(folder))
        names, key_point_shapes = names or beside, key_point_shapes or shapes_beside
    # If there are label folders, other text files describe the data set.
    texts = [each for each in texts if "labels" in each.folder.lower().split("/")] or texts
    labels = by_place(texts)
    pictures = spelled_as(by_place(pictures_of(path, others, labels)), labels)
    found = _Files(labels, pictures, json_or_xml_of_tools(others, labels, pictures), inside)
    found.names, found.n_names = longest or min(names, key=_rank, default=None), n_names
    found.shape = min(key_point_shapes, key=_rank, default=None)
    known = {*labels, *pictures}
    for each in others:
        if LISTS.fullmatch(each.name.rpartition("/")[2]):
            found.listed |= spelled_as(_listed_images(each, known), known)
    return found


def _names_and_shapes(members: Iterable[Member]) -> tuple[list[Member], list[Member]]:
    """Return the files with class names, and those that say how many key points there are.

    Without class names, these are the files that should have them and cannot be read.
    """
    heads = [(each, each.head()) for each in members if is_names_file(each.name)]
    names = [each for each, head in heads if is_names_head(each.name, head)]
    key_point_shapes = [each for each, head in heads if is_shape_head(each.name, head)]
    yamls = [each for each, _ in heads if is_yaml(each.name)]
    if not names:
        names = [
            each
            for each, _ in heads
            if yamls == [each] or PurePosixPath(each.name).name.lower() in _ORDER
            if each not in key_point_shapes and _is_damaged(each)
        ]
    return names, key_point_shapes


def _is_damaged(member: Member) -> bool:
    try:
        return class_names_of(member).problem != ""
    except DatasetError:
        return True


def _longest_names(
    path: Path, names: Sequence[Member], label_folders: Collection[str]
) -> Member | None:
    """Return the longest of several lists of class names in folders with labels.

    LabelImg appends classes to a list when they occur, so one list may be the beginning of another.
    Folders with others are refused, as they are data sets of their own.
    """
    inside = {str(above) for each in label_folders for above in PurePosixPath(each, "x").parents}
    held = sorted((each for each in names if (each.folder or ".") in inside - {"."}), key=_rank)
    alike = [each for each in held if _rank(each)[:2] == _rank(held[0])[:2]]
    if len(alike) < 2 or min(names, key=_rank) not in alike:
        return None
    classes = {each.name: class_names_of(each).names for each in alike}
    longest = max(alike, key=lambda each: len(classes[each.name]))
    for each in alike:
        if (
            not classes[each.name]
            or not classes[each.name].items() <= classes[longest.name].items()
        ):
            first, other = sorted((longest, each), key=alike.index)
            problem = f"{path}: {first.name} and {other.name} have different classes"
            problem += "; expected the same in all folders that are read as one annotator"
            is_packed = path.is_file()
            around = Path("FOLDER") if is_packed else path
            typed = typed_paths([around / each.folder for each in (first, other)])
            todo = "Unpack the archive into FOLDER, and name" if is_packed else "Name"
            raise DatasetError([problem], f"{todo} each of these folders: {typed}")
    return longest


def _rank(member: Member) -> tuple[int, int, str]:
    name = PurePosixPath(member.name).name.lower()
    known = _ORDER.index(name) if name in _ORDER else len(_ORDER)
    return member.name.count("/"), known, member.name


def _listed_images(member: Member, known: Collection[str]) -> dict[str, str]:
    """Return the image names in a list such as train.txt, by place."""
    lines = member.text().decode("utf-8", "replace").splitlines()
    paths = [each for line in lines if is_picture(each := line.strip().replace("\\", "/"))]
    found = [dict(_by_place(paths, each)) for each in (member.inner.rpartition("/")[0], "")]
    return max(found, key=lambda each: len(each.keys() & known))


def _by_place(paths: list[str], folder: str) -> Iterator[tuple[str, str]]:
    for path in paths:
        is_of_windows = PureWindowsPath(path).drive != ""
        place = place_of(path if is_of_windows else str(PurePosixPath(folder, path)))
        yield place, place + PurePosixPath(path).suffix


class LineError(ValueError):
    """A line that is not a label."""


@dataclass(slots=True)
class Label:
    """The label in a line, in coordinates relative to the image."""

    number: int
    """The number of the class."""
    kind: Literal["box", "outline", "quadrangle", "pose"]
    values: list[float]
    score: float | None = None


def label_of(line: str, keypoints: tuple[int, int] | None) -> Label:
    """Parse a line.

    Raises LineError if the line is not as YOLO writes it.

    Parameters
    ----------
    line : str
    keypoints : tuple of int or None
        Number of key points, and number of values per key point, if known.

    Examples
    --------
    >>> label_of("3 0.5 0.5 0.25 0.5", None)
    Label(number=3, kind='box', values=[0.5, 0.5, 0.25, 0.5], score=None)
    >>> label_of("0 0.1 0.1 0.3 0.1 0.3 0.2 0.1 0.2", None).kind
    'quadrangle'
    """
    first, *rest = line.split()
    try:
        values = [float(each) for each in rest]
        number = float(first)
    except ValueError:
        raise LineError(f"{line[:60]!r} has a value that is no number") from None
    if not number.is_integer() or not 0 <= number < 1 << 31:
        raise LineError(f"the class is {first}; expected a whole number, 0 or more")
    if not all(map(math.isfinite, values)):
        raise LineError(f"{line[:60]!r} has a value that is not finite")
    n = len(values)
    n_pose = 4 + keypoints[0] * keypoints[1] if keypoints else 0
    if keypoints and n in (n_pose, n_pose + 1):
        return Label(int(number), "pose", values[:n_pose], *values[n_pose:])
    if n in (4, 5):
        return Label(int(number), "box", values[:4], *values[4:])
    if n < 6:
        some = f"{count(n, 'number')} after the class"
        raise LineError(f"the line has {some}; expected 4 for a box, or more points")
    seen = {*values[6::3]}
    if keypoints is None and (n - 4) % 3 == 0 and 2 in seen <= {0, 1, 2}:
        shape = f"kpt_shape: [{(n - 4) // 3}, 3]"
        raise LineError(f"the line seems to be a box and key points; expected {shape} in data.yaml")
    if n % 2 and not 0 <= values[-1] <= 1:
        raise LineError(f"the line has {n} numbers after the class; expected pairs of x and y")
    kind: Literal["outline", "quadrangle"] = "quadrangle" if n in (8, 9) else "outline"
    return Label(int(number), kind, values[: n - n % 2], *values[n - n % 2 :])


def _shape_of(
    label: Label, size: tuple[int, int], keypoints: tuple[int, int] | None, *, outlines: bool
) -> Record:
    """Return the COCO geometry keys of a label, in pixels."""
    width, height = size
    if label.kind in ("box", "pose"):
        x, y, w, h = label.values[:4]
        record: Record = {
            "bbox": [(x - w / 2) * width, (y - h / 2) * height, w * width, h * height]
        }
        if keypoints is not None and label.kind == "pose":
            points = np.array(label.values[4:]).reshape(keypoints)
            seen = points[:, 2] if keypoints[1] == 3 else 2.0 * points.any(1)
            is_seen = np.greater(seen, 0)
            whole = np.column_stack([points[:, :2] * size * is_seen.reshape(-1, 1), seen])
            record |= {"keypoints": whole.ravel().tolist(), "num_keypoints": int(is_seen.sum())}
        return record
    points = np.array(label.values).reshape(-1, 2) * size
    record = {"bbox": shapes.bounds(points)}
    if outlines:
        record["segmentation"] = [shapes.ring(points)]
    if label.kind == "quadrangle" and (degrees := shapes.rotation_of(points)) is not None:
        record["attributes"] = {"rotation": degrees}
    return record


class _LabelRecords:
    """Converts label files to COCO records, and collects images, categories and counts."""

    def __init__(self, files: _Files, add: Add, wanted: Wanted) -> None:
        self._files = files
        self._wanted = wanted
        is_said = wanted.choices.missing_txt == "not-asked"
        self._into = Collector(TITLE, add, lists_images=is_said)
        self._images = FileImages(self._into, files.pictures, files.listed, choices=wanted.choices)
        self._classes = ClassNames()
        self._ids: dict[int, int] = {}
        self._tally = self._images.tally
        # One finding says so; that labels need `kpt_shape` follows from it.
        self._is_shape_unread = False

    def add_classes(self) -> None:
        """Add the categories in the file of class names, in its order."""
        member = self._files.names
        if member is None:
            return
        self._classes = found = class_names_of(member)
        if found.problem:
            problem = f"{member.name}: class names cannot be read: {found.problem}"
            self._into.defect("T001", problem, self._where(member, found.problem_line))
        seen: dict[str, int] = {}
        for number, name in sorted(found.names.items()):
            where = self._where(member, found.lines[number])
            if name in seen:
                problem = f"classes {seen[name]} and {number} are both named {one_line(name)!r}"
                self._into.defect("T024", problem, where)
            seen.setdefault(name, number)
            self._ids[number] = self._into.category(name, where)
        if found.n_classes is not None and found.n_classes != len(found.names):
            problem = f"nc is {found.n_classes}, but there are {len(found.names)} names"
            self._into.defect("T021", problem, self._where(member, found.nc_line))

    def _where(self, member: Member, line: int) -> Where:
        """Return a place in a file of class names or key points."""
        return Where(member.name if member in self._files.inside else "", line)

    def add_key_points(self) -> None:
        """Take the number of key points from the file that says it."""
        member = self._files.shape
        if member is None:
            return
        found = self._classes
        if member is not self._files.names:
            found = class_names_of(member)
            self._classes.keypoints, self._classes.joints = found.keypoints, found.joints
            if found.problem:
                problem = f"{member.name}: kpt_shape cannot be read: {found.problem}"
                self._into.defect("T001", problem, self._where(member, found.problem_line))
        if found.shape_problem:
            problem = f"{member.name}: {found.shape_problem}"
            self._into.defect("T001", problem, self._where(member, found.shape_line))
        self._is_shape_unread = bool(found.problem or found.shape_problem)

    def take(self, batch: Sequence[tuple[str, Member, bytes]]) -> None:
        """Take the labels of images, given by the place of the image, the file and its content."""
        files = [(each, self._images.labelled(place, each), text) for place, each, text in batch]
        add_files(files, self._add_plain, self._add_file)

    def _add_plain(self, files: Sequence[LabelFile]) -> bool:
        """Add the labels of files if all are boxes of named classes; return whether they are."""
        add_boxes, names = self._wanted.add_boxes, self._classes.names
        if add_boxes is None or not all("width" in image for _, image, _ in files):
            return False
        found = rows_of([text for _, _, text in files], 5)
        if found is None:
            return False
        n_boxes, rows = found
        shares, number = rows[:, 1:], rows[:, 0].astype(np.int64)
        if not _are_plain(rows[:, 0], shares):
            return False
        numbers = np.flatnonzero(np.bincount(number))
        if self._files.names is not None and not {*numbers.tolist()} <= {*names}:
            return False
        lines = lines_of(files, n_boxes, np.ones(len(files), np.int64))
        for row in np.sort(np.unique(number, return_index=True)[1]).tolist():
            self._category(int(number[row]), lines.where(row))
        ids = np.zeros(numbers.max(initial=0) + 1, np.int64)
        ids[numbers] = [self._ids[each] for each in numbers.tolist()]
        images = np.array([image["id"] for _, image, _ in files], np.int64)
        sizes = np.array([(image["width"], image["height"]) for _, image, _ in files], np.float64)
        bbox = np.concatenate([shares[:, :2] - shares[:, 2:] / 2, shares[:, 2:]], 1)
        bbox *= np.tile(np.repeat(sizes, n_boxes, 0), 2)
        image_id = np.repeat(images, n_boxes)
        nobody = np.full(len(bbox), -1)
        self._into.boxes(Boxes(image_id, ids[number], bbox, lines, nobody), add_boxes)
        self._tally["box"] += len(bbox)
        return True

    def _add_file(self, file: LabelFile) -> None:
        member, image, data = file
        try:
            text = data.decode()
        except UnicodeDecodeError:
            self._into.defect("T001", "the file is not text in UTF-8", Where(member.name, 1))
            return
        size = (image["width"], image["height"]) if "width" in image else None
        lines = enumerate(text.splitlines(), start=1)
        filled = [(number, line) for number, line in lines if line.strip()]
        if filled and size is None and is_label_head(data):
            self._refuse_size(member, Where(member.name, filled[0][0]))
            self._tally["sizeless"] += len(filled)
            return
        todo = "" if is_label_head(data) else NO_LABELS
        for number, line in filled:
            where = Where(member.name, number)
            try:
                label = label_of(line, self._classes.keypoints)
            except LineError as error:
                if not (self._is_shape_unread and "kpt_shape" in str(error)):
                    self._into.defect("T001", f"{error}{todo}", where)
                    todo = ""
                continue
            largest = max(_shares_in(label), key=abs)
            if abs(largest) > LEAST_PIXELS:
                problem = f"a coordinate is {largest:g}, which is in pixels; expected 0 to 1"
                self._into.defect("T001", f"{problem}, relative to the image", where)
            elif size is not None:
                self._add_label(label, image["id"], size, where)

    def _refuse_size(self, member: Member, where: Where) -> None:
        reason, place = "there is no image file next to it", place_of(member.inner)
        if place in self._files.pictures:
            reason = "its image file cannot be opened, or belongs to several label files"
        elif (elsewhere := self._images.alike(place)) is not None:
            reason = f"a picture of its name is in another folder, {one_line(elsewhere.name)}"
        elif self._files.pictures:
            reason = "no image file has its name"
        if self._wanted.choices.image_size is not None:
            reason += ", and the given sizes do not include it, or have several of its name"
        problem = f"{member.name}: the size of its image is not known: {reason}"
        todo = "--image-size gives it: 1920x1080, or the folder of images"
        self._into.defect("T002", f"{problem}; {todo}", where)

    def _add_label(self, label: Label, image: int, size: tuple[int, int], where: Where) -> None:
        record = _shape_of(label, size, self._classes.keypoints, outlines=self._wanted.outlines)
        record["image_id"], record["category_id"] = image, self._category(label.number, where)
        joints = self._classes.joints.get(label.number)
        if self._wanted.keypoints and joints and "keypoints" in record:
            record["joints"] = joints
        if label.score is not None:
            record["score"] = label.score
            self._tally["score"] += 1
        kind: str = label.kind
        if kind == "quadrangle":
            kind = "oriented" if "attributes" in record else "outline"
        # Key points are only noted if they are not compared.
        self._tally[kind] += kind != "pose" or not self._wanted.keypoints
        row = self._into.annotation(record, where)
        if label.number not in self._classes.names and self._files.names is not None:
            last = max(self._classes.names, default=-1)
            problem = f"class {label.number} has no name; the last class with a name is {last}"
            self._into.defect("T020", problem, where, row)
        farthest = max(_shares_in(label), key=lambda share: abs(share - 0.5))
        if not -MOST_BEYOND <= farthest <= 1 + MOST_BEYOND:
            problem = f"a coordinate is {farthest:g}; expected 0 to 1, relative to the image"
            self._into.defect("T003", problem, where, row)

    def _category(self, number: int, where: Where) -> int:
        if number not in self._ids:
            self._ids[number] = self._into.category(f"class {number}", where)
        return self._ids[number]

    def done(self) -> Translated:
        """Return the translation, with all images, categories and notes."""
        others = self._files.others
        notes = [*add_others(self._into, others, "labels of YOLO")]
        notes += self._images.add_unlabelled(self._files.listed, others)
        return self._into.done([*self._notes(), *notes])

    def _notes(self) -> Iterator[str]:
        files, tally = self._files, self._tally
        if files.names is None and files.shape is not None:
            file = one_line(files.shape.name)
            needs = "has no names of classes, which training needs"
            yield f"{file} {needs}: categories are class numbers"
        elif files.names is None:
            yield "no data.yaml or classes.txt: categories are class numbers"
        elif files.n_names > 1:
            several = f"{count(files.n_names, 'file')} with class names"
            yield f"{several}: {one_line(files.names.name)} is used"
        yield from self._images.notes_on_given()
        yield from tally_notes(tally, _WORDS[:1])
        if number := tally["oriented"]:
            are = "are rectangular: taken as oriented boxes"
            are = "is rectangular: taken as an oriented box" if number == 1 else are
            yield f"{count(number, 'outline')} of four points {are}"
        if tally["box"] and tally["outline"]:
            boxes = count(tally["box"], "box", "boxes")
            yield f"{boxes} and {count(tally['outline'], 'polygon')} mixed"
        yield from tally_notes(tally, _WORDS[1:])


def _shares_in(label: Label) -> list[float]:
    """Return the coordinates of a label that are relative to the image, without key points."""
    return label.values[:4] if label.kind == "pose" else label.values


def _are_plain(classes: FloatArray, shares: FloatArray) -> bool:
    """Return whether all classes are whole numbers, and all shares near the image."""
    return bool(
        (classes == np.floor(classes)).all()
        and classes.max(initial=0) < _MOST_CLASSES
        and shares.min(initial=0) >= -MOST_BEYOND
        and shares.max(initial=1) <= 1 + MOST_BEYOND
    )
