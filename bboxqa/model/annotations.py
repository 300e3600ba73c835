"""Annotations of images as columns, the data set that holds them, and what the user said of it."""

from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec
import numpy as np
from msgspec.structs import replace

from bboxqa.core.arrays import BoolArray, FloatArray, FrozenArrays, IndexArray, IntArray, RowArrays
from bboxqa.core.text import count
from bboxqa.model.keypoints import Keypoints
from bboxqa.model.masks import Segmentations
from bboxqa.model.rotated_boxes import FiveNumbers
from bboxqa.model.table import Categorical, ShownIds, Table, html_table

MissingTxt = Literal["asked", "not-asked"]
BoxFormat = Literal[
    "xywh", "xyxy", "cxcywh", "xywh-shares", "xyxy-shares", "cxcywh-shares",
    "xywh-pixels", "xyxy-pixels", "cxcywh-pixels",
]  # fmt: skip
GivenSize = tuple[int, int] | None


class Choices(msgspec.Struct, frozen=True):
    """Information that the user supplies about files."""

    image_size: tuple[int, int] | Mapping[str, GivenSize] | None = None
    """Width and height in pixels of images whose size is otherwise unknown: one size for all, or a
    mapping made by `bboxqa.formats.images.by_ends`."""
    missing_txt: MissingTxt | None = None
    """Whether annotators were asked about images without a label file."""
    voc_base: int | None = None
    """The coordinate of the first pixel, 0 or 1, in Pascal VOC files that do not state it."""
    columns: Mapping[str, str] = msgspec.field(default_factory=dict)
    """The columns of tables by content, such as ``{"image": "file"}``."""
    box_format: BoxFormat | None = None
    """The layout of boxes in tables, one of `BoxFormat`, and their unit, such as "xyxy-shares"."""
    rotated: FiveNumbers | None = None
    """The layout of boxes of five numbers, one of `FiveNumbers`."""
    image_size_file: str | None = None
    """The file that the sizes of `image_size` were read from."""
    from_format: str | None = None
    """The format to read of a path that holds several, such as "coco"."""
    mask: str | None = None
    """What the values of masks stand for, in pictures that are masks: "instances", "classes", or
    "binary" or "objects", alone or with the value of objects, such as "binary:1"."""


NO_CHOICES = Choices()
"""The choices of a user who supplies nothing."""


def as_options(said: Choices) -> dict[str, str]:
    """Return choices by option, as a user writes them on the command line."""
    found = {}
    for option in said.__struct_fields__:
        value = getattr(said, option)
        if option == "image_size_file" or value in (None, {}):
            continue
        if isinstance(value, tuple):
            value = "x".join(map(str, value))
        elif option == "image_size":
            value = said.image_size_file or "sizes by image"
        elif isinstance(value, Mapping):
            value = ",".join(f"{what}={name}" for what, name in value.items())
        found[option] = str(value)
    return found


def completed(given: Choices, others: Choices) -> Choices:
    """Return choices, with those of others where nothing is given."""
    new = {
        each: getattr(given, each)
        for each in given.__struct_fields__
        if getattr(given, each) not in (None, {})
    }
    if given.image_size is not None:
        new["image_size_file"] = given.image_size_file
    return replace(others, **new)


GAP_SECONDS = 1800.0
"""A longer pause between two annotations of one annotator ends a session."""


class Times(RowArrays, frozen=True, eq=False):
    """When N annotations were made."""

    seconds: FloatArray
    """(N,) float64. Seconds since 1970; NaN where unknown."""
    session: IntArray
    """(N,) int32. The annotator's session of work, counted from 0; -1 where unknown."""
    elapsed: FloatArray
    """(N,) float64. Seconds since the first annotation of the session."""
    step: FloatArray
    """(N,) float64. Seconds since the previous annotation of the session; NaN for the first."""


