"""The key points of categories across several data sets."""

from collections.abc import Sequence
from typing import NamedTuple

from bboxqa.model.annotations import Dataset


class Joints(NamedTuple):
    """The names of the key points of each category, and the pairs that lines join."""

    names: tuple[tuple[str, ...], ...]
    limbs: tuple[tuple[tuple[int, int], ...], ...]


def joints_of(categories: Sequence[str], datasets: Sequence[Dataset]) -> Joints:
    """Return the key points of each category, from the data set that has the most of them."""
    names: dict[str, tuple[str, ...]] = {}
    limbs: dict[str, tuple[tuple[int, int], ...]] = {}
    for data in datasets:
        parts = zip(data.category_names, data.joint_names, data.limbs, strict=False)
        for category, joints, lines in parts:
            if len(joints) > len(names.get(category, ())):
                names[category], limbs[category] = joints, lines
    if not any(data.joint_names for data in datasets):
        return Joints((), ())
    return Joints(
        tuple(names.get(category, ()) for category in categories),
        tuple(limbs.get(category, ()) for category in categories),
    )
