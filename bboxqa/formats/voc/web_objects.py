"""Objects in XML of the LabelMe web tool, which CVAT also writes ("LabelMe 3.0")."""

import re

from bboxqa.core.text import clean
from bboxqa.formats.translation.boxes import shapes
from bboxqa.formats.translation.translated import Record
from bboxqa.formats.translation.untrusted import ValueProblemError
from bboxqa.formats.voc.voc_boxes import box_of, points_of
from bboxqa.formats.xml_elements import Element

ANONYMOUS = "anonymous"
"""The user name of everybody who did not sign in."""
_USER = re.compile(rb"<username>([^<]*)</username>")
_ANNOTATOR = re.compile(rb"<annotator>\s*+[^<\s]")


def is_web_object(found: Element) -> bool:
    """Return whether an object has the geometry of the web tool, and not of Pascal VOC."""
    place = found.find("polygon")
    is_outline = place is not None and place.find("pt") is not None
    return found.find("bndbox") is None and (is_outline or found.find("segm") is not None)


def authors_in(text: bytes) -> set[str]:
    """Return the names of the elements that name who drew the objects of a file.

    Examples
    --------
    >>> authors_in(b"<object><annotator>ann</annotator></object><username>anonymous</username>")
    {'annotator'}
    """
    users = {each.decode("utf-8", "replace").strip() for each in _USER.findall(text)}
    found = {"username"} if users - {"", ANONYMOUS} else set()
    if b"<annotator>" in text:
        objects = (each.partition(b"</object>")[0] for each in text.split(b"<object>")[1:])
        found |= {"annotator" for each in objects if _ANNOTATOR.search(each)}
    return found


def user_of(found: Element) -> str:
    """Return the user who drew an object."""
    place = found.find("polygon") or found.find("segm")
    return clean("" if place is None else place.said("username")) or ANONYMOUS


def web_shape(found: Element) -> tuple[Record, bool]:
    """Return the COCO geometry keys of an object, and whether it is a mask.

    Edges are counted from 0. A mask is stored in a separate image, so only its box is used. Raises
    ValueProblemError if the numbers are missing.
    """
    mask = found.find("segm")
    if mask is not None:
        box = mask.find("box")
        if box is None:
            raise ValueProblemError("its mask has no box")
        return box_of(box, 0)[0], True
    outline = found.find("polygon") or Element("polygon", found.line)
    points = points_of(outline)
    if len(points) < 3:
        return {"shape": "point" if len(points) == 1 else "line"}, False
    record: Record = {"bbox": shapes.bounds(points)}
    if found.said("type") != "bounding_box":
        record["segmentation"] = [shapes.ring(points)]
    return record, False
