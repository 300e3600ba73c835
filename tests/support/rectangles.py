"""Rectangles left, top, right, bottom."""


def overlap(first, second):
    """Return whether two rectangles share more than an edge."""
    return (
        first[0] < second[2]
        and second[0] < first[2]
        and first[1] < second[3]
        and second[1] < first[3]
    )


def inside(place, bounds):
    """Return whether a rectangle lies in another one."""
    return (
        place[0] >= bounds[0]
        and place[1] >= bounds[1]
        and place[2] <= bounds[2]
        and place[3] <= bounds[3]
    )
