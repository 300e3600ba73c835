"""Recognising the tool that wrote a file."""

import re
from collections.abc import Mapping
from typing import Any

from bboxqa.formats.column_builder import are_of_cvat
from bboxqa.rules.facts.document import Document

QUIRKS: Mapping[str, str] = {
    "CVAT": (
        "CVAT writes all keys of `info` and its one licence as empty texts, also the year, and "
        "numbers that licence 0."
    ),
    "Datumaro": (
        "Datumaro writes all keys of `info` and its one licence as empty texts, also the year, and "
        "numbers that licence 0. CVAT exports with it, and adds whether objects are occluded."
    ),
    "Label Studio": (
        "Label Studio writes no licences, numbers images, annotations and mostly categories from "
        "0, and gives an image one record for each of its annotators."
    ),
    "Label Studio Converter": (
        "Label Studio's converter of brushes and polygons writes no licences, numbers images and "
        "annotations from 0, and gives each contour of a mask an annotation of its own."
    ),
    "Roboflow": (
        "Roboflow puts a category before all others that is the supercategory of all of them and "
        "has no annotations, numbers from 0, and appends `.rf.` and a hash to file names."
    ),
    "VIA": (
        "The VGG Image Annotator uses the name of a region attribute as the supercategory, and "
        "writes width times height of the box as area, also for polygons."
    ),
    "Supervisely": (
        'Supervisely writes the text "None" where there is nothing, such as for licences, and '
        "keeps its own number of an image under `sly_id`."
    ),
    "FiftyOne": (
        "FiftyOne writes empty texts for the year and the version in `info`, null for unknown "
        "licences, addresses and supercategories, and width times height of the box as area; "
        "its earlier versions number categories from 0."
    ),
    "SAHI": (
        "SAHI, with which labelme2coco writes as well, leaves `info` and `licenses` out, and "
        "mostly repeats each category's name as its supercategory."
    ),
    "makesense.ai": (
        "makesense.ai writes only a description into `info`, neither licences nor supercategories, "
        "and numbers annotations from 0."
    ),
    "LabelMe": (
        "The script labelme2coco.py of LabelMe writes null for everything in `info` but the year "
        "and the date, null supercategories, and numbers from 0."
    ),
}
"""Known peculiarities of tools that are not defects."""

_NO_LICENCE = {"name": "", "id": 0, "url": ""}
_BLANK_INFO = ("contributor", "date_created", "description", "url", "version", "year")
_UNKNOWN_INFO = ("contributor", "description", "url", "version")
_ROBOFLOW_NAME = re.compile(r"\.rf\.[0-9a-zA-Z]{20,}\.")
# The keys of images and annotations that each tool writes, in order; None for any keys.
_KEYS: Mapping[str, tuple[list[str], list[str] | None]] = {
    "SAHI": (
        ["height", "width", "id", "file_name"],
        ["iscrowd", "image_id", "bbox", "segmentation", "category_id", "id", "area"],
    ),
    "makesense.ai": (
        ["id", "width", "height", "file_name"],
        ["id", "iscrowd", "image_id", "category_id", "segmentation", "bbox", "area"],
    ),
    "Label Studio": (
        ["width", "height", "id", "file_name"],
        ["id", "image_id", "category_id", "segmentation", "bbox", "ignore", "iscrowd", "area"],
    ),
    "FiftyOne": (["id", "file_name", "height", "width", "license", "coco_url"], None),
}
_MARKS = (
    (("vgg image annotator", "vgg/software/via"), "VIA"),
    (("exported from fiftyone", "voxel51.com/fiftyone"), "FiftyOne"),
    (("roboflow",), "Roboflow"),
    (("converted from supervisely",), "Supervisely"),
)
# Number of records to check.
_SAMPLE = 20
_LONG = 4096


def exporter(document: Document) -> str | None:
    """Return the tool that probably wrote a file, a key of `QUIRKS`; None if unknown.

    Examples
    --------
    >>> from bboxqa.formats.scanner import read_bytes
    >>> text = b'{"info": {"contributor": "Label Studio"}, "images": []}'
    >>> exporter(Document(read_bytes(text, "result.json")))
    'Label Studio'
    """
    info = document.top.get("info")
    info = info if isinstance(info, dict) else {}
    contributor = _text(info, "contributor").strip()
    described = f"{_text(info, 'description')} {_text(info, 'url')}".lower()
    if contributor in ("Label Studio", "Label Studio Converter", "Supervisely"):
        return contributor
    for marks, tool in _MARKS:
        if any(mark in described for mark in marks):
            return tool
    images = document.images
    names = [images.get(row, "file_name") for row in range(min(len(images), _SAMPLE))]
    if names and all(isinstance(name, str) and _ROBOFLOW_NAME.search(name) for name in names):
        return "Roboflow"
    if all(info.get(key) == "" for key in _BLANK_INFO) and _first_licence(document) == _NO_LICENCE:
        occluded = len(document.annotations) and are_of_cvat(document.record(0).get("attributes"))
        return "CVAT" if occluded else "Datumaro"
    unknown = all(key in info and info[key] is None for key in _UNKNOWN_INFO)
    if unknown and document.top.get("type") == "instances":
        return "LabelMe"
    return next((tool for tool in _KEYS if _has_keys(document, *_KEYS[tool])), None)


def _text(info: Mapping[str, Any], key: str) -> str:
    value = info.get(key)
    return value if isinstance(value, str) else ""


def _first_licence(document: Document) -> object:
    _, start, stop = document.reading.spans.get("licenses", (0, 0, _LONG + 1))
    return document.locator.value("licenses", 0) if stop - start <= _LONG else None


def _has_keys(document: Document, of_image: list[str], of_annotation: list[str] | None) -> bool:
    """Return whether images, and the first annotation, have these keys in this order."""
    images = document.images.values[:_SAMPLE]
    if not images or not all(isinstance(i, dict) and list(i) == of_image for i in images):
        return False
    return of_annotation is None or (
        len(document.annotations) > 0 and list(document.record(0)) == of_annotation
    )
