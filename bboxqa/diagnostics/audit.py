"""Labels to look at again: those that a model, or other annotators, contradict."""

from dataclasses import fields

import numpy as np

from bboxqa.core.arrays import (
    BoolArray,
    FloatArray,
    IndexArray,
    IntArray,
    compact,
    frozen_arrays,
    overlapping_boxes,
)
from bboxqa.geometry.candidates import TOLERANCE, candidate_pairs
from bboxqa.model.annotations import Annotations, Dataset

KINDS = ("missing", "spurious", "class", "place", "twice")
"""An object without a label, a label without an object, another category, a badly drawn label, and
a label that repeats another one."""
MISSING, SPURIOUS, CLASS, PLACE, TWICE = range(5)
REASONS = (
    "score {:.2f}, and no label",
    "no prediction overlaps it",
    "another category has score {:.2f}, its own {:.2f}",
    "IoU {1:.2f} with a prediction of score {0:.2f}",
    "IoU {1:.2f} with another label, and no prediction of its own",
    "score {:.2f}, and no label; the team labels {:.0%} of such predictions",
    "the best prediction has score {:.2f} and IoU {:.2f}",
    "size {:.1f} standard deviations (robust) from the median of its category",
    "shape {:.1f} standard deviations (robust) from the median of its category",
    "IoU {1:.2f} with another label of its category",
    "all {:.0f} labels are as in the image before",
    "no label, while {:.0%} of the images have some",
)
"""Why something is suspicious; the first five are those of each kind."""
SHARE, SUPPORTED, SIZE, SHAPE, REPEATED, COPIED, EMPTY = range(5, 12)

# Boxes of one object, and the least overlap of a badly drawn one, as in TIDE.
_SAME, _NEAR = 0.5, 0.1
# A prediction with a lower score shows no place at which a label should be.
_SURE = 0.5
# Suspects with a lower score are left out.
_LEAST = 0.01
# Below this number of predictions with a label, or without one, nothing is learnt from them.
_FEW = 50
_FOLDS, _MOST_LEARNT = 5, 100_000
# The weight of the prior: as many predictions of a category as shrink its offset by half; and the
# precision of the coefficients, whose features have a standard deviation of 1.
_OF_CATEGORY, _RIDGE = 25.0, 1.0


@frozen_arrays
class Model:
    """What is known of the annotations of a model, among all N annotations."""

    score: FloatArray
    """(N,) float64. From 0 to 1; 0 for labels."""
    class_score: FloatArray
    """(N,) float64. The score for the own category. Annotations with a score of 0 and a class score
    above it name a further category of another one."""
    votes: bool
    """Whether scores are shares of several annotators."""


@frozen_arrays
class Suspects:
    """S places to look at, the most suspicious first."""

    kind: IntArray
    """(S,) int32. Index into `KINDS`."""
    image: IntArray
    label: IndexArray
    prediction: IndexArray
    """(S,). Indices of the image and of annotations; -1 for none."""
    bbox: FloatArray
    """(S, 4) float64. Where to look: the prediction of what is missing, and of a badly drawn label,
    otherwise the label."""
    suggested: IntArray
    """(S,) int32. The category that the model suggests; -1 for none."""
    score: FloatArray
    """(S,) float64. From 0 to 1."""
    reason: IntArray
    """(S,) int32. Index into `REASONS`."""
    figures: FloatArray
    """(S, 2) float64. The figures of the reason; NaN for none."""

    def __len__(self) -> int:
        return len(self.kind)

    def take(self, rows: IndexArray) -> "Suspects":
        """Return the suspects at `rows`, in that order."""
        return Suspects(*(getattr(self, each.name)[rows] for each in fields(self)))


def ranked(parts: list[Suspects]) -> Suspects:
    """Return all suspects in one ranking; ties are in the order of kinds, images and boxes."""
    names = [each.name for each in fields(Suspects)]
    both = Suspects(*(np.concatenate([getattr(each, name) for each in parts]) for name in names))
    kept = np.flatnonzero(both.score >= _LEAST)
    keys = (both.prediction, both.label, both.image, both.kind, -both.score.round(9))
    return both.take(kept[np.lexsort(tuple(key[kept] for key in keys))])


