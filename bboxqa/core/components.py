"""Graphs whose edges are arrays, and their connected components."""

import numpy as np

from bboxqa.core.arrays import IndexArray
from bboxqa.core.blocks import blocks

# A table of at most so many cells per pair is faster than sorting the nodes.
_SPARSE = 4


def connected_components(left: IndexArray, right: IndexArray) -> IndexArray:
    """Return the component of each pair, as the smallest node in it.

    `left` and `right` are the two ends of each pair, (P,) int64; P may be 0.

    Examples
    --------
    >>> import numpy as np
    >>> connected_components(np.array([0, 1, 5]), np.array([3, 3, 6]))
    array([0, 0, 5])
    """
    nodes, a, b = numbered_nodes(left, right)
    label = np.arange(len(nodes))
    while True:
        changed = label.copy()
        for part in blocks(len(a)):
            one, other = label[a[part]], label[b[part]]
            low = np.minimum(one, other)
            # Both the ends and the nodes that label them take over the smaller label.
            for target in (a[part], b[part], one, other):
                np.minimum.at(changed, target, low)
        changed = changed[changed]
        if np.array_equal(changed, label):
            del b
            return nodes[label[a]]
        label = changed


def component_of_each(n: int, left: IndexArray, right: IndexArray) -> IndexArray:
    """Return the component of each of n nodes, as the smallest node in it, (n,).

    `left` and `right` are the two ends of each pair, (P,) int64; P may be 0.

    Examples
    --------
    >>> import numpy as np
    >>> component_of_each(4, np.array([3]), np.array([1]))
    array([0, 1, 2, 1])
    """
    found = np.arange(n)
    found[left] = found[right] = connected_components(left, right)
    return found


def numbered_nodes(
    left: IndexArray, right: IndexArray
) -> tuple[IndexArray, IndexArray, IndexArray]:
    """Return the nodes that occur, sorted, and the two ends of each pair as places among them."""
    size = max(int(left.max(initial=-1)), int(right.max(initial=-1))) + 1
    if size > _SPARSE * len(left):
        nodes, ends = np.unique(np.concatenate([left, right]), return_inverse=True)
        return nodes, ends[: len(left)], ends[len(left) :]
    # Takes less memory than sorting, and less time.
    occurs = np.zeros(size, np.bool_)
    occurs[left] = True
    occurs[right] = True
    number = np.cumsum(occurs) - 1
    return np.flatnonzero(occurs), number[left], number[right]
