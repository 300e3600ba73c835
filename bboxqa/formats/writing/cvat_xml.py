"""Writing CVAT XML 1.1 for images, with one task per annotator."""

import re
from collections.abc import Iterator, Sequence
from typing import Any
from xml.sax.saxutils import escape, quoteattr

import numpy as np

from bboxqa.core.text import one_line
from bboxqa.formats.cvat.cvat_shapes import CUBOID
from bboxqa.formats.writing.content import Content, Record, image_name
from bboxqa.formats.writing.key_points import (
    Joint,
    boxes_beside_points,
    has_joints,
    joints_of,
    other_areas,
)
from bboxqa.formats.writing.losses import (
    ATTRIBUTES,
    Loss,
    common_losses,
    key_losses,
    losses_of,
)
from bboxqa.formats.writing.outlines import (
    ONE_OUTLINE,
    crop_of,
    kind_of,
    outline_losses,
    rings_of,
    rotated,
    rounded_losses,
)
from bboxqa.formats.writing.safe_names import people_paths, plain_xml
from bboxqa.formats.writing.skeleton_drawings import drawing_of
from bboxqa.formats.writing.writer import Options, Writer, Written

_TITLE = "CVAT"
_LINES = ("polyline", "line", "cuboid")
# Keys of review.json that reviewers see as attributes.
_OF_REVIEW = ("reason", "gain")
# CVAT's own attributes of shapes, with their defaults.
_OWN = {"occluded": "0", "z_order": "0", "group_id": ""}
_VALUES = {
    "occluded": re.compile("[01]"),
    "z_order": re.compile(r"-?\d{1,9}"),
    "group_id": re.compile(r"\d{1,9}"),
}


def _losses(content: Content, _options: Options) -> Iterator[Loss]:
    yield from outline_losses(content, _TITLE, ONE_OUTLINE)
    yield from rounded_losses(content, _TITLE)
    yield from boxes_beside_points(content, _TITLE)
    yield from other_areas(content, _TITLE)
    held = ("attributes", "source", "keypoints", *_OF_REVIEW)
    yield from common_losses(
        content,
        _TITLE,
        annotations=held,
        # That of an image is the sum over its objects, whose shapes have it.
        images=("gain",),
        categories=("keypoints", "skeleton"),
        lines=_LINES,
    )
    both = [*content.annotations, *content.held(_LINES)]
    nested = [each for each in both if not _is_flat(each.get("attributes"))]
    yield from losses_of(nested, "attributes of several values", f"{_TITLE} has one value for each")
    yield from key_losses(both, "annotations", f"{_TITLE} has no null", _is_given)
    why = f"{_TITLE} has whole numbers for it, and 0 and 1 for 'occluded'"
    yield from key_losses(both, "annotations", why, _is_own_value)
    images = [image_name(each) for each in content.images]
    lost = [name for name in images if plain_xml(name) != name]
    names = [*content.annotators, *content.category_names.values()]
    lost += [name for name in names if not name or plain_xml(name).strip() != name]
    if lost:
        why = "XML has no control characters, and CVAT no blanks around names"
        yield Loss(len(lost), "names", why, repr(one_line(lost[0])), "changed")


def _is_flat(attributes: object) -> bool:
    if not isinstance(attributes, dict):
        return attributes is None
    return all(isinstance(each, str | int | float | None) for each in attributes.values())


def _is_given(key: str, value: object) -> bool:
    return value is not None or not key.startswith(f"{ATTRIBUTES}.")


def _is_own_value(key: str, value: object) -> bool:
    """Return whether a value is one that CVAT has for its own attribute, or any other value."""
    own = key.removeprefix(f"{ATTRIBUTES}.")
    if own == key or own not in _OWN or value is None:
        return True
    return _VALUES[own].fullmatch(_flag(value)) is not None


def _files(content: Content, _options: Options) -> Iterator[Written]:
    content.check_sizes(_TITLE)
    places: dict[str, list[int]] = {name: [] for name in content.annotators or [""]}
    for place in range(len(content.images)):
        for name, _ in content.works(place):
            places[name].append(place)
    folders = people_paths(places)
    for name, own in places.items():
        parts = folders[name] or ("annotations",)
        text = "".join(_lines(content, name, own))
        yield Written((f"{parts[0]}.xml",), text.encode())


