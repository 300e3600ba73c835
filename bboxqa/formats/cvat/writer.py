"""Writing CVAT XML 1.1 for images, with one task per annotator, and what it cannot hold."""

import re
from collections.abc import Iterable, Iterator, Sequence
from math import cos, pi, sin
from typing import Any

from bboxqa.formats.cvat.reader import OF_LABEL, OF_SHAPES
from bboxqa.formats.translation.shapes import items, mapping
from bboxqa.formats.writing.content import Content, Writer, Written, has_joints, image_name
from bboxqa.formats.writing.losses import ATTRIBUTES
from bboxqa.formats.writing.outlines import Record, rings_of
from bboxqa.formats.xml_elements import block, leaf, leaves, plain_xml, quoted
from bboxqa.model.masks import runs_of_spans

_LINES = ("polyline", "line")
# Keys of review.json that reviewers see as attributes.
_OF_REVIEW = ("reason", "gain")
# CVAT's own attributes of shapes, with their defaults and the texts that they may have.
_OWN = {
    "occluded": ("0", re.compile("[01]")),
    "z_order": ("0", re.compile(r"-?\d{1,9}")),
    "group_id": ("", re.compile(r"\d{1,9}")),
}
# What each attribute of a label says besides its name.
_ATTRIBUTE = {"mutable": "False", "input_type": "text", "default_value": "", "values": ""}


def _files(content: Content) -> Iterator[Written]:
    labels = block(3, "labels", _labels(content))
    works: dict[str, list[tuple[int, list[Record]]]]
    works = {name: [] for name in content.annotators or [""]}
    for place in range(len(content.images)):
        for name, drawn in content.works(place):
            works[name].append((place, drawn))
    for name, own in works.items():
        parts = content.people[name] or ("annotations",)
        task = {"name": name or "annotations", "size": len(own), "mode": "annotation"}
        assignee = block(3, "assignee", [leaves(4, {"username": name, "email": ""})]) * bool(name)
        meta = block(1, "meta", [block(2, "task", [leaves(3, task), labels, assignee])])
        images = []
        for frame, (place, drawn) in enumerate(own):
            image = content.images[place]
            values = {"id": frame, "name": image_name(image)}
            values |= {"width": int(image["width"]), "height": int(image["height"])}
            shapes = [_element(content, each) for each in drawn]
            for each in content.lines(place, name, _LINES):
                where = _points(each["points"][::2], each["points"][1::2])
                shapes.append(_shape("polyline", where, each["label"], each))
            images.append(block(1, "image", shapes, values))
        whole = block(0, "annotations", [leaf(1, "version", "1.1"), meta, *images])
        text = f'<?xml version="1.0" encoding="utf-8"?>\n{whole}'
        yield Written((f"{parts[0]}.xml",), text.encode())


def _element(content: Content, annotation: Record) -> str:
    label = content.category_names[annotation["category_id"]]
    if not _is_skeleton(content, annotation):
        return _shape(*_where(content, annotation), label, annotation)
    joints = []
    for joint in content.joints_of(annotation):
        is_outside, is_hidden = joint.visibility == 0, joint.visibility == 1
        said: dict[str, Any] = {"label": joint.name, "source": "manual"}
        said |= {"outside": int(is_outside), "occluded": int(is_hidden)}
        joints.append(block(3, "points", (), said | _points([joint.x], [joint.y])))
    return _shape("skeleton", {}, label, annotation, joints)


def _labels(content: Content) -> Iterator[str]:
    """Yield the labels with their attributes, which CVAT needs before the shapes."""
    names = content.category_names
    skeletons = {each["category_id"] for each in content.annotations if _is_skeleton(content, each)}
    of_label: dict[str, dict[str, None]] = {name: {} for name in names.values()}
    for each in (*content.annotations, *content.held(_LINES)):
        name = names[each["category_id"]] if "category_id" in each else each["label"]
        of_label.setdefault(name, {}).update(dict.fromkeys(_said(each)))
    categories = {each["name"]: each for each in content.categories}

    def label(name: str, kind: str, attributes: Iterable[str], more: str) -> str:
        said = [block(6, "attribute", [leaves(7, {"name": e} | _ATTRIBUTE)]) for e in attributes]
        about = leaves(5, {"name": name, "type": kind})
        return block(4, "label", [about, block(5, "attributes", said), more])

    for name, attributes in of_label.items():
        category = categories.get(name, {})
        if category.get("id", 0) not in skeletons:
            yield label(name, "any", attributes, "")
            continue
        joints = content.joint_names[category["id"]]
        yield label(name, "skeleton", attributes, leaf(5, "svg", _drawing(category, joints)))
        for joint in joints:
            yield label(joint, "points", (), leaf(5, "parent", name))


