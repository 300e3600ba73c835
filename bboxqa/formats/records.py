"""Records of images and categories, what is read of files, and the annotations of one file."""

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import numpy as np

from bboxqa.core.arrays import (
    BoolArray,
    FloatArray,
    IndexArray,
    IntArray,
    RowArrays,
    TextArray,
    find,
)
from bboxqa.core.text import clean
from bboxqa.formats.columns import Columns
from bboxqa.formats.source import SourcePath
from bboxqa.model.annotations import NO_CHOICES, Choices, Source
from bboxqa.model.keypoints import Keypoints
from bboxqa.model.masks import Segmentations
from bboxqa.model.settings import AgreeSettings
from bboxqa.model.table import ShownIds, id_as_name

ANNOTATOR_KEYS = (
    "annotator",
    "annotator_id",
    "rater",
    "rater_id",
    "created_by",
    "attributes.annotator",
)
"""The keys that may name the annotator of an annotation, in order of preference."""

ASKED_KEYS = ("rater_list", "annotators")
"""The keys that may list the annotators of an image, in order of preference."""

UNNAMED = "(not named)"
"""The annotator of annotations that name nobody."""
LISTS = ("images", "annotations", "categories")
"""The lists of records in a COCO file."""

ID_KEYS = ("id", "image_id", "category_id")
"""The keys of an annotation that hold ids."""

_MOST_JOINTS, _JOINTS_EACH = 2_000_000, 20

Id = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)] | str
# Programs other than ours may store values of any type under these keys.
Loose = int | float | str | bool | list[Any] | dict[str, Any] | None


class Image(msgspec.Struct, gc=False):
    """An image record."""

    id: Id
    file_name: str | None = None
    width: float | None = None
    height: float | None = None
    annotator: Loose = None
    rater_list: list[Any] | dict[str, Any] | None = None
    annotators: list[Any] | dict[str, Any] | None = None

    @property
    def label(self) -> str:
        """The name of the image: its file name, or its id if it has no file name."""
        return clean(self.file_name or id_as_name(self.id))


class Category(msgspec.Struct, gc=False):
    """A category record."""

    id: Id
    name: str
    keypoints: Loose = None
    skeleton: Loose = None
    isthing: Loose = None


def most_joints(n_given: int) -> int:
    """Return how many joints lists may have with those that they omit, if `n_given` are given."""
    return max(_MOST_JOINTS, _JOINTS_EACH * n_given)


def whole_number(value: object) -> int | None:
    """Return an id as an integer; None if it is not a whole number."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    elif isinstance(value, str) and value.isascii() and value.removeprefix("-").isdigit():
        value = int(value) if len(value) < 20 else None
    if isinstance(value, int) and not isinstance(value, bool) and -(2**63) <= value < 2**63:
        return value
    return None


def is_id(value: object) -> bool:
    """Return whether a value is an id: a whole number in any notation, or a text."""
    return whole_number(value) is not None or (isinstance(value, str) and value.strip() != "")


@lru_cache(1 << 16)
def _text_number(text: str) -> int:
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, signed=True) or 1


def id_number(value: object) -> int:
    """Return an integer for an id: whole numbers in any notation as they are, else a 64-bit hash.

    Values that are not ids get 0.
    """
    number = whole_number(value)
    if number is not None:
        return number
    return _text_number(str(value)) if isinstance(value, str | float) else 0


def ids_of(records: Sequence[Image | Category]) -> IndexArray:
    """Return the `id_number` of each record, (N,) int64."""
    ids: list[Any] = [each.id for each in records]
    numbers = ids if set(map(type, ids)) <= {int} else map(id_number, ids)
    return np.fromiter(numbers, np.int64, len(records))


def annotator_name(value: object) -> str:
    """Return the name of an annotator as text, from a value of any type."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return clean(json.dumps(value, ensure_ascii=False))


def extent_of(keypoints: Sequence[float]) -> list[float] | None:
    """Return the box around the labelled key points; None if there are none."""
    points = zip(keypoints[::3], keypoints[1::3], keypoints[2::3], strict=False)
    labelled = [(x, y) for x, y, visibility in points if visibility > 0]
    if not labelled:
        return None
    columns = [*zip(*labelled, strict=True)]
    (left, top), (right, bottom) = map(min, columns), map(max, columns)
    return [left, top, right - left, bottom - top]


