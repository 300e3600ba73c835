"""Reading YOLO labels: boxes, oriented boxes, outlines and key points, and names of classes."""

import math
import re
from collections.abc import Collection, Iterator, Sequence
from os.path import exists
from pathlib import Path, PurePosixPath, PureWindowsPath
from posixpath import normpath
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from bboxqa.core.errors import DatasetError
from bboxqa.core.json_values import cut
from bboxqa.core.text import count, one_line
from bboxqa.formats import label_folders
from bboxqa.formats.document import Record, Where
from bboxqa.formats.heads import is_label_head, is_names_file, is_names_head, is_yaml
from bboxqa.formats.images import FileImages, shared_folders
from bboxqa.formats.member import Member, is_picture
from bboxqa.formats.opening import typed_paths
from bboxqa.formats.source import files_in, members_of
from bboxqa.formats.translation import shapes
from bboxqa.formats.translation.collector import Boxes, Collector
from bboxqa.formats.translation.files import (
    NO_LABELS,
    LabelFile,
    add_files,
    label_batches,
    lines_of,
    rows_of,
)
from bboxqa.formats.translation.shapes import LEAST_PIXELS, MOST_BEYOND

if TYPE_CHECKING:
    from yaml import Node


_MOST_NAMES, _MOST_PARTS = 100_000, 100
# Patterns, addresses and absolute paths.
_ELSEWHERE = re.compile(r"^/|[:*]")
# A data set of 1,200 classes has 30,000 characters.
_MOST_TEXT = 1_000_000


class ClassNames(msgspec.Struct):
    """The classes in a file."""

    names: dict[int, str] = msgspec.field(default_factory=dict)
    lines: dict[int, int] = msgspec.field(default_factory=dict)
    """The line of each name."""
    n_classes: int | None = None
    """The number under `nc`."""
    nc_line: int = 1
    keypoints: tuple[int, int] | None = None
    """Number of key points, and number of values per key point."""
    joints: dict[int, list[str]] = msgspec.field(default_factory=dict)
    """Names of key points, by class."""
    parts: dict[str, list[tuple[str, int]]] = msgspec.field(default_factory=dict)
    """The paths under `train` and `val`, each with its line."""
    root: str = ""
    """The folder from which these lead, under `path`."""
    problem: str = ""
    """Why the file cannot be read, or what is wrong with `kpt_shape`."""
    problem_line: int = 1


def class_names_of(member: Member) -> ClassNames:
    """Return the names in a file of lines or of YAML, or why it cannot be read.

    Raises DatasetError as `Member.read` does.
    """
    data = member.text()
    text = data.decode("utf-8", "replace")
    found = names_of_yaml(text) if is_yaml(member.name) else names_of_lines(text)
    # One character in another encoding, as in a comment, does not hide the names.
    is_readable = bool(found.names or found.keypoints or found.problem)
    if b"\0" in data or ("\ufffd" in text and not is_readable):
        return ClassNames(problem="is not text in UTF-8")
    return found


def names_of_lines(text: str) -> ClassNames:
    r"""Return the names in a file with one name per line, such as classes.txt and obj.names.

    Examples
    --------
    >>> names_of_lines("cat\ndog\n\n").names
    {0: 'cat', 1: 'dog'}
    """
    lines = enumerate(text.rstrip().splitlines()[:_MOST_NAMES])
    names = {number: line.strip() for number, line in lines if line.strip()}
    return ClassNames(names, {number: number + 1 for number in names})