@frozen_arrays
class _Overlaps:
    """P pairs of a label and a prediction, and the one partner of each."""

    label: IndexArray
    prediction: IndexArray
    iou: FloatArray
    """(P,). At least 0.1."""
    partner: IndexArray
    """(N,) int64. The pair of each annotation with the same object; -1 for none."""
    near: IndexArray
    """(N,) int64. The pair of each other annotation that is badly placed; -1 for none."""


def suspects(both: Dataset, model: Model, crowd: tuple[IntArray, FloatArray]) -> Suspects:
    """Return what is suspicious about labels, by predictions.

    A label and a prediction show the same object from an IoU of 0.5 on. They are matched greedily
    by score times IoU, then those that are left, from an IoU of 0.1 on, as one object that is badly
    placed. These limits, and the kinds, are those of TIDE [1]_, with the model in place of the
    truth. With s the score of a prediction and i its IoU with a label, the scores are:

    - missing: the probability that this team labels such a prediction; see `labelled_share`. With
      votes, s (1 - i) of the most similar label
    - spurious: 1 - s min(1, 2 i) of the prediction that supports the label most
    - class: the best score of another category, times 1 - that of its own
    - place: s (1 - i^2) min(1, 2 (1 - i))^4
    - twice: 2 i - 1 of another label, if no prediction is left for this one

    A label has one row, with its highest score.

    Parameters
    ----------
    both : Dataset
        Annotator 0 drew the labels, annotator 1 is the model.
    model : Model
    crowd : (C,) int32 and (C, 4) float64
        The images and boxes of labels that are crowds; predictions inside are not missing.

    References
    ----------
    .. [1] Bolya, D., Foley, S., Hays, J. and Hoffman, J. (2020). TIDE: A General Toolbox for
       Identifying Object Detection Errors. ECCV. doi:10.1007/978-3-030-58580-8_33
    """
    found = _overlaps(both, model.score)
    scores, suggested, figures, prediction = _label_scores(both, found, model)
    labels = np.flatnonzero(both.annotations.annotator == 0)
    kind = scores[labels].argmax(1)
    of = both.annotations
    at_place = kind == PLACE
    own = prediction[labels, kind]
    of_labels = Suspects(
        kind=kind.astype(np.int32),
        image=of.image[labels],
        label=labels,
        prediction=own,
        bbox=np.where(at_place[:, None], of.bbox[own], of.bbox[labels]),
        suggested=np.where(np.isin(kind, (CLASS, PLACE)), suggested[labels, kind], -1).astype(
            np.int32
        ),
        score=scores[labels, kind],
        reason=np.where((kind == SPURIOUS) & (own >= 0), SUPPORTED, kind).astype(np.int32),
        figures=figures[labels, kind],
    )
    used = own[at_place & (of_labels.score >= _LEAST)]
    return ranked([_missing(both, found, model, used, crowd), of_labels])


def _overlaps(both: Dataset, score: FloatArray) -> _Overlaps:
    """Return overlapping labels and predictions, matched by score times IoU."""
    pairs, _ = candidate_pairs(both, "bbox", _NEAR)
    # Annotations of an image are ordered by annotator, and labels come first.
    label, prediction, iou = pairs.left, pairs.right, pairs.similarity
    weight = iou * score[prediction]
    n = len(score)
    same = np.flatnonzero((iou >= _SAME - TOLERANCE) & (weight > 0))
    partner = _matched(label, prediction, weight, same, n)
    free = partner < 0
    rest = np.flatnonzero(free[label] & free[prediction] & (weight > 0))
    return _Overlaps(label, prediction, iou, partner, _matched(label, prediction, weight, rest, n))


