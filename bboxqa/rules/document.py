"""The document that rules check: its records as columns, the kind of file, and its tool."""

import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar, TypeVarTuple

import msgspec
import numpy as np
from msgspec.structs import replace

from bboxqa.core.arrays import BoolArray, FloatArray, IndexArray, IntArray, find, remembered, sum_by
from bboxqa.formats.column_builder import ColumnsBuilder, are_of_cvat
from bboxqa.formats.columns import MISSING, Form, Kind, kinds_of
from bboxqa.formats.document import RawDocument
from bboxqa.formats.records import ANNOTATOR_KEYS, id_number, whole_number
from bboxqa.rules.layout import has_rings, outline_bounds

if TYPE_CHECKING:
    from bboxqa.formats.positions import Locator
    from bboxqa.rules.pictures import ImageFolder

_Value = TypeVar("_Value")
_Key = TypeVarTuple("_Key")


class Records:
    """Images or categories as columns: `values` are the records as in the file, of any type.

    `id` is an integer, also of "7" and 7.0; other texts and fractions get a large one of their own.
    `whole` says whether it is a whole number in any notation, `named` whether there is an id.
    """

    def __init__(self, values: Sequence[Any]) -> None:
        self.values = values
        self._texts: dict[str, list[str]] = {}
        self.is_object = np.array([isinstance(value, dict) for value in values], np.bool_)
        raw = [value.get("id", MISSING) if isinstance(value, dict) else MISSING for value in values]
        self.kind = kinds_of(raw, {*map(type, raw)})
        self.id: IndexArray = np.array([id_number(value) for value in raw], np.int64)
        self.whole: BoolArray = np.array([whole_number(v) is not None for v in raw], np.bool_)
        self.named: BoolArray = self.whole | (self.id != 0)

    def __len__(self) -> int:
        return len(self.values)

    def get(self, row: int, key: str) -> Any:
        """Return the value of a key; None if the row is -1, or no object, or lacks the key."""
        value = self.values[row] if row >= 0 else None
        return value.get(key) if isinstance(value, dict) else None

    def texts(self, key: str) -> list[str]:
        """Return the texts of a key, (I,); "" where the value is not text, or blank."""
        if key not in self._texts:
            raw = (v.get(key) if isinstance(v, dict) else None for v in self.values)
            self._texts[key] = [v if isinstance(v, str) and v.strip() else "" for v in raw]
        return self._texts[key]

    def find(self, ids: IndexArray) -> IndexArray:
        """Return the row of the first record with each id, (N,) int64; -1 for none."""
        rows = np.flatnonzero(self.named)
        place = find(self.id[rows], ids)
        return np.where(place < 0, -1, rows[place]) if len(rows) else place


def first_rows(keys: Iterable[Hashable | None]) -> IndexArray:
    """Return the first row with the key of each row, (N,) int64; -1 where the key is None."""
    seen: dict[Hashable, int] = {}
    rows = [-1 if key is None else seen.setdefault(key, row) for row, key in enumerate(keys)]
    return np.array(rows, np.int64)


def following(values: FloatArray, offsets: IndexArray) -> FloatArray:
    """Return the value of the next vertex in the ring, for each vertex."""
    result = np.empty_like(values)
    result[:-1] = values[1:]
    filled = np.diff(offsets) > 0
    result[offsets[1:][filled] - 1] = values[offsets[:-1][filled]]
    return result