def _lines(content: Content, name: str, places: Sequence[int]) -> Iterator[str]:
    """Yield the file of an annotator; `places` are indices of images."""
    yield '<?xml version="1.0" encoding="utf-8"?>\n<annotations>\n  <version>1.1</version>\n'
    yield f"  <meta>\n    <task>\n      <name>{_text(name or 'annotations')}</name>\n"
    yield f"      <size>{len(places)}</size>\n      <mode>annotation</mode>\n      <labels>\n"
    yield from _labels(content)
    yield "      </labels>\n"
    if name:
        yield f"      <assignee>\n        <username>{_text(name)}</username>\n"
        yield "        <email></email>\n      </assignee>\n"
    yield "    </task>\n  </meta>\n"
    for frame, place in enumerate(places):
        image = content.images[place]
        values = {"id": frame, "name": image_name(image)}
        values |= {"width": int(image["width"]), "height": int(image["height"])}
        yield f"  <image{_attributes(values)}>\n"
        for each in dict(content.works(place))[name]:
            yield from _shape(content, each)
        for each in content.lines(place, name, _LINES):
            yield from _element(*_line(each), each["label"], each)
        yield "  </image>\n"
    yield "</annotations>\n"


def _labels(content: Content) -> Iterator[str]:
    """Yield the labels with their attributes, which CVAT needs before the shapes."""
    skeletons = {each["category_id"] for each in content.annotations if _is_skeleton(content, each)}
    names = content.category_names
    of_label: dict[str, dict[str, None]] = {name: {} for name in names.values()}
    for each in content.annotations:
        of_label[names[each["category_id"]]] |= dict.fromkeys(_said(each))
    for each in content.held(_LINES):
        of_label.setdefault(each["label"], {}).update(dict.fromkeys(_said(each)))
    numbers = {name: number for number, name in names.items()}
    for name, attributes in of_label.items():
        number = numbers.get(name, 0)
        kind = "skeleton" if number in skeletons else "any"
        yield f"        <label>\n          <name>{_text(name)}</name>\n"
        yield f"          <type>{kind}</type>\n"
        yield "          <attributes>\n"
        for attribute in attributes:
            yield f"            <attribute>\n              <name>{_text(attribute)}</name>\n"
            yield "              <mutable>False</mutable>\n"
            yield "              <input_type>text</input_type>\n"
            yield "              <default_value></default_value>\n"
            yield "              <values></values>\n            </attribute>\n"
        yield "          </attributes>\n"
        if number in skeletons:
            yield f"          <svg>{_text(drawing_of(content, number))}</svg>\n"
        yield "        </label>\n"
        if number in skeletons:
            for joint in content.joint_names[number]:
                yield f"        <label>\n          <name>{_text(joint)}</name>\n"
                yield "          <type>points</type>\n          <attributes>\n"
                yield f"          </attributes>\n          <parent>{_text(name)}</parent>\n"
                yield "        </label>\n"


def _said(annotation: Record) -> dict[str, str]:
    """Return the attributes that are not CVAT's own."""
    given = annotation.get("attributes")
    said = {key: annotation[key] for key in _OF_REVIEW if key in annotation}
    said |= given if isinstance(given, dict) else {}
    return {
        str(key): _value(each)
        for key, each in said.items()
        if key not in {*_OWN, "rotation"} and isinstance(each, str | int | float)
    }


