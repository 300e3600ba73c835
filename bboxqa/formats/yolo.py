"""YOLO labels: boxes, oriented boxes, outlines and key points, and names of classes."""

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from os.path import exists
from pathlib import Path, PurePosixPath, PureWindowsPath
from posixpath import normpath
from typing import TYPE_CHECKING

import msgspec
import numpy as np
from msgspec.structs import replace

from bboxqa.core.arrays import FloatArray
from bboxqa.core.errors import DatasetError
from bboxqa.core.file_names import normalised_name
from bboxqa.core.json_values import cut
from bboxqa.core.text import count, one_line
from bboxqa.formats import label_folders
from bboxqa.formats.document import Record, Where
from bboxqa.formats.heads import begins, is_names_file, is_names_head, is_yaml
from bboxqa.formats.images import FileImages, folders_around
from bboxqa.formats.member import Member, is_picture
from bboxqa.formats.source import members_of
from bboxqa.formats.translation import shapes
from bboxqa.formats.translation.collector import Collector
from bboxqa.formats.translation.shapes import LEAST_PIXELS, MOST_BEYOND, ValueProblemError
from bboxqa.formats.writing.content import Content, Loss, Writer, Written, completed, image_name
from bboxqa.formats.writing.names import from_place
from bboxqa.formats.writing.outlines import bbox_corners, four_corners, rings_of

if TYPE_CHECKING:
    from yaml import Node

_MOST_NAMES, _MOST_PATHS = 100_000, 100
# A data set of 1,200 classes has 30,000 characters.
_MOST_TEXT = 1_000_000
# Patterns, addresses and absolute paths, which may be of another machine.
_ELSEWHERE = re.compile(r"^/|[:*]")
# The values in messages on lines.
_VALUES = re.compile(r"'.*'|\".*\"|-?\d\S*")
_NOTES = (
    ("nameless", "image", "without a picture: named as the label file, without suffix"),
    ("score", "label", "with a further number, taken as the confidence of a model"),
)


class _Classes(msgspec.Struct):
    """What a file says about classes, each with its line."""

    member: Member
    is_inside: bool = True
    """Whether it is a file of the source, not one around it."""
    names: dict[int, str] = msgspec.field(default_factory=dict)
    lines: dict[int, int] = msgspec.field(default_factory=dict)
    defects: list[tuple[str, str, int]] = msgspec.field(default_factory=list)
    """The code, the message and the line of each."""
    keypoints: tuple[int, int] | None = None
    """Number of key points, and number of values per key point."""
    joints: dict[int, list[str]] = msgspec.field(default_factory=dict)
    """Names of key points, by class."""
    paths: list[tuple[str, str, int]] = msgspec.field(default_factory=list)
    """The key, the path and the line of each path under `train` and `val`."""
    root: str = ""
    """The folder from which these lead, under `path`."""
    problem: tuple[str, int] | None = None
    """Why the file, or its `kpt_shape`, cannot be read, and the line."""

    def where(self, line: int) -> Where:
        return Where(self.member.name if self.is_inside else "", line)


def translate(path: Path, into: Collector) -> None:
    """Translate a folder or archive of label files."""
    into.title = "YOLO labels"
    members = members_of(path)
    texts, labels = _label_files(members)
    known_texts = {each.name for each in texts}
    others = [each for each in members if each.name not in known_texts]
    images = FileImages(path, into, labels, others)
    if not images.files and not images.pictures:
        raise DatasetError([f"{path}: has no label files of YOLO"])
    described = _described(path, others, labels)
    known: set[str] = {*images.files, *images.pictures}
    for each in others:
        if re.fullmatch(label_folders.LISTS, each.name.rpartition("/")[2], re.IGNORECASE):
            lines = each.text().decode("utf-8", "replace").splitlines()
            paths = [e for line in lines if is_picture(e := line.strip().replace("\\", "/"))]
            # Paths lead from the folder of the list, or from that of the source.
            found_in = [_by_place(paths, below) for below in (each.inner.rpartition("/")[0], "")]
            listed = max(found_in, key=lambda names: len(names.keys() & known))
            images.listed |= label_folders.spelled_as(listed, known)
    records = _LabelRecords(described, into, images)
    for member, image, text in images.texts():
        records.add_file(member, image, text)
    for found in (each for each in described if each.is_inside):
        _check_parts(found, members, into)
    images.done("labels of YOLO", _NOTES)