class Document:
    """One file, perhaps with its images on disk: columns for several rules, each computed once.

    `truth` is the file whose images and categories a list of results refers to; `records` are
    images and categories, if they were made before.
    """

    def __init__(
        self,
        reading: RawDocument,
        disk: "ImageFolder | None" = None,
        truth: RawDocument | None = None,
        records: "tuple[Records, Records] | None" = None,
    ) -> None:
        self.reading, self.disk, self.truth = reading, disk, truth
        self.name = reading.name
        self.top: Mapping[str, Any] = reading.top if isinstance(reading.top, dict) else {}
        """The document without its records; empty if it is not an object."""
        source = truth or reading
        self.images, self.categories = records or (
            Records(source.images),
            Records(source.categories),
        )
        named = (("images", self.images), ("categories", self.categories))
        self.lists: tuple[tuple[str, Records], ...] = () if truth is not None else named
        """The images and categories of this file itself, not of the file that results refer to."""
        columns = self.annotations = reading.annotations
        image = self.images.find(columns.image_id)
        self.image: IndexArray = np.where(columns.named("image_id"), image, -1)
        """(N,) int64. The image of each annotation, as a row of `images`; -1 for none."""
        category = self.categories.find(columns.category_id)
        self.category: IndexArray = np.where(columns.named("category_id"), category, -1)
        """(N,) int64. The category of each annotation, as a row of `categories`; -1 for none."""
        self.references = {
            "image_id": (self.images, columns.image_id, self.image),
            "category_id": (self.categories, columns.category_id, self.category),
        }
        """The records that keys of annotations refer to, the ids as integers, and the rows."""
        self.is_object: BoolArray = columns.record == Kind.DICT
        """(N,) bool. Whether the record is an object with keys."""
        self.outlined: BoolArray = ~np.isin(columns.form, (Form.ABSENT, Form.EMPTY))
        """(N,) bool. Whether there is an outline, in whatever form."""
        self.has_rings = has_rings(columns)
        """(N,) bool. Whether the outline consists of rings of at least 3 points each."""
        self.has_box: BoolArray = (columns.bbox[:, 2] > 0) & (columns.bbox[:, 3] > 0)
        """(N,) bool. Whether the box is four finite numbers with width and height above 0."""
        objects = [value if isinstance(value, dict) else {} for value in self.images.values]
        sides: list[list[Any]] = [[each.get("width"), each.get("height")] for each in objects]
        known = [[v if type(v) in (int, float) and 0 < v < 1e18 else np.nan for v in each]
                 for each in sides]  # fmt: skip
        self.image_size: FloatArray = np.array(known, np.float64).reshape(-1, 2)
        """(I, 2) float64. Width and height in pixels; NaN where unknown."""
        self.size: FloatArray = np.vstack([self.image_size, [[np.nan, np.nan]]])[self.image]
        """(N, 2) float64. Width and height of the image of each annotation; NaN where unknown."""
        with np.errstate(over="ignore", invalid="ignore"):
            self.box_area: FloatArray = columns.bbox[:, 2] * columns.bbox[:, 3]
            """(N,) float64. Width times height of each box in square pixels; inf if too large."""
        self.outline_bounds: FloatArray = outline_bounds(columns, self.size)
        """(N, 4) float64. Left, top, right and bottom of each valid outline; NaN for others."""
        keys = (key for key in ANNOTATOR_KEYS if (columns.annotator[key] >= 0).any())
        self.annotator_key: str | None = next(keys, None)
        """The key under which annotations name their annotator; None if they do not."""
        self.annotator_at = f"annotations/{self.annotator_key or ''}".replace(".", "/")
        """The same as a place, such as "annotations/attributes/annotator"."""
        self.annotator: IntArray = np.full(len(columns), -1, np.int32)
        """(N,) int32. The annotator of each annotation, an index into `annotator_names`; or -1."""
        if self.annotator_key is not None:
            self.annotator = columns.annotator[self.annotator_key]
        self._made: dict[tuple[Hashable, ...], Any] = {}

    def without_annotations(self) -> "Document":
        """Return the same file with the names of its annotators alone, which need little memory."""
        names = self.annotations.annotator_names
        annotations = replace(ColumnsBuilder().done(), annotator_names=names)
        reading = replace(self.reading, annotations=annotations)
        return Document(reading, self.disk, self.truth, (self.images, self.categories))

    @cached_property
    def locator(self) -> "Locator":
        """Finds the positions of records in the text."""
        from bboxqa.formats.positions import Locator

        return Locator(self.reading)

    def n_records(self, name: str) -> int:
        """Return the length of a list."""
        lists = {"images": self.images, "categories": self.categories}
        return len(lists.get(name, self.annotations))

    def complete(self, name: str) -> bool:
        """Return whether a list exists and was read to its end, so references can be checked."""
        reading = self.reading if name == "annotations" else self.truth or self.reading
        if name not in reading.sections:
            return False
        return not reading.stopped or reading.spans[name][1] < len(reading.text)

    def record(self, row: int) -> dict[str, Any]:
        """Return an annotation as in the file; empty if it is not an object."""
        value = self.locator.value("annotations", row)
        return value if isinstance(value, dict) else {}

    def ids(self, row: int) -> dict[str, Any]:
        """Return the ids of an annotation, and its annotator, by kind of record."""
        record = self.record(row)
        named = {"annotation": "id", "image": "image_id", "category": "category_id"}
        found = {name: record[key] for name, key in named.items() if key in record}
        origin = self.reading.origin
        if origin is not None and record:
            found["annotation"] = record.get("own_id") or origin.place_of(row)
        annotator = self.annotator[row]
        if annotator >= 0:
            found["annotator"] = self.annotations.annotator_names[annotator]
        return found

    def once(self, make: "Callable[[Document, *_Key], _Value]", *key: *_Key) -> _Value:
        """Return ``make(document, *key)``, computed once per document and combination of keys."""
        if (make, *key) not in self._made:
            self._made[make, *key] = make(self, *key)
        value: _Value = self._made[make, *key]
        return value

    @cached_property
    def outline_area(self) -> FloatArray:
        """(N,) float64. The area of each valid outline, the sum over its rings; NaN for others."""
        columns, rings = self.annotations, self.annotations.rings
        offsets = rings.offsets
        owner = np.repeat(np.arange(len(rings.row)), np.diff(offsets))
        # Relative to the first vertex, as products of large numbers lose significant digits.
        with np.errstate(over="ignore", invalid="ignore"):
            x, y = (axis - axis[offsets[owner]] for axis in np.ascontiguousarray(rings.xy.T))
            cross = x * following(y, offsets) - following(x, offsets) * y
        of_ring = np.abs(sum_by(owner, cross, len(rings.row)) / 2)
        area = sum_by(rings.row, of_ring, len(columns))
        area[~self.has_rings] = np.nan
        sound = columns.rles.problem == 0
        area[columns.rles.row[sound]] = columns.rles.area[sound]
        return area


