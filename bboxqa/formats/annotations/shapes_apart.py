"""Annotations that are kept apart: their shape has no box, so that they are not compared."""

from collections.abc import Mapping

from bboxqa.core.text import count

_OF_POINTS = {"key point", "point set", "skeleton"}
_OF_IMAGES = {"image label", "image tag"}


def apart_note(n_apart: Mapping[str, int], done: str = "compared") -> str:
    """Return a note on the number of annotations of each shape, with which nothing is `done`.

    Examples
    --------
    >>> apart_note({"polyline": 2, "cuboid": 1})
    '2 polylines and 1 cuboid are not compared'
    """
    by_number = sorted(n_apart.items(), key=lambda each: -each[1])
    *others, last = [count(number, shape) for shape, number in by_number]
    named = f"{', '.join(others)} and {last}" if others else last
    return f"{named} {'is' if sum(n_apart.values()) == 1 else 'are'} not {done}"


def apart_advice(n_apart: Mapping[str, int]) -> str:
    """Return what to do if all annotations are kept apart."""
    if n_apart.keys() & _OF_POINTS:
        return "--similarity keypoints compares key points."
    if n_apart.keys() & _OF_IMAGES or any(name.endswith(" result") for name in n_apart):
        return (
            "Labels of whole images are measured in a table with a row for each image and "
            "annotator (Label Studio exports it as CSV): bboxqa stats FILE.csv --value COLUMN"
        )
    return "Agreement needs boxes, outlines, masks or key points: export those."
