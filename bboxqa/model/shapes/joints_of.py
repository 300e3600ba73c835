"""The joints of categories of several data sets."""

from collections.abc import Sequence

from bboxqa.model.annotations import Dataset


def joints_of(
    categories: Sequence[str], datasets: Sequence[Dataset]
) -> tuple[tuple[str, ...], ...]:
    """Return the names of the key points of each category, those of the data set with most."""
    known: dict[str, tuple[str, ...]] = {}
    for data in datasets:
        for category, joints in zip(data.category_names, data.joint_names, strict=False):
            if len(joints) > len(known.get(category, ())):
                known[category] = joints
    if not any(data.joint_names for data in datasets):
        return ()
    return tuple(known.get(category, ()) for category in categories)