def class_names(path: Path) -> dict[str, str]:
    """Return the names of the classes of label files, by what they are called without names."""
    members = members_of(path)
    described = _described(path, members, _label_files(members)[1])
    names = next((found.names for found in described if found.names), {})
    return {f"class {number}": name for number, name in names.items()}


def _label_files(members: Sequence[Member]) -> tuple[list[Member], list[Member]]:
    """Return the text files that may hold labels, and those of them that are read."""
    texts = [each for each in members if label_folders.holds_labels(each, "YOLO")]
    # If there are label folders, other text files describe the data set.
    return texts, [e for e in texts if "labels" in e.folder.lower().split("/")] or texts


def _described(path: Path, members: Sequence[Member], labels: Sequence[Member]) -> list[_Classes]:
    """Return the files of class names, the one with most first; refuse two that contradict."""
    known = _class_files(members)
    folders = {each.folder for each in labels}
    holding = {str(above) for each in folders for above in PurePosixPath(each, "x").parents}
    # Files in other folders, such as those of training runs, count if there are no others.
    inside = [each for each in known if (each.member.folder or ".") in holding] or known
    inside.sort(key=lambda each: -len(each.names))
    for each in inside:
        if not each.names.items() <= inside[0].names.items():
            pair = " and ".join(sorted((inside[0].member.name, each.member.name)))
            raise DatasetError(
                [f"{path}: {pair} have different classes; expected one list for one annotator"],
                "Keep the right one. If they are of two people, name the folder of each.",
            )
    found = chain.from_iterable(_class_files(e.direct_members) for e, _ in folders_around(path))
    return [*inside, *(replace(each, is_inside=False) for each in found)]


def _class_files(members: Sequence[Member]) -> list[_Classes]:
    """Return the files with class names or key points: the highest first, and YAML first of all."""
    named = [each for each in members if is_names_file(each.name)]
    named.sort(key=lambda each: (each.name.count("/"), not is_yaml(each.name), each.name))
    are_many = sum(is_yaml(each.name) for each in named) > 1
    # Of several YAML files, most are about other things.
    found = [
        _classes_of(each)
        for each in named
        if not (are_many and is_yaml(each.name)) or is_names_head(each.name, each.head())
    ]
    return [each for each in found if each.names or each.keypoints or each.problem]


def _by_place(paths: Iterable[str], folder: str) -> dict[str, str]:
    wholes = [p if PureWindowsPath(p).drive else str(PurePosixPath(folder, p)) for p in paths]
    places = {each: label_folders.place_of(each) for each in wholes}
    return {place: place + PurePosixPath(each).suffix for each, place in places.items()}


def _check_parts(found: _Classes, members: Sequence[Member], into: Collector) -> None:
    """Report the paths of data.yaml that name no file or folder of the source."""
    known = {str(above) for each in members for above in PurePosixPath(each.name).parents}
    if not any(is_picture(each.name) for each in members):
        # Folders of labels stand for those of the pictures.
        known |= {f"/{each}/".replace("/labels/", "/images/").strip("/") for each in known}
    known |= {each.name for each in members if not is_picture(each.name)}
    for key, path, line in found.paths:
        plain = normpath(path.replace("\\", "/")) if path else ""
        end = "/".join(each for each in plain.split("/") if each not in ("..", "."))
        if not end or _ELSEWHERE.search(plain):
            continue
        # `Path.exists` raises an error for a name that is too long.
        around = [Path(found.member.shown).parent / each for each in (found.root, "")]
        is_there = found.member.is_file and any(exists(each / plain) for each in around)  # noqa: PTH110
        if not is_there and not any(f"/{each}".endswith(f"/{end}") for each in known):
            problem = f"{key} is {cut(one_line(path))}, which names no file or folder"
            into.defect("T025", problem, found.where(line))


