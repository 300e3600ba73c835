"""Inferring the number of key points from label files without `kpt_shape`."""

from collections.abc import Iterable

_VISIBILITY = {0.0, 1.0, 2.0}
_BOX, _FEWEST = 4, 10
"""Seven numbers may be a triangle and a confidence, so that one key point is never inferred."""


def inferred_shape(texts: Iterable[bytes]) -> tuple[int, int] | None:
    r"""Return the number of key points, and of values per key point; None for other labels.

    All lines must have equally many numbers, with a visibility of 0, 1 or 2 as every third number
    after the box. At least one must be 2, as outlines at the edge of the image have 0 and 1 by
    chance. Files are read up to the first other line.

    Parameters
    ----------
    texts : iterable of bytes
        The contents of all label files.

    Examples
    --------
    >>> inferred_shape([b"0 .5 .5 .2 .2 .5 .5 2 .6 .6 1\n", b"", b"1 .3 .3 .2 .2 .3 .3 0 .4 .4 1"])
    (2, 3)
    >>> inferred_shape([b"0 .5 .5 .6 .3 .8 .2 1 .4 .9 1"]) is None
    True
    """
    n_values, is_two = 0, False
    for text in texts:
        for line in text.splitlines():
            words = line.split()[1:]
            if not words:
                continue
            n_values = n_values or len(words)
            seen = _visibilities(words) if len(words) == n_values >= _FEWEST else None
            if seen is None:
                return None
            is_two = is_two or 2 in seen
    return ((n_values - _BOX) // 3, 3) if is_two else None


def may_be_pose(values: list[float]) -> bool:
    """Return whether the numbers after a class may be a box and key points, by chance or not.

    Examples
    --------
    >>> may_be_pose([0.5, 0.5, 0.6, 0.3, 0.8, 0.9, 1.0]), may_be_pose([0.5, 0.5, 0.6, 0.3])
    (True, False)
    """
    return len(values) > _BOX and _are_visibilities(len(values), set(values[_BOX + 2 :: 3]))


def is_surely_pose(values: list[float]) -> bool:
    """Return whether the numbers after a class are a box and key points, one of which is visible.

    Examples
    --------
    >>> is_surely_pose([0.5, 0.5, 0.2, 0.2, 0.5, 0.5, 2]), is_surely_pose([0.5, 0.5, 0.2, 0.2, 2])
    (True, False)
    """
    return 2 in values[_BOX + 2 :: 3] and may_be_pose(values)


def _visibilities(words: list[bytes]) -> set[float] | None:
    """Return the visibilities in a line; None if it has no key points."""
    try:
        # Converting each different word once is several times faster.
        seen = {float(each) for each in {*words[_BOX + 2 :: 3]}}
    except ValueError:
        return None
    return seen if _are_visibilities(len(words), seen) else None


def _are_visibilities(n_values: int, seen: set[float]) -> bool:
    return (n_values - _BOX) % 3 == 0 and seen <= _VISIBILITY
