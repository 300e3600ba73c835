"""Offsets of rotated boxes, and quarter turns, against what was done to the boxes."""

from collections import defaultdict
from functools import cache

import jsonschema
import numpy as np
import pytest
from support.wrong_shapes import turned_boxes

import bboxqa
from bboxqa.diagnostics.offsets import ACROSS, MEASURES, RENAMED, quarter_turns, rotated_offsets
from bboxqa.pipelines.counting import compared_images
from bboxqa.pipelines.diagnosis.matched_units import matched_units
from bboxqa.report.agreement_summary import diagnosis_schema, summary, summary_schema

PEOPLE = ("ann", "bob", "cid", "dan")


def document(change, *, people=PEOPLE[:3], n_images=12, side=(60.0, 30.0), noise=0.0):
    """Return boxes that are far apart, five in each image; change(who, box) may change each."""
    rng = np.random.default_rng(4)
    images, annotations = [], []
    for image in range(1, n_images + 1):
        images.append({"id": image, "file_name": f"{image}.png", "width": 1000, "height": 200})
        for place in range(5):
            truth = np.array([100 + 200 * place, 100, *side, rng.uniform(0, 180)])
            for who in people:
                box = change(who, truth + noise * rng.normal(0, 1, 5))
                annotations.append(
                    {
                        "id": len(annotations) + 1, "image_id": image, "category_id": 1,
                        "annotator": who, "bbox": [float(number) for number in box],
                    }
                )  # fmt: skip
    categories = [{"id": 1, "name": "ship"}]
    return {"images": images, "categories": categories, "annotations": annotations}


def units_of(change, *, bootstrap=0, **more):
    with bboxqa.reading(rotated="cxcywh-cw-degrees"):
        data = bboxqa.read_coco(document(change, **more))
    settings = bboxqa.AgreeSettings(similarity="obb", bootstrap=bootstrap)
    return matched_units(compared_images(data), settings)


def one_errs(box_of):
    return lambda who, box: box_of(box.copy()) if who == "cid" else box


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


def error(box):
    # 3 px right, 2 px up, 5 px longer, 4 px narrower and 10° clockwise.
    return box + np.array([3, -2, 5, -4, 10])


DESCRIPTIONS = {
    "as drawn": lambda box: box,
    "half a turn more": lambda box: box + turned(180),
    "the other side first": lambda box: box[[0, 1, 3, 2, 4]] + turned(90),
    "three quarters more": lambda box: box[[0, 1, 3, 2, 4]] + turned(270),
}


@pytest.mark.parametrize("name", DESCRIPTIONS)
def test_offsets_do_not_depend_on_how_a_rectangle_is_described(name):
    described = DESCRIPTIONS[name]
    table = rotated_offsets(units_of(one_errs(lambda box: described(error(box)))))
    found = [row_of(table, "cid", measure=measure)["offset"] for measure in MEASURES]
    assert found == pytest.approx([3, -2, 5, -4, 10])
    others = [row["offset"] for row in table.records() if row["annotator"] != "cid"]
    assert others == pytest.approx(np.zeros(10), abs=1e-9)


def test_percents_are_of_the_others_boxes():
    table = rotated_offsets(units_of(one_errs(error)))
    found = [row_of(table, "cid", measure=measure)["offset_percent"] for measure in MEASURES]
    # The root of 60 · 30 is 42.43 px; a quarter turn is no size.
    size = np.sqrt(60 * 30)
    assert found[:4] == pytest.approx([300 / size, -200 / size, 500 / 60, -400 / 30])
    assert found[4] is None


def test_angles_of_squares_count_modulo_quarter_turns():
    change = one_errs(lambda box: box + turned(85))
    units = units_of(change, side=(40.0, 40.0))
    assert row_of(rotated_offsets(units), "cid", measure="angle")["offset"] == pytest.approx(-5)
    assert set(quarter_turns(units)["n"]) == {0}


def test_nearly_square_boxes_with_exchanged_sides_are_no_longer_or_shorter():
    def exchanged(box):
        return box[[0, 1, 3, 2, 4]] + np.array([0, 0, 2, 2, 0])

    table = rotated_offsets(units_of(one_errs(exchanged), side=(44.0, 38.0)))
    sides = [row_of(table, "cid", measure=f"{side} side")["offset"] for side in ("long", "short")]
    assert sides == pytest.approx([2, 2])


def test_spread_is_the_standard_deviation_of_single_differences():
    table = rotated_offsets(units_of(as_drawn, noise=1.5, n_images=80, people=PEOPLE))
    # Of two annotators with a standard deviation of 1.5 each.
    assert table["spread"] == pytest.approx(1.5 * np.sqrt(2), rel=0.2)


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


def test_exchanged_sides_are_told_apart_from_another_name_of_the_width():
    exchanged = units_of(one_errs(lambda box: box[[0, 1, 3, 2, 4]]))
    table = quarter_turns(exchanged)
    assert row_of(table, "cid", kind=ACROSS)["share"] == 1
    assert row_of(table, "cid", kind=RENAMED)["share"] == 0
    assert row_of(table, "ann", kind=ACROSS)["share"] == 0
    assert row_of(rotated_offsets(exchanged), "cid", measure="angle")["n"] == 0
    renamed = units_of(one_errs(DESCRIPTIONS["the other side first"]))
    assert row_of(quarter_turns(renamed), "cid", kind=RENAMED)["share"] == 1
    assert row_of(quarter_turns(renamed), "cid", kind=ACROSS)["share"] == 0