def names_of_yaml(text: str) -> ClassNames:
    r"""Return `names`, `nc` and `kpt_shape` of a YAML file, as far as it has them.

    Names are a list, or a mapping from numbers. Unquoted words are texts: a class may be called
    ``no``.

    Examples
    --------
    >>> names_of_yaml("nc: 2\nnames: ['cat', 'dog']  # two").names
    {0: 'cat', 1: 'dog'}
    >>> names_of_yaml("names:\n  0: cat\n  3: no\n").names
    {0: 'cat', 3: 'no'}
    >>> names_of_yaml("nc: 1\nnames: [cat").problem
    "is YAML that cannot be read: expected ',' or ']', but got '<stream end>'"
    """
    from yaml import SafeLoader, YAMLError, compose

    if len(text) > _MOST_TEXT:
        return ClassNames(problem=f"has more than {_MOST_TEXT:,} characters of YAML")
    try:
        # libyaml's loader is faster, but crashes the process if brackets are nested deeply.
        top = compose(text, Loader=SafeLoader)
    except (YAMLError, RecursionError) as error:
        mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", None)
        problem = f"is YAML that cannot be read: {one_line(problem or 'nested too deeply')}"
        return ClassNames(problem=problem, problem_line=mark.line + 1 if mark else 1)
    values = dict(_pairs(top))
    found = ClassNames()
    names = values.get("names")
    for number, name in _numbered(names)[:_MOST_NAMES]:
        if isinstance(name.value, str):
            found.names[number], found.lines[number] = name.value, name.start_mark.line + 1
    if names is not None and names.value and not (found.names or isinstance(names.value, str)):
        found.problem = "the names of classes are not texts"
        found.problem_line = names.start_mark.line + 1
    found.n_classes = _number(values.get("nc"))
    if found.n_classes is not None:
        found.nc_line = values["nc"].start_mark.line + 1
    found.root = _text(values.get("path"))
    for key in ("train", "val"):
        named = values.get(key)
        listed = named.value if named is not None and named.id == "sequence" else [named]
        found.parts[key] = [
            (_text(each), each.start_mark.line + 1) for each in listed[:_MOST_PARTS] if each
        ]
    shape = values.get("kpt_shape")
    if shape is not None and shape.value not in ("", "~", "null", "Null", "NULL"):
        numbers = [_number(each) for _, each in _numbered(shape)]
        if len(numbers) == 2 and numbers[0] and numbers[1] in (2, 3):
            found.keypoints = n_joints, _ = numbers[0], numbers[1]
            listed = _numbered(values.get("kpt_names"))
            joints = {number: [str(n.value) for _, n in _numbered(each)] for number, each in listed}
            found.joints = {number: own for number, own in joints.items() if len(own) == n_joints}
        else:
            written = cut(one_line(text[shape.start_mark.index : shape.end_mark.index].strip()))
            expected = "[number of key points, 2 or 3], such as [17, 3]"
            found.problem = f"kpt_shape is {written}; expected {expected}"
            found.problem_line = shape.start_mark.line + 1
    return found


def missing_parts(
    found: ClassNames, member: Member, known: Collection[str]
) -> Iterator[tuple[str, int]]:
    """Yield what is wrong with paths of train and val that name nothing, each with its line.

    `known` are folders and files of the source, which may be named by the end of their path.
    """
    for key, paths in found.parts.items():
        for path, line in paths:
            plain = normpath(path.replace("\\", "/")) if path else ""
            # Absolute paths may be of another machine.
            if (
                plain
                and not _ELSEWHERE.search(plain)
                and not _is_there(plain, found, member, known)
            ):
                yield f"{key} is {cut(one_line(path))}, which names no file or folder", line


def _is_there(path: str, found: ClassNames, member: Member, known: Collection[str]) -> bool:
    folder = Path(member.shown).parent
    # `Path.exists` raises an error for a name that is too long.
    if member.is_file and any(exists(folder / each / path) for each in (found.root, "")):  # noqa: PTH110
        return True
    end = "/".join(each for each in path.split("/") if each not in ("..", "."))
    return not end or any(f"/{each}".endswith(f"/{end}") for each in known)


def _text(node: "Node | None") -> str:
    return node.value if node is not None and isinstance(node.value, str) else ""


def _pairs(node: "Node | None") -> "list[tuple[str, Node]]":
    """Return the keys and values of a mapping; none of any other node."""
    pairs = node.value if node is not None and node.id == "mapping" else []
    return [(key.value, value) for key, value in pairs if isinstance(key.value, str)]


def _numbered(node: "Node | None") -> "list[tuple[int, Node]]":
    """Return the values of a list, or of a mapping from numbers, with their numbers."""
    if node is not None and node.id == "sequence":
        return [*enumerate(node.value)]
    return [(int(key), value) for key, value in _pairs(node) if _is_number(key)]


