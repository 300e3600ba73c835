"""Recognising kinds of COCO files by their records, and choosing the rules for each kind."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from bboxqa.rules.facts.document import Document
from bboxqa.rules.selection import is_selected

# Number of records to examine, and number of sections above which a list counts as long.
_SAMPLE = 20
_LONG = 6


@dataclass(frozen=True, slots=True)
class FileKind:
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
_IMAGES = ("F", "S", "I002", "I004", "I005", "I006", "M")
_OBJECTS_ONLY = ("S005", "S006", "S010", "S011", "S012", "S015")
_RESULTS = ("F", "S002", "S003", "S009", "I004", "I005")

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
    "YouTube-VIS", ("F", "S004", "C", "I011", "I012"), ("C004",),
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


def _kind(document: Document) -> FileKind:
    if document.reading.origin is not None:
        return FileKind(
            document.reading.origin.title, ("", "I007"), (*_OF_JSON, "E", "G"), is_measured=True
        )
    return _kind_of_coco(document, list(_keys_of_annotations(document)))


def _kind_of_coco(document: Document, keys: list[set[str]]) -> FileKind:
    if document.reading.is_results:
        return _kind_of_results(keys)
    if _has_images_only(document):
        return IMAGES
    if {"tracks", "videos"} <= document.reading.spans.keys() and _have(keys, "track_id"):
        return TAO
    if not any("bbox" in each or "segmentation" in each for each in keys):
        panoptic = PANOPTIC if "images" in document.reading.spans else PANOPTIC_RESULTS
        for key, kind in (("caption", CAPTIONS), ("segments_info", panoptic), ("bboxes", VIDEOS)):
            if _have(keys, key):
                return kind
        if _have(keys, "category_id") and not any(each & _OF_OBJECTS for each in keys):
            return LABELS
    images = document.images.values[:_SAMPLE]
    marks = {"neg_category_ids", "not_exhaustive_category_ids"}
    is_lvis = all(isinstance(image, dict) and marks <= image.keys() for image in images)
    return LVIS if len(images) and is_lvis else OBJECTS


def _has_images_only(document: Document) -> bool:
    """Return whether a complete file has a list of images, and no possible list of annotations."""
    reading = document.reading
    return (
        not reading.stopped
        and "annotations" not in reading.spans
        and len(document.images) > 0
        and document.top.keys() <= _KEYS_OF_IMAGES
    )


def _kind_of_results(keys: list[set[str]]) -> FileKind:
    if not _have(keys, "image_id"):
        return _LIST if keys else _NO_RESULTS
    return CAPTION_RESULTS if _have(keys, "caption") else RESULTS


def _keys_of_annotations(document: Document) -> Iterator[set[str]]:
    """Yield the keys of a sample of annotations, from all parts of the file."""
    section = document.reading.sections.get("annotations")
    if section is None or not section.n:
        return
    # In a long list, only records with known positions are found quickly.
    rows = section.rows if len(section.rows) > _LONG else range(section.n)
    n_looked_at = _LONG if len(section.rows) > _LONG else _SAMPLE
    for place in np.unique(np.linspace(0, len(rows) - 1, n_looked_at).astype(int)).tolist():
        yield set(document.record(rows[place]))


def _have(keys: list[set[str]], key: str) -> bool:
    """Return whether most annotations have a key."""
    return 2 * sum(key in each for each in keys) > len(keys)
