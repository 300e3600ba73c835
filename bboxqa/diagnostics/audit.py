"""Labels to look at again: those that a model, or other annotators, contradict."""

from dataclasses import fields

import numpy as np
from numpy.typing import NDArray

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
from bboxqa.geometry.kernels.boxes import bbox_iou, corners, overlap
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
    "IoU {:.2f} with another label, and no prediction of its own",
    "score {:.2f}, and no label; the team labels {:.0%} of such predictions",
    "the best prediction has score {:.2f} and IoU {:.2f}",
    "size {:.1f} standard deviations (robust) from the median of its category",
    "shape {:.1f} standard deviations (robust) from the median of its category",
    "IoU {:.2f} with another label of its category",
    "all {:.0f} labels are as in the image before",
    "no label, while {:.0%} of the images have some",
)
"""Why something is suspicious, with up to two figures; the first five are those of each kind."""
SHARE, SUPPORTED, SIZE, SHAPE, REPEATED, COPIED, EMPTY = range(5, 12)

# Boxes of one object, and the least overlap of a badly drawn one, as in TIDE.
_SAME, _NEAR = 0.5 - TOLERANCE, 0.1
# A prediction with a lower score shows no place at which a label should be.
_SURE = 0.5
# Suspects with a lower score are left out.
_LEAST = 0.01
# Below this number of predictions with a label, or without one, nothing is learnt from them.
_FEW = 50
_FOLDS, _MOST_LEARNT = 5, 100_000
# As many predictions of a category as shrink its offset by half, and the precision of coefficients
# of features with a standard deviation of 1.
_OF_CATEGORY, _RIDGE = 25.0, 1.0


@frozen_arrays
class Suspects:
    """S places to look at, the most suspicious first."""

    kind: IndexArray
    """(S,) int64. Index into `KINDS`."""
    image: IndexArray
    label: IndexArray
    prediction: IndexArray
    """(S,) int64. Indices of the image and of annotations; -1 for none."""
    bbox: FloatArray
    """(S, 4) float64. Where to look: the prediction of what is missing, and of a badly drawn label,
    otherwise the label."""
    score: FloatArray
    """(S,) float64. From 0 to 1."""
    reason: IndexArray
    """(S,) int64. Index into `REASONS`."""
    figures: FloatArray
    """(S, 2) float64. The figures of the reason; NaN for none."""

    def __len__(self) -> int:
        return len(self.kind)


def places(of: Annotations, kind: int, score: FloatArray, **more: NDArray[np.generic]) -> Suspects:
    """Return suspects of a kind from what is known of them; image and box follow from the rest."""
    n = len(score)
    none = {"label": np.full(n, -1), "prediction": np.full(n, -1), "reason": np.full(n, kind)}
    known = {**none, "figures": np.full((n, 2), np.nan), **more}
    at_prediction = kind in (MISSING, PLACE) and (known["prediction"] >= 0).all()
    shown = known["prediction" if at_prediction else "label"]
    if "image" not in known:
        known |= {"image": of.image[shown].astype(np.int64), "bbox": of.bbox[shown]}
    return Suspects(kind=np.full(n, kind), score=score, **known)


def ranked(parts: list[Suspects]) -> Suspects:
    """Return all suspects in one ranking, each label once, with its highest score.

    Ties are in the order of kinds, images and boxes.
    """
    names = [each.name for each in fields(Suspects)]
    joined = {name: np.concatenate([getattr(each, name) for each in parts]) for name in names}
    kept = np.flatnonzero(joined["score"] >= _LEAST)
    keys = [-joined["score"].round(9), *(joined[each] for each in ("kind", "image", "label"))]
    order = kept[np.lexsort([each[kept] for each in (joined["prediction"], *keys[::-1])])]
    label = joined["label"][order]
    _, first = np.unique(label, return_index=True)
    is_kept = label < 0
    is_kept[first] = True
    return Suspects(**{name: column[order[is_kept]] for name, column in joined.items()})