@pytest.mark.parametrize(
    ("change", "n_across"),
    [(lambda box: box[[0, 1, 3, 2, 4]], 60), (lambda box: box + turned(30), 0)],
)
def test_thin_boxes_that_are_turned_show_the_same_object(change, n_across):
    # They share a tenth of their union, or less.
    units = units_of(one_errs(change), side=(80.0, 6.0), people=PEOPLE)
    assert len(np.unique(units.objects)) == 60
    row = row_of(quarter_turns(units), "cid", kind=ACROSS)
    assert row["n"] * row["share"] == n_across


def test_corners_do_not_say_which_side_is_the_width():
    def as_corners(_who, box):
        turn = np.deg2rad(box[4])
        along = np.array([np.cos(turn), np.sin(turn)]) * box[2] / 2
        down = np.array([-np.sin(turn), np.cos(turn)]) * box[3] / 2
        middle = box[:2]
        each = (middle - along - down, middle + along - down, middle + along + down,
                middle - along + down)  # fmt: skip
        return np.concatenate(each)

    table = quarter_turns(units_of(as_corners))
    assert np.isnan(table["share"][1::2]).all()
    assert table["share"][::2].tolist() == [0, 0, 0]


@cache
def diagnosed():
    made = bboxqa.simulate(
        images=40,
        rotated=True,
        annotators=4,
        errors={"p*": "jitter=1", "p03": "offset=2,0"},
    )
    wrong = {"p01": (0, 2, 0), "p02": (0, 2, 0), "p03": (4, 2, 0), "p04": (0, 2, 0.2)}
    data = bboxqa.read_coco(turned_boxes(made.document(), wrong))
    result = bboxqa.agree(data, similarity="obb", bootstrap=200)
    return result.diagnose()


def test_a_story_tells_who_turns_boxes_and_who_exchanges_sides():
    story = "\n".join(diagnosed().story)
    (turned,) = [line for line in diagnosed().story if line.startswith("p03 turns boxes ")]
    assert turned.endswith("clockwise from those of the others")
    assert "px [1.9, 2.1] further right than the others" in story
    assert "p04 draws " in story
    assert "across those of the others" in story
    assert "p01" not in story
    angle = row_of(diagnosed().tables["rotated_offsets"], "p03", measure="angle")
    assert angle["systematic"]
    assert angle["offset_low"] < 4 < angle["offset_high"]
    assert "offsets" not in diagnosed().tables


def test_a_story_tells_who_always_exchanges_sides_also_of_few_images():
    made = bboxqa.simulate(images=6, rotated=True, errors={"p*": "jitter=2%"}, overlap=0)
    data = bboxqa.read_coco(turned_boxes(made.document(), {"p02": (0, 0, 1)}))
    result = bboxqa.agree(data, similarity="obb", bootstrap=200)
    story = "\n".join(result.story().story)
    assert "p02 draws 100.0 % [100.0, 100.0] of the boxes that are not nearly square" in story
    # That is why boxes overlap less.
    assert "less precisely" not in story


def test_the_summary_has_rotated_offsets_instead_of_edges():
    from bboxqa.report.agreement_summary import diagnosis_summary

    summary = diagnosis_summary(diagnosed())
    jsonschema.validate(summary, diagnosis_schema())
    person = summary["annotators"][2]
    assert person["offset_px"] == []
    assert [row["measure"] for row in person["rotated_offsets"]] == list(MEASURES)
    assert person["rotated_offsets"][4]["unit"] == "degrees"


def test_two_annotators_are_compared_with_each_other():
    made = bboxqa.simulate(images=30, rotated=True, annotators=2)
    data = bboxqa.read_coco(turned_boxes(made.document(), {"p01": (-6, 0, 0)}))
    result = bboxqa.agree(data, similarity="obb", bootstrap=200)
    assert "p01 turns boxes 6.0° [6.0, 6.0] counter-clockwise from those of p02" in "\n".join(
        result.story().story
    )


def test_against_a_reference_each_of_two_is_told():
    made = bboxqa.simulate(
        images=25,
        rotated=True,
        annotators=2,
        errors={"p01": "jitter=1", "p02": "offset=0,3"},
    )
    truth = bboxqa.read_coco(made.truth(), min_annotators=1)
    document = turned_boxes(made.document(), {"p01": (0, 2, 0), "p02": (4, 1, 0)})
    data = bboxqa.read_coco(document)
    result = bboxqa.agree(data, similarity="obb", bootstrap=200, reference=truth)
    (part,) = result.thresholds
    (row,) = [
        row
        for row in part.reference.offsets.records()
        if (row["annotator"], row["measure"]) == ("p02", "angle")
    ]
    # No box is missed: each is compared with the object that it shows. Corners have two digits.
    true = {each["id"]: each["attributes"]["rotation"] for each in made.truth()["annotations"]}
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
    story = result.story().story
    assert any(line.startswith("p02 turns boxes ") for line in story)
    assert any("3.0 px [3.0, 3.0] further down than " in line for line in story)
    assert not any(line.startswith("p01 turns boxes ") for line in story)
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
