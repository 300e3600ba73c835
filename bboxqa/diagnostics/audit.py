"""Labels to look at again: those that a model, or other annotators, contradict."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from bboxqa.core.arrays import (
    BoolArray,
    FloatArray,
    IndexArray,
    IntArray,
    deviations,
    overlapping_boxes,
    rows,
)
from bboxqa.geometry.boxes import bbox_iou, corners, overlap
from bboxqa.geometry.candidates import TOLERANCE, candidate_pairs
from bboxqa.matching.linkage import linked
from bboxqa.model.annotations import Annotations, Dataset
from bboxqa.model.table import Table
from bboxqa.model.units import CandidatePairs

MISSING, SPURIOUS, CLASS, PLACE, TWICE = range(5)
REASONS = (
    "score {:.2f}, and no label",
    "no prediction overlaps it",
    "another category has score {:.2f}, its own {:.2f}",
    "IoU {1:.2f} with a prediction of score {0:.2f}",
    "IoU {:.2f} with another label, and no prediction of its own",
    "score {:.2f}, and no label; the team labels {:.0%} of such predictions",
    "little support: the best prediction has score {:.2f}, IoU {:.2f}",
    "size {:.0f} times as far from the median of its category as usual",
    "shape {:.0f} times as far from the median of its category as usual",
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
# Places with a lower score are left out.
_LEAST = 0.01
# Below this number of predictions with a label, or without one, nothing is learnt from them.
_FEW = 50
_FOLDS, _MOST_LEARNT = 5, 100_000
# As many predictions of a category as shrink its offset by half, and the precision of coefficients
# of features with a standard deviation of 1.
_OF_CATEGORY, _RIDGE = 25.0, np.array([1e-3, 1, 1])
# A category with fewer labels has no usual size. Deviations count from so many spreads on; a
# spread is at least so many natural units.
_FEW_LABELS, _USUAL, _LEAST_SPREAD = 20, 3.5, 0.1


class Doubt(NamedTuple):
    """Why places are suspicious: an array with a value for each, or one value for all."""

    kind: Any
    score: FloatArray
    reason: Any
    """The place in `REASONS`."""
    prediction: Any = -1
    one: Any = 0.0
    other: Any = 0.0
    """The figures of the reason."""


def _places(of: Annotations, shown: IndexArray, doubt: Doubt, columns: Mapping[str, Any]) -> Table:
    """Return places at annotations, which are labels unless columns say what they are."""
    kept = np.flatnonzero(doubt.score >= _LEAST)
    at = shown[kept]
    found: dict[str, Any] = {"label": at, "image": of.image[at], "bbox": of.bbox[at]}
    for name, values in {**doubt._asdict(), **columns}.items():
        found[name] = np.broadcast_to(values, (len(doubt.score), *np.shape(values)[1:]))[kept]
    return Table(found)


def _worst(doubts: Sequence[Doubt]) -> Doubt:
    """Return the doubt about each label that has the highest score, the first of equals."""
    highest = np.argmax([each.score.round(9) for each in doubts], axis=0)
    return Doubt(*(np.choose(highest, column) for column in zip(*doubts, strict=True)))


def _ranked(parts: Sequence[Table]) -> Table:
    """Return all places, the highest scores first; ties by kind, the largest first."""
    names = parts[0].columns
    found = Table({name: np.concatenate([each[name] for each in parts]) for name in names})
    area = found["bbox"][:, 2:].prod(1)
    return found.take(np.lexsort((-area, found["kind"], -found["score"].round(9))))


def suspects(both: Dataset, crowds: Annotations, votes: Annotations | None = None) -> Table:
    """Return what is suspicious about labels, by predictions, the most suspicious first.

    A label and a prediction show the same object from an IoU of 0.5 on. They are matched greedily
    by score times IoU, then those that are left, from an IoU of 0.1 on, as one object that is badly
    placed. These limits, and the kinds, are those of TIDE [1]_, with the model in place of the
    truth. The page on audits has the formula of each score; `labelled_share` is that of missing.

    Parameters
    ----------
    both : Dataset
        Annotator 0 drew the labels, annotator 1 is the model, whose annotations have a score.
    crowds : Annotations
        Labels of groups; predictions inside are not missing.
    votes : Annotations, optional
        The votes for objects, if scores are the share of several annotators who drew them. The ids
        of predictions are objects, and so are those of votes, in order; the score of a vote is how
        well all votes for its object agree, from 0 to 1. Predictions with a negative score are then
        none, but say how many gave a category to the one with the same box.

    Returns
    -------
    Table
        A row for each place: kind (`MISSING`, …), image, label and prediction, -1 for none; bbox,
        of the prediction where a label is missing or badly drawn, otherwise of the label; score,
        from 0 to 1; and reason (in `REASONS`) with its figures, one and other.

    References
    ----------
    .. [1] Bolya, D., Foley, S., Hays, J. and Hoffman, J. (2020). TIDE: A General Toolbox for
       Identifying Object Detection Errors. ECCV. doi:10.1007/978-3-030-58580-8_33
    """
    of, n = both.annotations, len(both.annotations)
    if not n:
        return _places(of, np.zeros(0, np.int64), Doubt(MISSING, np.zeros(0), MISSING), {})
    found, _ = candidate_pairs(both, "bbox", _NEAR)
    # Labels come first in an image. The last pair stands for none, which has the index -1.
    label, prediction = (np.append(each, -1) for each in (found.left, found.right))
    iou, score = np.append(found.similarity, 0), np.append(np.asarray(of.score), 0)
    s = score.clip(0)[prediction]
    named = (-score).clip(0)[prediction] if votes is not None else s
    same, alike = iou >= _SAME, of.category[label] == of.category[prediction]
    pairs = CandidatePairs(label, prediction, iou)
    partner = _matched(of, pairs, s, same & (s > 0))
    near = _matched(of, pairs, s, (partner[label] < 0) & (partner[prediction] < 0) & (s > 0))
    labels = np.flatnonzero(of.annotator == 0)
    has_partner, sure = partner[labels] >= 0, s[near[labels]] >= _SURE
    support = s * np.minimum(1, 2 * iou)
    best = _best(label, support, support > 0, n)[labels]
    usual = float(support[best].mean()) if len(labels) >= _FEW and votes is None else 1
    other, own = (_best(label, named, same & each, n)[labels] for each in (~alike, alike))
    drawn = np.where(has_partner, partner[labels], near[labels])
    unsupported = np.where(sure, 0, (1 - support[best]) * usual)
    misplaced = np.where(has_partner | sure, _off(of, pairs, s, votes)[drawn], 0)
    worst = _worst([
        Doubt(SPURIOUS, unsupported, np.where(best < 0, SPURIOUS, SUPPORTED), prediction[best],
              s[best], iou[best]),
        Doubt(CLASS, named[other] * (1 - named[own]), CLASS, prediction[other], named[other],
              named[own]),
        Doubt(PLACE, misplaced, PLACE, prediction[drawn], s[drawn], iou[drawn]),
        _twice(of, labels, partner < 0, TWICE),
    ])  # fmt: skip
    shown = np.where(worst.kind == PLACE, worst.prediction, labels)
    of_labels = _places(of, labels, worst, {"bbox": of.bbox[shown]})
    nearest = iou[_best(prediction, iou, iou > 0, n)]
    is_open = (partner < 0) & (nearest < _SAME)
    is_open[of_labels["prediction"][of_labels["kind"] == PLACE]] = False
    missing = _missing(of, crowds, partner >= 0, is_open, None if votes is None else nearest)
    return _ranked([missing, of_labels])


def _off(
    of: Annotations, pairs: CandidatePairs, s: FloatArray, votes: Annotations | None
) -> FloatArray:
    """Return the score of each pair for being badly placed, (P,)."""
    certain, fit = s.copy(), pairs.similarity.copy()
    if votes is not None:
        at = np.flatnonzero(s > 0)
        objects = of.id[pairs.right[at]]
        start, stop = (np.searchsorted(votes.id, objects, side) for side in ("left", "right"))
        vote, pair = rows(start, stop)[0], np.repeat(at, stop - start)
        each = bbox_iou(corners(of.bbox[pairs.left[pair]]), corners(votes.bbox[vote]))
        certain[at] = np.asarray(votes.score)[start]
        fit[at] = (fit[at] + np.bincount(pair, each, len(s))[at] / (stop - start)) / 2
    return np.asarray(certain * (1 - fit**2) * np.minimum(1, 2 * (1 - fit)) ** 4)


def _matched(
    of: Annotations, pairs: CandidatePairs, s: FloatArray, admissible: BoolArray
) -> IndexArray:
    """Return the pair of each annotation if pairs are taken by falling s times IoU, (N,), or -1."""
    found, kept = np.full(len(of), -1), np.flatnonzero(admissible)
    some = pairs.take(kept)
    first = linked(of, some, 1 + (s[kept] * some.similarity * 2.0**40).astype(np.int64))
    taken = first[some.left] == first[some.right]
    found[some.left[taken]] = found[some.right[taken]] = kept[taken]
    return found


def _best(end: IndexArray, value: FloatArray, admissible: BoolArray, n: int) -> IndexArray:
    """Return the pair with the highest value at each end, a label or prediction, (n,); or -1."""
    best, pairs = np.full(n, -1), np.flatnonzero(admissible)[::-1]
    pairs = pairs[np.argsort(value[pairs], kind="stable")]
    best[end[pairs]] = pairs
    return best


def _twice(of: Annotations, labels: IndexArray, alone: BoolArray, reason: int) -> Doubt:
    """Return labels that are alone, and repeat another of their category with an IoU of 0.5."""
    found = np.zeros(len(of))
    some = labels[alone[labels]]
    edges, image = corners(of.bbox), of.image.astype(np.int64)
    for one, other in overlapping_boxes(image[some], edges[some], image[labels], edges[labels]):
        a, b = some[one], labels[other]
        kept = (a != b) & ~(alone[b] & (a < b)) & (of.category[a] == of.category[b])
        a, iou = a[kept], bbox_iou(edges[a[kept]], edges[b[kept]])
        np.maximum.at(found, a[iou >= _SAME], iou[iou >= _SAME])
    again = found[labels]
    return Doubt(TWICE, 2 * again - 1, reason, one=again)


def _missing(
    of: Annotations,
    crowds: Annotations,
    has_label: BoolArray,
    is_open: BoolArray,
    nearest: FloatArray | None,
) -> Table:
    at = np.flatnonzero((of.annotator == 1) & (np.asarray(of.score) > 0))
    own, image = np.asarray(of.score)[at], of.image[at].astype(np.int64)
    share, edges, around = np.full(len(at), np.nan), corners(of.bbox[at]), corners(crowds.bbox)
    if nearest is None:
        share = labelled_share(own, of.bbox[at, 3], of.category[at], of.image[at], has_label[at])
    score = np.where(np.isnan(share), own if nearest is None else own * (1 - nearest[at]), share)
    left = is_open[at]
    for one, other in overlapping_boxes(image, edges, crowds.image.astype(np.int64), around):
        shared = overlap(edges[one], around[other])
        left[one[shared >= _SAME * of.bbox[at[one], 2:].prod(1)]] = False
    kept = np.flatnonzero(left & (score >= _LEAST))
    # Of two predictions of one object, the one with the higher score counts.
    kept = kept[np.argsort(-score[kept], kind="stable")]
    edges, image, lower = edges[kept], image[kept], [kept[:0]]
    for one, other in overlapping_boxes(image, edges, image, edges):
        lower.append(other[(one < other) & (bbox_iou(edges[one], edges[other]) >= _SAME)])
    kept = np.sort(np.delete(kept, np.concatenate(lower)))
    reason = np.where(np.isnan(share), MISSING, SHARE)
    doubt = Doubt(MISSING, score[kept], reason[kept], at[kept], own[kept], share[kept])
    return _places(of, at[kept], doubt, {"label": -1})


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
    fold, share = image % _FOLDS, np.full(len(score), np.nan)
    if min(labelled.sum(), (~labelled).sum()) < _FEW or not np.ptp(fold):
        return share
    clipped = score.clip(1e-3, 1 - 1e-3)
    features = np.stack([np.log(clipped / (1 - clipped)), np.log(height.clip(1))], axis=1)
    features = (features - features.mean(0)) / np.maximum(features.std(0), 1e-9)
    features = np.insert(features, 0, 1, axis=1)
    n = int(category.max()) + 1
    for each in range(_FOLDS):
        rest, own = np.flatnonzero(fold != each), np.flatnonzero(fold == each)
        rest = rest[:: -(-len(rest) // _MOST_LEARNT)]
        known, has_label, group = features[rest], labelled[rest], category[rest]
        # Both by Newton's method.
        weights, offset = np.zeros(3), np.zeros(n)
        for _ in range(50):
            likely = _sigmoid(known @ weights)
            slope = known.T @ (likely - has_label) + _RIDGE * weights
            curve = (known * (likely * (1 - likely))[:, None]).T @ known + np.diag(_RIDGE)
            step = np.linalg.solve(curve, slope)
            weights -= step * min(1, 5 / max(float(np.abs(step).max()), 1e-9))
            if np.abs(step).max() < 1e-7:
                break
        prior = _OF_CATEGORY * float((likely * (1 - likely)).mean())
        for _ in range(8):
            likely = _sigmoid(known @ weights + offset[group])
            slope = np.bincount(group, has_label - likely, n) - prior * offset
            curve = np.bincount(group, likely * (1 - likely), n) + prior
            offset += (slope / curve).clip(-1, 1)
        share[own] = _sigmoid(features[own] @ weights + offset[category[own]])
    return share


def _sigmoid(z: FloatArray) -> FloatArray:
    # Loading that of scipy takes longer than an audit of some hundred images.
    return np.asarray((1 + np.tanh(z / 2)) / 2)


def geometric_suspects(data: Dataset) -> Table:
    """Return what is suspicious about labels by their geometry, without a model; see `suspects`.

    Place: 1 - 3.5 / z for a size or shape that is z robust standard deviations from the median of
    its category; n / (n + 1) for n > 1 labels that are all those of the image before. Missing: 1 -
    2 times the share of images without labels, where most have some.
    """
    of, labels = data.annotations, np.flatnonzero(~data.annotations.iscrowd)
    width, height = of.bbox[labels, 2:].clip(1e-6).T
    size = data.image_size[of.image[labels]].astype(np.float64)
    # Unless the size of all images is known, sizes are those in pixels.
    scale = size.prod(1) if (size > 0).all() else np.ones(len(labels))
    category, doubts = of.category[labels], list[Doubt]()
    is_common = np.bincount(category, minlength=1)[category] >= _FEW_LABELS
    for reason, values in ((SIZE, width * height / scale), (SHAPE, (width / height) ** 2)):
        z = np.abs(deviations(np.log(values) / 2, category, _LEAST_SPREAD)[0])
        score = np.where(is_common, 1 - _USUAL / z.clip(_USUAL), 0)
        doubts.append(Doubt(PLACE, score, reason, one=z))
    worst = _worst([*doubts, _twice(of, labels, ~of.iscrowd, REPEATED)])
    # Images without labels, and those whose labels, two or more, are exactly those before.
    number = np.bincount(of.image, minlength=len(data.image_names))
    is_empty, is_copy = number == 0, (number > 1) & (number == np.roll(number, 1))
    is_copy[:1] = False
    before = np.arange(len(of)) - number[of.image]
    differs = (of.bbox != of.bbox[before]).any(1) | (of.category != of.category[before])
    is_copy[of.image[differs]] = False
    at = np.flatnonzero(is_empty | is_copy)
    n, share, alone = number[at], is_empty.sum() / max(len(number), 1), is_empty[at]
    doubt = Doubt(
        np.where(alone, MISSING, PLACE), np.where(alone, 1 - 2 * share, n / (n + 1)),
        np.where(alone, EMPTY, COPIED), one=np.where(alone, 1 - share, n),
    )  # fmt: skip
    whole = np.pad(data.image_size[at], ((0, 0), (2, 0)))
    of_images = _places(of, 0 * at, doubt, {"label": -1, "image": at, "bbox": whole})
    return _ranked([of_images, _places(of, labels, worst, {})])
