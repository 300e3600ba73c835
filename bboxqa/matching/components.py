"""The annotators and the connected components of annotations, for several matchers."""

import numpy as np

from bboxqa.core.arrays import BoolArray, IndexArray
from bboxqa.core.components import connected_components
from bboxqa.model.annotations import Annotations
from bboxqa.model.units import CandidatePairs


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