def _label_of(line: str, keypoints: tuple[int, int] | None) -> tuple[int, list[float], int]:
    """Return the class of a line, its other numbers, and how many of these are of the shape."""
    try:
        number, *values = map(float, line.split())
    except ValueError:
        number, values = math.nan, []
    # The sum is not finite where one is not.
    if not math.isfinite(number + sum(values)):
        what = (
            "commas; expected points" if "," in line else "a value that is no number; expected 0.5"
        )
        raise ValueProblemError(f"{line[:60]!r} has {what} and spaces")
    if not number.is_integer() or not 0 <= number < 1 << 31:
        raise ValueProblemError(f"the class is {number:g}; expected a whole number, 0 or more")
    n, n_shape = len(values), 4
    n_pose = 4 + math.prod(keypoints or (0,))
    if n not in {4, 5, n_pose, n_pose + 1}:
        if keypoints is None and (n - 4) % 3 == 0 and 2 in {*values[6::3]} <= {0, 1, 2}:
            expected = f"expected kpt_shape: [{(n - 4) // 3}, 3] in data.yaml"
            raise ValueProblemError(f"the line seems to be a box and key points; {expected}")
        if n < 6 or (n % 2 and not 0 <= values[-1] <= 1):
            problem = f"the line has {count(n, 'number')} after the class"
            raise ValueProblemError(f"{problem}; expected 4 for a box, or pairs of x and y")
        n_shape = n - n % 2
    low, high = min(values[:n_shape]), max(values[:n_shape])
    if max(-low, high) > LEAST_PIXELS:
        problem = f"a coordinate is {high if high > -low else low:g}, which is in pixels"
        raise ValueProblemError(f"{problem}; expected 0 to 1, relative to the image")
    return int(number), values, n_shape