def _number(node: "Node | None") -> int | None:
    text = node.value if node is not None else None
    return int(text) if isinstance(text, str) and _is_number(text) else None


def _is_number(text: str) -> bool:
    return text.isdecimal() and len(text) < 10


_ORDER = ("data.yaml", "data.yml", "dataset.yaml", "obj.names", "classes.txt", "_darknet.labels")
_MOST_CLASSES = 1 << 20
# The values in messages on lines.
_VALUES = re.compile(r"'.*'|\".*\"|-?\d\S*")
_NOTES = (
    ("nameless", "image", "without a picture: named as the label file, without suffix"),
    ("oriented", "rectangular outline", "of four points taken as oriented"),
    ("pose", "label", "with key points, which are not compared"),
    ("score", "label", "with a further number, taken as the confidence of a model"),
)


def translate(path: Path, into: Collector) -> None:
    """Translate a folder or archive of label files.

    Raises DatasetError if it has no label files.
    """
    into.title = "YOLO labels"
    members = members_of(path)
    texts: list[Member] = []
    others: list[Member] = []
    for each in members:
        is_label = label_folders.is_label_name(each.name)
        is_label = is_label or label_folders.holds_labels(each.name, each.head, is_label_head)
        (texts if is_label else others).append(each)
    # If there are label folders, other text files describe the data set.
    labels = [each for each in texts if "labels" in each.folder.lower().split("/")] or texts
    images = FileImages(path, into, labels, others)
    if not images.files and not images.pictures:
        raise DatasetError([f"{path}: has no label files of YOLO"])
    described = _described(others)
    inside = {member.name for member, _ in described}
    _check_classes(path, described, {each.folder for each in texts})
    described += [each for folder in shared_folders(path) for each in _described(files_in(folder))]
    known: set[str] = {*images.files, *images.pictures}
    for each in others:
        if label_folders.LISTS.fullmatch(each.name.rpartition("/")[2]):
            images.listed |= label_folders.spelled_as(_listed_images(each, known), known)
    records = _LabelRecords(images, described, inside, into)
    for batch in label_batches(images.files, into.wanted.progress):
        records.take(batch)
    records.add_class_note()
    records.check_parts(members, others)
    images.done("labels of YOLO", _NOTES)


def class_names(path: Path) -> dict[int, str]:
    """Return the names of the classes of label files, by number."""
    members = [members_of(path), *map(files_in, shared_folders(path))]
    described = [each for inside in members for each in _described(inside)]
    return next((found.names for _, found in described if found.names), {})


def _described(members: Sequence[Member]) -> list[tuple[Member, ClassNames]]:
    """Return the files with class names, or that should have them and cannot be read."""
    named = sorted((each for each in members if is_names_file(each.name)), key=_rank)
    n_yamls = sum(is_yaml(each.name) for each in named)
    found = []
    for member in named:
        head, is_only = member.head(), is_yaml(member.name) and n_yamls == 1
        is_known = is_only or PurePosixPath(member.name).name.lower() in _ORDER
        if is_known or is_names_head(member.name, head):
            names = class_names_of(member)
            if names.names or names.keypoints or names.problem:
                found.append((member, names))
    return found


def _rank(member: Member) -> tuple[int, int, str]:
    name = PurePosixPath(member.name).name.lower()
    known = _ORDER.index(name) if name in _ORDER else len(_ORDER)
    return member.name.count("/"), known, member.name