@lru_cache
def image_type(keys: Sequence[str]) -> type[Image]:
    """Return the type of image records with a field for each key other than annotator keys."""
    added = [
        (image_field(key), Loose, msgspec.field(default=None, name=key))
        for key in dict.fromkeys(keys)
        if key not in ANNOTATOR_KEYS and image_field(key) != key
    ]
    if not added:
        return Image
    result: Any = msgspec.defstruct("KeyedImage", added, bases=(Image,), gc=False)
    return result  # type: ignore[no-any-return]


def image_field(key: str) -> str:
    """Return the field of an image record for a top-level key."""
    known = key in Image.__struct_fields__
    return key if known else f"key_{key.encode('utf-8', 'surrogatepass').hex()}"


LOWEST_SCORE = 0.5
"""The default of the lowest score of results that count."""


FILE = "file"
"""The value of the session key that makes each file a session."""
ByFiles = Literal["all", "any", "typed", "none"]
VIDEO_KEY = "video_id"
"""The key of image records that names the video."""
TRACK_KEYS = ("track_id", "instance_id", "attributes.track_id", "attributes.track")
"""The keys that may name the track of an annotation, in order of preference."""


class ReadSettings(AgreeSettings, frozen=True, kw_only=True):
    """What is read of files besides ids, boxes and crowds, and how files are joined to a data set.

    Formats read what the fields from `outlines` to `choices` and `keys` say; see `bboxqa.read`.
    """

    outlines: bool = True
    """Whether to read polygons and masks."""
    keypoints: bool = False
    """Whether to read key points, also of annotations that have no box."""
    rotated: bool = False
    """Whether to read rotated boxes."""
    scores: bool = False
    """Whether to read the scores of predictions."""
    score: float = LOWEST_SCORE
    """The lowest score of results that count."""
    tables: bool = False
    """Whether files without a list of annotations are read, for their images and categories."""
    records: bool = False
    """Whether to keep the records with all their keys."""
    on_records: Callable[[Sequence[Mapping[str, Any]]], None] | None = None
    """Called with annotations with all their keys, a few thousand at a time."""
    whole: bool = False
    """Whether to read all that rules examine, and to keep the text."""
    digest: bool = True
    """Whether to compute the digest of a single file."""
    progress: Callable[..., None] | None = None
    """Called as ``progress(stage, done, total)``, by formats as ``progress(done, total)`` with
    bytes."""
    choices: Choices = NO_CHOICES
    """What the user supplies about the files."""
    min_annotators: int = 2
    by_files: ByFiles = "any"
    """Where one annotator is enough: which files may be people if they share images."""
    within: Path | None = None
    """The one folder of all files."""
    refuse_equal: bool = False
    """Whether images of equal names in files that name nobody are refused."""
    predictions: Path | None = None
    """A file of results, whose annotator is called like the file."""
    truth: Path | None = None
    """The file whose images and categories lists of results take if no other file has them."""
    pseudonyms: Path | None = None
    check: Callable[..., None] | None = None
    """Called with the files and the attribution. It raises an error for files that must not be
    measured."""
    on_joined: Callable[..., None] | None = None
    """Called with the files, the attribution, the rows of their annotations, and a note on work of
    one annotator in several records of an image."""

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys to look at: of the annotator, the session, the time and the track."""
        keys = [*ANNOTATOR_KEYS] if self.annotator_key is None else [self.annotator_key]
        keys += filter(None, (self.session_key, self.time_key))
        keys += (*TRACK_KEYS, VIDEO_KEY) if self.tracks else ()
        return tuple(dict.fromkeys(keys))


EVERYTHING = ReadSettings()
WHOLE = ReadSettings(keypoints=True, rotated=True, whole=True)
"""What rules read of a file."""


class Authors(RowArrays, frozen=True, eq=False):
    """The value of one key of each annotation, such as its annotator."""

    shared = frozenset({"names", "composed"})
    code: IntArray
    """(N,) int32. Index into `names`; -1 where the key is absent."""
    names: tuple[str, ...]
    """Distinct names."""
    composed: frozenset[str] = frozenset()
    """The names that are lists or objects in the file."""


class FileColumns(RowArrays, frozen=True, eq=False):
    """The annotations of one file, in its order, with ids as in the file."""

    shared = frozenset({"marks"})
    id: IndexArray
    image_id: IndexArray
    category_id: IndexArray
    """(N,) int64."""
    bbox: FloatArray
    """(N, 4) float64. x, y, width, height in pixels."""
    iscrowd: BoolArray
    """(N,) bool."""
    authors: dict[str, Authors]
    """By key: the keys that may name the annotator, and the keys of session and time if requested.
    """
    segmentation: Segmentations | None
    """None where outlines were not read."""
    marks: Counter[str]
    """The number of annotations that a machine created first, by the key that says so."""
    keypoints: Keypoints | None = None
    """None where key points were not read."""
    text_ids: TextArray | None = None
    """(N,) str. The ids as text, if some are not numbers; `id` then has numbers in their place."""
    rotated: FloatArray | None = None
    """(N, 5) float64. Centre x and y, width, height, and angle in degrees; None where rotated boxes
    were not read."""
    score: FloatArray | None = None
    """(N,) float64. NaN where an annotation has none; None where scores were not read."""


class AnnotationFile(msgspec.Struct, frozen=True, eq=False, dict=True):
    """One file: its image and category records, and its annotations as columns."""

    source: Source
    images: list[Image]
    categories: list[Category]
    columns: FileColumns
    notes: tuple[str, ...] = ()
    """Notes on what was left out, and how the rest was read."""
    named_by: str = ""
    """How the format names annotators, such as "completed_by"; "" for COCO."""
    title: str = ""
    """The format, such as "YOLO labels"; "" for COCO."""
    lists_images: bool = True
    """Whether the format has records of images, so that those without annotations are known."""
    numbers_categories: bool = False
    """Whether the format has category names only, so that the reader has numbered them."""
    own_ids: ShownIds | None = None
    """(N,). What annotations are found by; None where these are the ids of the columns."""
    numbered_images: Mapping[str, str] = msgspec.field(default_factory=dict)
    """The digest of the data of each task by whose number an image is named, by that name."""
    n_apart: Mapping[str, int] = msgspec.field(default_factory=dict)
    """The number of annotations without a box by shape, such as "polyline"; not in `columns`."""
    records: Literal["annotations", "segments", "results"] = "annotations"
    """What the file lists: annotations; segments of panoptic COCO, whose outlines are in PNG files;
    or results, whose images and categories are those of another file, or known by id only.
    """
    n_below: int = 0
    """The number of results that are left out, since their score is too low."""
    nobody_notes: tuple[str, ...] = ()
    """Notes on annotations that name nobody; untrue where each file is by one annotator."""
    repeat_notes: tuple[str, ...] = ()
    """Notes on images that someone annotated again; a conversion lists these as losses."""
    sample: Columns | None = None
    """Some of the annotations with all that rules examine, of COCO JSON."""
    lists: Mapping[str, Any] | None = None
    """The COCO lists of records with all their keys, if these were asked for. Formats of tools also
    have `apart`, the annotations without a box, and `repeats`, the places of annotations that are
    left out, by someone who had annotated the image before.
    """
    path: SourcePath = SourcePath()
    """What was read; `source.name` may have pseudonyms."""
    person: str = ""
    """The annotator, if the file is by one."""

    @cached_property
    def image_names(self) -> set[str]:
        """The file names of the images."""
        return {image.file_name for image in self.images if image.file_name}

    @cached_property
    def image_ids(self) -> IndexArray:
        """(I,) int64. The `id_number` of each image record."""
        return ids_of(self.images)

    @cached_property
    def image_rows(self) -> IndexArray:
        """(N,) int64. The image record of each annotation; -1 for none."""
        return find(self.image_ids, self.columns.image_id)

    @cached_property
    def category_rows(self) -> IndexArray:
        """(N,) int64. The category record of each annotation; -1 for none."""
        return find(ids_of(self.categories), self.columns.category_id)

    @cached_property
    def image_sizes(self) -> FloatArray:
        """(I, 2) float64. Width and height of each image record; 0 where they are missing."""
        sizes = [(image.width or 0, image.height or 0) for image in self.images]
        return np.array(sizes, np.float64).reshape(-1, 2)

    @cached_property
    def image_labels(self) -> list[str]:
        """The name of the image of each record."""
        names = [image.file_name or id_as_name(image.id) for image in self.images]
        return names if "".join(names).isprintable() else [*map(clean, names)]

    @property
    def shown_ids(self) -> ShownIds:
        """The ids of annotations for messages, as text where the file or its tool uses text."""
        if self.own_ids is not None:
            return self.own_ids
        return self.columns.id if self.columns.text_ids is None else self.columns.text_ids
