"""Reading CVAT XML: images and tracks, who was asked about them, and the shapes drawn there."""

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from bboxqa.core.errors import DatasetError
from bboxqa.core.text import count, one_line
from bboxqa.formats.cvat.elements import (
    Header,
    Job,
    attributes_of,
    header_of,
    plain_box_of,
    shape_of,
)
from bboxqa.formats.document import Record, Where
from bboxqa.formats.member import Member
from bboxqa.formats.records import UNNAMED, whole_number
from bboxqa.formats.source import SourcePath, members_like, members_with, only_file
from bboxqa.formats.translation.collector import SIDES, BrokenTextError, Collector
from bboxqa.formats.translation.shapes import EmptyMaskProblemError, ValueProblemError
from bboxqa.formats.xml_elements import (
    Element,
    EncodingXmlError,
    RefusedXmlError,
    XmlElements,
    XmlError,
)
from bboxqa.model.table import id_as_name

_ADVICE: dict[type[XmlError], str] = {
    RefusedXmlError: "CVAT writes no such files: export it again.",
    EncodingXmlError: (
        "Save it in UTF-8, as CVAT writes it, or name its encoding in the first line."
    ),
    XmlError: "Export it from CVAT again; the file may be cut off.",
}
# The counted facts, with the noun and the text of their notes.
_NOTES = (
    ("empty", "mask", "left out: no pixels"),
    (
        "unknown frames",
        "video",
        "of which only frames with shapes are known: empty frames count as not asked about",
    ),
    ("joints", "track", "of skeletons without their joints: 'CVAT for images 1.1' has them"),
)
_PLAIN = (
    ("rotation", "0"), ("source", "manual"), ("occluded", "0"), ("group_id", "0"), ("z_order", "0")
)  # fmt: skip
"""Values of boxes that are columns; the last three are attributes, which are not measured."""
_MOST_FRAMES, _FRAMES_BY_SHAPE, _FEW_FRAMES = 250_000, 50, 1000
"""Frames without shapes that the videos of a source may have, as a few words can name very many:
in all, more by shape, and any few."""


def translate(path: Path, into: Collector) -> None:
    """Translate CVAT XML; raises BrokenTextError if the file is not XML."""
    member = only_file(path, members_like(path, "CVAT", ".xml"), "CVAT XML")
    into.title, into.named_by = "CVAT XML", "the assignee"
    into.advice = "Export the task from CVAT again."
    records = _Records(member.name, into)
    for element in _elements(member, into):
        records.add(element)
    records.check_frames(path, member.shown)
    records.finish()


def _elements(member: Member, into: Collector) -> Iterator[Element]:
    """Yield the header, images and tracks."""
    reading = XmlElements()
    n_bytes = 0
    try:
        for chunk in member.chunks():
            yield from reading.parsed(chunk)
            n_bytes += len(chunk)
            if into.settings.progress is not None:
                into.settings.progress(n_bytes, max(n_bytes, member.most))
        yield from reading.parsed(b"", last=True)
    except XmlError as error:
        column = f":{error.column}" if error.column else ""
        problem = f"{member.shown}:{error.line}{column}: {error}"
        kind = BrokenTextError if type(error) is XmlError else DatasetError
        raise kind([problem], _ADVICE[type(error)]) from None


