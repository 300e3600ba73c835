"""What the diagnostics look at, against comparing everything one by one."""

from itertools import combinations

import numpy as np
import pytest
from msgspec.structs import replace
from support.brute import box_iou
from support.datasets import dataset, random_rows

from bboxqa.diagnostics.rates import annotators
from bboxqa.model.settings import AgreeSettings
from bboxqa.pipelines.agree import agree_with
from bboxqa.pipelines.counting import compared_images
from bboxqa.pipelines.diagnosis.matched_units import matched_units

SETTINGS = AgreeSettings(iou_threshold=(0.3,), bootstrap=0)


@pytest.fixture
def rows():
    return random_rows(np.random.default_rng(3), n_boxes=9)


@pytest.fixture
def matched(rows):
    return matched_units(compared_images(dataset(rows)), SETTINGS)


def as_set(pairs, of):
    ends = of.id[pairs.left].tolist(), of.id[pairs.right].tolist()
    return {frozenset(pair) for pair in zip(*ends, strict=True)}


def test_pairs_near_and_own(rows, matched):
    near, own = set(), set()
    neighbours = np.zeros(len(rows), int)
    for a, b in combinations(range(len(rows)), 2):
        similarity = float(box_iou(rows[a][3], rows[b][3]))
        if rows[a][0] != rows[b][0] or similarity < 0.1:
            continue
        if rows[a][1] != rows[b][1]:
            near.add(frozenset([a, b]))
        else:
            neighbours[[a, b]] += 1
            if similarity >= 0.3:
                own.add(frozenset([a, b]))
    assert own
    of = matched.data.annotations
    assert as_set(matched.near, of) == near
    assert as_set(matched.own, of) == own
    assert matched.n_neighbours.tolist() == neighbours[of.id].tolist()


def test_units_are_those_of_agree(rows, matched):
    result = agree_with(dataset(rows), SETTINGS)
    assert len(matched.units) == result.thresholds[0].n_units
    assert np.array_equal(matched.reliability.value, result.thresholds[0].reliability.value)
    assert np.array_equal(matched.reliability.state, result.thresholds[0].reliability.state)


def test_a_badly_placed_box_is_part_of_an_object():
    """10 × 10 boxes 6 px apart: 40 / 160 = 0.25, below 0.3 and above 0.1."""
    data = dataset([(0, 0, 0, (0, 0, 10, 10)), (0, 1, 0, (6, 0, 10, 10)), (0, 1, 0, (40, 0, 9, 9))])
    matched = matched_units(compared_images(data), SETTINGS)
    assert len(matched.units) == 3
    assert len(matched.pairs) == 0
    assert matched.objects.tolist() == [0, 0, 1]


def test_no_annotations():
    matched = matched_units(compared_images(dataset([], n_images=2)), SETTINGS)
    assert len(matched.objects) == len(matched.near) == len(matched.n_neighbours) == 0


@pytest.mark.parametrize("n_annotators", [2, 3])
def test_small_objects_beside_displaced_boxes_are_not_missed(n_annotators):
    # Twelve large objects tell that the last one draws 5 px too far to the right; of five of 4 px,
    # which its boxes do not touch, it misses one.
    large = [(0, (60.0 * place, 0.0, 40.0, 40.0)) for place in range(12)]
    small = [(0, (60.0 * place, 90.0, 4.0, 4.0)) for place in range(5)]
    last = n_annotators - 1
    rows = [
        (image, annotator, 0, (x + 5.0 * (annotator == last), y, w, h))
        for place, (image, (x, y, w, h)) in enumerate(large + small)
        for annotator in range(n_annotators)
        if not (annotator == last and place == 16)
    ]
    found = matched_units(compared_images(dataset(rows)), replace(SETTINGS, iou_threshold=(0.5,)))
    table = annotators(found)
    assert table["n_missed"].tolist() == [0] * last + [1]
    assert table["n_extra"].tolist() == ([1, 0] if n_annotators == 2 else [0, 0, 0])


def test_small_displaced_boxes_may_be_imprecise():
    # As above, but the last one's boxes of 2 px by 3 px would be 6 / 16 of those of 4 px: below
    # the threshold, as boxes that are not displaced may be.
    large = [(60.0 * place, 0.0, 40.0, 40.0) for place in range(12)]
    small = [(60.0 * place, 90.0, 4.0, 4.0) for place in range(5)]
    drawn = [(0, annotator, 0, box) for box in large + small for annotator in range(2)]
    last = [(0, 2, 0, (x + 5, y, w, h)) for x, y, w, h in large]
    last += [(0, 2, 0, (x + 5, y, 2.0, 3.0)) for x, y, _, _ in small[:4]]
    data = dataset(drawn + last)
    found = matched_units(compared_images(data), replace(SETTINGS, iou_threshold=(0.5,)))
    table = annotators(found)
    assert table["n_missed"].tolist() == [0, 0, 1]
    assert table["n_extra"].tolist() == [0, 0, 0]


def test_few_displaced_boxes_say_nothing_about_others():
    boxes = [(100.0 * place, 0.0, 40.0, 40.0) for place in range(4)] + [(0.0, 90.0, 4.0, 4.0)]
    rows = [
        (0, annotator, 0, (x + 5.0 * annotator, y, w, h))
        for x, y, w, h in boxes
        for annotator in range(2)
    ]
    found = matched_units(compared_images(dataset(rows)), replace(SETTINGS, iou_threshold=(0.5,)))
    assert annotators(found)["n_missed"].tolist() == [1, 1]