# Number of records to examine.
_SAMPLE = 20


class FileKind(msgspec.Struct, frozen=True):
    """A kind of file with all or some of COCO's lists."""

    name: str
    """The name in messages; "" for annotations of objects."""
    rules: tuple[str, ...]
    left_out: tuple[str, ...] = ()
    """Prefixes of codes of rules that apply, and that do not; the longest one decides."""
    required: tuple[str, ...] = ("id", "image_id", "category_id", "bbox")
    """The keys that each annotation needs, apart from keys that depend on each other."""
    lists: tuple[str, ...] = ("images", "annotations", "categories")
    is_measured: bool = False
    is_of_truth: bool = False


_OTHER_KINDS = ("E", "G", "T")
"""Families of rules about annotations other than objects."""
_OF_OBJECTS = {"bbox", "segmentation", "keypoints", "area", "iscrowd"}
_IMAGES = ("F", "S", "I002", "I004", "I006", "M")
_OBJECTS_ONLY = ("S005", "S006", "S010", "S011", "S012", "S015")
_RESULTS = ("F", "S002", "S003", "S009", "S016", "I004")

OBJECTS = FileKind("", ("",), _OTHER_KINDS, is_measured=True)
LVIS = FileKind("LVIS", ("",), (*_OTHER_KINDS, "S005", "D003"), is_measured=True)
TAO = FileKind("TAO", ("",), _OTHER_KINDS, is_measured=True)
CAPTIONS = FileKind(
    "COCO captions", (*_IMAGES, "I001"), _OBJECTS_ONLY,
    required=("id", "image_id", "caption"), lists=("images", "annotations"),
)  # fmt: skip
PANOPTIC = FileKind(
    "panoptic COCO", (*_IMAGES, "C", "G"), (*_OBJECTS_ONLY, "C004", "M007"),
    required=("image_id", "file_name", "segments_info"), is_measured=True,
)  # fmt: skip
IMAGES = FileKind(
    "COCO image info, without annotations", (*_IMAGES, "I001", "C"),
    (*_OBJECTS_ONLY, "S002", "I004", "C004", "M007"), lists=("images",),
)  # fmt: skip
LABELS = FileKind(
    "COCO image labels", (*_IMAGES, "I001", "C"), _OBJECTS_ONLY,
    required=("id", "image_id", "category_id"),
)  # fmt: skip
VIDEOS = FileKind(
    "YouTube-VIS", ("F", "S004", "C"), ("C004",),
    lists=("annotations", "categories"),
)  # fmt: skip
RESULTS = FileKind(
    "COCO results",
    (*_RESULTS, "S006", "S010", "S015", "B001", "B002", "B005", "B006", "B007", "P", "R", "E"),
    ("F006", "R003", "R004"),
    required=("image_id", "category_id", "bbox"), lists=(), is_measured=True, is_of_truth=True,
)  # fmt: skip
CAPTION_RESULTS = FileKind(
    "results of COCO captions", _RESULTS, ("F006",),
    required=("image_id", "caption"), lists=(), is_of_truth=True,
)  # fmt: skip
PANOPTIC_RESULTS = FileKind(
    "results of panoptic COCO", (*_RESULTS, "G"),
    required=("image_id", "file_name", "segments_info"), lists=("annotations",), is_of_truth=True,
)  # fmt: skip
_OF_JSON = ("F", "S", "I")
"""Families of rules about the notation of COCO JSON."""
_LIST = FileKind("", ("F",))
_NO_RESULTS = FileKind("an empty list", ("F",), required=(), lists=(), is_of_truth=True)
_KEYS_OF_IMAGES = {"info", "licenses", "images", "categories", "type"}
"""The keys of a file with only images; other keys may be annotations under another name."""


