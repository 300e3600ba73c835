"""Copies are left out where they are copies, and nothing else is."""

import numpy as np
from support.datasets import dataset
from support.matched import matched

from bboxqa.diagnostics.agreement_groups import independent
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


def test_the_images_that_are_left_out_are_counted():
    table = annotators(copying(4))
    assert table["n_images"].tolist() == [20, 10, 20, 20]
    assert table["n_images_asked"].tolist() == [20] * 4


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