def suspects(both: Dataset, crowd: tuple[IntArray, FloatArray], *, votes: bool = False) -> Suspects:
    """Return what is suspicious about labels, by predictions.

    A label and a prediction show the same object from an IoU of 0.5 on. They are matched greedily
    by score times IoU, then those that are left, from an IoU of 0.1 on, as one object that is badly
    placed. These limits, and the kinds, are those of TIDE [1]_, with the model in place of the
    truth. With s the score of a prediction and i its IoU with a label, the scores are:

    - missing: the probability that this team labels such a prediction; see `labelled_share`. With
      votes, s (1 - i) of the most similar label
    - spurious: 1 - s min(1, 2 i) of the prediction that supports the label most
    - class: the best score of another category, times 1 - that of its own
    - place: s (1 - i^2) min(1, 2 (1 - i))^4, if s is 0.5 or more, or i is
    - twice: 2 i - 1 of another label, if no prediction is left for this one

    Parameters
    ----------
    both : Dataset
        Annotator 0 drew the labels, annotator 1 is the model, whose annotations have a score.
    crowd : (C,) int32 and (C, 4) float64
        The images and boxes of labels that are crowds; predictions inside are not missing.
    votes : bool
        Whether scores are shares of several annotators. Annotations with a negative score are then
        no predictions, but say how many gave a category to the one with the same box.

    References
    ----------
    .. [1] Bolya, D., Foley, S., Hays, J. and Hoffman, J. (2020). TIDE: A General Toolbox for
       Identifying Object Detection Errors. ECCV. doi:10.1007/978-3-030-58580-8_33
    """
    of, n = both.annotations, len(both.annotations)
    pairs, _ = candidate_pairs(both, "bbox", _NEAR)
    # Annotations of an image are ordered by annotator, and labels come first.
    label, prediction, iou = pairs.left, pairs.right, pairs.similarity
    given = np.asarray(of.score)
    s, named = given.clip(0)[prediction], np.abs(given)[prediction]
    if votes:
        named = (-given).clip(0)[prediction]
    real, same = s > 0, iou >= _SAME
    partner = _matched(label, prediction, s * iou, np.flatnonzero(real & same), n)
    free = (partner[label] < 0) & (partner[prediction] < 0) & real
    near = _matched(label, prediction, s * iou, np.flatnonzero(free), n)
    labels = np.flatnonzero(of.annotator == 0)

    def found(kind: int, rows: IndexArray, pair: IndexArray, score: FloatArray, one: FloatArray,
              other: FloatArray, reason: int | None = None) -> Suspects:  # fmt: skip
        kept = np.flatnonzero(score >= _LEAST)
        return places(
            of, kind, score[kept], label=rows[kept], figures=np.stack([one, other], axis=1)[kept],
            prediction=np.append(prediction, -1)[pair[kept]],
            reason=np.full(len(kept), kind if reason is None else reason),
        )  # fmt: skip

    support = s * np.minimum(1, 2 * iou)
    pair = _best(label, support, np.flatnonzero(support > 0), n)[labels]
    sure = _of(s, near[labels], 0) >= _SURE
    parts = []
    for some, reason in ((pair >= 0, SUPPORTED), (pair < 0, SPURIOUS)):
        rows = np.flatnonzero(some & ~sure)
        own = pair[rows]
        parts.append(found(SPURIOUS, labels[rows], own, 1 - _of(support, own, 0), _of(s, own, 0),
                           _of(iou, own, 0), reason))  # fmt: skip
    alike = of.category[label] == of.category[prediction]
    pair = _best(label, named, np.flatnonzero(same & ~alike), n)[labels]
    own_score = _of(named, _best(label, named, np.flatnonzero(same & alike), n)[labels], 0)
    other_score = _of(named, pair, 0)
    parts.append(found(CLASS, labels, pair, other_score * (1 - own_score), other_score, own_score))
    pair = np.where(partner >= 0, partner, near)[labels]
    rows = np.flatnonzero((partner[labels] >= 0) | sure)
    apart = s * (1 - iou**2) * np.minimum(1, 2 * (1 - iou)) ** 4
    at = pair[rows]
    parts.append(found(PLACE, labels[rows], at, apart[at], s[at], iou[at]))
    again = repeated(of, labels, partner < 0)[labels]
    parts.append(found(TWICE, labels, np.full(len(labels), -1), 2 * again - 1, again, again))
    of_labels = ranked(parts)
    used = of_labels.prediction[of_labels.kind == PLACE]
    nearest = np.zeros(n)
    np.maximum.at(nearest, prediction, iou)
    missing = _missing(both, partner, nearest, crowd, used, votes=votes)
    return ranked([missing, of_labels])