class _LabelRecords:
    def __init__(self, described: list[_Classes], into: Collector, images: FileImages) -> None:
        self._into, self._images = into, images
        # The first file with class names is the one that counts.
        self._named = next((e for e in described if e.names or not e.keypoints), None)
        self._names = self._named.names if self._named else {}
        shaped = next((each for each in described if each.keypoints), None)
        self._keypoints = shaped.keypoints if shaped else None
        self._joints = shaped.joints if shaped else {}
        # Files around the source are about others where it has its own.
        own = [each for each in described if each.is_inside] or described[:1]
        unread = [(each, *each.problem) for each in own if each.problem]
        self._is_unread = bool(unread)
        for found, problem, line in unread:
            into.defect("T001", f"{found.member.name}: {problem}", found.where(line))
        if self._named is None:
            into.notes.append("no data.yaml or classes.txt has names: categories are class numbers")
            return
        for number, name in sorted(self._names.items()):
            into.category(name, self._named.where(self._named.lines[number]))
        for code, problem, line in self._named.defects:
            into.defect(code, problem, self._named.where(line))

    def add_file(self, member: Member, image: Record, text: str) -> None:
        lines = enumerate(text.splitlines(), start=1)
        filled = [(at, line) for at, line in lines if line.strip()]
        has_size = "width" in image
        if filled and not has_size and begins("YOLO", text.encode()):
            problem = f"the {self._images.why_unsized(image)}"
            self._into.defect("T002", problem, Where(member.name, filled[0][0]))
        for at, line in filled:
            where, row = Where(member.name, at), -1
            try:
                number, values, n_shape = _label_of(line, self._keypoints)
                if has_size:
                    size = (image["width"], image["height"])
                    record = self._shape_of(number, values, n_shape, size)
                    name = self._names.get(number) or f"class {number}"
                    ids = {"image_id": image["id"], "category_id": self._into.category(name, where)}
                    row = self._into.annotation(record | ids, where)
            except ValueProblemError as error:
                # That labels need `kpt_shape` follows from its problem.
                if not (self._is_unread and "kpt_shape" in str(error)):
                    cause = _VALUES.sub("", str(error))
                    self._into.defect("T001", str(error), where, cause=cause)
                continue
            # These are reported also where the size of the image is not known.
            if self._names and number not in self._names:
                last = max(self._names)
                problem = f"class {number} has no name; the last class with a name is {last}"
                self._into.defect("T020", problem, where, row)
            low, high = min(values[:n_shape]), max(values[:n_shape])
            if max(-low, high - 1) > MOST_BEYOND:
                found = high if high - 1 > -low else low
                problem = f"a coordinate is {found:g}; expected 0 to 1, relative to the image"
                self._into.defect("T003", problem, where, row)

    def _shape_of(
        self, number: int, values: list[float], n_shape: int, size: tuple[int, int]
    ) -> Record:
        into, keypoints, n_points = self._into, self._keypoints, 0
        if n_shape > 4:
            points = np.array(values[:n_shape]).reshape(-1, 2) * size
            record = shapes.outlined(points)
            degrees = shapes.rotations_of(points[None])[0] if len(points) == 4 else np.nan
            if not np.isnan(degrees):
                record["attributes"] = {"rotation": float(degrees)}
        else:
            (x, y, w, h), (width, height) = values[:4], size
            record = {"bbox": [(x - w / 2) * width, (y - h / 2) * height, w * width, h * height]}
            if keypoints is not None and len(values) > 5:
                n_points = math.prod(keypoints)
                points = np.array(values[4 : 4 + n_points]).reshape(keypoints)
                seen = points[:, 2] if keypoints[1] == 3 else 2.0 * points.any(1)
                is_seen = np.greater(seen, 0)
                whole = np.column_stack([points[:, :2] * size * is_seen.reshape(-1, 1), seen])
                record |= {"keypoints": whole.ravel().tolist(), "num_keypoints": int(is_seen.sum())}
                if into.settings.keypoints and number in self._joints:
                    record["joints"] = self._joints[number]
        if len(values) > n_shape + n_points:
            record["score"] = values[-1]
            into.tally["score"] += 1
        return record


def _classes_of(member: Member) -> _Classes:
    found, text = _Classes(member), member.text().decode("utf-8", "replace")
    if "\0" in text or "\ufffd" in text:
        found.problem = ("is not text in UTF-8", 1)
    elif is_yaml(member.name):
        _add_yaml(found, text)
    else:
        listed = enumerate(text.rstrip().splitlines()[:_MOST_NAMES])
        _add_names(found, ((number, line.strip(), number + 1) for number, line in listed))
    return found


def _add_names(found: _Classes, rows: Iterable[tuple[int, str, int]]) -> None:
    seen: dict[str, int] = {}
    for number, name, line in rows:
        if name:
            found.names[number], found.lines[number] = name, line
    for number, name in sorted(found.names.items()):
        if (first := seen.setdefault(name, number)) != number:
            problem = f"classes {first} and {number} are both named {one_line(name)!r}"
            found.defects.append(("T024", problem, found.lines[number]))


