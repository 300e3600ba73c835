"""The points of Datumaro labels, and the pairs that their skeletons connect."""

from collections.abc import Iterator
from typing import Any

from bboxqa.formats.translation.untrusted import items, mapping, plain_text


def point_names(content: dict[str, Any]) -> dict[int, list[str]]:
    """Return the point names of each label, by label number.

    Examples
    --------
    >>> listed = [{"label_id": 0, "labels": ["nose", "tail"], "joints": [[1, 2]]}]
    >>> point_names({"categories": {"points": {"items": listed}}})
    {0: ['nose', 'tail']}
    """
    names = {}
    for given in map(mapping, _listed(content)):
        number = given.get("label_id")
        if isinstance(number, int) and items(given.get("labels")):
            names[number] = [plain_text(name) for name in items(given.get("labels"))]
    return names


def limbs(content: dict[str, Any]) -> dict[int, list[tuple[str, str]]]:
    """Return the names of the two points of each limb, by label number.

    Points are counted from 0 where one has the number 0, else from 1.

    Examples
    --------
    >>> listed = [{"label_id": 0, "labels": ["nose", "tail"], "joints": [[1, 2]]}]
    >>> limbs({"categories": {"points": {"items": listed}}})
    {0: [('nose', 'tail')]}
    """
    found: dict[int, list[tuple[str, str]]] = {}
    for given in map(mapping, _listed(content)):
        names = [plain_text(name) for name in items(given.get("labels"))]
        pairs = [items(pair) for pair in items(given.get("joints"))]
        ends = [[end for end in pair if type(end) is int] for pair in pairs]
        first = 0 if any(0 in pair for pair in ends) else 1
        number = given.get("label_id")
        if isinstance(number, int):
            found[number] = [
                (names[pair[0] - first], names[pair[1] - first])
                for pair in ends
                if len(pair) == 2 and all(0 <= end - first < len(names) for end in pair)
            ]
    return found


def wrong_joints(content: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield pointer and problem of each skeleton that connects points it does not have.

    Points may be counted from 0 or from 1.
    """
    for place, given in enumerate(map(mapping, _listed(content))):
        n = len(items(given.get("labels")))
        ends = [end for pair in items(given.get("joints")) for end in items(pair)]
        wrong = [end for end in ends if isinstance(end, int) and not 0 <= end <= n]
        if n and wrong:
            problem = f"skeleton joins keypoint {wrong[0]}; expected numbers up to {n}, the number "
            yield f"/categories/points/items/{place}", f"{problem}of its points"


def _listed(content: dict[str, Any]) -> list[Any]:
    return items(mapping(mapping(content.get("categories")).get("points")).get("items"))