def times_of(seconds: FloatArray, annotator: IntArray) -> Times:
    """Return times with sessions, which end where an annotator makes a long pause."""
    known = np.flatnonzero(~np.isnan(seconds))
    order = known[np.lexsort((seconds[known], annotator[known]))]
    who, when = annotator[order], seconds[order]
    step = np.diff(when, prepend=np.nan)
    begins_annotator = np.diff(who, prepend=-1) != 0
    begins = begins_annotator | (step > GAP_SECONDS)
    number = np.cumsum(begins)
    # Sessions are numbered from 0 for each annotator.
    first_of_annotator = number[begins_annotator][np.cumsum(begins_annotator) - 1]
    session = np.full(len(seconds), -1, np.int32)
    elapsed, since_last = np.full((2, len(seconds)), np.nan)
    session[order] = number - first_of_annotator
    elapsed[order] = when - when[begins][number - 1]
    since_last[order] = np.where(begins, np.nan, step)
    return Times(seconds, session, elapsed, since_last)


EDGES = ("left", "top", "right", "bottom")
"""The edges of a box, in the order of tables."""


class Annotations(RowArrays, frozen=True, eq=False):
    """N annotations as columns, ordered by image, then annotator."""

    id: IndexArray
    """(N,) int64. The id in the file."""
    image: IntArray
    annotator: IntArray
    category: IntArray
    """(N,) int32. Indices into the tables of the `Dataset`."""
    bbox: FloatArray
    """(N, 4) float64. Boxes as x, y, width, height in pixels."""
    iscrowd: BoolArray
    """(N,) bool. Marks a group of objects drawn as one."""
    segmentation: Segmentations | None = None
    """Outlines; None where they were not read."""
    times: Times | None = None
    """When each annotation was made; None where times were not read."""
    own_id: ShownIds | None = None
    """(N,) str. The id that the annotation tool shows, or the place in its files; None where it
    equals `id`."""
    keypoints: Keypoints | None = None
    """Key points; None where they were not read."""
    rotated_box: FloatArray | None = None
    """(N, 5) float64. Centre x and y, width and height in pixels, and the angle of the width in
    degrees, clockwise from 0 up to 360; upright boxes have angle 0. None where they were not read.
    """
    track: IntArray | None = None
    """(N,) int32. Index into the tracks of the `Dataset`, -1 for annotations outside tracks. None
    where tracks were not read."""
    score: FloatArray | None = None
    """(N,) float64. The scores of predictions, NaN where there is none; None where they were not
    read."""
    place: IndexArray | None = None
    """(N,) int64. The position of each prediction in its file, from 0; None without scores."""

    def __repr__(self) -> str:
        return f"<Annotations: {len(self):,}>"

    def shown_ids(self, index: IndexArray | list[int]) -> list[str]:
        """Return the ids of the annotations at `index` as their tool shows them."""
        ids = self.id if self.own_id is None else self.own_id
        return [str(each) for each in ids[index].tolist()]


class Tracks(FrozenArrays, frozen=True, eq=False):
    """T tracks, each of one annotator in one video."""

    names: tuple[str, ...]
    """The id of each track in its file."""
    video: IntArray
    """(T,) int32. The video of each track, as an index into `videos`."""
    videos: tuple[str, ...]
    """The ids of videos, or the folders of their frames; "" where neither is known."""


Role = Literal["annotations", "predictions", "reference"]
"""Whether a file holds annotations, a reference, or predictions."""


class Source(msgspec.Struct, frozen=True):
    """A file: its name as the user gave it, its size in bytes and its BLAKE2b digest.

    The digest is None if no results are written, since only these contain it.
    """

    name: str
    size: int
    blake2b: str | None
    role: Role = "annotations"
    annotator: str | None = None
    """The annotator that the user assigned the file to."""
    score: float | None = None
    """The lowest score of results that count; None where a file has none."""


