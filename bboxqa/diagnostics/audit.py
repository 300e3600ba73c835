"""Labels to look at again: those that a model, or other annotators, contradict."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from bboxqa.core.arrays import (
    BoolArray,
    FloatArray,
    FrozenArrays,
    IndexArray,
    IntArray,
    deviations,
    overlapping_boxes,
    rows,
    sum_by,
)
from bboxqa.geometry.boxes import bbox_iou, corners, from_corners, overlap
from bboxqa.geometry.candidates import TOLERANCE, candidate_pairs
from bboxqa.model.annotations import Annotations, Dataset

KINDS = ("missing", "spurious", "class", "place", "twice")
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
# Suspects with a lower score are left out.
_LEAST = 0.01
# Below this number of predictions with a label, or without one, nothing is learnt from them.
_FEW = 50
_FOLDS, _MOST_LEARNT = 5, 100_000
# As many predictions of a category as shrink its offset by half, and the precision of coefficients
# of features with a standard deviation of 1.
_OF_CATEGORY, _RIDGE = 25.0, 1.0
# A category with fewer labels has no usual size. Deviations count from so many spreads on; a
# spread is at least so many natural units.
_FEW_LABELS, _USUAL, _LEAST_SPREAD = 20, 3.5, 0.1


class Suspects(FrozenArrays, frozen=True, eq=False):
    """S places to look at, the most suspicious first."""

    kind: IndexArray
    image: IndexArray
    label: IndexArray
    prediction: IndexArray
    """(S,) int64. Indices into `KINDS`, of images and of annotations; -1 for none."""
    bbox: FloatArray
    """(S, 4) float64. Where to look: the prediction of what is missing, and of a badly drawn label,
    otherwise the label."""
    score: FloatArray
    """(S,) float64. From 0 to 1."""
    reason: IndexArray
    one: FloatArray
    other: FloatArray
    """(S,) int64 and float64. Index into `REASONS`, and its figures; NaN for none."""

    def __len__(self) -> int:
        return len(self.kind)


def _places(of: Annotations, **known: Any) -> Suspects:
    """Return suspects from what is known of them; image and box follow from the rest."""
    kept = np.flatnonzero(known["score"] >= _LEAST)
    columns: dict[str, Any] = {"label": -1, "prediction": -1, "one": np.nan, "other": np.nan}
    columns |= {"reason": known["kind"]} | known
    n = len(known["score"])
    columns = {name: np.broadcast_to(each, (n, *np.shape(each)[1:]))[kept]
               for name, each in columns.items()}  # fmt: skip
    if "image" not in columns:
        label, prediction = columns["label"], columns["prediction"]
        is_drawn = (columns["kind"] == MISSING) | (columns["kind"] == PLACE)
        shown = np.where(is_drawn & (prediction >= 0), prediction, label)
        columns |= {"image": of.image[shown].astype(np.int64), "bbox": of.bbox[shown]}
    return Suspects(**columns)


def _worst(of: Annotations, labels: IndexArray, found: Sequence[Mapping[str, Any]]) -> Suspects:
    """Return each label once, as what scores highest of what is `found`, the first of equals."""
    best = np.argmax([each["score"].round(9) for each in found], axis=0)
    names = {name for each in found for name in each}
    columns = {name: np.choose(best, [each.get(name, -1) for each in found]) for name in names}
    return _places(of, label=labels, **columns)


def _ranked(parts: Sequence[Suspects]) -> Suspects:
    """Return all suspects, the highest scores first; ties are in the order of kinds and parts."""
    names = [*Suspects.__struct_fields__]
    joined = {name: np.concatenate([getattr(each, name) for each in parts]) for name in names}
    order = np.lexsort((joined["kind"], -joined["score"].round(9)))
    return Suspects(**{name: column[order] for name, column in joined.items()})


class Votes(FrozenArrays, frozen=True, eq=False):
    """What several annotators drew of O objects."""

    agreement: FloatArray
    """(O,) float64. How well the votes for an object agree on its box, from 0 to 1."""
    edges: FloatArray
    """(V, 4) float64. The edges of each vote, by object."""
    stop: IndexArray
    """(O,) int64. Where the votes for an object end."""

    def mean_iou(self, edges: FloatArray, objects: IndexArray) -> FloatArray:
        """Return the mean IoU of boxes, (N, 4), with each of the votes for an object, (N,)."""
        n_votes = np.diff(self.stop, prepend=0)[objects]
        votes, _ = rows(self.stop[objects] - n_votes, self.stop[objects])
        box = np.repeat(np.arange(len(objects)), n_votes)
        return sum_by(box, bbox_iou(edges[box], self.edges[votes]), len(objects)) / n_votes


def suspects(both: Dataset, crowds: Annotations, votes: Votes | None = None) -> Suspects:
    """Return what is suspicious about labels, by predictions.

    A label and a prediction show the same object from an IoU of 0.5 on. They are matched greedily
    by score times IoU, then those that are left, from an IoU of 0.1 on, as one object that is badly
    placed. These limits, and the kinds, are those of TIDE [1]_, with the model in place of the
    truth. With s the score of a prediction and i its IoU with a label, the scores are:

    - missing: the probability that this team labels such a prediction; see `labelled_share`. With
      votes, s (1 - i) of the most similar label
    - spurious: 1 - s min(1, 2 i) of the prediction that supports the label most, times the mean
      support of all labels: a model that misses much says little about a label that it misses.
      With votes, or fewer than 50 labels, without that factor
    - class: the best score of another category, times 1 - that of its own
    - place: s (1 - i^2) min(1, 2 (1 - i))^4, if s is 0.5 or more, or i is. With votes, i is
      halfway between the IoU with their median box and the mean IoU with each, and their agreement
      stands for s: votes for an object that agree on its box say where it is, few votes too
    - twice: 2 i - 1 of another label, if no prediction is left for this one

    Parameters
    ----------
    both : Dataset
        Annotator 0 drew the labels, annotator 1 is the model, whose annotations have a score.
    crowds : Annotations
        Labels of groups; predictions inside are not missing.
    votes : Votes, optional
        The votes for objects, if scores are the share of several annotators who drew them; the ids
        of predictions are objects. Annotations with a negative score are then no predictions, but
        say how many gave a category to the one with the same box.

    References
    ----------
    .. [1] Bolya, D., Foley, S., Hays, J. and Hoffman, J. (2020). TIDE: A General Toolbox for
       Identifying Object Detection Errors. ECCV. doi:10.1007/978-3-030-58580-8_33
    """
    of, n = both.annotations, len(both.annotations)
    if not n:
        return _places(of, kind=SPURIOUS, score=np.zeros(0))
    pairs, _ = candidate_pairs(both, "bbox", _NEAR)
    # Labels come first in an image. The last pair stands for none, which has the index -1.
    label, prediction = (np.append(each, -1) for each in (pairs.left, pairs.right))
    iou, score = np.append(pairs.similarity, 0), np.append(np.asarray(of.score), 0)
    s = score.clip(0)[prediction]
    named = (-score).clip(0)[prediction] if votes is not None else s
    same, alike = iou >= _SAME, of.category[label] == of.category[prediction]
    partner = _matched(label, prediction, s * iou, same & (s > 0), n)
    is_free = (partner[label] < 0) & (partner[prediction] < 0) & (s > 0)
    near = _matched(label, prediction, s * iou, is_free, n)
    labels = np.flatnonzero(of.annotator == 0)
    has_partner, sure = partner[labels] >= 0, s[near[labels]] >= _SURE
    support = s * np.minimum(1, 2 * iou)
    best = _best(label, support, support > 0, n)[labels]
    found = float(support[best].mean()) if len(labels) >= _FEW and votes is None else 1
    other, own = (_best(label, named, same & each, n)[labels] for each in (~alike, alike))
    drawn = np.where(has_partner, partner[labels], near[labels])
    certain, fit = s.copy(), iou.copy()
    if votes is not None:
        objects, at = of.id[prediction[s > 0]], label[s > 0]
        certain[s > 0] = votes.agreement[objects]
        fit[s > 0] = (iou[s > 0] + votes.mean_iou(corners(of.bbox[at]), objects)) / 2
    apart = certain * (1 - fit**2) * np.minimum(1, 2 * (1 - fit)) ** 4
    again = repeated(of, labels, partner < 0)[labels]
    of_labels = _worst(of, labels, [
        {"kind": SPURIOUS, "score": np.where(sure, 0, (1 - support[best]) * found),
         "prediction": prediction[best], "one": s[best], "other": iou[best],
         "reason": np.where(best < 0, SPURIOUS, SUPPORTED)},
        {"kind": CLASS, "score": named[other] * (1 - named[own]), "reason": CLASS,
         "prediction": prediction[other], "one": named[other], "other": named[own]},
        {"kind": PLACE, "score": np.where(has_partner | sure, apart[drawn], 0), "reason": PLACE,
         "prediction": prediction[drawn], "one": s[drawn], "other": iou[drawn]},
        {"kind": TWICE, "score": 2 * again - 1, "reason": TWICE, "one": again, "other": again},
    ])  # fmt: skip
    used = of_labels.prediction[of_labels.kind == PLACE]
    nearest = np.zeros(n)
    np.maximum.at(nearest, prediction, iou)
    is_open = (partner < 0) & (nearest < _SAME) & ~np.isin(np.arange(n), used)
    missing = _missing(of, crowds, partner >= 0, is_open, None if votes is None else nearest)
    return _ranked([missing, of_labels])


def _matched(
    left: IndexArray, right: IndexArray, weight: FloatArray, admissible: BoolArray, n: int
) -> IndexArray:
    """Return the pair of each of n annotations if pairs are taken by falling weight, or -1.

    In each round, all pairs are taken that are the best of both their ends.
    """
    found, pairs = np.full(n, -1), np.flatnonzero(admissible)
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


def _best(label: IndexArray, value: FloatArray, admissible: BoolArray, n: int) -> IndexArray:
    """Return the pair with the highest value of each label, (n,); -1 for none."""
    best, highest, pairs = np.full(n, -1), np.full(n, -np.inf), np.flatnonzero(admissible)[::-1]
    np.maximum.at(highest, label[pairs], value[pairs])
    pairs = pairs[value[pairs] == highest[label[pairs]]]
    best[label[pairs]] = pairs
    return best


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
    of: Annotations,
    crowds: Annotations,
    has_label: BoolArray,
    is_open: BoolArray,
    nearest: FloatArray | None,
) -> Suspects:
    """Return the predictions that are open, each object once.

    `nearest`, given for votes, is the IoU with the most similar label.
    """
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
    reason = np.where(np.isnan(share), MISSING, SHARE)[kept]
    return _places(of, kind=MISSING, score=score[kept], prediction=at[kept], reason=reason,
                   one=own[kept], other=share[kept])  # fmt: skip


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
    features = np.insert(features, 0, 1, axis=1)
    fold, share = image % _FOLDS, np.full(len(score), np.nan)
    for each in range(_FOLDS):
        rest, own = np.flatnonzero(fold != each), np.flatnonzero(fold == each)
        if len(rest):
            rest = rest[:: -(-len(rest) // _MOST_LEARNT)]
            weights = _logistic(features[rest], labelled[rest])
            known = features[rest] @ weights
            offset = _offsets(known, labelled[rest], category[rest], int(category.max()) + 1)
            share[own] = _sigmoid(features[own] @ weights + offset[category[own]])
    return share


def _offsets(known: FloatArray, labelled: BoolArray, group: IntArray, n: int) -> FloatArray:
    """Return the offset of each group to what is known, shrunk to 0, by Newton's method."""
    offset, likely = np.zeros(n), _sigmoid(known)
    prior = _OF_CATEGORY * float((likely * (1 - likely)).mean())
    for _ in range(8):
        likely = _sigmoid(known + offset[group])
        slope = np.bincount(group, labelled - likely, n) - prior * offset
        curve = np.bincount(group, likely * (1 - likely), n) + prior
        offset += (slope / curve).clip(-1, 1)
    return offset


