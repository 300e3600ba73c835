"""Objects with two labels: places where annotators drew boxes of two categories."""

from collections.abc import Iterator

import numpy as np

from bboxqa.agreement.alpha.levels import alpha
from bboxqa.agreement.counts.unit_counts import unit_counts
from bboxqa.core.arrays import BoolArray, IndexArray, frozen_arrays
from bboxqa.core.components import connected_components
from bboxqa.core.text import count
from bboxqa.geometry.candidates import TOLERANCE
from bboxqa.matching.matchers import match
from bboxqa.model.annotations import Annotations
from bboxqa.model.settings import AgreeSettings
from bboxqa.model.units import CandidatePairs, MatchedUnits, UnitTable
from bboxqa.pipelines.counting import reliability_of
from bboxqa.pipelines.image_parts import ImagePart

_LEAST_GAIN = 0.01


@frozen_arrays
class _Places:
    """Places where several annotators drew two matching boxes with the same two categories."""

    place: IndexArray
    """(N,) int64. Index of the place of each annotation, -1 for none."""
    first: IndexArray
    second: IndexArray
    """(P,) int64. The two categories of each place; a place with more has several rows."""


def with_labels_matched(
    annotations: Annotations, units: UnitTable, pairs: CandidatePairs, own: CandidatePairs,
    settings: AgreeSettings,
) -> UnitTable:  # fmt: skip
    """Return units in which boxes of objects with two labels are matched by their categories.

    Boxes in one place overlap each other about equally, whatever their categories. Where two
    annotators drew both labels, a pair of different labels is an artefact of matching and not a
    confusion.
    """
    found = _places(annotations, pairs, own)
    there = found.place >= 0
    if settings.category_lenient or not there.any():
        return units
    by_label = match(
        annotations,
        pairs.take(there[pairs.left]),
        settings.matcher,
        settings.iou_threshold[0],
        category_lenient=True,
    )
    unit = np.where(there, len(units) + by_label.unit, units.unit)
    # Numbered by image, then by the annotator and the id of the first annotation.
    order = np.lexsort((annotations.id, annotations.annotator, annotations.image))
    _, first, number = np.unique(unit[order], return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first, kind="stable")] = np.arange(len(first))
    result = np.empty(len(unit), np.int64)
    result[order] = rank[number]
    return UnitTable(result, annotations.image[order][np.sort(first)])


def label_warnings(
    images: ImagePart, matched: MatchedUnits, settings: AgreeSettings, value: float
) -> Iterator[str]:
    """Yield the number of places with two labels, and alpha if equal categories were matched."""
    of, threshold = matched.data, matched.threshold
    pairs = matched.near.take(matched.near.similarity >= threshold - TOLERANCE)
    found = _places(of.annotations, pairs, matched.own)
    if settings.category_lenient or not len(found.first):
        return
    units = match(of.annotations, pairs, matched.matcher, threshold, category_lenient=True)
    data = reliability_of(images, units, settings)
    by_label = alpha(unit_counts(data, settings.missing)).value
    if not by_label - value >= _LEAST_GAIN:
        return
    n_categories = len(of.category_names)
    keys, n = np.unique(found.first * n_categories + found.second, return_counts=True)
    first, second = divmod(int(keys[n.argmax()]), n_categories)
    most = f"{of.category_names[first]} and {of.category_names[second]}"
    where = "," if len(keys) == 1 else ", most often"
    n_places = len(np.unique(found.place[found.place >= 0]))
    yield (
        f"{count(n_places, 'place')} {'has' if n_places == 1 else 'have'} overlapping boxes of two "
        f"categories by the same annotators{where} {most}: alpha matches boxes by place alone and "
        "may pair one category with the other; --category-lenient prefers equal categories and "
        f"gives {by_label:z.2f} and not {value:z.2f}, and the tables of the diagnosis match so "
        "there"
    )


def _places(annotations: Annotations, pairs: CandidatePairs, own: CandidatePairs) -> _Places:
    """Return the places where two annotators or more drew the same two labels."""
    category = annotations.category.astype(np.int64)
    place = np.full(len(annotations), -1)
    own = own.take(np.flatnonzero(category[own.left] != category[own.right]))
    none = np.zeros(0, np.int64)
    if not len(own):
        return _Places(place, none, none)
    left, right = np.append(own.left, pairs.left), np.append(own.right, pairs.right)
    component = connected_components(left, right)
    ends = np.sort([category[own.left], category[own.right]], axis=0)
    author = annotations.annotator[own.left].astype(np.int64)
    rows = np.unique(np.column_stack([component[: len(own)], *ends, author]), axis=0)
    labels, n_authors = np.unique(rows[:, :3], axis=0, return_counts=True)
    labels = labels[n_authors > 1]
    chosen: BoolArray = np.isin(component, labels[:, 0])
    place[left[chosen]] = component[chosen]
    place[right[chosen]] = component[chosen]
    return _Places(place, labels[:, 1], labels[:, 2])