@remembered
def kind_of(document: Document) -> FileKind:  # noqa: PLR0911
    """Return the kind of a file; `OBJECTS` if it does not look like another kind."""
    reading = document.reading
    if reading.origin is not None:
        title = reading.origin.title
        return FileKind(title, ("", "I007", "S016"), (*_OF_JSON, "E", "G"), is_measured=True)
    n = min(len(document.annotations), _SAMPLE) if "annotations" in reading.sections else 0
    keys = [{*document.record(row)} for row in range(n)]

    def have(key: str) -> bool:
        return 2 * sum(key in each for each in keys) > n

    if reading.is_results:
        results = CAPTION_RESULTS if have("caption") else RESULTS
        return results if keys and have("image_id") else _LIST if keys else _NO_RESULTS
    is_whole = not reading.stopped and "annotations" not in reading.spans
    if is_whole and len(document.images) and document.top.keys() <= _KEYS_OF_IMAGES:
        return IMAGES
    if {"tracks", "videos"} <= reading.spans.keys() and have("track_id"):
        return TAO
    if not any(each & {"bbox", "segmentation"} for each in keys):
        panoptic = PANOPTIC if "images" in reading.spans else PANOPTIC_RESULTS
        for key, kind in (("caption", CAPTIONS), ("segments_info", panoptic), ("bboxes", VIDEOS)):
            if have(key):
                return kind
        if have("category_id") and not any(each & _OF_OBJECTS for each in keys):
            return LABELS
    images = document.images.values[:_SAMPLE]
    marks = {"neg_category_ids", "not_exhaustive_category_ids"}
    is_lvis = all(isinstance(image, dict) and marks <= image.keys() for image in images)
    return LVIS if len(images) and is_lvis else OBJECTS


_NO_LICENCE = {"name": "", "id": 0, "url": ""}
_BLANK_INFO = ("contributor", "date_created", "description", "url", "version", "year")
_ROBOFLOW_NAME = re.compile(r"\.rf\.[0-9a-zA-Z]{20,}\.")
_MARKS = {
    "label studio converter": "Label Studio Converter", "label studio": "Label Studio",
    "supervisely": "Supervisely", "vgg image annotator": "VIA", "vgg/software/via": "VIA",
    "exported from fiftyone": "FiftyOne", "voxel51.com/fiftyone": "FiftyOne",
    "roboflow": "Roboflow",
}  # fmt: skip
"""Texts in `info` by which tools are known."""


def exporter(document: Document) -> str | None:
    """Return the tool that wrote a file, as the file says; None if it does not."""
    info = document.top.get("info")
    info = info if isinstance(info, dict) else {}
    said = " ".join(str(info.get(key)) for key in ("contributor", "description", "url")).lower()
    names = document.images.texts("file_name")[:_SAMPLE]
    if (tool := next((_MARKS[mark] for mark in _MARKS if mark in said), None)) is not None:
        return tool
    if names and all(_ROBOFLOW_NAME.search(name) for name in names):
        return "Roboflow"
    is_blank = all(info.get(key) == "" for key in _BLANK_INFO)
    if not is_blank or document.locator.value("licenses", 0) != _NO_LICENCE:
        return None
    occluded = len(document.annotations) and are_of_cvat(document.record(0).get("attributes"))
    return "CVAT" if occluded else "Datumaro"


def is_selected(code: str, selected: Sequence[str], ignored: Sequence[str]) -> bool:
    """Return whether the longest prefix of a code is a selected one rather than an ignored one."""
    chosen, left_out = (
        max((len(prefix) for prefix in given if code.startswith(prefix)), default=-1)
        for given in (selected or [""], ignored)
    )
    return chosen > left_out