def _check_classes(
    path: Path, described: list[tuple[Member, ClassNames]], label_folders: Collection[str]
) -> None:
    """Put the longest of several lists of class names in folders with labels first.

    LabelImg appends classes to a list when they occur, so one list may be the beginning of another.
    Folders with others are refused, as they are data sets of their own.
    """
    inside = {str(above) for each in label_folders for above in PurePosixPath(each, "x").parents}
    held = [each for each in described if each[1].names and each[0].folder in inside]
    alike = [each for each in held if _rank(each[0])[:2] == _rank(described[0][0])[:2]]
    if len(alike) < 2:
        return
    longest = max(alike, key=lambda each: len(each[1].names))
    for member, classes in alike:
        if not classes.names.items() <= longest[1].names.items():
            first, other = sorted((longest[0], member), key=_rank)
            problem = f"{path}: {first.name} and {other.name} have different classes"
            problem += "; expected the same in all folders that are read as one annotator"
            around = Path("FOLDER") if path.is_file() else path
            typed = typed_paths([around / each.folder for each in (first, other)])
            todo = "Unpack the archive into FOLDER, and name" if path.is_file() else "Name"
            raise DatasetError([problem], f"{todo} each of these folders: {typed}")
    described.insert(0, longest)


def _listed_images(member: Member, known: Collection[str]) -> dict[str, str]:
    """Return the image names in a list such as train.txt, by place."""
    lines = member.text().decode("utf-8", "replace").splitlines()
    paths = [each for line in lines if is_picture(each := line.strip().replace("\\", "/"))]
    found = []
    for folder in (member.inner.rpartition("/")[0], ""):
        whole = (p if PureWindowsPath(p).drive else str(PurePosixPath(folder, p)) for p in paths)
        found.append(
            {
                (at := label_folders.place_of(each)): at + PurePosixPath(each).suffix
                for each in whole
            }
        )
    return max(found, key=lambda each: len(each.keys() & known))


class LineError(ValueError):
    """A line that is not a label."""


class Label(msgspec.Struct):
    """The label in a line, in coordinates relative to the image."""

    number: int
    """The number of the class."""
    shares: list[float]
    """A box, as its centre and size, or the points of an outline."""
    points: list[float] = msgspec.field(default_factory=list)
    """Key points."""
    score: float | None = None


def label_of(line: str, keypoints: tuple[int, int] | None) -> Label:
    """Parse a line; raises LineError if the line is not as YOLO writes it.

    `keypoints` is the number of key points, and of values per key point, if known.

    Examples
    --------
    >>> label_of("3 0.5 0.5 0.25 0.5", None)
    Label(number=3, shares=[0.5, 0.5, 0.25, 0.5], points=[], score=None)
    """
    first, *rest = line.split()
    try:
        values = [float(each) for each in rest]
        number = float(first)
    except ValueError:
        what = "commas; expected points and spaces" if "," in line else "a value that is no number"
        raise LineError(f"{line[:60]!r} has {what}") from None
    if not number.is_integer() or not 0 <= number < 1 << 31:
        raise LineError(f"the class is {first}; expected a whole number, 0 or more")
    if not all(map(math.isfinite, values)):
        raise LineError(f"{line[:60]!r} has a value that is not finite")
    n = len(values)
    n_pose = 4 + keypoints[0] * keypoints[1] if keypoints else 0
    if keypoints and n in (n_pose, n_pose + 1):
        return Label(int(number), values[:4], values[4:n_pose], *values[n_pose:])
    if n in (4, 5):
        return Label(int(number), values[:4], [], *values[4:])
    if n < 6:
        some = f"{count(n, 'number')} after the class"
        raise LineError(f"the line has {some}; expected 4 for a box, or more points")
    if keypoints is None and (n - 4) % 3 == 0 and 2 in {*values[6::3]} <= {0, 1, 2}:
        shape = f"kpt_shape: [{(n - 4) // 3}, 3]"
        raise LineError(f"the line seems to be a box and key points; expected {shape} in data.yaml")
    if n % 2 and not 0 <= values[-1] <= 1:
        raise LineError(f"the line has {n} numbers after the class; expected pairs of x and y")
    return Label(int(number), values[: n - n % 2], [], *values[n - n % 2 :])


