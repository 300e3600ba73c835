"""Drawings of skeletons, in which CVAT keeps the joints of a label and the limbs between them."""

from math import cos, pi, sin
from xml.sax.saxutils import quoteattr

from bboxqa.formats.writing.content import Content
from bboxqa.formats.writing.names import plain_xml

_MIDDLE, _RADIUS = 50, 40


def drawing_of(content: Content, category_id: int) -> str:
    """Return the elements of the drawing of a category, with its joints on a circle.

    The drawing has a side of 100; CVAT shows it where annotators choose a skeleton to draw.
    """
    names = content.joint_names[category_id]
    turns = [2 * pi * place / len(names) for place in range(len(names))]
    places = [
        (round(_MIDDLE + _RADIUS * sin(turn), 3), round(_MIDDLE - _RADIUS * cos(turn), 3))
        for turn in turns
    ]
    (category,) = (each for each in content.categories if each["id"] == category_id)
    lines = [
        f'<line x1="{places[a - 1][0]}" y1="{places[a - 1][1]}" x2="{places[b - 1][0]}" '
        f'y2="{places[b - 1][1]}" data-type="edge" data-node-from="{a}" data-node-to="{b}"></line>'
        for a, b in category.get("skeleton") or ()
        if 0 < a <= len(names) and 0 < b <= len(names)
    ]
    circles = [
        f'<circle r="0.75" cx="{x}" cy="{y}" data-type="element node" data-element-id="{number}" '
        f'data-node-id="{number}" data-label-name={quoteattr(plain_xml(name))}></circle>'
        for number, (name, (x, y)) in enumerate(zip(names, places, strict=True), start=1)
    ]
    return "\n".join([*lines, *circles])
