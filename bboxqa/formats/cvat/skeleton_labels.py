"""The joints of skeleton labels, and the pairs of joints that are connected."""

from collections.abc import Iterator
from typing import NamedTuple

from bboxqa.formats.xml_elements import Element, XmlError, tree_of


class Skeleton(NamedTuple):
    """A label that is a skeleton."""

    joints: tuple[str, ...]
    limbs: tuple[tuple[str, str], ...]
    """The names of the two joints of each limb."""


def skeletons_of(labels: Element | None) -> dict[str, Skeleton]:
    """Return the skeletons among the labels of a task, by name."""
    listed = [] if labels is None else labels.inside
    joints: dict[str, list[str]] = {}
    for label in listed:
        if parent := label.said("parent"):
            joints.setdefault(parent, []).append(label.said("name"))
    drawings = {label.said("name"): label.said("svg") for label in listed}
    return {
        name: Skeleton((*own,), (*_limbs(drawings.get(name, "")),)) for name, own in joints.items()
    }


def _limbs(drawing: str) -> Iterator[tuple[str, str]]:
    """Yield the limbs of a drawing, whose circles are joints and whose lines are limbs."""
    try:
        root = tree_of(f"<svg>{drawing}</svg>".encode())
    except XmlError:
        # The drawing is of no other use.
        return
    names = {
        each.values.get("data-node-id"): each.values.get("data-label-name", "")
        for each in root.all("circle")
    }
    for line in root.all("line"):
        ends = [names.get(line.values.get(f"data-node-{end}"), "") for end in ("from", "to")]
        if all(ends):
            yield ends[0], ends[1]