class Dataset(FrozenArrays, frozen=True, eq=False):
    """Images annotated by several annotators."""

    image_names: tuple[str, ...]
    """One per image, sorted; the file name, or the id where there is no file name."""
    image_size: IntArray
    """(I, 2) int32. Width and height in pixels; 0 where unknown."""
    category_names: tuple[str, ...]
    annotator_names: tuple[str, ...]
    """Sorted by name; numbers in annotator names are compared as numbers."""
    annotations: Annotations
    """All annotations, ordered by image, then annotator."""
    assigned: BoolArray
    """(I, A) bool. Which annotators were asked to annotate which images."""
    attribution: str = ""
    """How the annotator of each annotation was found; empty where the files name no annotators."""
    sources: tuple[Source, ...] = ()
    """The files that were read."""
    notes: tuple[str, ...] = ()
    """Notes on the data for the reader of a result."""
    headlines: tuple[str, ...] = ()
    """Facts that may make a result useless, to be read before it."""
    left_out: tuple[str, ...] = ()
    """The notes on files that were not read, and why."""
    map_notes: Mapping[str, str] = msgspec.field(default_factory=dict)
    """The note on each name in a category map that is no category."""
    unlisted: BoolArray | None = None
    """(I,) bool. The images that do not list who was asked; for these, `assigned` has the
    annotators who annotated them."""
    repeats: "Repeats | None" = None
    """Annotations of images that an annotator annotated in two or more sessions."""
    is_pseudonymous: bool = False
    """Whether annotators have pseudonyms; if so, records of the files are not passed on."""
    has_text_ids: bool = False
    """Whether annotation ids are text; if so, `own_id` has them, and `id` has numbers in their
    place."""
    joint_names: tuple[tuple[str, ...], ...] = ()
    """The names of the key points of each category, or numbers where the files have no names; empty
    where key points were not read."""
    joint_sigmas: tuple[tuple[float, ...], ...] = ()
    """The OKS sigma of each key point, by category; empty for COCO's own sigmas."""
    limbs: tuple[tuple[tuple[int, int], ...], ...] = ()
    """The pairs of key points that a drawing joins by lines, by category, as indices into
    `joint_names`."""
    tracks: Tracks | None = None
    """The tracks of annotations; None where they were not read."""
    reading: Choices = NO_CHOICES
    """What the user said about the files, by option, such as ``{"voc_base": "0"}``."""

    def __repr__(self) -> str:
        return (
            f"<Dataset: {count(len(self.image_names), 'image')}, "
            f"{count(len(self.annotator_names), 'annotator')}, "
            f"{count(len(self.annotations), 'annotation')}, "
            f"categories: {len(self.category_names):,}>"
        )

    def _repr_html_(self) -> str:
        from html import escape

        of, tables = self.annotations, []
        for what, names, codes, more in (
            ("annotator", self.annotator_names, of.annotator, {"images": self.assigned.sum(0)}),
            ("category", self.category_names, of.category, {}),
        ):
            columns = {what: Categorical(np.arange(len(names), dtype=np.int32), names), **more}
            counts = np.bincount(codes, minlength=len(names)).astype(np.int64)
            tables.append(Table({**columns, "annotations": counts}))
        order = np.argsort(-tables[1]["annotations"], kind="stable")
        head = repr(self).strip("<>").removeprefix("Dataset: ")
        notes = "".join(f"<li>{escape(note)}</li>" for note in (*self.headlines, *self.notes))
        shown = html_table(tables[0], 20) + html_table(tables[1].take(order), 20)
        return f"<p>{escape(head)}</p>{shown}<ul>{notes}</ul>"


class Repeats(FrozenArrays, frozen=True, eq=False):
    """Images that one annotator annotated in two or more sessions."""

    sessions: Dataset
    """One image for each pair of an image and an annotator; its annotators are the first session,
    the second session, and so on."""
    image: IntArray
    annotator: IntArray
    """(R,) int32. The image and annotator of each image of `sessions`, as indices into the tables
    of the whole data set."""


_Limbs = tuple[tuple[int, int], ...]


def joints_of(
    categories: Sequence[str], datasets: Sequence[Dataset]
) -> tuple[tuple[tuple[str, ...], ...], tuple[_Limbs, ...]]:
    """Return the names of the key points of each category, and the pairs that lines join."""
    names: dict[str, tuple[str, ...]] = {}
    limbs: dict[str, _Limbs] = {}
    for data in datasets:
        parts = zip(data.category_names, data.joint_names, data.limbs, strict=False)
        for category, joints, lines in parts:
            if len(joints) > len(names.get(category, ())):
                names[category], limbs[category] = joints, lines
    if not any(data.joint_names for data in datasets):
        return (), ()
    return (
        tuple(names.get(category, ()) for category in categories),
        tuple(limbs.get(category, ()) for category in categories),
    )
