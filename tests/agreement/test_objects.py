"""Existence, class and place: against their definitions, and added up over parts."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from msgspec.structs import replace
from scipy.optimize import linear_sum_assignment
from support import brute
from support.datasets import dataset, object_rows, with_assigned

from bboxqa import agree
from bboxqa.agreement.objects import f1_costs
from bboxqa.geometry.candidates import candidate_pairs, unit_pairs
from bboxqa.model.settings import AgreeSettings
from bboxqa.pipelines.counting import compared_images, count_agreement
from bboxqa.report.agreement_summary import figures_at, missed_gates, summary
from bboxqa.report.agreement_text import text_lines

SETTINGS = AgreeSettings(bootstrap=0, iou_threshold=(0.3, 0.6))
BOX = (0.0, 0.0, 10.0, 10.0)


def made(seed, n_annotators=3):
    """Return a data set of 12 images in which not everybody was asked about everything."""
    rng = np.random.default_rng(seed)
    data = dataset(sorted(object_rows(rng, n_annotators=n_annotators)), n_images=12)
    drawn = np.zeros(data.assigned.shape, bool)
    drawn[data.annotations.image, data.annotations.annotator] = True
    return with_assigned(data, drawn | (rng.random(drawn.shape) < 0.5))


def everybody(_a, _b):
    return True


def drawn_by_two(data, keep):
    """Yield the annotations of every two annotators who were asked about one image."""
    of = data.annotations
    for image, asked in enumerate(data.assigned):
        for pair in combinations(np.flatnonzero(asked).tolist(), 2):
            if keep(*pair):
                yield [np.flatnonzero((of.image == image) & (of.annotator == who)) for who in pair]


def pairs_by_definition(data, unit, keep=everybody):
    """Return matched pairs, and possible ones, of every two annotators asked about one image."""
    matched, possible = [], Fraction(0)
    for first, second in drawn_by_two(data, keep):
        possible += Fraction(len(first) + len(second), 2)
        matched += [(int(p), int(q)) for p in first for q in second if unit[p] == unit[q]]
    return matched, possible


def alone_by_definition(data, threshold, keep=everybody):
    """Return the pairs of the best matching of every two annotators of an image, without others."""
    category, box = data.annotations.category, data.annotations.bbox.tolist()
    chosen = []
    for first, second in drawn_by_two(data, keep):
        iou = np.array([[float(brute.box_iou(box[p], box[q])) for q in second] for p in first])
        iou = iou.reshape(len(first), len(second))
        same = category[first][:, None] == category[second]
        weight = np.where(iou >= threshold, iou + 1e-9 * same, 0)
        ends = zip(*linear_sum_assignment(weight, maximize=True), strict=True)
        chosen += [(int(first[a]), int(second[b])) for a, b in ends if weight[a, b] > 0]
    return chosen


def figures_by_definition(data, matched, possible, alone):
    category, box = data.annotations.category, data.annotations.bbox.tolist()
    same = sum(category[p] == category[q] for p, q in matched)
    similar = float(sum(brute.box_iou(box[p], box[q]) for p, q in matched))
    n = len(matched)
    return (
        len(alone) / float(possible) if possible else None,
        same / n if n else None,
        similar / n if n else None,
    )


def approx(values):
    return pytest.approx([np.nan if each is None else each for each in values], nan_ok=True)


@pytest.mark.parametrize("seed", range(4))
def test_figures_are_those_of_their_definition(seed):
    data = made(seed, n_annotators=2 + seed)
    counted = count_agreement(compared_images(data), SETTINGS)
    for index, part in enumerate(agree_at(data).thresholds):
        compared = compared_images(data).data
        unit = counted.thresholds[index].units.unit
        matched, possible = pairs_by_definition(compared, unit)
        alone = alone_by_definition(compared, part.iou_threshold)
        expected = figures_by_definition(compared, matched, possible, alone)
        found = part.existence.f1, part.class_agreement.share, part.place.mean_iou
        assert found == approx(expected)
        box = compared.annotations.bbox.tolist()
        similar = sorted(float(brute.box_iou(box[p], box[q])) for p, q in matched)
        assert part.place.median_iou == pytest.approx(np.median(similar))
        assert part.place.n_pairs == len(matched)
        below = sum(one < part.iou_threshold for one in similar) / len(similar)
        assert part.place.below_threshold == pytest.approx(below)
        units = brute_units(compared, unit)
        alpha = brute.alpha(units)
        assert [part.class_agreement.alpha] == approx([None if alpha is None else float(alpha)])
        for row in part.pairs.records():
            ends = tuple(
                data.annotator_names.index(row[name]) for name in ("annotator_1", "annotator_2")
            )
            two = lambda *pair, ends=ends: pair == ends  # noqa: E731
            some = pairs_by_definition(compared, unit, two)
            alone = alone_by_definition(compared, part.iou_threshold, two)
            found = [row[name] for name in ("f1", "class_share", "mean_iou")]
            assert list(map(_nan, found)) == approx(figures_by_definition(compared, *some, alone))


def agree_at(data):
    return agree(data, bootstrap=0, iou_threshold=SETTINGS.iou_threshold)


def _nan(value):
    return np.nan if value is None else value


def brute_units(data, unit):
    """Return the categories of each unit."""
    return [data.annotations.category[unit == u].tolist() for u in range(unit.max() + 1)]


@pytest.mark.parametrize("seed", range(3))
def test_figures_of_images_and_categories_are_those_of_their_annotations(seed):
    data = compared_images(made(seed)).data
    (part, _) = agree_at(data).thresholds
    unit = count_agreement(compared_images(data), SETTINGS).thresholds[0].units.unit
    matched, _ = pairs_by_definition(data, unit)
    alone = alone_by_definition(data, part.iou_threshold)
    image, category = data.annotations.image, data.annotations.category
    others = data.assigned.sum(1)[image] - 1
    for row in part.images.records():
        place = data.image_names.index(row["image"])
        own = [pair for pair in matched if image[pair[0]] == place]
        possible = others[image == place].sum() / 2
        found = [row[name] for name in ("f1", "class_share", "mean_iou")]
        here = [pair for pair in alone if image[pair[0]] == place]
        expected = figures_by_definition(data, own, possible, here)
        assert list(map(_nan, found)) == approx(expected)
    for row in part.categories.records():
        place = data.category_names.index(row["category"])
        # A pair counts for each of its annotations that has the category.
        own, here = (
            [(p, q) for p, q in [*pairs, *((q, p) for p, q in pairs)] if category[p] == place]
            for pairs in (matched, alone)
        )
        found = [row[name] for name in ("found", "class_share", "mean_iou")]
        possible = others[category == place].sum()
        expected = figures_by_definition(data, own, possible, here)
        assert list(map(_nan, found)) == approx(expected)
        same = sum(category[q] == place for _, q in here)
        assert [_nan(row["f1"])] == approx([same / possible if possible else None])


@pytest.mark.parametrize("seed", range(3))
def test_the_cost_of_an_image_is_that_of_leaving_it_out(seed):
    data = made(seed)
    result = agree(data, bootstrap=0, iou_threshold=0.3)
    part = result.thresholds[0]
    cost = dict(zip(part.images["image"], part.images["cost"], strict=True))
    counted = count_agreement(compared_images(data), AgreeSettings(iou_threshold=(0.3,)))
    sums = counted.thresholds[0].sums.objects
    of_f1 = f1_costs(sums)
    for place in np.flatnonzero(data.assigned.sum(1) >= 2)[:5].tolist():
        kept = np.flatnonzero(data.annotations.image != place)
        assigned = data.assigned.copy()
        assigned[place] = False
        rest = replace(data, annotations=data.annotations.take(kept), assigned=assigned)
        rest = agree(rest, bootstrap=0, iou_threshold=0.3)
        assert cost[data.image_names[place]] == pytest.approx(rest.alpha - result.alpha)
        assert of_f1[place] == pytest.approx(rest.existence.f1 - result.existence.f1)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("matcher", ["recursive", "greedy"])
def test_every_pair_of_a_unit_has_its_similarity(seed, matcher):
    """Also those of three annotators of which only two pairs reach the threshold."""
    data = made(seed, n_annotators=4)
    settings = AgreeSettings(iou_threshold=(0.5,), matcher=matcher)
    compared = compared_images(data).data
    units = count_agreement(compared_images(data), settings).thresholds[0].units
    near, _ = candidate_pairs(compared, "bbox", 0.5)
    known = near.take(np.flatnonzero(units.unit[near.left] == units.unit[near.right]))
    pairs = unit_pairs(compared, units, known, "bbox")
    unit, box = units.unit, compared.annotations.bbox.tolist()
    expected = [(p, q) for p, q in combinations(range(len(unit)), 2) if unit[p] == unit[q]]
    assert [*zip(pairs.left.tolist(), pairs.right.tolist(), strict=True)] == expected
    assert len(expected) > len(known)
    assert pairs.similarity.tolist() == approx(
        [float(brute.box_iou(box[p], box[q])) for p, q in expected]
    )


def test_nothing_drawn_together_has_no_class_and_no_place():
    rows = [(0, 0, 0, BOX), (0, 1, 1, (60.0, 60.0, 5.0, 5.0)), (1, 0, 1, BOX)]
    part = agree(dataset(rows), bootstrap=40).thresholds[0]
    assert part.existence.f1 == 0
    assert part.existence.interval == (0, 0)
    assert np.isnan([part.class_agreement.share, part.place.mean_iou, part.place.median_iou]).all()
    assert part.class_agreement.status.startswith("undefined: no unit has two values")
    empty = agree(dataset([], n_images=2, n_annotators=2), bootstrap=40).thresholds[0]
    assert np.isnan(empty.existence.f1)
    assert [*missed_gates(figures_at(empty), {"min_alpha": None, "min_f1": 0.0})]


def test_existence_is_corrected_for_chance():
    """1 − (1 − F1) / (1 − chance), with an interval from the same draws of images."""
    found = agree(made(5), bootstrap=100).existence
    assert found.reason == "the size of 12 of 12 images is not known"
    assert np.isnan([found.chance, found.alpha, *found.alpha_interval]).all()
    data = made(5)
    data = replace(data, image_size=np.full((12, 2), 60, np.int32))
    result = agree(data, bootstrap=100)
    found = result.existence
    assert 0 < found.chance < found.f1 < 1
    assert found.alpha == pytest.approx(1 - (1 - found.f1) / (1 - found.chance))
    assert found.alpha_interval[0] < found.alpha < found.alpha_interval[1]
    assert found.reason == ""
    assert summary(result)["thresholds"][0]["existence"] == {
        "f1": found.f1, "interval": [*found.interval], "chance": found.chance,
        "alpha": found.alpha, "alpha_interval": [*found.alpha_interval], "reason": None,
    }  # fmt: skip
    text = "\n".join(text_lines(result))
    assert f"{found.alpha:.2f} [{found.alpha_interval[0]:.2f}, " in text


def test_pairs_that_a_third_box_joins_are_counted():
    """Boxes at x = 0, 3 and 6 of width 10: IoU 7 / 13 of neighbours, 4 / 16 of the outer two."""
    rows = [(0, a, 0, (3.0 * a, 0.0, 10.0, 10.0)) for a in range(3)]
    result = agree(dataset(rows), bootstrap=0)
    # The first and the third are no pair, whoever joins them to one object.
    assert (result.existence.f1, result.place.n_pairs) == (pytest.approx(2 / 3), 3)
    assert result.place.below_threshold == pytest.approx(1 / 3)
    text = "\n".join(text_lines(result))
    assert "Warning: 33 % of the pairs behind class and place are below IoU 0.5" in text
