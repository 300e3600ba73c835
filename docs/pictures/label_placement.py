"""Places for labels near their boxes, where no label covers another one."""

from collections.abc import Iterator, Sequence

from sheet import Rectangle


def overlap(first: Rectangle, second: Rectangle) -> bool:
    """Tell whether two (left, top, right, bottom) rectangles share an area.

    Examples
    --------
    >>> overlap((0, 0, 2, 2), (1, 1, 3, 3)), overlap((0, 0, 2, 2), (2, 0, 4, 2))
    (True, False)
    """
    return (
        first[0] < second[2]
        and second[0] < first[2]
        and first[1] < second[3]
        and second[1] < first[3]
    )


def place_labels(
    boxes: Sequence[Rectangle],
    sizes: Sequence[tuple[float, float]],
    bounds: Rectangle,
    gap: float = 1,
) -> list[Rectangle | None]:
    """Give every box a place for its label, near the box and off all other labels.

    The corners of the box are tried first, outside and inside, then the middles of its edges,
    then the whole of `bounds`. Among free places the one that crosses fewest outlines of other
    boxes wins, and of those the one tried first. Small boxes choose before large ones, as a
    large one has more room to give.

    Parameters
    ----------
    boxes
        (left, top, right, bottom) of each box.
    sizes
        (width, height) of each box's label.
    bounds
        (left, top, right, bottom) of the panel; labels stay inside it.
    gap
        Least distance between two labels.

    Returns
    -------
    list
        (left, top, right, bottom) of each label in the order of `boxes`; `None` for a label for
        which no free place is left.

    Examples
    --------
    >>> place_labels([(20, 20, 60, 60), (20, 20, 60, 60)], [(10, 8), (10, 8)], (0, 0, 99, 99))
    [(20, 12, 30, 20), (50, 12, 60, 20)]
    """
    if len(boxes) != len(sizes):
        raise ValueError(f"{len(boxes)} boxes but {len(sizes)} label sizes")
    placed: list[Rectangle | None] = [None] * len(boxes)
    taken: list[Rectangle] = []
    for index in sorted(range(len(boxes)), key=lambda index: _area(boxes[index])):
        others = [box for position, box in enumerate(boxes) if position != index]
        place = _choose(boxes[index], sizes[index], bounds, taken, others)
        placed[index] = place
        if place is not None:
            taken.append((place[0] - gap, place[1] - gap, place[2] + gap, place[3] + gap))
    return placed


def _choose(
    box: Rectangle,
    size: tuple[float, float],
    bounds: Rectangle,
    taken: Sequence[Rectangle],
    others: Sequence[Rectangle],
) -> Rectangle | None:
    free = [place for place in _beside(box, size) if _inside(place, bounds) and _free(place, taken)]
    if free:
        return min(free, key=lambda place: _crossings(place, others))
    left = [
        place
        for place in _anywhere(size, bounds, taken)
        if _inside(place, bounds) and _free(place, taken)
    ]
    return min(left, key=lambda place: _distance(place, box), default=None)


def _beside(box: Rectangle, size: tuple[float, float]) -> Iterator[Rectangle]:
    left, top, right, bottom = box
    width, height = size
    middle, centre = (left + right - width) / 2, (top + bottom - height) / 2
    starts = [
        *((x, y) for y in (top - height, top) for x in (left, right - width)),
        *((x, y) for y in (bottom, bottom - height) for x in (left, right - width)),
        *((x, y) for y in (top, bottom - height) for x in (left - width, right)),
        *((middle, y) for y in (top - height, top, bottom, bottom - height)),
        *((x, centre) for x in (left - width, left, right, right - width)),
    ]
    for x, y in starts:
        yield x, y, x + width, y + height


def _anywhere(
    size: tuple[float, float], bounds: Rectangle, taken: Sequence[Rectangle]
) -> Iterator[Rectangle]:
    # Any free place can be pushed left and up until it meets the panel's edge or a label, so
    # these starts hold a free place whenever there is one.
    for x in (bounds[0], *(rectangle[2] for rectangle in taken)):
        for y in (bounds[1], *(rectangle[3] for rectangle in taken)):
            yield x, y, x + size[0], y + size[1]


def _inside(place: Rectangle, bounds: Rectangle) -> bool:
    return (
        bounds[0] <= place[0]
        and bounds[1] <= place[1]
        and place[2] <= bounds[2]
        and place[3] <= bounds[3]
    )


def _free(place: Rectangle, taken: Sequence[Rectangle]) -> bool:
    return not any(overlap(place, other) for other in taken)


def _crossings(place: Rectangle, boxes: Sequence[Rectangle]) -> int:
    return sum(overlap(place, box) and not _inside(place, box) for box in boxes)


def _distance(place: Rectangle, box: Rectangle) -> float:
    aside = max(box[0] - place[2], place[0] - box[2], 0)
    below = max(box[1] - place[3], place[1] - box[3], 0)
    return aside + below


def _area(box: Rectangle) -> float:
    return (box[2] - box[0]) * (box[3] - box[1])
