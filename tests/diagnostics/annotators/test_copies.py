"""Annotators who copy, and such who are only good."""

from dataclasses import replace

import numpy as np
import pytest
from support.datasets import dataset
from support.matched import matched, random_data

from bboxqa.diagnostics.agreement_groups import copied_groups, copies, independent


def drawn(seed, *, spread, copied=0.0, n_images=40, whole=False):
    """Return annotators with errors of these sizes; the second copies some images of the first."""
    rng = np.random.default_rng(seed)
    rows = []
    for image in range(n_images):
        copies_image = rng.random() < copied
        for x in (20, 120, 220):
            errors = [rng.normal(0, size, 4) for size in spread]
            if copies_image:
                errors[1] = errors[0]
            for annotator, error in enumerate(errors):
                edges = np.array([x, 20, x + 50, 70]) + (np.round(error) if whole else error)
                box = (*edges[:2], *(edges[2:] - edges[:2]))
                rows.append((image, annotator, 0, tuple(map(float, box))))
    return dataset(rows)


def copied_by_pair(data):
    table = copies(matched(data, bootstrap=200))
    return {(row["annotator_1"][-1], row["annotator_2"][-1]): row for row in table.records()}


@pytest.mark.parametrize("n_annotators", [2, 3, 5])
def test_identical_boxes_name_the_pair(n_annotators):
    found = copied_by_pair(drawn(1, spread=[2.0] * n_annotators, copied=0.3))
    pair = found["0", "1"]
    assert pair["copied"]
    assert pair["identical_share"] == pair["n_identical"] / pair["n"]
    assert next(iter(found)) == ("0", "1")
    assert sum(row["copied"] for row in found.values()) == 1


def written(boxes, form):
    """Return boxes x, y, width, height as formats keep them, of images of 4,000 by 3,000 px."""
    edges = np.concatenate([boxes[:, :2], boxes[:, :2] + boxes[:, 2:]], 1)
    size = np.array([4000, 3000])
    if form == "yolo":
        sides = np.round((edges[:, 2:] - edges[:, :2]) / size, 6) * size
        left_top = np.round((edges[:, :2] + edges[:, 2:]) / 2 / size, 6) * size - sides / 2
        return np.concatenate([left_top, sides], 1)
    if form == "sides":
        return np.round(boxes, 2)
    edges = np.round(edges, 2)
    return np.concatenate([edges[:, :2], edges[:, 2:] - edges[:, :2]], 1)


@pytest.mark.parametrize("form", ["yolo", "sides", "edges"])
def test_copies_that_a_format_rounds_are_copies(form):
    data = drawn(1, spread=[2.0, 2.0, 2.0], copied=0.5)
    exact = copied_by_pair(data)["0", "1"]
    boxes = data.annotations.bbox.copy()
    second = data.annotations.annotator == 1
    boxes[second] = written(boxes[second], form)
    rounded = replace(data, annotations=replace(data.annotations, bbox=boxes, rotated_box=None))
    found = copied_by_pair(rounded)
    assert [row["copied"] for row in found.values()] == [True, False, False]
    assert found["0", "1"]["n_identical"] == exact["n_identical"] > 40
    left = independent(matched(rounded, bootstrap=200)).data.assigned
    assert left.tolist() == independent(matched(data, bootstrap=200)).data.assigned.tolist()


@pytest.mark.parametrize("scale", [1, 1000])
def test_close_boxes_in_any_unit_are_no_copies(scale):
    """Fractions of the size of an image differ by little, but so do their boxes."""
    data = drawn(2, spread=[1.0, 1.0, 1.0])
    boxes = data.annotations.bbox / scale
    small = replace(data, annotations=replace(data.annotations, bbox=boxes, rotated_box=None))
    assert {row["n_identical"] for row in copied_by_pair(small).values()} == {0}


def test_equal_boxes_that_are_turned_otherwise_are_no_copies():
    data = drawn(1, spread=[0, 0])
    boxes = data.annotations.rotated_box.copy()
    boxes[:, 4] = 30 + data.annotations.annotator
    turned = replace(data, annotations=replace(data.annotations, rotated_box=boxes))
    assert copied_by_pair(data)["0", "1"]["copied"]
    assert not copied_by_pair(turned)["0", "1"]["copied"]


