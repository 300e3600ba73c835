"""Order of equal pairs by geometry and category, and connected components."""

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bboxqa.core.arrays import BoolArray, IndexArray
from bboxqa.core.components import connected_components
from bboxqa.model.annotations import Annotations
from bboxqa.model.outlines import Segmentations
from bboxqa.model.shapes.keypoints import Keypoints
from bboxqa.model.units import CandidatePairs

__all__ = ["drawn_ranks"]


def drawn_ranks(annotations: Annotations, nodes: IndexArray) -> IndexArray:
    """Return the ranks of annotations by image, box, other shapes and category, (K,).

    Other shapes are rotated boxes, outlines and key points, as far as they were read.

    Annotators and ids have no effect: equal annotations by several annotators have the same rank.
    Equal annotations by one annotator have successive ranks in arbitrary order. `nodes` are
    distinct annotations, and may be empty.
    """
    if len(nodes) == 0:
        return np.zeros(0, np.int64)
    x, y, width, height = annotations.bbox[nodes].T
    box = [height, width, y, x, annotations.image[nodes]]
    order = np.lexsort(box)
    # Only the other shapes of equal boxes are compared.
    new_box = _changes(box, order)
    shape = np.zeros(len(nodes), np.int64)
    tied = order[~(new_box & np.append(new_box[1:], True))]
    shape[tied] = _shape_ranks(annotations, nodes[tied])
    content = [annotations.category[nodes], shape, *box]
    annotator = annotations.annotator[nodes]
    order = np.lexsort([annotator, *content])
    new_content = _changes(content, order)
    new_author = _changes([annotator, *content], order)
    place = np.arange(len(nodes))
    copy = place - np.maximum.accumulate(np.where(new_author, place, 0))
    ranks = np.empty(len(nodes), np.int64)
    ranks[order] = np.maximum.accumulate(np.where(new_content, place, 0)) + copy
    return ranks


def _changes(keys: list[NDArray[Any]], order: IndexArray) -> BoolArray:
    """Return which rows in this order differ from the previous row; the first one always does."""
    changes = np.zeros(len(order), np.bool_)
    changes[0] = True
    for key in keys:
        changes[1:] |= np.diff(key[order]) != 0
    return changes


def _shape_ranks(annotations: Annotations, nodes: IndexArray) -> IndexArray:
    """Return the ranks of rotated boxes, outlines and key points by their numbers, (K,)."""
    shapes: list[list[Any]] = []
    if annotations.rotated_box is not None:
        shapes.append(annotations.rotated_box[nodes].tolist())
    if annotations.segmentation is not None:
        shapes.append([_outline(annotations.segmentation, node) for node in nodes.tolist()])
    if annotations.keypoints is not None:
        shapes.append([_joints(annotations.keypoints, node) for node in nodes.tolist()])
    ranks = np.zeros(len(nodes), np.int64)
    if not shapes:
        return ranks
    keys = list(zip(*shapes, strict=True))
    order = sorted(range(len(keys)), key=keys.__getitem__)
    for before, after in pairwise(order):
        ranks[after] = ranks[before] + (keys[before] != keys[after])
    return ranks


def _outline(outlines: Segmentations, node: int) -> tuple[int, list[Any], bytes]:
    rings = [ring.tolist() for ring in outlines.rings(node)]
    return int(outlines.kind[node]), rings, outlines.rle(node)["counts"]


def _joints(keypoints: Keypoints, node: int) -> tuple[list[Any], list[int], float]:
    held = slice(int(keypoints.start[node]), int(keypoints.stop[node]))
    area = float(np.nan_to_num(keypoints.area[node], nan=-1.0))
    return keypoints.xy[held].tolist(), keypoints.visibility[held].tolist(), area


def author_ranks(annotations: Annotations) -> IndexArray:
    """Return the rank of each annotation's author among the annotators of its image, (N,).

    As images are independent, the first annotators of all images are matched at once with the
    second annotators, whoever they are.
    """
    new_image = np.diff(annotations.image, prepend=-1) != 0
    new_author = new_image | (np.diff(annotations.annotator, prepend=-1) != 0)
    number = np.cumsum(new_author)
    starts = np.flatnonzero(new_image)
    rank: IndexArray = number - np.repeat(number[starts], np.diff(starts, append=len(number)))
    return rank


def components(annotations: Annotations, pairs: CandidatePairs) -> tuple[IndexArray, BoolArray]:
    """Return the first annotation of each component, (N,), and where annotators repeat, (N,) bool.

    A component in which no annotator appears twice can be one unit. There is at least one pair.
    """
    home = np.arange(len(annotations))
    component = connected_components(pairs.left, pairs.right)
    home[pairs.left] = component
    home[pairs.right] = component
    del component
    order = np.lexsort((annotations.annotator, home))
    twice = np.diff(home[order]) == 0
    twice &= np.diff(annotations.annotator[order]) == 0
    return home, np.isin(home, home[order[1:][twice]])
