"""The document of the worst images holds every annotation, object and reason of them."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from support.datasets import dataset

import bboxqa
from bboxqa.geometry.rasters import mask_rings
from bboxqa.report.pictures import shown_images


def found(data, **settings):
    return bboxqa.agree(data, bootstrap=0, **settings).diagnose().worst_images


def simulated(**errors):
    options = {"images": 12, "annotators": 3, "categories": ("cow", "sheep"), "seed": 3}
    return bboxqa.read_coco(bboxqa.simulate(errors={"*": errors}, **options).document())


def test_every_annotation_is_a_shape_of_its_image():
    data = simulated(miss=0.3, jitter=0.1)
    shapes = Counter(
        (image["file_name"], shape["annotator"], shape["category"], tuple(shape["bbox"]))
        for image in found(data)["images"]
        for shape in image["shapes"]
    )
    of = data.annotations
    expected = Counter(
        (data.image_names[i], data.annotator_names[a], data.category_names[c], tuple(box))
        for i, a, c, box in zip(of.image, of.annotator, of.category, of.bbox.tolist(), strict=True)
    )
    assert shapes == expected


def test_reasons_by_hand():
    # Equal boxes of all; one that the third annotator misses; one that the second
    # names otherwise.
    boxes = [[10, 10, 20, 20], [50, 50, 20, 20], [90, 90, 20, 20]]
    rows = [(0, who, 0, box) for who in range(3) for box in boxes]
    rows.remove((0, 2, 0, boxes[1]))
    rows[rows.index((0, 1, 0, boxes[2]))] = (0, 1, 1, boxes[2])
    (image,) = found(dataset(rows))["images"]
    by_box = {tuple(shape["bbox"]): shape["object"] for shape in image["shapes"]}
    told = {each["object"]: (each["kind"], each["reason"]) for each in image["objects"]}
    assert [told[by_box[tuple(box)]] for box in boxes] == [
        ("all agree", ""),
        ("missed by some", "not drawn by annotator 0002"),
        (
            "class conflict",
            "category 0000 by annotator 0000 and annotator 0002, category 0001 by annotator 0001",
        ),
    ]
    similarity = {each["object"]: each["similarity"] for each in image["objects"]}
    assert similarity[by_box[tuple(boxes[0])]] == 1.0


def test_key_points_are_visible_or_hidden_and_joined_by_lines():
    keypoints = [10, 10, 2, 20, 10, 1, 5, 5, 0, *[0] * 42]
    record = {"image_id": 1, "category_id": 1, "bbox": [5, 5, 30, 30], "keypoints": keypoints}
    drawn = [record | {"id": n, "annotator": who} for n, who in enumerate("ab", start=1)]
    data = bboxqa.read_coco(_document(drawn), keypoints=True)
    (image,) = found(data, similarity="keypoints")["images"]
    shape = image["shapes"][0]
    assert shape["visible_points"] == [[10, 10]]
    assert shape["hidden_points"] == [[20, 10]]
    # Of nose and left eye; the right eye is not labelled.
    assert shape["lines"] == [[10, 10, 20, 10]]
    (picture,) = shown_images(None, [image], {}).pictures
    drawn = picture["shapes"][0]
    assert drawn["d"] == "M5 5h30v30H5zM10 10L20 10"
    assert (drawn["dots"], drawn["hidden"]) == ("M10 10h0M20 10h0", "M20 10h0")


def _document(annotations):
    image = {"id": 1, "file_name": "a.png", "width": 100, "height": 100}
    return {"images": [image], "categories": [{"id": 1, "name": "cat"}], "annotations": annotations}


@pytest.mark.parametrize("seed", range(3))
def test_rings_of_a_mask_enclose_its_pixels(seed):
    from pycocotools import mask

    pixels = np.random.default_rng(seed).random((9, 12)) < 0.4
    rings = mask_rings(mask.encode(np.asfortranarray(pixels.astype(np.uint8))))
    # The even-odd rule at the centre of each pixel.
    y, x = np.mgrid[:9, :12] + 0.5
    inside = np.zeros(pixels.shape, bool)
    for ring in rings:
        for (x0, y0), (x1, y1) in pairwise(ring):
            crosses = (y0 > y) != (y1 > y)
            at = x0 + (y - y0) * (x1 - x0) / (y1 - y0) if y1 != y0 else np.inf
            inside ^= crosses & (x < at)
    np.testing.assert_array_equal(inside, pixels)