@pytest.mark.parametrize("spread", [(1, 1, 6), (0.5, 0.5, 4, 4), (0.3, 0.3, 5, 5, 5)])
@pytest.mark.parametrize("whole", [False, True])
def test_good_annotators_are_no_copies(spread, whole):
    found = copied_by_pair(drawn(3, spread=spread, whole=whole))
    assert not any(row["copied"] for row in found.values())


def test_who_all_have_the_same_boxes_are_one_group():
    data = drawn(4, spread=[0, 0, 0, 0])
    found = copied_by_pair(data)
    assert {row["identical_share"] for row in found.values()} == {1}
    assert all(row["copied"] for row in found.values())
    assert [group.tolist() for group in groups(data)] == [[0, 1, 2, 3]]


def groups(data):
    return copied_groups(copies(matched(data, bootstrap=200)), data.annotator_names)


@pytest.mark.parametrize("n_copying", [2, 3])
def test_several_who_copy_from_one_are_one_group(n_copying):
    """Others of the group share as many boxes: that is no reason to mark nobody."""
    rng, rows = np.random.default_rng(6), []
    for image in range(40):
        copying = rng.random(n_copying) < 0.6
        for x in (20, 120, 220):
            boxes = [(x + rng.normal(), rng.normal(), 50.0, 50.0) for _ in range(n_copying + 2)]
            for who in np.flatnonzero(copying) + 1:
                boxes[who] = boxes[0]
            rows += [(image, who, 0, box) for who, box in enumerate(boxes)]
    assert [group.tolist() for group in groups(dataset(rows))] == [[*range(n_copying + 1)]]


def test_who_correct_the_same_proposals_are_no_copies():
    """Edges that are kept are kept one by one, so that many boxes have three equal edges."""
    rng, rows = np.random.default_rng(7), []
    for image in range(60):
        # Half of the objects are easy: 19 of 20 edges are kept. Of others, one of ten is.
        for n, kept in enumerate((0.95, 0.95, 0.1, 0.1)):
            for who in range(4):
                moved = rng.normal(0, 2, 4) * (rng.random(4) > kept)
                left, top, right, bottom = moved + np.array([100.0 * n, 20, 100 * n + 50, 70])
                rows.append((image, who, 0, (left, top, right - left, bottom - top)))
    found = copied_by_pair(dataset(rows))
    assert min(row["identical_share"] for row in found.values()) > 0.2
    assert max(row["expected_share"] for row in found.values()) < 0.05
    assert not any(row["copied"] for row in found.values())


def test_shares_one_by_one():
    units = matched(random_data(2, n_annotators=4))
    of, boxes = units.data.annotations, units.data.annotations.bbox
    pairs = {}
    near = units.near
    for left, right, similarity in zip(near.left, near.right, near.similarity, strict=True):
        if units.units.unit[left] == units.units.unit[right]:
            key = (
                units.data.annotator_names[of.annotator[left]],
                units.data.annotator_names[of.annotator[right]],
            )
            pairs.setdefault(key, []).append(((boxes[left] == boxes[right]).all(), similarity))
    table = copies(units)
    assert len(table) == 6
    for row in table.records():
        key = row["annotator_1"], row["annotator_2"]
        assert (row["n"], row["n_identical"]) == (
            len(pairs[key]),
            sum(same for same, _ in pairs[key]),
        )
        others = [
            same for other, found in pairs.items() if len({*other, *key}) == 3 for same in found
        ]
        assert row["others_share"] == pytest.approx(np.mean(others, axis=0)[0])
        assert row["others_similarity"] == pytest.approx(np.mean(others, axis=0)[1])
        assert row["mean_similarity"] == pytest.approx(np.mean(pairs[key], axis=0)[1])


def test_expected_share_is_that_of_independent_edges():
    # Of errors of 0.3 px, 90.4 % round to 0 and 4.8 % to each side: two edges are equal in 82 %,
    # four in 0.8220⁴ = 0.457.
    found = copied_by_pair(drawn(5, spread=[0.3, 0.3], n_images=400, whole=True))["0", "1"]
    assert found["expected_share"] == pytest.approx(0.457, abs=0.06)
    assert found["identical_share"] == pytest.approx(0.457, abs=0.06)
    assert not found["copied"]


def test_nothing_shared():
    data = dataset([(0, 0, 0, (1, 1, 4, 4)), (0, 1, 0, (20, 20, 4, 4))])
    assert len(copies(matched(data, bootstrap=50))) == 0
