"""The images that a plan draws are those that `agree` draws."""

import json

import pytest
from support.reference import data_file

import bboxqa


@pytest.mark.parametrize("n_categories", [1, 3])
@pytest.mark.parametrize("empty_images", ["agree", "skip"])
def test_the_interval_in_hand_is_that_of_agree(n_categories, empty_images):
    document = json.loads(data_file("simulated.json").read_text())
    kept = document["categories"][:n_categories]
    for each in document["annotations"]:
        if n_categories == 1:
            each["category_id"] = kept[0]["id"]
    document["categories"] = kept
    data = bboxqa.read_coco(document)
    found = bboxqa.agree(data, empty_images=empty_images).thresholds[0]
    low, high = found.existence.interval if n_categories == 1 else found.interval
    plan = bboxqa.plan(data, 0.05, empty_images=empty_images)
    assert plan.width == pytest.approx(high - low)
    assert (plan.f1, plan.alpha) == (
        (found.existence.f1, None) if n_categories == 1 else (None, pytest.approx(found.alpha))
    )
