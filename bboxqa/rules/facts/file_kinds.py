"""The kind of a COCO file by its records, the rules for each kind, and the tool that wrote it."""

import re
from collections.abc import Iterable
from functools import lru_cache

import msgspec

from bboxqa.formats.column_builder import are_of_cvat
from bboxqa.rules.facts.document import Document

# Number of records to examine, and of bytes of a list of licences.
_SAMPLE, _LICENCES = 20, 4096


class FileKind(msgspec.Struct, frozen=True):
    """A kind of file with all or some of COCO's lists."""

    name: str
    """The name in messages; "" for annotations of objects."""
    rules: tuple[str, ...]
    left_out: tuple[str, ...] = ()
    """Prefixes of the codes of rules that apply, and that do not apply; the longest matching prefix
    decides."""
    required: tuple[str, ...] = ("id", "image_id", "category_id", "bbox")
    """The keys that each annotation needs, apart from keys that depend on each other."""
    lists: tuple[str, ...] = ("images", "annotations", "categories")
    """The lists that the file needs."""
    is_measured: bool = False
    """Whether agreement can be measured, as annotations have boxes and categories."""
    is_of_truth: bool = False
    """Whether the images and categories are in another file, the ground truth of the results."""

    def has_rule(self, code: str) -> bool:
        """Return whether a rule applies to this kind of file; rules of other packages always do."""
        return code[0] not in _FAMILIES or is_selected(code, self.rules, self.left_out)


# The first letters of the rules of this package.
_FAMILIES = "ABCDEFGIKMOPQRST"
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
    "results of COCO captions", (*_RESULTS, "S014"), ("F006",),
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


def kind_of(document: Document) -> FileKind:
    """Return the kind of a file; `OBJECTS` if it does not look like another kind.

    Examples
    --------
    >>> from bboxqa.formats.scanner import read_bytes
    >>> text = b'[{"image_id": 1, "category_id": 2, "bbox": [1, 2, 3, 4], "score": 0.5}]'
    >>> kind_of(Document(read_bytes(text, "detections.json"))).name
    'COCO results'
    """
    return document.once(_kind)


def _kind(document: Document) -> FileKind:  # noqa: PLR0911
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
_MARKS = (
    ("contributor", "label studio converter", "Label Studio Converter"),
    ("contributor", "label studio", "Label Studio"),
    ("contributor", "supervisely", "Supervisely"),
    ("description", "vgg image annotator", "VIA"),
    ("description", "exported from fiftyone", "FiftyOne"),
    ("description", "roboflow", "Roboflow"),
    ("description", "converted from supervisely", "Supervisely"),
    ("url", "vgg/software/via", "VIA"),
    ("url", "voxel51.com/fiftyone", "FiftyOne"),
    ("url", "roboflow", "Roboflow"),
)
"""Texts in the keys of `info` by which tools are known."""


def exporter(document: Document) -> str | None:
    """Return the tool that wrote a file, as the file says; None if it does not.

    Examples
    --------
    >>> from bboxqa.formats.scanner import read_bytes
    >>> text = b'{"info": {"contributor": "Label Studio"}, "images": []}'
    >>> exporter(Document(read_bytes(text, "result.json")))
    'Label Studio'
    """
    info = document.top.get("info")
    info = info if isinstance(info, dict) else {}
    for key, mark, tool in _MARKS:
        if mark in str(info.get(key) or "").lower():
            return tool
    names = document.images.texts("file_name")[:_SAMPLE]
    if names and all(_ROBOFLOW_NAME.search(name) for name in names):
        return "Roboflow"
    _, start, stop = document.reading.spans.get("licenses", (0, 0, _LICENCES + 1))
    is_blank = stop - start <= _LICENCES and all(info.get(key) == "" for key in _BLANK_INFO)
    if not is_blank or document.locator.value("licenses", 0) != _NO_LICENCE:
        return None
    occluded = len(document.annotations) and are_of_cvat(document.record(0).get("attributes"))
    return "CVAT" if occluded else "Datumaro"


def prefixes(codes: Iterable[str]) -> list[str]:
    """Return prefixes of codes, normalised for comparison."""
    return [code.strip().upper() for code in codes]


@lru_cache(4096)
def is_selected(code: str, selected: tuple[str, ...], ignored: tuple[str, ...]) -> bool:
    """Return whether the longest prefix of a code is a selected one rather than an ignored one.

    Examples
    --------
    >>> is_selected("B001", ("B",), ("B001",)), is_selected("B002", (), ("B001",))
    (False, True)
    """
    return _longest(prefixes(selected) or [""], code) > _longest(prefixes(ignored), code)


def _longest(given: Iterable[str], code: str) -> int:
    return max((len(prefix) for prefix in given if code.startswith(prefix)), default=-1)