def _matched(
    left: IndexArray, right: IndexArray, weight: FloatArray, pairs: IndexArray, n: int
) -> IndexArray:
    """Return the pair of each of n annotations if `pairs` are taken by falling weight, or -1.

    In each round, all pairs are taken that are the best of both their ends.
    """
    found = np.full(n, -1)
    order = pairs[np.lexsort((right[pairs], left[pairs], -weight[pairs]))]
    while len(order):
        best = np.full(n, len(order))
        for end in (left, right):
            # Of equal indices, the last one counts.
            best[end[order[::-1]]] = np.arange(len(order))[::-1]
        place = np.arange(len(order))
        taken = order[(best[left[order]] == place) & (best[right[order]] == place)]
        found[left[taken]] = found[right[taken]] = taken
        order = order[(found[left[order]] < 0) & (found[right[order]] < 0)]
    return found


def _best(label: IndexArray, value: FloatArray, pairs: IndexArray, n: int) -> IndexArray:
    """Return the pair with the highest value of each label, (n,); -1 for none."""
    best = np.full(n, -1)
    order = pairs[np.lexsort((-pairs, value[pairs]))]
    best[label[order]] = order
    return best


def _label_scores(
    both: Dataset, found: _Overlaps, model: Model
) -> tuple[FloatArray, IntArray, FloatArray, IndexArray]:
    """Return the score of each annotation as a label by kind, (N, 5), -1 where it cannot be one.

    Also return the suggested category, two figures, and the prediction, by kind.
    """
    of, n = both.annotations, len(both.annotations)
    score = np.full((n, len(KINDS)), -1.0)
    figures = np.full((n, len(KINDS), 2), np.nan)
    pair = np.full((n, len(KINDS)), -1)
    s, iou, label = model.score[found.prediction], found.iou, found.label
    support = s * np.minimum(1, iou / _SAME)
    every = np.arange(len(iou))
    pair[:, SPURIOUS] = _best(label, support, every[support > 0], n)
    score[:, SPURIOUS] = 1 - _of(support, pair[:, SPURIOUS], 0)
    same = every[iou >= _SAME - TOLERANCE]
    alike = of.category[label[same]] == of.category[found.prediction[same]]
    named = model.class_score[found.prediction]
    pair[:, CLASS] = _best(label, named, same[~alike], n)
    own = _of(named, _best(label, named, same[alike], n), 0)
    score[:, CLASS] = _of(named, pair[:, CLASS], 0) * (1 - own)
    pair[:, PLACE] = np.where(found.partner >= 0, found.partner, found.near)
    apart = s * (1 - iou**2) * np.minimum(1, 2 * (1 - iou)) ** 4
    score[:, PLACE] = _of(apart, pair[:, PLACE], -1)
    # What is near a sure prediction is badly drawn, and near another one spurious.
    is_sure = _of(s, found.near, -1) >= _SURE
    score[is_sure, SPURIOUS] = -1
    score[(found.near >= 0) & ~is_sure, PLACE] = -1
    figures[:, TWICE, 1] = repeated(of, np.flatnonzero(of.annotator == 0), found.partner < 0)
    score[:, TWICE] = 2 * figures[:, TWICE, 1] - 1
    for kind in (SPURIOUS, PLACE):
        figures[:, kind] = np.stack([_of(x, pair[:, kind], 0) for x in (s, iou)], axis=1)
    figures[:, CLASS] = np.stack([_of(named, pair[:, CLASS], 0), own], axis=1)
    prediction = np.where(pair >= 0, np.append(found.prediction, -1)[pair], -1)
    suggested = np.where(prediction >= 0, of.category[prediction], -1)
    return score, suggested, figures, prediction


def _of(values: FloatArray, pair: IndexArray, other: float) -> FloatArray:
    """Return the value of each pair; `other` where there is none."""
    return np.append(values, other)[pair]


def edges_of(bbox: FloatArray) -> FloatArray:
    """Return boxes as left, top, right and bottom, (N, 4)."""
    return np.concatenate([bbox[:, :2], bbox[:, :2] + bbox[:, 2:]], axis=1)


