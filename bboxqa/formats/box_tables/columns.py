"""Finding the columns of a table that hold images, annotators, categories and boxes."""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

import msgspec

from bboxqa.core.text import one_line

# The possible contents of columns, and their usual names in lower case without punctuation, the
# best first.
NAMES: dict[str, tuple[str, ...]] = {
    "image": (
        "image", "filename", "imagename", "imagefilename", "imagepath", "filepath", "file", "path",
        "imageid", "img", "imgname", "imgid", "picture", "frame",
    ),
    "annotator": (
        "annotator", "annotatorid", "annotatorname", "rater", "raterid", "worker", "workerid",
        "labeler", "labeller", "labelerlogin", "completedby", "createdby", "user", "username",
        "radid", "radiologist", "radiologistid", "reader", "readerid", "expertid", "annotatedby",
        "labeledby", "assignmentworkerid",
    ),
    "category": (
        "category", "categoryname", "label", "labelname", "class", "classname", "labels",
        "classid", "categoryid", "labelid",
    ),
    "x1": ("x1", "xmin", "minx", "boxxmin", "bboxx1", "bboxxmin", "topx"),
    "y1": ("y1", "ymin", "miny", "boxymin", "bboxy1", "bboxymin", "topy"),
    "x2": ("x2", "xmax", "maxx", "boxxmax", "bboxx2", "bboxxmax", "right", "bottomx"),
    "y2": ("y2", "ymax", "maxy", "boxymax", "bboxy2", "bboxymax", "bottom", "bottomy"),
    "cx": ("cx", "xcenter", "centerx", "xcentre"),
    "cy": ("cy", "ycenter", "centery", "ycentre"),
    "x": ("x", "left", "bboxx", "boxx"),
    "y": ("y", "top", "bboxy", "boxy"),
    "width": ("width", "w", "bboxwidth", "bboxw", "boxwidth", "boxw"),
    "height": ("height", "h", "bboxheight", "bboxh", "boxheight", "boxh"),
    "bbox": ("bbox", "box", "boundingbox"),
    "rotation": ("rotation",),
    "objects": ("objects",),
    "image_id": ("imageid", "imgid"),
    "image_width": ("imagewidth", "imgwidth", "originalwidth"),
    "image_height": ("imageheight", "imgheight", "originalheight"),
    "id": ("id", "annotationid", "boxid"),
    "score": ("score",),
    "iscrowd": ("iscrowd", "isgroupof"),
    "created_at": ("createdat",),
    "track": ("trackid", "track", "instanceid"),
}  # fmt: skip
FORMS: dict[str, tuple[str, ...]] = {
    "xyxy": ("x1", "y1", "x2", "y2"),
    "cxcywh": ("cx", "cy", "width", "height"),
    "xywh": ("x", "y", "width", "height"),
}
"""The columns of each box layout: two corners, centre and size, top left corner and size."""
FORM_WORDS = {
    "xyxy": "two corners",
    "cxcywh": "centre, width and height",
    "xywh": "left, top, width and height",
}
_SIGNS = re.compile(r"[\W_]+")


class Columns(msgspec.Struct, frozen=True):
    """The names of columns, by the keys of `NAMES`."""

    of: Mapping[str, str]
    form: str = ""
    """A key of `FORMS`; "" where one column holds the whole box, or all objects of an image."""
    problem: str = ""
    """Why no boxes can be read from the columns; "" where they can."""
    is_open_images: bool = False

    def described(self) -> str:
        """Return the columns in the syntax of the option."""
        return ",".join(f"{key}={one_line(name)}" for key, name in self.of.items())


def columns_of(header: Sequence[str], chosen: Mapping[str, str]) -> Columns:
    """Return the contents of a table's columns: as chosen by the user, the others by name.

    Examples
    --------
    >>> found = columns_of(["filename", "width", "class", "xmin", "ymin", "xmax", "ymax"], {})
    >>> found.form, found.of["image_width"]
    ('xyxy', 'width')
    >>> columns_of(["unit", "ann", "bob"], {}).problem
    'no column of images'
    """
    missing = [name for name in chosen.values() if name not in header]
    if missing:
        some = ", ".join(repr(one_line(name)) for name in missing)
        listed = ", ".join(one_line(name) for name in header[:20])
        return Columns({}, problem=f"no column {some}; the columns are {listed}")
    plain: dict[str, str] = {}
    for name in header:
        plain.setdefault(plain_name(name), name)
    taken = set(chosen.values())
    found = dict(chosen)
    for key, names in NAMES.items():
        usual = [plain[name] for name in names if name in plain and plain[name] not in taken]
        if key not in found and usual:
            found[key] = usual[0]
    return _whole(found, chosen, is_open_images={"imageid", "xmin", "labelname"} <= plain.keys())


@lru_cache(1024)
def plain_name(name: str) -> str:
    """Return the name of a column in lower case without punctuation, as in `NAMES`."""
    return _SIGNS.sub("", name).lower()


def _whole(found: dict[str, str], chosen: Mapping[str, str], *, is_open_images: bool) -> Columns:
    """Return columns with the layout of boxes, without columns that this layout does not use."""
    # left and top are the first corner if right and bottom are the second.
    for corner, side in (("x1", "x"), ("y1", "y")):
        if corner not in found and side in found and {"x2", "y2"} <= found.keys():
            found[corner] = found[side]
    # A first corner is left and top if only a width and a height are beside it.
    if {"x1", "y1", "width", "height"} <= found.keys() and not {"x", "x2", "y2"} & found.keys():
        found |= {"x": found["x1"], "y": found["y1"]}
    named = [
        form for form, keys in FORMS.items() if chosen.keys() & set(keys) - {"width", "height"}
    ]
    complete = [form for form, keys in FORMS.items() if set(keys) <= found.keys()]
    form = next((each for each in complete if each in named), complete[0] if complete else "")
    if "bbox" in chosen or "objects" in chosen:
        form = ""
    used = set(FORMS.get(form, ()))
    # If the box does not use width and height, they are the size of the image.
    for side in ("width", "height"):
        if side not in used and side in found and side not in chosen:
            found.setdefault(f"image_{side}", found[side])
    parts = {"x", "y", "x1", "y1", "x2", "y2", "cx", "cy", "width", "height"}
    whole = {"bbox", "objects"} if form else set()
    # A column that names images is not used as their id as well.
    if found.get("image_id") == found.get("image"):
        found.pop("image_id", None)
    kept = {key: name for key, name in found.items() if key not in (parts | whole) - used}
    problem = ""
    if "image" not in kept:
        problem = "no column of images"
    elif not form and not kept.keys() & {"bbox", "objects"}:
        problem = "no columns of boxes"
    return Columns(kept, form, problem, is_open_images)