class _Records:
    """Converts the elements of a file to COCO records."""

    def __init__(self, member: str, into: Collector) -> None:
        self._member = member
        self._into, self._tally = into, into.tally
        self._header = Header()
        # Categories of boxes that are columns, and the values that these have.
        self._ids: dict[str, int] = {}
        self._plain_values = _PLAIN if into.in_full else _PLAIN[:2]
        # Labels of shapes without a box.
        self._apart: set[str] = set()
        self._names_people = False
        # Image records by subset and name.
        self._images: dict[tuple[str, str], Record] = {}

    def add(self, element: Element) -> None:
        """Add the header, or the shapes of an image or a track."""
        if element.name == "meta":
            self._begin_file(header_of(element))
        elif element.name == "image":
            self._add_image(element)
        elif element.name == "track":
            self._tally["tracks"] += 1
            for each in element.inside:
                if each.name == "track":
                    # The joints of a skeleton are tracks nested in its own.
                    self._tally["joints"] += 1
                elif each.values.get("outside") != "1":
                    self._add_in_frame(each, element.values)

    def _where(self, found: Element | Job) -> Where:
        return Where(self._member, found.line)

    def _begin_file(self, header: Header) -> None:
        self._header = header
        for label in header.labels.values():
            if label.joints:
                self._into.skeleton(label.name, label.joints, label.limbs)
        self._names_people = any(job.assignee for job in header.jobs)
        for job in header.jobs:
            if not job.assignee:
                name = f"{job.kind} {job.id}" if job.id else f"the {job.kind}"
                self._into.defect("T040", f"{name}: has no assignee", self._where(job))

    def _annotator(self, job: Job | None) -> str:
        """Return who annotated images or tracks; empty if the file names nobody."""
        assignee = "" if job is None else job.assignee
        return assignee or (UNNAMED if self._names_people else "")

    def _image_record(self, subset: str, name: str, where: Where) -> Record:
        record = self._into.image((subset, name), where)
        self._images[subset, name] = record
        return record

    def _add_image(self, element: Element) -> None:
        """Add the shapes of an image, unless they are repeated work."""
        self._tally["images"] += 1
        values, where = element.values, self._where(element)
        name = values.get("name") or id_as_name(values.get("id", ""))
        image = self._image_record(values.get("subset", ""), name, where)
        self._into.size(image, name, [values.get(side) for side in SIDES], where)
        annotator = self._annotator(self._header.job_of(values))
        label = f"image {one_line(name)}"
        shared = self._into.begin_work(image["id"], [image], annotator, label, where)
        for shape in element.inside if shared is not None else ():
            if not self._add_plain(shape, image, annotator):
                self._add_shape(shape, shape.values.get("label"), image, shared or {})

    def _add_in_frame(self, element: Element, track: Mapping[str, str]) -> None:
        """Add the shape of a track in a frame."""
        where = self._where(element)
        frame = whole_number(element.values.get("frame"))
        if frame is None or frame < 0:
            shown = element.values.get("frame", "")[:40]
            problem = f"track {one_line(track.get('id', ''))}: a {element.name} has the "
            self._into.defect("T001", f"{problem}frame {shown!r}; expected a whole number", where)
            return
        image, shared = self._frame(self._header.job_of(track), frame, where)
        element.values = {**track, **element.values}
        self._tally["shapes"] += 1
        self._add_shape(element, track.get("label"), image, shared, frame)

    def _frame(self, job: Job | None, frame: int, where: Where) -> tuple[Record, Record]:
        """Return the image of a frame, and the keys that its annotations share."""
        video = ""
        if job is not None:
            video = job.source or (job.name if len(self._header.jobs) > 1 else "")
        name = f"frame_{frame:06d}"
        image = self._image_record("", f"{video}/{name}" if video else name, where)
        if job is not None:
            self._into.size(image, name, job.size, self._where(job))
        return image, self._into.shared([image], self._annotator(job))

    def _add_plain(self, element: Element, image: Record, annotator: str) -> bool:
        """Add an upright box of a known label as columns; return False for other shapes."""
        values, takes_boxes = element.values, self._into.takes_boxes
        label = values.get("label", "")
        box = plain_box_of(values) if takes_boxes and element.name == "box" else None
        # Answers and marks are kept where all keys are requested, or where they name people.
        has_more = element.inside and (
            self._into.in_full
            or any(each.values.get("name") == "annotator" for each in element.inside)
        )
        if (
            box is None
            or has_more
            or label not in self._header.labels
            or any(values.get(key, default) != default for key, default in self._plain_values)
        ):
            return False
        if label not in self._ids:
            self._ids[label] = self._into.category(label, self._where(element))
        row = (image["id"], self._ids[label], *box, annotator, "")
        self._into.plain_boxes([(row, self._where(element))])
        return True

    def _add_shape(
        self, element: Element, label: str | None, image: Record, shared: Record, frame: int = -1
    ) -> None:
        where, what = self._where(element), element.name
        size = (image["width"], image["height"]) if "height" in image else None
        try:
            shape = self._into.boxed(shape_of(element, size, self._into.masks))
        except ValueProblemError as error:
            self._tally["empty"] += error.code == EmptyMaskProblemError.code
            self._into.defect(error.code, f"{what}: {error}", where)
            return
        record = {"image_id": image["id"]} | shared | shape
        attributes = attributes_of(element, record.get("attributes"), is_tracked=frame >= 0)
        if attributes:
            record["attributes"] = attributes
        if (source := element.values.get("source", "manual")) != "manual":
            record["source"] = source
        if frame >= 0:
            record["own_id"] = f"track {element.values.get('id', '')}, frame {frame}"
        name = (label or "").strip()
        n_joints = len(record.get("joints", ()))
        row = self._into.labelled(record, name, where, f"{what}: has no label")
        known = self._header.labels.get(name)
        if row < 0:
            self._apart.add(name)
        elif name and self._header.labels and known is None:
            problem = f"label {one_line(name)!r} is not among the labels at the beginning"
            self._into.defect("T041", f"{problem} of the file", where, row)
        elif n_joints and known and known.joints and n_joints != len(known.joints):
            problem = f"skeleton has {count(n_joints, 'point')}; its label {one_line(name)!r} has"
            self._into.defect("K001", f"{problem} {len(known.joints)}", where, row)

    def _has_frames(self) -> bool:
        """Return whether images are the frames of videos, which are not listed."""
        videos = [job for job in self._header.jobs if job.is_video and job.frames is not None]
        return not self._tally["images"] and bool(self._tally["tracks"] or videos)

    def check_frames(self, path: Path, shown: str) -> None:
        """Refuse videos with far more frames than shapes, as each frame takes memory."""
        n_frames = sum(len(job.frames or ()) for job in self._header.jobs)
        by_shape = _FRAMES_BY_SHAPE * self._tally["shapes"]
        if not self._has_frames() or n_frames <= max(by_shape, _FEW_FRAMES):
            return
        archive = SourcePath.at(path).archive
        n_files = len([*members_with(archive.members, ".xml")]) if archive else 1
        most = max(_MOST_FRAMES // n_files, by_shape)
        if n_frames > most:
            n_shapes = count(self._tally["shapes"], "shape")
            problem = f"{shown}: its videos have {n_frames:,} frames and {n_shapes}"
            raise DatasetError(
                [f"{problem}; expected at most {most:,} frames"],
                "If that is right, unpack an archive, and export jobs one by one. "
                "Otherwise correct <size> in <meta>.",
            )

    def finish(self) -> None:
        """Add unused labels, the frames without shapes, and notes."""
        for label in self._header.labels.values():
            # Labels of points and lines have no boxes, which is not a defect.
            if label.has_box and label.name not in self._apart:
                self._into.category(label.name, Where(self._member, label.line))
        frame_notes = [*self._frame_notes()] if self._has_frames() else []
        times = Counter(name for _, name in self._images)
        for (subset, name), record in self._images.items():
            # The subset belongs to the name if several subsets have an image of that name.
            record["file_name"] = f"{subset}/{name}" if times[name] > 1 and subset else name
        self._into.count(_NOTES)
        self._into.notes += frame_notes

    def _frame_notes(self) -> Iterator[str]:
        """Add the frames of videos in which nobody drew anything; yield notes on their names."""
        jobs = self._header.jobs
        for job in jobs:
            for frame in job.frames or ():
                self._frame(job, frame, self._where(job))
        n_unknown = sum(job.frames is None for job in jobs) if jobs else 1
        self._tally["unknown frames"] += n_unknown
        if any(not job.is_video for job in jobs):
            yield (
                "images are named by their frame, such as frame_000007; the export "
                "'CVAT for images 1.1' has their names"
            )
        elif any(not job.source and job.frames for job in jobs):
            yield (
                "the file does not name its video: frames are joined by number with those of "
                "other files, which must be of the same video"
            )