def _sigmoid(z: FloatArray) -> FloatArray:
    likely: FloatArray = 1 / (1 + np.exp(-z.clip(-30, 30)))
    return likely


def _logistic(features: FloatArray, labelled: BoolArray) -> FloatArray:
    """Return the coefficients of a logistic regression with a ridge penalty, by Newton's method."""
    weights, penalty = np.zeros(3), np.array([1e-3, _RIDGE, _RIDGE])
    for _ in range(50):
        likely = _sigmoid(features @ weights)
        slope = features.T @ (likely - labelled) + penalty * weights
        curve = (features * (likely * (1 - likely))[:, None]).T @ features + np.diag(penalty)
        step = np.linalg.solve(curve, slope)
        weights -= step * min(1, 5 / max(float(np.abs(step).max()), 1e-9))
        if np.abs(step).max() < 1e-7:
            break
    return weights


def geometric_suspects(data: Dataset) -> Suspects:
    """Return what is suspicious about labels by their geometry, without a model.

    - place: the size, within its image, or the shape of a label is far from the median of its
      category; the score is 1 - 3.5 / z with z the distance in robust standard deviations. Or all
      n > 1 labels of an image are those of the image before: n / (n + 1)
    - twice: 2 IoU - 1 of another label of the category
    - missing: an image without labels, where most have some: 1 - 2 times the share without
    """
    of, n_images = data.annotations, len(data.image_names)
    labels = np.flatnonzero(~of.iscrowd)
    again = repeated(of, labels, ~of.iscrowd)[labels]
    number = np.bincount(of.image, minlength=n_images)
    empty = np.flatnonzero(number == 0)
    share = np.full(len(empty), len(empty) / max(n_images, 1))
    whole = np.concatenate([np.zeros((len(empty), 2)), data.image_size[empty]], axis=1)
    return _ranked([
        _places(of, kind=MISSING, score=1 - 2 * share, image=empty, bbox=whole, reason=EMPTY,
                one=1 - share, other=share),
        _copies(of, number),
        _worst(of, labels, [
            *_outliers(data, labels),
            {"kind": TWICE, "score": 2 * again - 1, "reason": REPEATED, "one": again,
             "other": again},
        ]),
    ])  # fmt: skip


