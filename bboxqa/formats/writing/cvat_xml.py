"""Writing CVAT XML 1.1 for images, with one task per annotator."""

from collections.abc import Iterator, Sequence
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from bboxqa.formats.cvat.cvat_shapes import CUBOID
from bboxqa.formats.cvat.said_keys import OF_LABEL, OF_SHAPES
from bboxqa.formats.writing.content import Content, image_name
from bboxqa.formats.writing.cvat_losses import (
    LINES,
    OF_REVIEW,
    OWN,
    TITLE,
    becomes_text,
    cvat_losses,
    flag,
    own_text,
)
from bboxqa.formats.writing.key_points import Joint, has_joints, joints_of
from bboxqa.formats.writing.losses import ATTRIBUTES
from bboxqa.formats.writing.names import people_paths, plain_xml
from bboxqa.formats.writing.outlines import Ellipse, Record, ellipse_of, rings_of
from bboxqa.formats.writing.skeleton_drawings import drawing_of
from bboxqa.formats.writing.writer import Options, Writer, Written
from bboxqa.model.shapes.mask_spans import runs_of_spans

_Works = list[tuple[int, list[Record]]]
"""The indices of the images that an annotator was asked about, each with their annotations."""


def _files(content: Content, _options: Options) -> Iterator[Written]:
    labels = "".join(_labels(content))
    works: dict[str, _Works] = {name: [] for name in content.annotators or [""]}
    for place in range(len(content.images)):
        for name, drawn in content.works(place):
            works[name].append((place, drawn))
    content.check_labels(TITLE, len(labels))
    folders = people_paths(works)
    for name, own in works.items():
        parts = folders[name] or ("annotations",)
        text = "".join(_lines(content, name, own, labels))
        yield Written((f"{parts[0]}.xml",), text.encode())


def _lines(content: Content, name: str, works: _Works, labels: str) -> Iterator[str]:
    """Yield the file of an annotator."""
    yield '<?xml version="1.0" encoding="utf-8"?>\n<annotations>\n  <version>1.1</version>\n'
    yield f"  <meta>\n    <task>\n      <name>{_text(name or 'annotations')}</name>\n"
    yield f"      <size>{len(works)}</size>\n      <mode>annotation</mode>\n      <labels>\n"
    yield labels
    yield "      </labels>\n"
    if name:
        yield f"      <assignee>\n        <username>{_text(name)}</username>\n"
        yield "        <email></email>\n      </assignee>\n"
    yield "    </task>\n  </meta>\n"
    for frame, (place, drawn) in enumerate(works):
        image = content.images[place]
        values = {"id": frame, "name": image_name(image)}
        values |= {"width": int(image["width"]), "height": int(image["height"])}
        yield f"  <image{_attributes(values)}>\n"
        for each in drawn:
            yield from _shape(content, each)
        for each in content.lines(place, name, LINES):
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
    for each in content.held(LINES):
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
    said = {key: annotation[key] for key in OF_REVIEW if key in annotation}
    said |= given if isinstance(given, dict) else {}
    return {
        _name(str(key)): _value(each)
        for key, each in said.items()
        if key not in OF_SHAPES and isinstance(each, str | int | float)
    }


def _name(key: str) -> str:
    """Return the name of an attribute in CVAT, where it may be that of a value of the shape."""
    name = key.removeprefix(OF_LABEL)
    return name if name in OF_SHAPES else key


def _value(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _shape(content: Content, annotation: Record) -> Iterator[str]:
    if _is_skeleton(content, annotation):
        kind, where = "skeleton", dict[str, Any]()
    else:
        kind, where = _where(content, annotation)
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
    values = {key: own_text(key, said.get(key)) for key in OWN}
    return {key: OWN[key] if each is None else each for key, each in values.items()}


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
        "outside": flag(joint.visibility == 0),
        "occluded": flag(joint.visibility == 1),
        "points": f"{_number(joint.x)},{_number(joint.y)}",
    }


def _line(annotation: Record) -> tuple[str, dict[str, str]]:
    """Return the element name of a line or a cuboid, and its geometry attributes."""
    points = [_number(each) for each in annotation["points"]]
    if annotation["shape"] == "cuboid":
        return "cuboid", dict(zip(CUBOID, points, strict=True))
    pairs = zip(points[::2], points[1::2], strict=True)
    return "polyline", {"points": ";".join(f"{x},{y}" for x, y in pairs)}


def _where(content: Content, annotation: Record) -> tuple[str, dict[str, Any]]:
    """Return the element name of a shape, and its geometry attributes."""
    if has_joints(annotation):
        places = annotation["keypoints"]
        pairs = zip(places[::3], places[1::3], strict=False)
        return "points", {"points": ";".join(f"{_number(x)},{_number(y)}" for x, y in pairs)}
    kind = content.kind_of(annotation)
    if kind == "polygon" and (found := ellipse_of(annotation)) is not None:
        return "ellipse", _ellipse(found)
    if kind == "polygon":
        pairs = rings_of(annotation)[0].tolist()
        return "polygon", {"points": ";".join(f"{_number(x)},{_number(y)}" for x, y in pairs)}
    if kind == "mask":
        return "mask", _crop(content, annotation)
    turned = content.rotated(annotation)
    x, y, width, height = annotation["bbox"]
    more = {}
    if turned is not None:
        # CVAT rotates a box about its centre.
        x, y, width, height, degrees = turned.tolist()
        x, y = x - width / 2, y - height / 2
        more = {"rotation": _number(degrees)}
    edges = {"xtl": x, "ytl": y, "xbr": x + width, "ybr": y + height}
    return "box", {key: _number(each) for key, each in edges.items()} | more


def _ellipse(found: Ellipse) -> dict[str, str]:
    values = {"cx": found.x, "cy": found.y, "rx": found.radius_x, "ry": found.radius_y}
    values |= {"rotation": found.degrees} if found.degrees else {}
    return {key: _number(each) for key, each in values.items()}


def _crop(content: Content, annotation: Record) -> dict[str, Any]:
    """Return the bounds of a mask, and the run lengths inside them, row by row."""
    mask = content.masks.cropped(annotation)
    lengths = runs_of_spans(mask.spans, mask.width * mask.height)
    lengths = lengths if lengths[-1] else lengths[:-1]
    return {
        "rle": ", ".join(map(str, lengths.tolist())),
        "left": mask.left,
        "top": mask.top,
        "width": mask.width,
        "height": mask.height,
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
    TITLE,
    "folder or file",
    (".xml",),
    _files,
    # The gain of an image is the sum over its objects, whose shapes have it.
    frozenset({
        "polygon", "mask", "rotation", "keypoints", "visibility", "skeleton", "attributes",
        "source", "image sizes", "unused categories", *OF_REVIEW, *LINES,
    }),
    losses=cvat_losses,
    needs_sizes="all images",
    becomes_text=becomes_text,
)  # fmt: skip
"""One file per annotator, who is the assignee of its task."""
