"""Offsets of rotated boxes, and quarter turns, against what was done to the boxes."""

from collections import defaultdict

import jsonschema
import numpy as np
import pytest
from support.datasets import document_of
from support.wrong_shapes import rotated, turned_boxes

import bboxqa
from bboxqa.diagnostics.offsets import quarter_turns, rotated_offsets
from bboxqa.pipelines.counting import compared_images
from bboxqa.pipelines.diagnosis.matched_units import matched_units
from bboxqa.report.agreement_summary import summary, summary_schema

PEOPLE = ("ann", "bob", "cid", "dan")


def document(change, *, people=PEOPLE[:3], n_images=12, side=(60.0, 30.0), noise=0.0):
    """Return boxes that are far apart, five in each image; change(who, box) may change each."""
    rng, rows = np.random.default_rng(4), []
    for place in range(1, n_images + 1):
        for x in range(100, 1100, 200):
            truth = np.array([x, 100, *side, rng.uniform(0, 180)])
            for who in people:
                box = change(who, truth + noise * rng.normal(0, 1, 5))
                rows.append((place, who, 1, box.tolist()))
    return document_of(rows, n_images, ("ship",), size=(1000, 200))


def units_of(change, *, bootstrap=0, **more):
    with bboxqa.reading(rotated="cxcywh-cw-degrees"):
        data = bboxqa.read_coco(document(change, **more))
    settings = bboxqa.AgreeSettings(similarity="obb", bootstrap=bootstrap)
    return matched_units(compared_images(data), settings)


def as_drawn(_who, box):
    return box


def row_of(table, who, **values):
    (row,) = [
        row
        for row in table.records()
        if row["annotator"] == who and all(row[name] == value for name, value in values.items())
    ]
    return row


def turned(angle):
    return np.array([0, 0, 0, 0, angle])


def test_offsets_are_those_of_pairs_one_by_one():
    units = units_of(as_drawn, noise=3.0, people=PEOPLE[:2], side=(80.0, 30.0))
    boxes, objects = units.data.annotations.rotated_box, defaultdict(dict)
    for row, each in enumerate(units.objects.tolist()):
        objects[each][int(units.data.annotations.annotator[row])] = boxes[row]
    pairs = [(both[0], both[1]) for both in objects.values() if len(both) == 2]
    # Noise of 3 px and 3° leaves sides of 80 and 30 px, and angles, the same way round.
    expected = np.mean([one - two for one, two in pairs], axis=0)
    angles = [(one[4] - two[4] + 90) % 180 - 90 for one, two in pairs]
    table = rotated_offsets(units)
    assert table["offset"][:4] == pytest.approx(expected[:4])
    assert table["offset"][4] == pytest.approx(np.mean(angles))
    assert table["offset"][5:] == pytest.approx(-table["offset"][:5])


def test_against_a_reference_each_of_two_is_told():
    made = bboxqa.simulate(images=25, annotators=2, errors={"p01": "jitter=1", "p02": "offset=0,3"})
    truth = bboxqa.read_coco(rotated(made.truth()), min_annotators=1)
    document = turned_boxes(rotated(made.document()), {"p01": (0, 2, 0), "p02": (4, 1, 0)})
    data = bboxqa.read_coco(document)
    result = bboxqa.agree(data, similarity="obb", bootstrap=200, reference=truth)
    (part,) = result.thresholds
    (row,) = [
        row
        for row in part.reference.offsets.records()
        if (row["annotator"], row["measure"]) == ("p02", "angle")
    ]
    # No box is missed: each is compared with the object that it shows. Corners have two digits.
    true = {
        each["id"]: each["attributes"]["rotation"] for each in rotated(made.truth())["annotations"]
    }
    turned_by = np.array(
        [
            each["attributes"]["rotation"] - true[each["true_id"]]
            for each in document["annotations"]
            if each["annotator"] == "p02"
        ]
    )
    assert row["offset"] == pytest.approx(np.mean((turned_by + 180) % 360 - 180), abs=0.005)
    assert row["offset_low"] < 4 < row["offset_high"]
    assert row["systematic"]
    story = result.story
    (turned,) = [line for line in story if line.startswith("p02 draws boxes ")]
    assert "3.0 px further down and 4.0°" in turned
    assert not any(line.startswith("p01 draws boxes ") for line in story)
    record = summary(result)
    jsonschema.validate(record, summary_schema())
    (_, person) = record["thresholds"][0]["reference"]["annotators"]
    assert person["offset_px"] == []
    assert person["rotated_offsets"][-1]["value"] == row["offset"]


def test_other_tables_of_upright_boxes_are_those_of_plain_boxes():
    made = bboxqa.simulate(images=5, errors={"p*": "jitter=8% miss=0.1"})
    data = bboxqa.read_coco(made.document())
    plain, rotated = (
        bboxqa.agree(data, similarity=name, bootstrap=0).diagnose().tables
        for name in ("bbox", "obb")
    )
    assert set(plain) - set(rotated) == {"offsets"}
    for name in ("sensitivity", "agreement_by_size", "agreement_by_crowding", "annotators"):
        for column, values in plain[name].columns.items():
            found = rotated[name].columns[column]
            if isinstance(values, np.ndarray):
                assert found == pytest.approx(values, nan_ok=True), (name, column)


def test_exchanged_sides_and_quarter_turns_are_told_apart():
    def change(who, box):
        exchanged = box[[0, 1, 3, 2, 4]]
        return {"cid": exchanged, "bob": exchanged + turned(90)}.get(who, box)

    table = quarter_turns(units_of(change, people=PEOPLE))
    assert {who: row_of(table, who)["share"] for who in PEOPLE} == dict.fromkeys(PEOPLE, 0) | {
        "cid": 1
    }


@pytest.mark.parametrize(
    ("n_annotators", "words"),
    [
        (2, "p01 draws boxes 8.0° further counter-clockwise, or p02 the reverse (unknown which)"),
        (3, "p02 draws boxes 8.0° further clockwise, or p01 and p03 the reverse (unknown which)"),
        (4, "p02 draws boxes 8.0° further clockwise than the others"),
    ],
)
def test_who_turns_boxes_is_told_so_and_not_to_be_less_precise(n_annotators, words):
    made = bboxqa.simulate(images=40, annotators=n_annotators, errors={"p*": "jitter=1"})
    document = turned_boxes(rotated(made.document()), {"p02": (8, 0.1, 0)})
    result = bboxqa.agree(bboxqa.read_coco(document), similarity="obb", bootstrap=200)
    assert words in [line.partition(";")[0] for line in result.story]
    assert not any("less precisely" in line for line in result.story)
