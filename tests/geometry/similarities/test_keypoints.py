"""Similarity of key points against pycocotools and a brute-force computation."""

from math import exp

import numpy as np
import pytest
from msgspec.structs import replace
from support.datasets import annotation, document, image, write

import bboxqa
from bboxqa.core.errors import ConfigError, DatasetError
from bboxqa.geometry.box_similarities import COCO_SIGMAS
from bboxqa.geometry.candidates import candidate_pairs, similarity_of_pairs

_IMAGE = image(1, "a.jpg", width=640, height=480)


def _read(tmp_path, records):
    content = document([annotation(n, **each) for n, each in enumerate(records, 1)], [_IMAGE])
    return bboxqa.read_coco(write(tmp_path / "people.json", content), keypoints=True)


def _people(rng, n, n_joints=17, *, missing=0.0):
    """Return annotations of two annotators, who drew the same people some pixels apart."""
    found = []
    for _ in range(n):
        centre = rng.uniform(100, 300, 2)
        joints = centre + rng.uniform(-60, 60, (n_joints, 2))
        for who in ("ann", "bob"):
            points = joints + rng.normal(0, 8, joints.shape)
            seen = np.where(rng.random(n_joints) < missing, 0, rng.integers(1, 3, n_joints))
            flat = np.column_stack([np.where(seen[:, None] > 0, points, 0), seen]).ravel()
            area = rng.uniform(3000, 9000)
            found.append(
                {"annotator": who, "bbox": [*(centre - 60).tolist(), 120, 120], "area": area}
                | {"keypoints": flat.tolist()}
            )
    return found


def _oracle(first, second, sigmas):
    """Return the similarity of two records, joint by joint."""
    scale = (first["area"] + second["area"]) / 2 + np.spacing(1)
    shares = []
    for joint, sigma in enumerate(sigmas):
        x, y, seen = first["keypoints"][3 * joint : 3 * joint + 3]
        u, v, also = second["keypoints"][3 * joint : 3 * joint + 3]
        if seen and also:
            squared = (x - u) ** 2 + (y - v) ** 2
            shares.append(exp(-squared / (2 * scale * (2 * sigma) ** 2)))
        elif seen or also:
            shares.append(0.0)
    return sum(shares) / len(shares) if shares else 0.0


def _all_pairs(data):
    n = len(data.annotations)
    left, right = (each.ravel() for each in np.indices((n, n)))
    return left, right, similarity_of_pairs(data, "keypoints", left, right)


def test_equals_pycocotools_where_both_label_all_joints_and_areas_are_equal(tmp_path):
    from pycocotools.coco import COCO
    from pycocotools.cocoeval import COCOeval

    records = _people(np.random.default_rng(1), 10)
    for record in records:
        record["area"] = 5000.5
    data = _read(tmp_path, records)
    left, right, ours = _all_pairs(data)
    truth = [
        {"id": place, "image_id": 1, "category_id": 1, "iscrowd": 0, "num_keypoints": 17}
        | {"area": 5000.5, "bbox": each["bbox"], "keypoints": each["keypoints"]}
        for place, each in enumerate(records, 1)
    ]
    coco = COCO()
    coco.dataset = {"images": [_IMAGE], "categories": [{"id": 1}], "annotations": truth}
    coco.createIndex()
    found = COCO()
    found.dataset = {**coco.dataset, "annotations": [{**each, "score": 1.0} for each in truth]}
    found.createIndex()
    evaluation = COCOeval(coco, found, "keypoints")
    evaluation._prepare()
    # Rows are detections, sorted by score, of which all are equal.
    expected = evaluation.computeOks(1, 1)
    place = data.annotations.id - 1
    assert np.abs(ours - expected[place[right], place[left]]).max() < 1e-12