def _outliers(data: Dataset, labels: IndexArray) -> Iterator[dict[str, Any]]:
    """Yield labels whose size or shape is far from what is usual for the category."""
    of = data.annotations
    width, height = of.bbox[labels, 2:].clip(1e-6).T
    size = data.image_size[of.image[labels]].astype(np.float64)
    # Unless the size of all images is known, sizes are those in pixels.
    scale = size.prod(1) if (size > 0).all() else np.ones(len(labels))
    category = of.category[labels]
    is_common = np.bincount(category, minlength=1)[category] >= _FEW_LABELS
    for reason, values in ((SIZE, width * height / scale), (SHAPE, (width / height) ** 2)):
        z = np.abs(deviations(np.log(values) / 2, category, _LEAST_SPREAD)[0])
        score = np.where(is_common, 1 - _USUAL / z.clip(_USUAL), 0)
        yield {"kind": PLACE, "score": score, "reason": reason, "one": z, "other": z}


def _copies(of: Annotations, number: IndexArray) -> Suspects:
    """Return images whose labels, two or more, are exactly those of the image before."""
    start, stop = np.cumsum(number) - number, np.cumsum(number)
    later = np.flatnonzero((number[1:] == number[:-1]) & (number[1:] > 1)) + 1
    at, before = (rows(start[each], stop[each])[0] for each in (later, later - 1))
    differs = (of.bbox[at] != of.bbox[before]).any(1) | (of.category[at] != of.category[before])
    image = later[~np.isin(later, of.image[at[differs]])]
    edges = corners(of.bbox)
    own = [edges[start[each] : stop[each]] for each in image.tolist()]
    around = [[*each[:, :2].min(0), *each[:, 2:].max(0)] for each in own]
    n, bbox = number[image].astype(np.float64), from_corners(np.reshape(around, (-1, 4)))
    return _places(of, kind=PLACE, score=n / (n + 1), image=image, bbox=bbox, reason=COPIED,
                   one=n, other=n)  # fmt: skip