class _LabelRecords:
    """Converts label files to COCO records, and collects images, categories and counts."""

    def __init__(
        self,
        images: FileImages,
        described: list[tuple[Member, ClassNames]],
        inside: set[str],
        into: Collector,
    ) -> None:
        self._images, self._into, self._tally = images, into, into.tally
        self._wanted = into.wanted
        # The files with class names, the first the one that counts, and those of the source.
        self._described, self._inside = described, inside
        self._ids: dict[int, int] = {}
        named = (each for each in described if each[1].names or not each[1].keypoints)
        self._named = next(named, None)
        self._classes = self._named[1] if self._named else ClassNames()
        self._shape = next((each for each in described if each[1].keypoints), None)
        self._keypoints = self._shape[1].keypoints if self._shape else None
        self._is_unread = False
        for member, found in described[:1]:
            if found.problem:
                self._is_unread = True
                problem = f"{member.name}: {found.problem}"
                self._into.defect("T001", problem, self._where(member, found.problem_line))
        if self._named:
            self._add_classes(*self._named)

    def _add_classes(self, member: Member, found: ClassNames) -> None:
        """Add the categories in the file of class names, in its order."""
        seen: dict[str, int] = {}
        for number, name in sorted(found.names.items()):
            where = self._where(member, found.lines[number])
            if name in seen:
                problem = f"classes {seen[name]} and {number} are both named {one_line(name)!r}"
                self._into.defect("T024", problem, where)
            seen.setdefault(name, number)
            self._ids[number] = self._into.category(name, where)
        if found.n_classes not in (None, len(found.names)):
            problem = f"nc is {found.n_classes}, but there are {len(found.names)} names"
            self._into.defect("T021", problem, self._where(member, found.nc_line))

    def check_parts(self, members: Sequence[Member], others: Sequence[Member]) -> None:
        """Report the paths of data.yaml in the source that name none of its files and folders."""
        folders = {each.folder for each in members}
        known = {str(above) for each in folders for above in PurePosixPath(each, "x").parents}
        if not any(is_picture(each.name) for each in others):
            # Folders of labels stand for those of the pictures.
            known |= {f"/{each}/".replace("/labels/", "/images/").strip("/") for each in known}
        known |= {each.name for each in others if not is_picture(each.name)}
        for member, found in self._described:
            if member.name in self._inside:
                for problem, line in missing_parts(found, member, known):
                    self._into.defect("T025", problem, self._where(member, line))

    def _where(self, member: Member, line: int) -> Where:
        """Return a place in a file of class names or key points."""
        return Where(member.name if member.name in self._inside else "", line)

    def take(self, batch: Sequence[tuple[str, Member, bytes]]) -> None:
        """Take the labels of images, given by the place of the image, the file and its content."""
        files = [(each, self._images.labelled(place, each), text) for place, each, text in batch]
        add_files(files, self._add_plain, self._add_file)

    def _add_plain(self, files: Sequence[LabelFile]) -> bool:
        """Add the labels of files if all are boxes of named classes; return whether they are."""
        names = self._classes.names
        if self._wanted.add_boxes is None or not all("width" in image for _, image, _ in files):
            return False
        found = rows_of([text for _, _, text in files], 5)
        if found is None:
            return False
        n_boxes, rows = found
        shares, number = rows[:, 1:], rows[:, 0].astype(np.int64)
        is_near = shares.min(initial=0) >= -MOST_BEYOND and shares.max(initial=1) <= 1 + MOST_BEYOND
        if not is_near or (rows[:, 0] != number).any() or number.max(initial=0) >= _MOST_CLASSES:
            return False
        numbers = np.flatnonzero(np.bincount(number))
        if self._named is not None and not {*numbers.tolist()} <= {*names}:
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
        self._into.boxes(Boxes(image_id, ids[number], bbox, lines, nobody))
        return True

    def _add_file(self, file: LabelFile) -> None:
        member, image, data = file
        try:
            lines = enumerate(data.decode().splitlines(), start=1)
        except UnicodeDecodeError:
            self._into.defect("T001", "the file is not text in UTF-8", Where(member.name, 1))
            return
        filled = [(number, line) for number, line in lines if line.strip()]
        has_size = "width" in image
        if filled and not has_size and is_label_head(data):
            self._refuse_size(member, Where(member.name, filled[0][0]))
        todo = "" if is_label_head(data) else NO_LABELS
        for number, line in filled:
            where = Where(member.name, number)
            try:
                label = label_of(line, self._keypoints)
            except LineError as error:
                # That labels need `kpt_shape` follows from its problem.
                if not (self._is_unread and "kpt_shape" in str(error)):
                    cause = _VALUES.sub("", str(error))
                    self._into.defect("T001", f"{error}{todo}", where, cause=cause)
                    todo = ""
                continue
            largest = max(label.shares, key=abs)
            if abs(largest) > LEAST_PIXELS:
                problem = f"a coordinate is {largest:g}, which is in pixels; expected 0 to 1"
                problem += ", relative to the image"
                self._into.defect("T001", problem, where, cause="pixels")
            else:
                self._check(label, where, self._add_label(label, image, where) if has_size else -1)

    def _refuse_size(self, member: Member, where: Where) -> None:
        problem = "the size of the image is not known"
        place = label_folders.place_of(member.inner)
        if (picture := self._images.pictures.get(place)) is not None:
            problem += f", though there is {one_line(picture.name)}"
        todo = "give --image-size 1920x1080, or --image-size DIR with the images"
        self._into.defect("T002", f"{problem}; {todo}", where)

    def _add_label(self, label: Label, image: Record, where: Where) -> int:
        record = self._shape_of(label, (image["width"], image["height"]))
        record["image_id"] = image["id"]
        record["category_id"] = self._category(label.number, where)
        joints = self._shape[1].joints.get(label.number) if self._shape else None
        if self._wanted.keypoints and joints and label.points:
            record["joints"] = joints
        if label.score is not None:
            record["score"] = label.score
            self._tally["score"] += 1
        return self._into.annotation(record, where)

    def _check(self, label: Label, where: Where, row: int) -> None:
        """Report what is wrong with a label, also where the size of the image is not known."""
        if label.number not in self._classes.names and self._named is not None:
            last = max(self._classes.names, default=-1)
            problem = f"class {label.number} has no name; the last class with a name is {last}"
            self._into.defect("T020", problem, where, row)
        farthest = max(label.shares, key=lambda share: abs(share - 0.5))
        if not -MOST_BEYOND <= farthest <= 1 + MOST_BEYOND:
            problem = f"a coordinate is {farthest:g}; expected 0 to 1, relative to the image"
            self._into.defect("T003", problem, where, row)

    def _shape_of(self, label: Label, size: tuple[int, int]) -> Record:
        """Return the COCO geometry keys of a label, in pixels."""
        if len(label.shares) > 4:
            points = np.array(label.shares).reshape(-1, 2) * size
            record: Record = {"bbox": shapes.bounds(points)}
            if self._wanted.outlines:
                record["segmentation"] = [shapes.ring(points)]
            degrees = shapes.rotation_of(points) if len(points) == 4 else None
            if degrees is not None:
                record["attributes"] = {"rotation": degrees}
                self._tally["oriented"] += 1
            return record
        (x, y, w, h), (width, height) = label.shares, size
        record = {"bbox": [(x - w / 2) * width, (y - h / 2) * height, w * width, h * height]}
        if self._keypoints is not None and label.points:
            points = np.array(label.points).reshape(self._keypoints)
            seen = points[:, 2] if self._keypoints[1] == 3 else 2.0 * points.any(1)
            is_seen = np.greater(seen, 0)
            whole = np.column_stack([points[:, :2] * size * is_seen.reshape(-1, 1), seen])
            record |= {"keypoints": whole.ravel().tolist(), "num_keypoints": int(is_seen.sum())}
            # Key points are only noted if they are not compared.
            self._tally["pose"] += not self._wanted.keypoints
        return record

    def _category(self, number: int, where: Where) -> int:
        if number not in self._ids:
            self._ids[number] = self._into.category(f"class {number}", where)
        return self._ids[number]

    def add_class_note(self) -> None:
        """Add a note on the file that names the classes."""
        names = {member.name for member, found in self._described if found.names}
        if self._named is None:
            note = "no data.yaml or classes.txt has names: categories are class numbers"
            self._into.notes.append(note)
        elif len(names) > 1:
            several = f"{count(len(names), 'file')} with class names"
            self._into.notes.append(f"{several}: {one_line(self._named[0].name)} is used")