def _drawing(category: Record, names: Sequence[str]) -> str:
    """Return the drawing of a skeleton label, with its joints on a circle in a square of 100."""
    turns = [2 * pi * place / len(names) for place in range(len(names))]
    x = [round(50 + 40 * sin(turn), 3) for turn in turns]
    y = [round(50 - 40 * cos(turn), 3) for turn in turns]
    limbs = [each for each in items(category.get("skeleton")) if isinstance(each, list)]
    # A number such as 1.0 is no index.
    numbers = {*range(1, len(names) + 1)}
    limbs = [e for e in limbs if len(e) == 2 and {*map(type, e)} == {int} and {*e} <= numbers]
    lines = [
        f'<line x1="{x[a - 1]}" y1="{y[a - 1]}" x2="{x[b - 1]}" y2="{y[b - 1]}" data-type="edge" '
        f'data-node-from="{a}" data-node-to="{b}"></line>'
        for a, b in limbs
    ]
    circles = [
        f'<circle r="0.75" cx="{x[place]}" cy="{y[place]}" data-type="element node" '
        f'data-element-id="{place + 1}" data-node-id="{place + 1}" '
        f"data-label-name={quoted(name)}></circle>"
        for place, name in enumerate(names)
    ]
    return "\n".join([*lines, *circles])


def _said(annotation: Record) -> dict[str, str]:
    """Return the attributes that are not CVAT's own, as texts."""
    said = {key: annotation[key] for key in _OF_REVIEW if key in annotation}
    said |= mapping(annotation.get(ATTRIBUTES))
    found = {}
    for key, value in said.items():
        if key not in OF_SHAPES and isinstance(value, str | int | float):
            # An answer may have the name of a value of the shape.
            name = str(key).removeprefix(OF_LABEL)
            text = str(value).lower() if isinstance(value, bool) else str(value)
            found[name if name in OF_SHAPES else str(key)] = text
    return found


def _shape(
    kind: str, where: dict[str, Any], label: str, annotation: Record, joints: Sequence[str] = ()
) -> str:
    said = mapping(annotation.get(ATTRIBUTES))
    own = {key: _own_text(key, said.get(key)) or default for key, (default, _) in _OWN.items()}
    values = {"label": label, "source": annotation.get("source", "manual")}
    values |= {"occluded": own["occluded"], **where, "z_order": own["z_order"]}
    values |= {"group_id": own["group_id"]} if own["group_id"] else {}
    more = [leaf(3, "attribute", text, {"name": key}) for key, text in _said(annotation).items()]
    return block(2, kind, [*joints, *more], values)


def _is_skeleton(content: Content, annotation: Record) -> bool:
    """Return whether key points have names or visibility, which point sets lack."""
    if not has_joints(annotation):
        return False
    is_seen = all(joint.visibility == 2 for joint in content.joints_of(annotation))
    return bool(content.joint_names[annotation["category_id"]]) or not is_seen


def _points(x: Iterable[float], y: Iterable[float]) -> dict[str, str]:
    pairs = zip(map(_number, x), map(_number, y), strict=False)
    return {"points": ";".join(map(",".join, pairs))}


def _where(content: Content, annotation: Record) -> tuple[str, dict[str, Any]]:
    if has_joints(annotation):
        places = annotation["keypoints"]
        return "points", _points(places[::3], places[1::3])
    outline = content.outlines[annotation["id"]]
    if outline.kind == "polygon":
        return "polygon", _points(*rings_of(annotation)[0].T.tolist())
    if outline.kind == "mask":
        # The bounds, and the run lengths inside them, row by row.
        mask = content.masks.cropped(annotation)
        lengths = runs_of_spans(mask.spans, mask.width * mask.height).tolist()
        lengths = lengths if lengths[-1] else lengths[:-1]
        sides = {key: getattr(mask, key) for key in ("left", "top", "width", "height")}
        return "mask", {"rle": ", ".join(map(str, lengths)), **sides}
    x, y, width, height = annotation["bbox"]
    more = {}
    if outline.box is not None:
        # CVAT rotates a box about its centre.
        x, y, width, height, degrees = outline.box.tolist()
        x, y = x - width / 2, y - height / 2
        more = {"rotation": _number(degrees)}
    edges = {"xtl": x, "ytl": y, "xbr": x + width, "ybr": y + height}
    return "box", {key: _number(each) for key, each in edges.items()} | more


def _number(value: float) -> str:
    return f"{value:.6f}".rstrip("0").rstrip(".")


def _is_held(key: str, value: object) -> bool:
    """Return whether the value of an attribute is read back as it is."""
    own = key.removeprefix(f"{ATTRIBUTES}.")
    if own == key and key not in _OF_REVIEW:
        return True
    if own in _OWN:
        return _own_text(own, value) is not None
    text = f"{own}{value}"
    return isinstance(value, str | int | float) and plain_xml(text) == text


def _own_text(name: str, value: object) -> str | None:
    """Return the value of an attribute of `_OWN` as CVAT writes it; None for another value."""
    text = str(int(value) if isinstance(value, bool) else value)
    if name == "occluded":
        text = {"true": "1", "false": "0"}.get(text, text)
    return text if _OWN[name][1].fullmatch(text) else None


def _plain_name(name: str) -> str:
    return plain_xml(name).strip()


CVAT_XML = Writer(
    "CVAT",
    "folder or file",
    (".xml",),
    _files,
    # The gain of an image is the sum over its objects, whose shapes have it.
    frozenset({
        "polygon", "mask", "rotation", "keypoints", "visibility", "skeleton", "attributes",
        "source", "image sizes", "unused categories", *_OF_REVIEW, *_LINES,
    }),
    keeps=_is_held,
    reads={"category": _plain_name, "annotator": _plain_name, "image": plain_xml},
    needs_sizes="all images",
    makes_texts=True,
)  # fmt: skip