def _shared(
    edges: FloatArray, one: IndexArray, other_edges: FloatArray, other: IndexArray
) -> FloatArray:
    """Return the area that pairs of boxes of two sets share."""
    low = np.maximum(edges[one, :2], other_edges[other, :2])
    high = np.minimum(edges[one, 2:], other_edges[other, 2:])
    area: FloatArray = (high - low).clip(0).prod(1)
    return area


def _iou(bbox: FloatArray, one: IndexArray, other: IndexArray) -> FloatArray:
    """Return the IoU of pairs of overlapping boxes."""
    shared, area = _shared(edges_of(bbox), one, edges_of(bbox), other), bbox[:, 2:].prod(1)
    # Boxes that overlap have an area.
    iou: FloatArray = shared / (area[one] + area[other] - shared)
    return iou


def repeated(of: Annotations, labels: IndexArray, alone: BoolArray) -> FloatArray:
    """Return the largest IoU of `labels` that are `alone` with another of their category, (N,).

    0 below 0.5, and for other annotations. Of two labels that are alone, the second one counts.
    """
    found = np.zeros(len(of))
    some = labels[alone[labels]]
    edges, image = edges_of(of.bbox), of.image.astype(np.int64)
    for one, other in overlapping_boxes(image[some], edges[some], image[labels], edges[labels]):
        a, b = some[one], labels[other]
        kept = (a != b) & ~(alone[b] & (a < b)) & (of.category[a] == of.category[b])
        a, b = a[kept], b[kept]
        iou = _iou(of.bbox, a, b)
        same = iou >= _SAME - TOLERANCE
        np.maximum.at(found, a[same], iou[same])
    return found


def _missing(
    both: Dataset,
    found: _Overlaps,
    model: Model,
    used: IndexArray,
    crowd: tuple[IntArray, FloatArray],
) -> Suspects:
    """Return the predictions without a label, each object once."""
    of = both.annotations
    rows = np.flatnonzero(model.score > 0)
    nearest = np.zeros(len(of))
    np.maximum.at(nearest, found.prediction, found.iou)
    nearest, own = nearest[rows], model.score[rows]
    score, share = own * (1 - nearest), np.full(len(rows), np.nan)
    if not model.votes:
        labelled = found.partner[rows] >= 0
        share = labelled_share(own, of.bbox[rows, 3], of.category[rows], of.image[rows], labelled)
        score = np.where(np.isnan(share), own, share)
    is_open = (found.partner[rows] < 0) & (nearest < _SAME - TOLERANCE) & ~np.isin(rows, used)
    is_open &= ~_inside(of.image[rows], of.bbox[rows], *crowd)
    kept = np.flatnonzero(is_open & (score >= _LEAST))
    # Of two predictions of one object, the one with the higher score counts.
    kept = kept[np.argsort(-score[kept], kind="stable")]
    bbox, image, lower = of.bbox[rows[kept]], of.image[rows[kept]].astype(np.int64), [kept[:0]]
    for one, other in overlapping_boxes(image, edges_of(bbox), image, edges_of(bbox)):
        first, second = one[one < other], other[one < other]
        lower.append(second[_iou(bbox, first, second) >= _SAME - TOLERANCE])
    kept = np.delete(kept, np.concatenate(lower))
    rows, figures = rows[kept], np.stack([own, share], axis=1)[kept]
    return Suspects(
        kind=np.zeros(len(rows), np.int32),
        image=of.image[rows],
        label=np.full(len(rows), -1),
        prediction=rows,
        bbox=of.bbox[rows],
        suggested=of.category[rows],
        score=score[kept],
        reason=np.where(np.isnan(figures[:, 1]), MISSING, SHARE).astype(np.int32),
        figures=figures,
    )


