"""Diagnostics of joints against what was done to them, and against a computation by hand."""

from functools import cache

import numpy as np
import pytest
from support.datasets import document_of
from support.poses import SWAPPED, people_document
from support.wrong_shapes import mirrored, people

import bboxqa
from bboxqa.core.errors import DatasetError
from bboxqa.geometry.box_similarities import COCO_SIGMAS
from bboxqa.model.keypoints import COCO_JOINTS

EAR, WRIST = COCO_JOINTS.index("right_ear"), COCO_JOINTS.index("left_wrist")


def _damaged(who, number, points):
    """Exchange left and right in an eighth, leave out an ear in a fifth, and lower a wrist."""
    if who == "bob" and number % 8 == 0:
        points = points[SWAPPED]
    if who == "bob" and number % 5 == 0:
        points[EAR] = 0
    if who == "cid":
        points[WRIST, 1] += 9
    return points


@cache
def _diagnosed(*annotators):
    document = people_document(
        np.random.default_rng(1), n_images=80, annotators=annotators, damage=_damaged
    )
    data = bboxqa.read_coco(document, keypoints=True)
    return bboxqa.agree(data, similarity="keypoints", bootstrap=300).diagnose()


def _rows(table, **values):
    return [
        row for row in table.records() if all(row[name] == value for name, value in values.items())
    ]


def test_recovers_swaps_missing_joints_and_offsets_of_one_of_three():
    found = _diagnosed("ann", "bob", "cid")
    told = [line for line in found.story if "exchanges" in line or "leaves out" in line]
    assert [line.partition(" in up to")[0].rstrip(",") for line in told] == [
        "bob leaves out joints that others label", "bob exchanges left and right"
    ]  # fmt: skip
    table = found.tables["joint_annotators"]
    (ear,) = _rows(table, annotator="bob", joint="right_ear")
    # Where left and right are exchanged as well, the left ear is the one that is left out.
    assert ear["missing_share"] == pytest.approx(0.2, abs=0.03)
    assert ear["missing_share_low"] < 0.2 < ear["missing_share_high"]
    (hip,) = _rows(table, annotator="bob", joint="left_hip")
    assert hip["swapped_share"] == pytest.approx(1 / 8, abs=0.03)
    (wrist,) = _rows(table, annotator="cid", joint="left_wrist")
    assert wrist["systematic"]
    assert wrist["offset_y_px"] == pytest.approx(9, abs=2.5)
    others = [row for row in table.records() if row["annotator"] == "ann"]
    assert not any(row["systematic"] for row in others)
    assert max(row["missing_share"] for row in others) == 0
    assert max(row["swapped_share"] or 0 for row in others) < 0.03


def test_people_with_left_and_right_exchanged_are_not_missed():
    made = bboxqa.simulate(images=30, errors={"p*": "jitter=2%"})
    data = bboxqa.read_coco(
        mirrored(people(made.document(), scatter=1), "p03", 0.4), keypoints=True
    )
    found = bboxqa.agree(data, similarity="keypoints", bootstrap=0).diagnose()
    assert found.tables["annotators"]["miss_rate"].tolist() == [0, 0, 0]
    is_missed = found.tables["decomposition"]["kind"] == "missed by some"
    assert found.tables["decomposition"]["n_any"][is_missed].tolist() == [0]


def test_joints_have_sigmas_and_swaps_of_the_truth():
    table = _diagnosed("ann", "bob", "cid").tables["joints"]
    assert table["joint"].astype(str).tolist() == list(COCO_JOINTS)
    error = table["sigma"] / COCO_SIGMAS - 1
    assert np.abs(error).max() < 0.2
    sided = np.arange(17) != 0
    # One of three is concerned: two of the three pairs.
    assert np.nanmean(table["swapped_share"][sided]) == pytest.approx(2 / 3 / 8, abs=0.02)
    assert np.isnan(table["swapped_share"][0])
    ear = table["missing_share"][EAR]
    assert ear == pytest.approx(2 / 3 / 5, abs=0.02)


def test_figures_by_hand():
    """Two annotators of two people with the joints 1 and 2, and an area of 100.

    Joint 1: 3, 4 px apart, then equal. Joint 2: visible and hidden, then left out by bob.
    """
    points = {
        ("ann", 1): [10, 10, 2, 20, 20, 2],
        ("bob", 1): [13, 14, 2, 20, 20, 1],
        ("ann", 2): [10, 10, 2, 20, 20, 2],
        ("bob", 2): [10, 10, 2, 0, 0, 0],
    }
    rows = [
        (place, who, 1, (10, 10, 10, 10), {"area": 100, "keypoints": keypoints})
        for (who, place), keypoints in points.items()
    ]
    document = document_of(rows, 2, ("dog",))
    data = bboxqa.read_coco(document, keypoints=True)
    result = bboxqa.agree(data, similarity="keypoints", sigmas=0.5, bootstrap=0)
    first, second = result.diagnose().tables["joints"].records()
    assert (first["n"], first["n_both"], first["missing_share"]) == (2, 2, 0)
    assert (first["distance_px"], first["distance_percent"]) == (2.5, 25)
    assert (first["same_visibility"], first["visibility_alpha"]) == (1, None)
    assert (second["n"], second["n_both"], second["missing_share"]) == (2, 1, 0.5)
    assert second["same_visibility"] == 0
    # Values 2 and 1, and 2 and 0: D_o = 1, D_e = 1 − 2 · 1 / (4 · 3).
    assert second["visibility_alpha"] == pytest.approx(1 - 1 / (1 - 2 / 12))
    ann, bob = (
        _rows(result.diagnose().tables["joint_annotators"], annotator=who, joint="1")[0]
        for who in ("ann", "bob")
    )
    assert (bob["offset_x_px"], bob["offset_y_px"]) == (1.5, 2)
    assert (ann["offset_x_px"], ann["offset_percent"]) == (-1.5, 25)


def test_annotators_who_were_given_boxes_are_no_copies():
    document = people_document(np.random.default_rng(2), n_images=30, damage=_damaged)
    boxes = {each["image_id"]: each["bbox"] for each in document["annotations"]}
    for annotation in document["annotations"]:
        annotation["bbox"] = boxes[annotation["image_id"]]
    data = bboxqa.read_coco(document, keypoints=True)
    tables = bboxqa.agree(data, similarity="keypoints", bootstrap=200).diagnose().tables
    assert not tables["copies"]["copied"].any()
    assert (tables["joint_annotators"]["n"] > 0).all()


def test_annotations_without_labelled_key_points_are_left_out():
    document = people_document(np.random.default_rng(3), n_images=4)
    for annotation in document["annotations"]:
        if annotation["image_id"] == 4:
            annotation["keypoints"] = [0] * 51
    data = bboxqa.read_coco(document, keypoints=True)
    result = bboxqa.agree(data, similarity="keypoints", bootstrap=0)
    assert (result.n_annotations, result.thresholds[0].existence.f1) == (6, 1)
    assert "2 annotations without labelled key points left out" in result.notes
    for annotation in document["annotations"]:
        annotation["keypoints"] = [0] * 51
    with pytest.raises(DatasetError, match="none of 8 annotations has labelled key points"):
        bboxqa.agree(bboxqa.read_coco(document, keypoints=True), similarity="keypoints")
