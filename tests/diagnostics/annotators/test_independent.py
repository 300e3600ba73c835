"""Copies are left out where they are copies, and nothing else is."""

import numpy as np
from support.datasets import dataset
from support.matched import matched

from bboxqa.diagnostics.agreement_groups import copies, independent
from bboxqa.diagnostics.rates import annotators


def copying(n_annotators, n_images=20):
    """Return annotators of whom the second copies the first one in every second image."""
    rng = np.random.default_rng(0)
    rows = []
    for image in range(n_images):
        for x in (0, 100, 200):
            boxes = [(x + rng.normal(), rng.normal(), 50, 50) for _ in range(n_annotators)]
            if image % 2:
                boxes[1] = boxes[0]
            # Only the pair draws the last one.
            drawing = range(2 if x == 200 and image % 2 else n_annotators)
            rows += [(image, who, 0, tuple(map(float, boxes[who]))) for who in drawing]
    return matched(dataset(rows), bootstrap=200)


def test_without_copies_nothing_changes():
    units = copying(3)
    only_even = dataset(
        [(i, who, 0, (float(who), float(i), 50.0, 50.0)) for i in range(20) for who in range(3)]
    )
    alone = matched(only_even, bootstrap=200)
    assert independent(alone) is alone
    assert independent(units) is independent(units) is not units


def test_of_four_the_second_is_left_out_in_the_copied_images():
    units = copying(4)
    left = independent(units)
    assert left.data.assigned[1::2].tolist() == [[True, False, True, True]] * 10
    assert left.data.assigned[::2].all()
    of = left.data.annotations
    assert not ((of.annotator == 1) & (of.image % 2 == 1)).any()
    # All 12 boxes of every second image, and of the others 2 by 3 and the one of the first.
    assert len(of) == 10 * 12 + 10 * 7
    # Boxes, units and objects of what stays are those of before.
    before = {tuple(box): unit for box, unit in zip(units.data.annotations.bbox.tolist(),
              units.units.unit.tolist(), strict=True)}  # fmt: skip
    old = [before[tuple(box)] for box in of.bbox.tolist()]
    assert len(set(old)) == len(left.units)
    assert len(set(zip(old, left.units.unit.tolist(), strict=True))) == len(left.units)
    assert len(left.n_neighbours) == len(left.objects) == len(of)
    assert (left.units.unit[left.pairs.left] == left.units.unit[left.pairs.right]).all()
    # What the pair alone drew is one voice against two, and nobody misses it.
    assert annotators(units)["miss_rate"].tolist() == [0, 0, 0, 0]


def test_of_three_the_copied_images_are_left_out():
    left = independent(copying(3))
    assert not left.data.assigned[1::2].any()
    assert left.data.assigned[::2].all()
    assert annotators(copying(3))["n_images"].tolist() == [10, 10, 10]


def test_where_no_image_has_three_annotators_nobody_is_left_out():
    """Of two, all images tell how they differ; there is no majority that a copy would make."""
    units = copying(2)
    assert copies(units)["copied"].any()
    assert independent(units) is units
    table = annotators(units)
    assert table["n_images"].tolist() == table["n_images_asked"].tolist() == [20, 20]


def test_the_images_that_are_left_out_are_counted():
    table = annotators(copying(4))
    assert table["n_images"].tolist() == [20, 10, 20, 20]
    assert table["n_images_asked"].tolist() == [20] * 4


def test_who_all_have_the_same_boxes_are_all_judged():
    # All three have the same boxes, and the last one lacks one of them in every second image.
    rows = [
        (image, who, 0, (x + image / 7, 0.0, 50.0, 50.0))
        for image in range(20)
        for x in (0, 100)
        for who in range(2 if x and image % 2 else 3)
    ]
    units = matched(dataset(rows), bootstrap=200)
    assert independent(units) is units
    assert annotators(units)["miss_rate"].tolist() == [0, 0, 10 / 40]


def test_of_three_who_copied_everywhere_two_are_left():
    # Of ten objects in 20 images the last one misses one, and draws all 3 px further left.
    boxes = [(x + image / 7, 0.0, 50.0, 50.0) for image in range(20) for x in range(0, 1000, 100)]
    rows = [
        (place // 10, who, 0, (x - 3 * (who == 2), *sides))
        for place, (x, *sides) in enumerate(boxes)
        for who in range(3)
        if not (who == 2 and place % 10 == place // 20)
    ]
    units = matched(dataset(rows), bootstrap=200)
    assert independent(units).data.assigned.tolist() == [[True, False, True]] * 20
    rate = annotators(units)["miss_rate"]
    assert rate[[0, 2]].tolist() == [0, 0.1]
    assert np.isnan(rate[1])