def _inside(
    image: IntArray, bbox: FloatArray, crowd_image: IntArray, crowd_bbox: FloatArray
) -> BoolArray:
    """Return which boxes lie in a crowd for at least half of their area."""
    result = np.zeros(len(image), np.bool_)
    edges, others = edges_of(bbox), edges_of(crowd_bbox)
    of, of_crowd = image.astype(np.int64), crowd_image.astype(np.int64)
    for one, other in overlapping_boxes(of, edges, of_crowd, others):
        shared = _shared(edges, one, others, other)
        result[one[shared >= _SAME * bbox[one, 2:].prod(1)]] = True
    return result


def labelled_share(
    score: FloatArray, height: FloatArray, category: IntArray, image: IntArray, labelled: BoolArray
) -> FloatArray:
    """Return how often this team labels predictions of such a score, height and category, (P,).

    That is a logistic regression of `labelled` on the logit of the score and the logarithm of the
    height, with a ridge penalty, and an offset for each category that is shrunk to 0. It is learnt
    from the other images: those of five folds. NaN everywhere with fewer than 50 predictions that
    have a label, or that have none.

    Examples
    --------
    >>> score, image = np.tile([0.2, 0.8], 100), np.arange(200, dtype=np.int32)
    >>> same, labelled = np.zeros(200, np.int32), np.tile([False, False, False, True], 50)
    >>> found = labelled_share(score, np.full(200, 9.0), same, image, labelled)
    >>> found[:2].round(1)
    array([0. , 0.5])
    """
    if min(labelled.sum(), (~labelled).sum()) < _FEW:
        return np.full(len(score), np.nan)
    clipped = score.clip(1e-3, 1 - 1e-3)
    features = np.stack([np.log(clipped / (1 - clipped)), np.log(height.clip(1))], axis=1)
    spread = features.std(0)
    features = (features - features.mean(0)) / np.where(spread > 0, spread, 1)
    features = np.concatenate([np.ones((len(score), 1)), features], axis=1)
    fold = image % _FOLDS
    _, group = compact(category.astype(np.int64), int(category.max()) + 1)
    share = np.full(len(score), np.nan)
    for each in range(_FOLDS):
        rest, own = np.flatnonzero(fold != each), np.flatnonzero(fold == each)
        rest = rest[:: -(-len(rest) // _MOST_LEARNT) or 1]
        if not len(own) or not len(rest):
            continue
        weights = _logistic(features[rest], labelled[rest])
        known = features[rest] @ weights
        offset = _offsets(known, labelled[rest], group[rest], int(group.max()) + 1)
        share[own] = _sigmoid(features[own] @ weights + offset[group[own]])
    return share


def _offsets(
    known: FloatArray, labelled: BoolArray, group: IndexArray, n_groups: int
) -> FloatArray:
    """Return the offset of each group to what is known, shrunk to 0, by Newton's method."""
    offset = np.zeros(n_groups)
    spread = _sigmoid(known) * (1 - _sigmoid(known))
    prior = _OF_CATEGORY * float(spread.mean())
    for _ in range(8):
        likely = _sigmoid(known + offset[group])
        slope = np.bincount(group, labelled - likely, n_groups) - prior * offset
        curve = np.bincount(group, likely * (1 - likely), n_groups) + prior
        offset += (slope / curve).clip(-1, 1)
    return offset


def _sigmoid(z: FloatArray) -> FloatArray:
    likely: FloatArray = 1 / (1 + np.exp(-z.clip(-30, 30)))
    return likely


def _logistic(features: FloatArray, labelled: BoolArray) -> FloatArray:
    """Return the coefficients of a logistic regression with a ridge penalty, by Newton's method."""
    weights = np.zeros(features.shape[1])
    penalty = np.full(len(weights), _RIDGE)
    penalty[0] = 1e-3
    for _ in range(50):
        likely = _sigmoid(features @ weights)
        slope = features.T @ (likely - labelled) + penalty * weights
        curve = (features * (likely * (1 - likely))[:, None]).T @ features + np.diag(penalty)
        step = np.linalg.solve(curve, slope)
        weights -= step * min(1, 5 / max(float(np.abs(step).max()), 1e-9))
        if np.abs(step).max() < 1e-7:
            break
    return weights
