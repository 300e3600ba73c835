"""The review queue ranks objects by what agreement gains if they are settled."""

import numpy as np
import pytest
from support.datasets import dataset
from support.matched import matched

import bboxqa
from bboxqa.pipelines.diagnosis.review import review_of

# Far from each other; a second row of boxes overlaps the first by 1/5.
_BOX = {n: (100.0 * n, 0.0, 30.0, 30.0) for n in range(6)}
_ASIDE = {n: (100.0 * n + 20.0, 0.0, 30.0, 30.0) for n in range(6)}


def example():
    """Return three annotators; of object 1, c drew nothing; 2 has two names; 3 is misplaced by c;
    4 is drawn by a only; 0 and 5 are the same for all."""
    rows = []
    for n in range(6):
        for annotator in range(3):
            if (n, annotator) in ((1, 2), (4, 1), (4, 2)):
                continue
            category = 1 if (n, annotator) == (2, 2) else n % 2
            box = _ASIDE[n] if (n, annotator) == (3, 2) else _BOX[n]
            rows.append((0, annotator, category, box))
    return rows


def alpha(rows):
    return bboxqa.agree(dataset(rows, n_annotators=3), bootstrap=0).alpha


def test_gains_are_those_of_data_that_are_settled():
    rows = example()
    images, fields = review_of(matched(dataset(rows)))
    queue = fields["review"]
    settled = {
        "not drawn by annotator 0002": [*rows, (0, 2, 1, _BOX[1])],
        "category 0000 by annotator 0000 and annotator 0001, category 0001 by annotator 0002": [
            (*row[:2], 0, row[3]) if row[3] == _BOX[2] else row for row in rows
        ],
        "drawn elsewhere by annotator 0002: the boxes overlap too little to match": [
            (*row[:3], _BOX[3]) if row[3] == _ASIDE[3] else row for row in rows
        ],
        "drawn by annotator 0000 only": [row for row in rows if row[3] != _BOX[4]],
    }
    gain = dict(zip(queue["reason"], queue["alpha_gain"], strict=True))
    assert gain.keys() == settled.keys()
    for reason, after in settled.items():
        assert gain[reason] == pytest.approx(alpha(after) - alpha(rows), abs=1e-12)
    assert (np.diff(queue["alpha_gain"]) <= 1e-12).all()
    reasons = queue["reason"][:3].tolist()
    people = ", ".join(queue["annotators"][:3]).split(", ")
    assert images.records() == [
        {
            "image": "image 0000",
            "alpha_gain": pytest.approx(sum(gain.values())),
            "n_objects": 4,
            "reason": "; ".join([*reasons, "1 more"]),
            "annotators": ", ".join(dict.fromkeys(people)),
        }
    ]


def test_every_way_to_disagree_is_told_in_the_queue_and_on_the_page():
    # Of object 2, annotator 2 draws nothing, and 3 another category.
    rows = [(0, who, n % 2, _BOX[n]) for n in range(5) for who in range(4) if (n, who) != (2, 2)]
    rows[rows.index((0, 3, 0, _BOX[2]))] = (0, 3, 1, _BOX[2])
    (row,) = review_of(matched(dataset(rows)))[1]["review"].records()
    assert row["reason"] == (
        "not drawn by annotator 0002; category 0000 by annotator 0000 and annotator 0001, "
        "category 0001 by annotator 0003"
    )
    assert row["annotators"] == "annotator 0002, annotator 0003"
    (image,) = bboxqa.agree(dataset(rows), bootstrap=0).diagnose().worst_images["images"]
    reasons = [each["reason"] for each in image["objects"]]
    assert [reason for reason in reasons if reason] == [row["reason"]]


def test_second_boxes_and_parts_are_one_object_of_the_page():
    rows = [(0, a, n % 2, _BOX[n]) for a in range(2) for n in range(4)]
    rows.append((0, 1, 0, (1.0, 0.0, 30.0, 30.0)))
    (image,) = bboxqa.agree(dataset(rows), bootstrap=0).diagnose().worst_images["images"]
    reasons = [each["reason"] for each in image["objects"]]
    assert reasons == ["drawn twice by annotator 0001", "", "", ""]
    assert [each["object"] for each in image["shapes"]].count(1) == 3
