"""The review queue ranks objects by what agreement gains if they are settled."""

from dataclasses import replace

import numpy as np
import pytest
from support.datasets import dataset
from support.matched import matched, random_data

import bboxqa
from bboxqa.diagnostics.decomposition import KINDS, Kind, decomposition
from bboxqa.diagnostics.review import object_list, review_queue

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
    queue = review_queue(matched(dataset(rows)))
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
    gain = dict(zip(queue.objects["reason"], queue.objects["alpha_gain"], strict=True))
    assert gain.keys() == settled.keys()
    for reason, after in settled.items():
        assert gain[reason] == pytest.approx(alpha(after) - alpha(rows), abs=1e-12)
    assert (np.diff(queue.objects["alpha_gain"]) <= 1e-12).all()
    assert queue.images.records() == [
        {
            "image": "image 0000",
            "alpha_gain": pytest.approx(sum(gain.values())),
            "n_objects": 4,
            "reason": "; ".join(
                [text.split(": the boxes")[0] for text in queue.objects["reason"][:3]] + ["1 more"]
            ),
            "annotators": ", ".join(
                dict.fromkeys(
                    name for text in queue.objects["annotators"][:3] for name in text.split(", ")
                )
            ),
        }
    ]


def test_an_object_with_several_kinds_is_settled_as_a_whole():
    """Annotator 2 draws it twice and names it otherwise; annotator 3 draws nothing."""
    rows = [(0, who, n % 2, _BOX[n]) for n in range(5) for who in range(4) if (n, who) != (2, 3)]
    rows[rows.index((0, 2, 0, _BOX[2]))] = (0, 2, 1, _BOX[2])
    rows.append((0, 2, 1, (201.0, 0.0, 30.0, 30.0)))
    (row,) = review_queue(matched(dataset(rows))).objects.records()
    after = [(0, who, n % 2, _BOX[n]) for n in range(5) for who in range(4)]
    before = bboxqa.agree(dataset(rows, n_annotators=4), bootstrap=0).alpha
    gain = bboxqa.agree(dataset(after, n_annotators=4), bootstrap=0).alpha - before
    assert row["alpha_gain"] == pytest.approx(gain, abs=1e-12)
    assert len(row["reason"].split("; ")) == 3


def test_rows_name_people_boxes_and_annotations():
    rows = example()
    records = {row["reason"]: row for row in review_queue(matched(dataset(rows))).objects.records()}
    missed = records["not drawn by annotator 0002"]
    assert missed["annotators"] == "annotator 0002"
    assert missed["boxes"] == "annotator 0000: 100 0 30 30; annotator 0001: 100 0 30 30"
    ids = [place for place, row in enumerate(rows) if row[3] == _BOX[1]]
    assert missed["annotations"] == f"annotator 0000: {ids[0]}; annotator 0001: {ids[1]}"
    assert missed["kind"] == "missed by some"


def test_every_way_to_disagree_is_told_in_the_queue_and_on_the_page():
    # Of object 2, annotator 2 draws nothing, and 3 another category.
    rows = [(0, who, n % 2, _BOX[n]) for n in range(5) for who in range(4) if (n, who) != (2, 2)]
    rows[rows.index((0, 3, 0, _BOX[2]))] = (0, 3, 1, _BOX[2])
    data = matched(dataset(rows))
    (row,) = review_queue(data).objects.records()
    assert row["reason"] == (
        "not drawn by annotator 0002; category 0000 by annotator 0000 and annotator 0001, "
        "category 0001 by annotator 0003"
    )
    assert row["annotators"] == "annotator 0002, annotator 0003"
    reasons = object_list(data, np.arange(1)).reason
    assert [reason for reason in reasons if reason] == [row["reason"]]


@pytest.mark.parametrize("seed", range(4))
def test_the_page_gives_the_reasons_of_the_queue(seed):
    data = matched(random_data(seed, n_annotators=4))
    queue = review_queue(data)
    listed = object_list(data, np.arange(len(data.data.image_names)))
    reason = dict(zip(listed.object.tolist(), listed.reason, strict=True))
    on_page = [reason[each] for each in listed.of[queue.annotations].tolist()]
    assert on_page == list(queue.reasons)
    assert any("; " in each for each in on_page)


@pytest.mark.parametrize("seed", range(4))
def test_the_page_counts_objects_as_the_decomposition_does(seed):
    data = matched(random_data(seed, n_annotators=4))
    listed = object_list(data, np.arange(len(data.data.image_names)))
    n_any = {row["kind"]: row["n_any"] for row in decomposition(data).records()}
    assert n_any["all agree"] == (listed.kind < 0).sum() < len(listed.kind)
    assert {KINDS[kind]: listed.has[:, kind].sum() for kind in Kind} == {
        name: n for name, n in n_any.items() if name != "all agree"
    }


def test_second_boxes_and_parts_are_one_object_of_the_page():
    rows = [(0, a, n % 2, _BOX[n]) for a in range(2) for n in range(4)]
    rows.append((0, 1, 0, (1.0, 0.0, 30.0, 30.0)))
    listed = object_list(matched(dataset(rows)), np.arange(1))
    assert len(listed.kind) == 4
    assert listed.reason == ("drawn twice by annotator 0001", "", "", "")
    assert np.bincount(listed.of).tolist()[0] == 3


def test_an_object_drawn_twice_has_all_its_boxes():
    rows = [(0, a, n % 2, _BOX[n]) for a in range(2) for n in range(4)]
    rows.append((0, 1, 0, (1.0, 0.0, 30.0, 30.0)))
    queue = review_queue(matched(dataset(rows)))
    assert queue.objects["reason"].tolist() == ["drawn twice by annotator 0001"]
    assert queue.objects["boxes"][0].count("annotator 0001") == 2
    assert len(queue.annotations) == len(queue.reasons) == 3


def test_one_category_is_ranked_by_f1():
    rows = [(0, a, 0, _BOX[n]) for a in range(3) for n in range(4) if (a, n) != (2, 3)]
    queue = review_queue(matched(dataset(rows)))
    before = bboxqa.agree(dataset(rows), bootstrap=0).existence.f1
    assert queue.objects["f1_gain"].tolist() == [pytest.approx(1 - before)]


def test_where_all_agree_there_is_nothing_to_review():
    queue = review_queue(
        matched(dataset([(0, a, n % 2, _BOX[n]) for a in range(3) for n in (0, 1)]))
    )
    assert len(queue.objects) == len(queue.images) == len(queue.annotations) == 0


@pytest.mark.parametrize("seed", range(5))
def test_all_gain_and_no_annotation_comes_twice(seed):
    data = matched(random_data(seed))
    queue = review_queue(data)
    assert (queue.objects.columns["alpha_gain"] > 0).all()
    assert len(np.unique(queue.annotations)) == len(queue.annotations)
    assert len(review_queue(data, most=3).objects) == 3
    names = tuple(f"z{name}" for name in data.data.annotator_names)
    renamed = review_queue(replace(data, data=replace(data.data, annotator_names=names)))
    assert renamed.objects["alpha_gain"].tolist() == queue.objects["alpha_gain"].tolist()
