"""Agreement of three simulated annotators: values as numbers, each proved by brute force."""

import json

import numpy as np
import pytest
from pycocotools import mask as pycoco
from support import brute
from support.datasets import write
from support.reference import data_file
from support.resampled import expanded
from support.validation import report_of

from bboxqa import agree, read_coco
from bboxqa.agreement.counts.unit_counts import coincidences

THRESHOLDS = 0.5, 0.75, 0.9
# As the slow twin matches.
RECURSIVE = {"matcher": "recursive", "bootstrap": 0}
# Similarity to the pooled and the mean alpha at each threshold.
ALPHAS = {
    "bbox": ((0.619373, 0.686978), (0.197272, 0.296257), (-0.206792, -0.056954)),
    "polygon": ((0.615486, 0.682811), (0.213603, 0.290460), (-0.198693, -0.053114)),
    "mask": ((0.615486, 0.682811), (0.222559, 0.298608), (-0.198693, -0.053114)),
}
# Settings, and the pooled and the mean alpha of boxes at 0.5.
VARIANTS = [
    ({"empty_images": "skip"}, (0.619373, 0.638821)),
    ({"empty_images": "unit"}, (0.652090, 0.686978)),
    ({"missing": "ignore"}, (0.794311, 0.844682)),
    ({"empty_images": "unit", "category_lenient": True}, (0.682157, 0.702354)),
]


def simulated():
    """Return the annotations of a street, in which every seventh image is empty."""
    return json.loads(data_file("simulated.json").read_bytes())


def corners(record):
    return np.reshape(record["segmentation"][0], (-1, 2)).tolist()


def as_mask(ring):
    (mask,) = pycoco.frPyObjects([np.ravel(ring).tolist()], 240, 320)
    return mask


def mask_iou(left, right):
    return pycoco.iou([as_mask(left)], [as_mask(right)], [0])[0, 0]


SHAPES = {
    "bbox": (lambda record: record["bbox"], brute.box_iou),
    "polygon": (corners, brute.convex_iou),
    "mask": (corners, mask_iou),
}


def by_definition(similarity, threshold, **more):
    content = simulated()
    shape, compare = SHAPES[similarity]
    bonus = 1 if more.pop("category_lenient", False) else None
    rows = [
        (record["image_id"], record["annotator"], record["category_id"], shape(record))
        for record in content["annotations"]
    ]
    asked = {record["id"]: len(record["annotators"]) for record in content["images"]}
    units, unique = brute.units_of_images(rows, asked.get, compare, threshold, bonus=bonus)
    assert unique
    empty = [n for image, n in asked.items() if image not in units]
    return [float(value) for value in brute.alphas(units, empty, **more)]


@pytest.fixture(scope="module")
def data():
    return read_coco(data_file("simulated.json"))


def test_what_is_read(data):
    assert data.annotator_names == ("ann", "bob", "cid")
    assert set(data.category_names) == {"bicycle", "car", "person"}
    assert (len(data.image_names), len(data.annotations)) == (60, 264)
    assert np.bincount(data.assigned.sum(axis=1)).tolist() == [0, 0, 30, 30]


@pytest.mark.parametrize("similarity", ALPHAS)
def test_alphas(similarity, data):
    result = agree(data, similarity=similarity, iou_threshold=THRESHOLDS, **RECURSIVE)
    found = [(part.alpha, part.mean_image_alpha) for part in result.thresholds]
    assert np.array(found) == pytest.approx(np.array(ALPHAS[similarity]), abs=5e-7)
    expected = [by_definition(similarity, threshold) for threshold in THRESHOLDS]
    assert np.array(found) == pytest.approx(np.array(expected), abs=1e-12)
    assert (result.n_images, result.n_empty_images, result.n_annotations) == (60, 8, 264)


def test_alphas_of_run_lengths(tmp_path):
    content = simulated()
    for record in content["annotations"]:
        mask = as_mask(corners(record))
        record["segmentation"] = {**mask, "counts": mask["counts"].decode()}
    path = write(tmp_path / "masks.json", content)
    result = agree(read_coco(path), similarity="mask", iou_threshold=THRESHOLDS, **RECURSIVE)
    found = [(part.alpha, part.mean_image_alpha) for part in result.thresholds]
    assert np.array(found) == pytest.approx(np.array(ALPHAS["mask"]), abs=5e-7)


@pytest.mark.parametrize(("variant", "alphas"), VARIANTS, ids=str)
def test_variants(variant, alphas, data):
    result = agree(data, **variant, **RECURSIVE)
    found = result.alpha, result.mean_image_alpha
    assert found == pytest.approx(alphas, abs=5e-7)
    assert found == pytest.approx(by_definition("bbox", 0.5, **variant), abs=1e-12)


def test_intervals(data):
    (part,) = agree(data).thresholds
    counted = coincidences(part.reliability, "category")
    marginal, diagonal = np.zeros((2, 60, counted.n_values))
    marginal[counted.group, counted.value] = counted.marginal
    diagonal[counted.group, counted.value] = counted.diagonal

    def alpha(marginal, diagonal):
        n, chance = marginal.sum(), marginal.sum() ** 2 - (marginal**2).sum()
        return 1 - (n - 1) * (n - diagonal.sum()) / chance if chance else 1.0

    of_image = np.array([alpha(*sums) for sums in zip(marginal, diagonal, strict=True)])
    rng = np.random.default_rng(0)
    drawn = [rng.integers(0, 60, 60) for _ in range(1000)]
    pooled = [alpha(marginal[places].sum(0), diagonal[places].sum(0)) for places in drawn]
    mean = [of_image[places].mean() for places in drawn]
    # Eight images are left empty by all, which count 1 in the mean and nothing in the other.
    assert part.interval == pytest.approx(expanded(pooled, 52), abs=1e-12)
    assert part.mean_image_interval == pytest.approx(expanded(mean, 60), abs=1e-12)


def test_it_is_sound():
    report = report_of(data_file("simulated.json").read_bytes())
    assert report.counts == {"A003": 1, "I007": 1}