@pytest.mark.parametrize(("n_joints", "missing"), [(17, 0.4), (1, 0.2), (5, 0.0)])
def test_equals_brute_force(tmp_path, n_joints, missing):
    rng = np.random.default_rng(n_joints)
    records = _people(rng, 8, n_joints, missing=missing)
    data = _read(tmp_path, records)
    sigmas = COCO_SIGMAS if n_joints == 17 else (0.05,) * n_joints
    data = replace(data, joint_sigmas=(tuple(sigmas),))
    left, right, ours = _all_pairs(data)
    ids = data.annotations.id
    expected = [
        _oracle(records[a - 1], records[b - 1], sigmas)
        for a, b in zip(ids[left].tolist(), ids[right].tolist(), strict=True)
    ]
    assert ours == pytest.approx(expected, abs=1e-12)
    square = ours.reshape(len(records), -1)
    assert (square == square.T).all()
    # The search for neighbours leaves out no pair that reaches a threshold.
    for threshold in (0.05, 0.5, 0.99):
        pairs, _ = candidate_pairs(data, "keypoints", threshold)
        other = data.annotations.annotator[left] < data.annotations.annotator[right]
        assert len(pairs) == (other & (ours >= threshold)).sum()


def test_categories_without_known_sigmas_are_refused_with_ways_out(tmp_path):
    data = _read(tmp_path, _people(np.random.default_rng(1), 2, 5))
    with pytest.raises(ConfigError, match=r"'cat' has 5 key points.*--sigmas estimated"):
        bboxqa.agree(data, similarity="keypoints")


def test_key_points_that_were_not_read_are_refused(tmp_path):
    _read(tmp_path, _people(np.random.default_rng(1), 2))
    data = bboxqa.read_coco(tmp_path / "people.json")
    with pytest.raises(DatasetError, match="key points were not read") as caught:
        bboxqa.agree(data, similarity="keypoints")
    assert "keypoints=True" in caught.value.advice


def _dogs(tmp_path, **joints):
    """Write a dog of each annotator, with a key point at 1, 1 and one at 9, 9, and their names."""
    for name, names in joints.items():
        numbers = [1, 1, 2, 9, 9, 2] if names[0].startswith("h") else [9, 9, 2, 1, 1, 2]
        dog = annotation(1, bbox=(1, 1, 8, 8), keypoints=numbers, area=64)
        category = {"id": 1, "name": "dog", "keypoints": names}
        write(tmp_path / f"{name}.json", document([dog], [_IMAGE], [category]))
    return [tmp_path / f"{name}.json" for name in joints]


def test_joints_in_another_order_are_put_in_that_of_the_first_file(tmp_path):
    files = _dogs(tmp_path, ann=["head", "tail"], bob=["tail", "head"])
    data = bboxqa.read_coco(files, keypoints=True)
    assert data.joint_names == (("head", "tail"),)
    data = replace(data, joint_sigmas=((0.1, 0.1),))
    assert similarity_of_pairs(data, "keypoints", np.array([0]), np.array([1])).tolist() == [1.0]


def test_joints_with_other_names_are_refused(tmp_path):
    files = _dogs(tmp_path, ann=["head", "tail"], bob=["head", "Tail"])
    with pytest.raises(DatasetError, match=r"has key points Tail in .* only, and tail in .* only"):
        bboxqa.read_coco(files, keypoints=True)


def test_results_of_a_model_need_no_boxes(tmp_path):
    """COCO's results of key points are image_id, category_id, keypoints and score."""
    people = _people(np.random.default_rng(3), 6)
    _read(tmp_path, people)
    results = [
        {"image_id": 1, "category_id": 1, "keypoints": each["keypoints"], "score": 0.9}
        for each in people
        if each["annotator"] == "ann"
    ]
    model = write(tmp_path / "model.json", results)
    data = bboxqa.read_coco(tmp_path / "people.json", keypoints=True, predictions=model)
    assert data.annotator_names == ("ann", "bob", "model")
    points, annotator = data.annotations.keypoints.packed(), data.annotations.annotator
    drawn = points.xy.reshape(-1, 17, 2)
    assert np.array_equal(np.sort(drawn[annotator == 2], 0), np.sort(drawn[annotator == 0], 0))
    extent = points.extent()[annotator == 2]
    assert data.annotations.bbox[annotator == 2] == pytest.approx(extent)