def _matched(
    left: IndexArray, right: IndexArray, weight: FloatArray, pairs: IndexArray, n: int
) -> IndexArray:
    """Return the pair of each of n annotations if `pairs` are taken by falling weight, or -1.

    In each round, all pairs are taken that are the best of both their ends.
    """
    found = np.full(n, -1)
    order = pairs[np.lexsort((right[pairs], left[pairs], -weight[pairs]))]
    while len(order):
        place, taken = np.arange(len(order)), np.ones(len(order), np.bool_)
        for end in (left[order], right[order]):
            best = np.empty(n, np.int64)
            # Of equal indices, the last one counts.
            best[end[::-1]] = place[::-1]
            taken &= best[end] == place
        chosen = order[taken]
        found[left[chosen]] = found[right[chosen]] = chosen
        order = order[(found[left[order]] < 0) & (found[right[order]] < 0)]
    return found


def _best(label: IndexArray, value: FloatArray, pairs: IndexArray, n: int) -> IndexArray:
    """Return the pair with the highest value of each label, (n,); -1 for none."""
    best = np.full(n, -1)
    order = pairs[np.lexsort((-pairs, value[pairs]))]
    best[label[order]] = order
    return best


def _of(values: FloatArray, pair: IndexArray, other: float) -> FloatArray:
    """Return the value of each pair; `other` where there is none."""
    return np.append(values, other)[pair]


def repeated(of: Annotations, labels: IndexArray, alone: BoolArray) -> FloatArray:
    """Return the largest IoU of `labels` that are `alone` with another of their category, (N,).

    0 below 0.5, and for other annotations. Of two labels that are alone, the second one counts.
    """
    found = np.zeros(len(of))
    some = labels[alone[labels]]
    edges, image = corners(of.bbox), of.image.astype(np.int64)
    for one, other in overlapping_boxes(image[some], edges[some], image[labels], edges[labels]):
        a, b = some[one], labels[other]
        kept = (a != b) & ~(alone[b] & (a < b)) & (of.category[a] == of.category[b])
        a, iou = a[kept], bbox_iou(edges[a[kept]], edges[b[kept]])
        np.maximum.at(found, a[iou >= _SAME], iou[iou >= _SAME])
    return found


def _missing(
    both: Dataset,
    partner: IndexArray,
    nearest: FloatArray,
    crowd: tuple[IntArray, FloatArray],
    used: IndexArray,
    *,
    votes: bool,
) -> Suspects:
    """Return the predictions without a label that are not `used` otherwise, each object once."""
    of = both.annotations
    rows = np.flatnonzero((of.annotator == 1) & (np.asarray(of.score) > 0))
    own, image = np.asarray(of.score)[rows], of.image[rows].astype(np.int64)
    score, share = own * (1 - nearest[rows]), np.full(len(rows), np.nan)
    if not votes:
        has_label = partner[rows] >= 0
        share = labelled_share(own, of.bbox[rows, 3], of.category[rows], of.image[rows], has_label)
        score = np.where(np.isnan(share), own, share)
    is_open = (partner[rows] < 0) & (nearest[rows] < _SAME) & ~np.isin(rows, used)
    edges, crowd_edges = corners(of.bbox[rows]), corners(crowd[1])
    for one, other in overlapping_boxes(image, edges, crowd[0].astype(np.int64), crowd_edges):
        shared = overlap(edges[one], crowd_edges[other])
        is_open[one[shared >= _SAME * of.bbox[rows[one], 2:].prod(1)]] = False
    kept = np.flatnonzero(is_open & (score >= _LEAST))
    # Of two predictions of one object, the one with the higher score counts.
    kept = kept[np.argsort(-score[kept], kind="stable")]
    edges, image, lower = edges[kept], image[kept], [kept[:0]]
    for one, other in overlapping_boxes(image, edges, image, edges):
        again = (one < other) & (bbox_iou(edges[one], edges[other]) >= _SAME)
        lower.append(other[again])
    kept = np.delete(kept, np.concatenate(lower))
    return places(
        of, MISSING, score[kept], prediction=rows[kept],
        reason=np.where(np.isnan(share[kept]), MISSING, SHARE),
        figures=np.stack([own, share], axis=1)[kept],
    )  # fmt: skip


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
