"""Key points that belong to another region, such as to the box of a person."""

from collections.abc import Iterable, Sequence

from bboxqa.formats.label_studio.regions import Region, shape_of
from bboxqa.formats.translation.boxes.masks import Masks
from bboxqa.formats.translation.translated import UNLABELLED, Record
from bboxqa.formats.translation.untrusted import plain_text

_BOXES = Masks(outlines=False)


def points_by_parent(regions: Iterable[Region]) -> dict[str, list[Region]]:
    """Return the key points inside of another shape, by the id of that shape."""
    every = list(regions)
    shapes = {each.id for each in every if each.is_shape and each.kind != "keypoint"}
    found: dict[str, list[Region]] = {}
    for region in every:
        parent = plain_text(region.result.get("parentID"))
        if region.kind == "keypoint" and parent in shapes:
            found.setdefault(parent, []).append(region)
    return found


def joints_of(points: Sequence[Region], size: tuple[int, int]) -> Record:
    """Return the key points of a shape and their names; nothing if it has none.

    Raises ValueProblemError if a value is not as Label Studio writes it.
    """
    if not points:
        return {}
    keypoints = [shape_of(each, size, _BOXES)["keypoints"] for each in points]
    return {
        "keypoints": [number for triple in keypoints for number in triple],
        "joints": [each.labels[0] if each.labels else UNLABELLED for each in points],
    }
