"""Converting the elements of a CVAT file to COCO records."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from bboxqa.core.text import count, one_line
from bboxqa.formats.annotations.records import whole_number
from bboxqa.formats.cvat.cvat_shapes import UnknownSizeError, shape_of
from bboxqa.formats.cvat.jobs import Head, Job, head_of_file
from bboxqa.formats.cvat.said_keys import said_more
from bboxqa.formats.cvat.skeleton_tracks import SkeletonTrack
from bboxqa.formats.document.origin import Where
from bboxqa.formats.translation.boxes.masks import Masks
from bboxqa.formats.translation.collector import SIDES, Collector
from bboxqa.formats.translation.translated import UNLABELLED, UNNAMED, Record, Wanted
from bboxqa.formats.translation.untrusted import (
    EmptyMaskProblemError,
    MaskProblemError,
    ValueProblemError,
)
from bboxqa.formats.xml_elements import Element
from bboxqa.model.file_places import id_as_name


@dataclass(slots=True)
class Gathered:
    """The records and counts of a file."""

    into: Collector
    wanted: Wanted
    tally: Counter[str] = field(default_factory=Counter)
    images: dict[tuple[str, str], Record] = field(default_factory=dict)
    """Image records by subset and name."""
    masks: Masks = field(init=False)
    times: dict[tuple[int, str], int] = field(default_factory=dict)
    """How often an image was annotated, by its id and the annotator."""

    def __post_init__(self) -> None:
        self.masks = Masks(outlines=self.wanted.outlines)


class FileRecords:
    """Converts one file to COCO records.

    Parameters
    ----------
    member : str
        The name of the file in its archive; "" if it is not in an archive.
    gathered : Gathered
    """

    def __init__(self, member: str, gathered: Gathered) -> None:
        self.member = member
        self.into = gathered.into
        self._tally = gathered.tally
        self._images = gathered.images
        self._times = gathered.times
        self._wanted = gathered.wanted
        self._masks = gathered.masks
        self._head = Head()
        self._labels: set[str] = set()
        self._apart: set[str] = set()
        self._names_people = False
        self.image: Record | None = None
        self.shared: Record = {}
        self._track: Mapping[str, str] | None = None
        self._skeletons = SkeletonTrack()
        self._job: Job | None = None
        self._frames: dict[Job | None, dict[int, int]] = {}
        self._n_images = 0
        self._n_tracks = 0
        self.n_shapes = 0
        """The number of shapes in frames of videos."""

    def add(self, element: Element) -> None:
        """Add the content of an element."""
        around = element.around
        if around == "image":
            if self.image is not None:
                self._add_shape(element, element.values.get("label"), self.image, self.shared)
        elif around == "track":
            self._add_of_track(element)
        elif element.name == "image":
            self.begin_image(element.values, element.line)
        elif element.name == "track":
            self.begin_track(element.values)
        elif element.name == "meta":
            self._begin_file(element)

    def _where(self, element: Element | Job) -> Where:
        return Where(self.member, element.line)

    def _begin_file(self, meta: Element) -> None:
        self._head = head_of_file(meta)
        self._labels = {label.name for label in self._head.labels}
        for name, skeleton in self._head.skeletons.items():
            self.into.skeleton(name, skeleton.joints, skeleton.limbs)
        self._names_people = any(job.person for job in self._head.jobs)
        for job in self._head.jobs:
            self._tally["assignee" if job.assignee else "owner" if job.owner else "nobody"] += 1
            if not job.assignee:
                problem = "it has no owner either"
                if job.owner:
                    problem = f"its owner {job.owner} counts as its annotator"
                message = f"{job.label}: has no assignee; {problem}"
                self.into.defect("T040", message, self._where(job))

    def annotator(self) -> str:
        """Return who annotated the image or track; empty if the file names nobody."""
        return self._annotator_of(self._job)

    def _annotator_of(self, job: Job | None) -> str:
        person = "" if job is None else job.person
        return person or (UNNAMED if self._names_people else "")

    def _image_record(self, subset: str, name: str, where: Where) -> Record:
        record = self.into.image((subset, name), where)
        self._images[subset, name] = record
        return record

    def begin_image(self, values: Mapping[str, str], line: int) -> Record | None:
        """Set the image of the shapes that follow; return None if the shapes do not count."""
        self._n_images += 1
        self._job = self._head.job_of(values)
        name = values.get("name") or id_as_name(values.get("id", ""))
        where = Where(self.member, line)
        image = self._image_record(values.get("subset", ""), name, where)
        self.into.size(image, name, [values.get(side) for side in SIDES], where)
        annotator = self.annotator()
        times = image["id"], annotator
        self._times[times] = number = self._times.get(times, 0) + 1
        if number > 1 and not self._wanted.sessions:
            self._tally["again"] += 1
            who = one_line(annotator) or "the annotator"
            problem = f"image {one_line(name)}: {who} annotated it {number} times"
            self.into.defect("T007", f"{problem}; the first counts", where)
            self.image = None
            return None
        self.image = image
        self.shared = self._asked(image, annotator, number)
        return image

    def _asked(self, image: Record, annotator: str, number: int = 1) -> Record:
        """Record that an annotator was asked about an image; return keys of their annotations."""
        shared = {"image_id": image["id"], "annotator": annotator}
        if not annotator:
            del shared["annotator"]
        else:
            self.into.ask(image, annotator)
        if self._wanted.sessions:
            shared["session"] = str(number)
        return shared

    def begin_track(self, values: Mapping[str, str]) -> None:
        """Set the track of the shapes that follow."""
        self._end_track()
        self._n_tracks += 1
        self._track = values
        self._job = self._head.job_of(values)

    def _end_track(self) -> None:
        for skeleton in self._skeletons.whole():
            self._add_frame(skeleton)

    def _add_of_track(self, element: Element) -> None:
        try:
            is_taken = self._skeletons.takes(element)
        except ValueProblemError as error:
            if not self._tally["many points"]:
                self._refuse(element.name, error, self._where(element))
            self._tally["many points"] += 1
            return
        if not is_taken:
            self._add_frame(element)

    def _add_frame(self, element: Element) -> None:
        """Add the shape of a track in a frame, unless it is outside."""
        track = self._track
        if track is None or element.values.get("outside") == "1":
            return
        where = self._where(element)
        frame = whole_number(element.values.get("frame"))
        if frame is None or frame < 0:
            shown = element.values.get("frame", "")[:40]
            problem = f"track {one_line(track.get('id', ''))}: a {element.name} has the "
            self.into.defect("T001", f"{problem}frame {shown!r}; expected a whole number", where)
            return
        image, shared = self._frame(self._job, frame, where)
        element.values = {**track, **element.values}
        self.n_shapes += 1
        self._add_shape(element, track.get("label"), image, shared, frame)

    def ids_of_frames(
        self, frames: Sequence[int], is_inside: Sequence[bool], lines: Sequence[int]
    ) -> list[int]:
        """Return the image id of each frame of a track; 0 where the shape is outside."""
        self.n_shapes += sum(is_inside)
        known = self._frames.setdefault(self._job, {})
        ids = []
        for frame, inside, line in zip(frames, is_inside, lines, strict=True):
            if inside and frame not in known:
                image, _ = self._frame(self._job, frame, Where(self.member, line))
                known[frame] = image["id"]
            ids.append(known[frame] if inside else 0)
        return ids

    def _frame(self, job: Job | None, frame: int, where: Where) -> tuple[Record, Record]:
        """Return the image of a frame, and the keys that its annotations share."""
        video = ""
        if job is not None:
            video = job.source or (job.name if len(self._head.jobs) > 1 else "")
        name = f"frame_{frame:06d}"
        image = self._image_record("", f"{video}/{name}" if video else name, where)
        if job is not None:
            self.into.size(image, name, job.size, self._where(job))
        return image, self._asked(image, self._annotator_of(job))

    def _add_shape(
        self, element: Element, label: str | None, image: Record, shared: Record, frame: int = -1
    ) -> None:
        where = self._where(element)
        known = "width" in image and "height" in image
        size = (image["width"], image["height"]) if known else None
        try:
            shape = self._wanted.boxed(shape_of(element, size, self._masks))
        except ValueProblemError as error:
            self._refuse(element.name, error, where)
            return
        inside = {
            part.values.get("name", ""): part.text
            for part in element.inside
            if part.name == "attribute"
        }
        record = shared | shape
        record |= said_more(element.values, record.get("attributes", {}), inside, frame=frame)
        if frame >= 0:
            record["own_id"] = f"track {element.values.get('id', '')}, frame {frame}"
        name = (label or "").strip() or UNLABELLED
        if "bbox" not in record:
            self.into.annotation({**record, "label": name}, where)
            self._apart.add(name)
            return
        record["category_id"] = self.into.category(name, where)
        skeleton = self._head.skeletons.get(name)
        n_joints, expected = len(record.get("joints", ())), len(skeleton.joints) if skeleton else 0
        row = self.into.annotation(record, where)
        if record.get("shape") == "skeleton" and expected and n_joints != expected:
            has = f"skeleton has {count(n_joints, 'point')}"
            problem = f"{has}; its label {one_line(name)!r} has {expected}"
            self.into.defect("K001", problem, where, row)
        self.check_label(element.name, name, where, row)

    def is_known(self, label: str) -> bool:
        """Return whether a label is listed at the beginning of the file."""
        return label != UNLABELLED and (not self._labels or label in self._labels)

    def check_label(self, what: str, name: str, where: Where, row: int) -> None:
        """Report a missing or unknown label of the annotation with index `row`."""
        if name == UNLABELLED:
            self.into.defect("T004", f"{what}: has no label", where, row)
        elif not self.is_known(name):
            problem = f"label {one_line(name)!r} is not among the labels at the beginning"
            self.into.defect("T041", f"{problem} of the file", where, row)

    def _refuse(self, what: str, error: ValueProblemError, where: Where) -> None:
        codes = {
            EmptyMaskProblemError: "T011",
            MaskProblemError: "T008",
            UnknownSizeError: "T002",
        }
        self._tally["empty"] += isinstance(error, EmptyMaskProblemError)
        self.into.defect(codes.get(type(error), "T001"), f"{what}: {error}", where)

    def _has_frames(self) -> bool:
        """Return whether images are the frames of videos, which are not listed."""
        videos = [job for job in self._head.jobs if job.is_video and job.frames is not None]
        return not self._n_images and bool(self._n_tracks or videos)

    def task_of_frames(self) -> str | None:
        """Return the task or job with frames of a video without a name; None for other files."""
        jobs = self._head.jobs
        is_unnamed = len(jobs) == 1 and jobs[0].is_video and not jobs[0].source
        return jobs[0].name if is_unnamed and self._has_frames() else None

    def n_frames(self) -> int:
        """Return how many frames the beginning of the file says that its videos have."""
        return sum(len(job.frames or ()) for job in self._head.jobs) if self._has_frames() else 0

    def end(self) -> None:
        """Add unused labels, and the frames of a video in which nobody drew anything."""
        self._end_track()
        for label in self._head.labels:
            # Labels of points and lines have no boxes, which is not a defect.
            if label.has_box and label.name not in self._apart:
                self.into.category(label.name, Where(self.member, label.line))
        if not self._has_frames():
            return
        jobs = [job for job in self._head.jobs if job.frames is not None]
        self._tally["unnamed frames"] += any(not job.is_video for job in self._head.jobs)
        self._tally["unnamed videos"] += sum(job.is_video and not job.source for job in jobs)
        for job in jobs:
            for frame in job.frames or ():
                self._frame(job, frame, self._where(job))
        n_unknown = len(self._head.jobs) - len(jobs) if self._head.jobs else 1
        self._tally["unknown frames"] += n_unknown
