"""Q001 to Q003: what is rare or far from usual."""

import numpy as np
import pytest
from support.validation import findings

from bboxqa.core.arrays import deviations
from bboxqa.model.findings import Severity


def found(code, annotations, **more):
    return findings({"annotations": annotations, **more}, code=code)


def of_class(category, number):
    return [{"category_id": category, "bbox": [place, place, 9, 9]} for place in range(number)]


def test_rare_categories_are_one_finding():
    categories = [{}, {"name": "dog"}, {"name": "cow"}, {"name": "bee"}]
    annotations = of_class(1, 12) + of_class(2, 3) + of_class(3, 2)
    (finding,) = found("Q001", annotations, categories=categories)
    assert finding.message == (
        'fewer than 10 annotations in 2 of 3 used categories: "cow" (2), "dog" (3)'
    )
    assert (finding.count, finding.severity) == (2, Severity.INFO)
    assert finding.examples == ("/categories/1", "/categories/2")


def test_a_category_with_nearly_all_annotations_is_found():
    categories = [{}, {"name": "dog"}]
    (finding,) = found("Q001", of_class(1, 110) + of_class(2, 10), categories=categories)
    assert finding.message == 'category "cat" has 110 of 120 annotations; expected at most 90%'
    assert not found("Q001", of_class(1, 90) + of_class(2, 10), categories=categories)


def boxes(*last):
    usual = [{"bbox": [place, place, 20 + place % 4, 20]} for place in range(30)]
    return [*usual, *({"bbox": box} for box in last)]


def test_a_box_far_from_the_usual_size_is_found():
    (small, large) = found("Q002", boxes([1, 1, 2, 2], [0, 0, 99, 70], [0, 0, 30, 30]))
    assert small.message == (
        'bbox is 2 × 2 px, 4 px²; the median area of boxes of "cat" is 420 px²'
    )
    assert (small.pointer, large.pointer) == ("/annotations/30/bbox", "/annotations/31/bbox")


@pytest.mark.parametrize("bbox", [[1, 1, 0, 5], None, [1, 1, 1e300, 1e300], ["a"] * 4])
def test_odd_boxes_are_no_trouble(bbox):
    assert len(found("Q002", boxes(bbox, [1, 1, 2, 2]))) <= 2


def on_images(*numbers):
    annotations = [
        {"image_id": image, "bbox": [place % 90, place % 70, 9, 9]}
        for image, number in enumerate(numbers, 1)
        for place in range(number)
    ]
    return {"images": [{}] * min(len(numbers), 8), "annotations": annotations}


def test_an_image_with_many_more_annotations_than_others_is_found():
    (finding,) = findings(on_images(3, 4, 5, 90, 3, 4, 5, 4), code="Q003")
    assert finding.message == "image has 90 annotations; the median of the annotated images is 4"
    assert (finding.pointer, finding.ids) == ("/images/3", {"image": 4})


def test_numbers_that_many_images_have_are_not_unusual():
    images = {"images": [{}] * 20}
    assert not findings({**on_images(*[1] * 12, *[9] * 8), **images}, code="Q003")
    assert len(findings({**on_images(*[1] * 18, 9, 9), **images}, code="Q003")) == 2


def test_medians_and_spreads_are_of_the_group():
    values, group = np.array([1.0, 2, 9, 4, 6]), np.array([3, 3, 3, 0, 0])
    score, median = deviations(values, group, 0.1)
    assert median.tolist() == [2, 2, 2, 5, 5]
    assert (score * 1.4826).round(6).tolist() == [-1, 0, 7, -1, 1]
    assert deviations(np.zeros(0), np.zeros(0, int), 0.1)[1].tolist() == []