def _add_yaml(found: _Classes, text: str) -> None:
    """Add `names`, `nc`, `kpt_shape` and paths of YAML, in which unquoted words are texts."""
    from yaml import SafeLoader, YAMLError, compose

    if len(text) > _MOST_TEXT:
        found.problem = (f"has more than {_MOST_TEXT:,} characters of YAML", 1)
        return
    try:
        # libyaml's loader is faster, but crashes the process if brackets are nested deeply.
        values = dict(_pairs(compose(text, Loader=SafeLoader)))
    except (YAMLError, RecursionError) as error:
        mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", None)
        problem = f"is YAML that cannot be read: {one_line(problem or 'nested too deeply')}"
        found.problem = (problem, mark.line + 1 if mark else 1)
        return
    names = values.get("names")
    listed = _numbered(names)[:_MOST_NAMES]
    _add_names(found, ((number, _text(each), _line_of(each)) for number, each in listed))
    if names is not None and names.value and not (found.names or isinstance(names.value, str)):
        found.problem = ("the names of classes are not texts", _line_of(names))
    n_classes = _whole(_text(values.get("nc")))
    if n_classes not in (None, len(found.names)):
        problem = f"nc is {n_classes}, but there are {len(found.names)} names"
        found.defects.append(("T021", problem, _line_of(values["nc"])))
    found.root = _text(values.get("path"))
    for key in ("train", "val"):
        of_part = values.get(key)
        inside = of_part.value if of_part is not None and of_part.id == "sequence" else [of_part]
        found.paths += [(key, _text(each), _line_of(each)) for each in inside[:_MOST_PATHS] if each]
    shape = values.get("kpt_shape")
    if shape is None or shape.value in ("", "~", "null", "Null", "NULL"):
        return
    numbers = [_whole(_text(each)) for _, each in _numbered(shape)]
    if len(numbers) == 2 and numbers[0] and numbers[1] in (2, 3):
        found.keypoints = numbers[0], numbers[1]
        for number, each in _numbered(values.get("kpt_names")):
            own = [str(joint.value) for _, joint in _numbered(each)]
            if len(own) == numbers[0]:
                found.joints[number] = own
    else:
        written = cut(one_line(text[shape.start_mark.index : shape.end_mark.index].strip()))
        expected = "[number of key points, 2 or 3], such as [17, 3]"
        found.problem = (f"kpt_shape is {written}; expected {expected}", _line_of(shape))


def _line_of(node: "Node") -> int:
    return int(node.start_mark.line) + 1


def _text(node: "Node | None") -> str:
    return node.value if node is not None and isinstance(node.value, str) else ""


def _pairs(node: "Node | None") -> "list[tuple[str, Node]]":
    pairs = node.value if node is not None and node.id == "mapping" else []
    return [(key.value, value) for key, value in pairs if isinstance(key.value, str)]


def _numbered(node: "Node | None") -> "list[tuple[int, Node]]":
    """Return the values of a list, or of a mapping from numbers, with their numbers."""
    if node is not None and node.id == "sequence":
        return [*enumerate(node.value)]
    pairs = ((_whole(key), value) for key, value in _pairs(node))
    return [(key, value) for key, value in pairs if key is not None]


def _whole(text: str) -> int | None:
    return int(text) if text.isdecimal() and len(text) < 10 else None


_TRAIN = "train"


def _pose_losses(content: Content) -> Iterator[Loss]:
    most = _n_joints(content)
    fewer = [key for key, joints in content.joint_names.items() if 0 < len(joints) < most]
    if fewer:
        why = f"YOLO pose has {most} in each category; the others have no names"
        example = repr(content.category_names[fewer[0]])
        yield Loss(len(fewer), "category with fewer key points", why, example)