def _value(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _shape(content: Content, annotation: Record) -> Iterator[str]:
    if _is_skeleton(content, annotation):
        kind, where = "skeleton", dict[str, Any]()
    else:
        kind, where = _where(annotation)
    joints = joints_of(content, annotation) if kind == "skeleton" else ()
    label = content.category_names[annotation["category_id"]]
    yield from _element(kind, where, label, annotation, joints)


def _element(
    kind: str, where: dict[str, Any], label: str, annotation: Record, joints: Sequence[Joint] = ()
) -> Iterator[str]:
    own = _own_values(annotation)
    values = {
        "label": label,
        "source": annotation.get("source", "manual"),
        "occluded": own["occluded"],
        **where,
        "z_order": own["z_order"],
    }
    if own["group_id"]:
        values["group_id"] = own["group_id"]
    yield f"    <{kind}{_attributes(values)}>\n"
    for joint in joints:
        yield f"      <points{_attributes(_joint(joint))}>\n      </points>\n"
    for key, each in _said(annotation).items():
        yield f"      <attribute name={_quoted(key)}>{_text(each)}</attribute>\n"
    yield f"    </{kind}>\n"


def _own_values(annotation: Record) -> dict[str, str]:
    """Return CVAT's own attributes of a shape, with their defaults for other values."""
    given = annotation.get(ATTRIBUTES)
    said = given if isinstance(given, dict) else {}
    values = {key: _flag(said.get(key)) for key in _OWN}
    return {
        key: each if _VALUES[key].fullmatch(each) else _OWN[key] for key, each in values.items()
    }


def _is_skeleton(content: Content, annotation: Record) -> bool:
    """Return whether key points have names or visibility, which point sets lack."""
    if not has_joints(annotation):
        return False
    is_seen = all(joint.visibility == 2 for joint in joints_of(content, annotation))
    return bool(content.joint_names[annotation["category_id"]]) or not is_seen


def _joint(joint: Joint) -> dict[str, str]:
    """Return the attributes of a point of a skeleton."""
    return {
        "label": joint.name,
        "source": "manual",
        "outside": _flag(joint.visibility == 0),
        "occluded": _flag(joint.visibility == 1),
        "points": f"{_number(joint.x)},{_number(joint.y)}",
    }


def _line(annotation: Record) -> tuple[str, dict[str, str]]:
    """Return the element name of a line or a cuboid, and its geometry attributes."""
    points = [_number(each) for each in annotation["points"]]
    if annotation["shape"] == "cuboid":
        return "cuboid", dict(zip(CUBOID, points, strict=True))
    pairs = zip(points[::2], points[1::2], strict=True)
    return "polyline", {"points": ";".join(f"{x},{y}" for x, y in pairs)}


def _flag(value: object) -> str:
    return str(int(value)) if isinstance(value, bool) else str(value)


def _where(annotation: Record) -> tuple[str, dict[str, Any]]:
    """Return the element name of a shape, and its geometry attributes."""
    if has_joints(annotation):
        places = annotation["keypoints"]
        pairs = zip(places[::3], places[1::3], strict=False)
        return "points", {"points": ";".join(f"{_number(x)},{_number(y)}" for x, y in pairs)}
    kind = kind_of(annotation)
    if kind == "polygon":
        pairs = rings_of(annotation)[0].tolist()
        return "polygon", {"points": ";".join(f"{_number(x)},{_number(y)}" for x, y in pairs)}
    if kind == "mask":
        return "mask", _crop(annotation)
    turned = rotated(annotation) if kind == "rotated" else None
    x, y, width, height = annotation["bbox"]
    more = {}
    if turned is not None:
        # CVAT rotates a box about its centre.
        x, y, width, height, degrees = turned.tolist()
        x, y = x - width / 2, y - height / 2
        more = {"rotation": _number(degrees)}
    edges = {"xtl": x, "ytl": y, "xbr": x + width, "ybr": y + height}
    return "box", {key: _number(each) for key, each in edges.items()} | more


def _crop(annotation: Record) -> dict[str, Any]:
    """Return the bounds of a mask, and the run lengths inside them, row by row."""
    pixels, left, top = crop_of(annotation)
    crop = pixels.ravel()
    edges = np.flatnonzero(np.diff(crop, prepend=False))
    lengths = np.diff(edges, prepend=0, append=len(crop))
    return {
        "rle": ", ".join(map(str, lengths.tolist())),
        "left": left,
        "top": top,
        "width": pixels.shape[1],
        "height": pixels.shape[0],
    }


def _number(value: float) -> str:
    """Return a coordinate with up to six decimals."""
    return f"{value:.6f}".rstrip("0").rstrip(".")


def _attributes(values: dict[str, Any]) -> str:
    return "".join(f" {key}={_quoted(str(each))}" for key, each in values.items())


def _quoted(text: str) -> str:
    return quoteattr(plain_xml(text))


def _text(text: str) -> str:
    return escape(plain_xml(text), {"\r": "&#13;"})


CVAT_XML = Writer(
    _TITLE,
    "folder or file",
    (".xml",),
    _losses,
    _files,
    has_keypoints=True,
    holds=("unused categories",),
    has_numbers=False,
    lines=_LINES,
)
"""One file per annotator, who is the assignee of its task."""
