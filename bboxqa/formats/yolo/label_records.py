"""Translating YOLO label files to COCO records."""

from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path, PurePosixPath

import numpy as np

from bboxqa.core.errors import DatasetError
from bboxqa.core.text import one_line
from bboxqa.formats.document.origin import Where
from bboxqa.formats.translation.choices import choices
from bboxqa.formats.translation.collector import Collector
from bboxqa.formats.translation.given_sizes import given_size
from bboxqa.formats.translation.images.image_places import ends_of, place_of
from bboxqa.formats.translation.images.label_images import add_unlabelled, unlabelled_places
from bboxqa.formats.translation.member import Member
from bboxqa.formats.translation.other_files import NO_LABELS, add_others, elsewhere_note
from bboxqa.formats.translation.picture_sizes import size_of_picture
from bboxqa.formats.translation.plain.label_batches import (
    LabelFile,
    add_files,
    label_batches,
    lines_of,
)
from bboxqa.formats.translation.translated import Add, Boxes, Record, Translated, Wanted
from bboxqa.formats.yolo.class_names import ClassNames, class_names_of
from bboxqa.formats.yolo.inferred_poses import inferred_shape, may_be_pose
from bboxqa.formats.yolo.label_files import LabelFiles, label_files_of
from bboxqa.formats.yolo.label_heads import is_label_head
from bboxqa.formats.yolo.label_lines import (
    Label,
    LineError,
    ShapeError,
    beyond,
    label_of,
    pixels_in,
    shape_of,
)
from bboxqa.formats.yolo.label_notes import notes_of
from bboxqa.formats.yolo.plain_labels import plain_labels

TITLE = "YOLO labels"


def translate_labels(path: Path, add: Add, wanted: Wanted) -> Translated:
    """Translate a folder or archive of label files.

    Raises DatasetError if it has no label files.
    """
    source = wanted.files_of(path)
    files = label_files_of(path, source.members)
    if not files.labels and not files.pictures:
        raise DatasetError([f"{path}: has no label files of YOLO"])
    records = _LabelRecords(files, add, wanted)
    records.add_classes()
    records.add_poses()
    for batch in label_batches(source, files.labels, wanted.progress):
        records.take(batch)
    return records.done()