def _files(
    points: Callable[[Content, Record], FloatArray], has_joints: bool, content: Content
) -> Iterator[Written]:
    n_joints = _n_joints(content) if has_joints else 0
    parts = sorted({*content.parts.values()})
    settings = _settings(content, n_joints, parts).encode()
    classes = {each["id"]: place for place, each in enumerate(content.categories)}
    names = content.annotators or [""]
    listed: dict[tuple[str, str], list[str]]
    listed = {(name, part): [] for name in names for part in parts or [_TRAIN]}
    for place, name, drawn, path in content.files("labels", ".txt", _paths(content)):
        image, lines = content.images[place], []
        sides = (image.get("width", 1), image.get("height", 1))
        for each in drawn:
            shares = (points(content, each) / sides).ravel().tolist()
            if n_joints:
                given = completed(each.get("keypoints") or [], n_joints)
                joints = np.array(given, np.float64).reshape(-1, 3) / (*sides, 1)
                joints[:, 2] = np.clip(np.ceil(joints[:, 2]), 0, 2)
                # Joints that are not labelled are zeros.
                joints[joints[:, 2] == 0] = 0
                shares += joints.ravel().tolist()
            values = " ".join(f"{share:.10g}" for share in shares)
            lines.append(f"{classes[each['category_id']]} {values}\n")
        yield Written(path, "".join(lines).encode())
        inner = "/".join(path[len(content.people[name]) + 1 :]).removesuffix(".txt")
        picture = f"./images/{from_place(image_name(image), inner)}\n"
        listed[name, content.parts.get(image["id"], _TRAIN)].append(picture)
    for (name, part), own in listed.items():
        yield Written((*content.people[name], f"{part}.txt"), "".join(own).encode())
    for name in names:
        yield Written((*content.people[name], "data.yaml"), settings)


def _paths(content: Content) -> dict[str, tuple[str, ...]]:
    """Return the path of each image below its folder, without folders that belong to the format."""
    full = content.paths
    places = {
        name: label_folders.place_of(f"{'/'.join(('labels', *path))}.txt")
        for name, path in full.items()
    }
    known = Counter(map(normalised_name, places.values()))
    return {
        name: tuple(place.split("/")) if known[normalised_name(place)] == 1 else full[name]
        for name, place in places.items()
    }


def _n_joints(content: Content) -> int:
    listed = (len(each.get("keypoints") or ()) // 3 for each in content.annotations)
    return max([*listed, *map(len, content.joint_names.values()), 1])


def _settings(content: Content, n_joints: int, parts: Sequence[str]) -> str:
    # JSON strings are valid YAML.
    names, joints, write = "", "", partial(json.dumps, ensure_ascii=False)
    for place, each in enumerate(content.categories):
        names += f"  {place}: {write(each['name'])}\n"
        own = content.joint_names[each["id"]]
        joints += f"  {place}: {write(own)}\n" if n_joints and len(own) == n_joints else ""
    shape = f"kpt_shape: [{n_joints}, 3]\n" if n_joints else ""
    joints = f"kpt_names:\n{joints}" if joints else ""
    # Training needs both; without parts, they are the same images.
    lists = {part: part for part in parts} or {_TRAIN: _TRAIN, "val": _TRAIN}
    listed = "".join(f"{key}: {part}.txt\n" for key, part in lists.items())
    return f"{listed}{shape}names:\n{names}{joints}"


def _box(_content: Content, annotation: Record) -> FloatArray:
    x, y, width, height = annotation["bbox"]
    return np.array([[x + width / 2, y + height / 2], [width, height]])


def _ring(content: Content, annotation: Record) -> FloatArray:
    """Return the outline of an annotation, or the corners of its box if it has none."""
    if content.outlines[annotation["id"]].kind in ("polygon", "rotation"):
        return rings_of(annotation)[0]
    return bbox_corners(annotation)


YOLO, YOLO_SEGMENT, YOLO_OBB, YOLO_POSE = (
    Writer(
        f"YOLO {task}",
        "folder",
        (".txt", ".yaml"),
        partial(_files, points, task == "pose"),
        frozenset({"unused categories", *holds}),
        losses=_pose_losses if task == "pose" else lambda _: iter(()),
        folder="labels",
        needs_sizes="drawn images",
        lists_parts=True,
    )
    for task, points, holds in (
        ("detect", _box, ()),
        # A box is an outline of four points.
        ("segment", _ring, ("polygon", "rotation", "corners")),
        ("OBB", lambda _, each: four_corners(each), ("corners",)),
        ("pose", _box, ("keypoints", "keypoint box", "visibility")),
    )
)