class _LabelRecords:
    """Converts label files to COCO records, and collects images, categories and counts."""

    def __init__(self, files: LabelFiles, add: Add, wanted: Wanted) -> None:
        self._files = files
        self._wanted = wanted
        is_said = choices().missing_txt == "not-asked"
        self._into = Collector(TITLE, add, lists_images=is_said)
        self._classes = ClassNames()
        self._ids: dict[int, int] = {}
        self._tally: Counter[str] = Counter()
        # One finding says so; that labels need `kpt_shape` follows from it.
        self._is_shape_unread = False

    def add_classes(self) -> None:
        """Add the categories in the file of class names, in its order."""
        member = self._files.names
        if member is None:
            self._tally["unnamed"] = 1
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

    def add_poses(self) -> None:
        """Take the number of key points from the file that says it, or infer it without one."""
        member = self._files.key_point_shape
        found = self._classes
        if member is not None and member is not self._files.names:
            found = class_names_of(member)
            self._classes.keypoints, self._classes.joints = found.keypoints, found.joints
            if found.problem:
                problem = f"{member.name}: kpt_shape cannot be read: {found.problem}"
                self._into.defect("T001", problem, self._where(member, found.problem_line))
        if member is not None and found.shape_problem:
            problem = f"{member.name}: {found.shape_problem}"
            self._into.defect("T001", problem, self._where(member, found.shape_line))
        if self._classes.keypoints is None:
            self._is_shape_unread = bool(member and (found.problem or found.shape_problem))
            texts = (each.text() for each in self._files.labels.values())
            self._classes.keypoints = inferred_shape(texts)
            if not self._is_shape_unread:
                self._tally["inferred"] = (self._classes.keypoints or (0,))[0]

    def take(self, batch: Sequence[tuple[str, Member, bytes]]) -> None:
        """Take the labels of images, given by the place of the image, the file and its content."""
        files: list[LabelFile] = []
        pictures = self._files.pictures
        for place, member, data in batch:
            where = Where(member.name, 1)
            files.append((member, self._image(place, where), data))
            if pictures and place not in pictures:
                self._into.defect("T022", f"{member.name}: no picture has this name", where)
        add_files(files, self._add_plain, self._add_file)

    def _add_plain(self, files: Sequence[LabelFile]) -> bool:
        """Add the labels of files if all are boxes of named classes; return whether they are."""
        add_boxes, names = self._wanted.add_boxes, self._classes.names
        is_wanted = add_boxes is not None and all("width" in image for _, image, _ in files)
        found = plain_labels([data for _, _, data in files]) if is_wanted else None
        if found is None or add_boxes is None:
            return False
        numbers = np.flatnonzero(np.bincount(found.number))
        if self._files.names is not None and not {*numbers.tolist()} <= {*names}:
            return False
        lines = lines_of(files, found.n_boxes, np.ones(len(files), np.int64))
        if not {*numbers.tolist()} <= {*self._ids}:
            for row in np.sort(np.unique(found.number, return_index=True)[1]).tolist():
                self._category(int(found.number[row]), lines.where(row))
        ids = np.zeros(numbers.max(initial=0) + 1, np.int64)
        ids[numbers] = [self._ids[number] for number in numbers.tolist()]
        images = np.array([image["id"] for _, image, _ in files], np.int64)
        sizes = np.array([(image["width"], image["height"]) for _, image, _ in files], np.float64)
        bbox = found.shares.copy()
        bbox[:, :2] -= bbox[:, 2:] / 2
        bbox *= np.tile(np.repeat(sizes, found.n_boxes, 0), 2)
        image_id = np.repeat(images, found.n_boxes)
        nobody = np.full(len(bbox), -1)
        self._into.boxes(Boxes(image_id, ids[found.number], bbox, lines, nobody), add_boxes)
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
                if self._is_shape_unread and isinstance(error, ShapeError):
                    continue
                self._into.defect("T001", f"{error}{todo}", where)
                todo = ""
                continue
            if (pixels := pixels_in(label)) is not None:
                problem = f"a coordinate is {pixels:g}, which is in pixels; expected 0 to 1"
                self._into.defect("T001", f"{problem}, relative to the image", where)
            elif size is not None:
                self._add_label(label, image["id"], size, where)

    def _refuse_size(self, member: Member, where: Where) -> None:
        reason = "there is no image file next to it"
        todo = "--image-size gives it: 1920x1080, or the folder of images"
        place = place_of(member.inner)
        if place in self._files.pictures and self._files.labels.get(place) is not member:
            reason = "label files in several folders have the name of its image file"
            todo = "name each folder if these are of annotators, or else the one to read"
        elif place in self._files.pictures:
            reason = "its image file cannot be opened"
        elif self._files.pictures:
            reason = "no image file has its name"
            ends = map(self._pictures_by_end.get, ends_of(place))
            elsewhere = next(filter(None, ends), None)
            if elsewhere is not None:
                reason = f"a picture of its name is in another folder, {elsewhere}"
                if "/" in place:
                    reason += " (if the folders of labels are those of annotators, name each)"
        if choices().image_size is not None:
            reason += ", and the given sizes do not include it, or have several of its name"
        problem = f"{member.name}: the size of its image is not known: {reason}; {todo}"
        self._into.defect("T002", problem, where)

    @cached_property
    def _pictures_by_end(self) -> dict[str, str]:
        """A picture for each end of a place, with or without folders."""
        found: dict[str, str] = {}
        for place, member in self._files.pictures.items():
            for end in ends_of(place):
                found.setdefault(end, one_line(member.name))
        return found

    def _image(self, place: str, where: Where) -> Record:
        """Return the record of an image, with its size if known."""
        image = self._into.image(place, where)
        picture = self._files.pictures.get(place)
        if picture is not None:
            name = place + PurePosixPath(picture.name).suffix
        else:
            name = self._files.listed.get(place, place)
            self._tally["nameless"] += place not in self._files.listed
        image["file_name"] = name
        size = size_of_picture(picture) if picture is not None else None
        if size is None:
            size = given_size(name)
            self._tally["given"] += size is not None
        if size is not None:
            image["width"], image["height"] = size
        return image

    def _add_label(self, label: Label, image: int, size: tuple[int, int], where: Where) -> None:
        keypoints, outlines = self._classes.keypoints, self._wanted.outlines
        record = shape_of(label, size, keypoints, outlines=outlines)
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
        values = label.values if label.score is None else [*label.values, label.score]
        is_unknown = keypoints is None and not self._is_shape_unread
        self._tally["unsure"] += kind == "outline" and is_unknown and may_be_pose(values)
        # Key points are only noted if they are not compared.
        self._tally[kind] += kind != "pose" or not self._wanted.keypoints
        row = self._into.annotation(record, where)
        if label.number not in self._classes.names and self._files.names is not None:
            last = max(self._classes.names, default=-1)
            problem = f"class {label.number} has no name; the last class with a name is {last}"
            self._into.defect("T020", problem, where, row)
        if (share := beyond(label)) is not None:
            problem = f"a coordinate is {share:g}; expected 0 to 1, relative to the image"
            self._into.defect("T003", problem, where, row)

    def _category(self, number: int, where: Where) -> int:
        if number not in self._ids:
            self._ids[number] = self._into.category(f"class {number}", where)
        return self._ids[number]

    def done(self) -> Translated:
        """Return the translation, with all images, categories and notes."""
        images = {*self._files.pictures, *self._files.listed}
        places = unlabelled_places(images, {*self._files.labels}, self._files.others)
        unlabelled = {place: self._files.pictures.get(place) for place in places}
        notes = [*add_others(self._into, self._files.others, "labels of YOLO")]
        notes += [*elsewhere_note(self._files.elsewhere), *self._files.notes]
        notes += add_unlabelled(self._into, unlabelled, self._files.labels, self._image)
        return self._into.done([*notes_of(self._tally, self._files), *notes])
