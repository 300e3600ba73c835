"""Who draws objects twice, splits or merges them; and nobody misses anything because of it."""

from collections import Counter

import pytest
from support.datasets import dataset

from bboxqa import read_coco, simulate
from bboxqa.diagnostics.decomposition import (
    KINDS,
    Kind,
    decomposition,
    decomposition_by_annotator,
)
from bboxqa.diagnostics.rates import annotators, boxes_per_object
from bboxqa.model.settings import AgreeSettings
from bboxqa.pipelines.counting import compared_images
from bboxqa.pipelines.diagnosis.matched_units import matched_units

SETTINGS = AgreeSettings(bootstrap=0)


def matched_of(data):
    return matched_units(compared_images(data), SETTINGS)


def simulated(error, n_annotators, base):
    last = f"p0{n_annotators}"
    made = simulate(images=80, annotators=n_annotators, errors={"p*": base, last: error}, seed=1)
    return matched_of(read_coco(made.document()))


@pytest.mark.parametrize("n_annotators", [3, 4])
@pytest.mark.parametrize(
    ("error", "kind", "column", "rate"),
    [
        ("duplicate=0.1", Kind.TWICE, "twice_rate", 0.1),
        ("split=0.1", Kind.SPLIT, "split_rate", 0.1),
        # Each merged object takes its neighbour along, unless that one is taken.
        ("merge=0.1", Kind.SPLIT, "merge_rate", 0.15),
    ],
)
def test_an_error_of_one_is_no_miss_of_others(error, kind, column, rate, n_annotators):
    matched = simulated(error, n_annotators, "jitter=6%")
    *innocent, guilty = boxes_per_object(matched).records()
    assert guilty[column] == pytest.approx(rate, abs=0.035)
    assert all(row[each] == 0 for row in innocent for each in ("twice_rate", "split_rate"))
    assert all(row["merge_rate"] == 0 for row in innocent)
    assert [row["miss_rate"] for row in annotators(matched).records()] == [0] * n_annotators
    assert max(row["extra_rate"] for row in annotators(matched).records()) < 0.005
    found = {row["kind"]: row["n_any"] for row in decomposition(matched).records()}
    assert found.pop("all agree") > found.pop(KINDS[kind]) > 10
    assert sum(found.values()) <= 1
    concerned = {
        (row["annotator"], row["kind"]) for row in decomposition_by_annotator(matched).records()
    }
    assert (f"p0{n_annotators}", KINDS[kind]) in concerned


def test_a_second_box_that_others_matched_is_joined_with_the_object():
    """Of boxes 0, 1 and 8, 9 px to the right, 20 wide, the annotator of 0 and 8 drew two.

    IoU of 1 px is 19 / 21 = 0.90, of 8 px 12 / 28 = 0.43, of 9 px 11 / 29 = 0.38, of 7 px
    13 / 27 = 0.48: two units at 0.5. With a threshold of 0.4, both boxes of one annotator match.
    """
    rows = [(0, 0, 0, (0, 0, 20, 10)), (0, 0, 0, (8, 0, 20, 10)), (0, 1, 0, (1, 0, 20, 10)),
            (0, 2, 0, (9, 0, 20, 10)), (0, 3, 0, (0, 0, 20, 10))]  # fmt: skip
    settings = AgreeSettings(bootstrap=0, iou_threshold=(0.4,), matcher="greedy")
    matched = matched_units(compared_images(dataset(rows)), settings)
    # Three drew the left place: the box on the right is the second one.
    assert matched.objects.tolist() == [0, 1, 0, 0, 0]
    rows = {row["annotator"]: row for row in boxes_per_object(matched).records()}
    assert [row["n_twice"] for row in rows.values()] == [1, 0, 0, 0]
    assert [row["n_missed"] for row in annotators(matched).records()] == [0, 0, 0, 0]
    kinds = {row["kind"]: row for row in decomposition(matched).records()}
    assert kinds["drawn twice by one"]["n_any"] == 1
    assert kinds["badly placed"]["n_any"] == 0
    # Five boxes have 3 + 1 matched pairs; drawn once, four boxes have all six pairs.
    assert kinds["drawn twice by one"]["f1_gain"] == pytest.approx(1 - (3 + 1) * 2 / (3 * 5))


def test_a_box_around_two_distant_objects_is_one_of_both():
    """10 × 10 boxes 200 px apart: each is 1 / 22 of the box around both."""
    rows = [
        (0, who, category, (210 * category, 0, 10, 10)) for who in (0, 1) for category in (0, 1)
    ]
    matched = matched_of(dataset([*rows, (0, 2, 0, (0, 0, 220, 10))]))
    row = boxes_per_object(matched).records()[2]
    assert (row["n_expected"], row["n_merged"], row["merge_rate"]) == (2, 2, 1)
    assert [each["n_missed"] for each in annotators(matched).records()] == [0, 0, 0]
    assert [each["n_extra"] for each in annotators(matched).records()] == [0, 0, 0]
    split = decomposition(matched).records()[4]
    # Repaired, the third draws both: five boxes with 2 matched pairs become six with all six.
    assert (split["n_any"], split["f1_gain"]) == (2, pytest.approx(1 - 2 * 2 / (2 * 5)))


def test_two_who_draw_the_same_two_boxes_show_two_objects():
    """Of two cells that overlap by 0.55, two annotators drew both, and two others one each."""
    both = [(0.0, 0.0, 95.0, 97.0), (-8.0, 24.0, 105.0, 99.0)]
    rows = [
        (0, who, 0, (x + who, y - who, w + who, h))
        for who, drawn in enumerate(((0, 1), (0, 1), (0,), (1,)))
        for x, y, w, h in (both[each] for each in drawn)
    ]
    matched = matched_of(dataset(rows))
    assert boxes_per_object(matched)["n_twice"].tolist() == [0, 0, 0, 0]
    assert boxes_per_object(matched)["n"].tolist() == [2, 2, 1, 1]
    kinds = {row["kind"]: row["n_any"] for row in decomposition(matched).records()}
    assert (kinds["drawn twice by one"], kinds["missed by some"]) == (0, 2)


def n_true(document, name, error):
    """How many objects an annotator drew in several boxes, or in a box with another one."""
    own = [each for each in document["annotations"] if each["annotator"] == name]
    if error.startswith("merge"):
        return 2 * sum("merged_id" in each for each in own)
    return sum(n > 1 for n in Counter(each["true_id"] for each in own).values())


@pytest.mark.parametrize(
    ("first", "second", "n_annotators"),
    [
        ("duplicate=0.2", "split=0.2", 3),
        ("duplicate=0.2", "split=0.2", 4),
        ("split=0.2", "merge=0.2", 3),
        ("merge=0.2", "duplicate=0.2", 4),
        # Of three annotators, two who agree are most.
        ("split=0.2", "split=0.2", 4),
        ("duplicate=0.2", "duplicate=0.2", 4),
    ],
)
def test_errors_of_two_are_no_misses_of_others(first, second, n_annotators):
    errors = {"p*": "jitter=3%", "p01": first, "p02": second}
    document = simulate(images=30, annotators=n_annotators, errors=errors, seed=2).document()
    matched = matched_of(read_coco(document))
    columns = {"duplicate": "n_twice", "split": "n_split", "merge": "n_merged"}
    found = boxes_per_object(matched).records()
    for row in found:
        error = {"p01": first, "p02": second}.get(row["annotator"], "")
        for kind, column in columns.items():
            expected = n_true(document, row["annotator"], kind) if kind in error else 0
            assert row[column] == expected, (row["annotator"], column)
    rates = annotators(matched).records()
    assert [(row["n_missed"], row["n_extra"]) for row in rates] == [(0, 0)] * n_annotators
    twice = {
        row["annotator"]: row["n_objects"]
        for row in decomposition_by_annotator(matched).records()
        if row["kind"] == KINDS[Kind.TWICE]
    }
    assert twice == {row["annotator"]: row["n_twice"] for row in found if row["n_twice"]}


def test_a_second_box_that_matches_a_half_is_nothing_that_others_missed():
    """The first drew 40 × 10 twice, the second its left 24 and its right 16 px, the third once.

    The second box, 38 px wide, matches the left half best: IoU 24 / 38 = 0.63.
    """
    rows = [(0, 0, 0, (0, 0, 40, 10)), (0, 0, 0, (0, 0, 38, 10)), (0, 1, 0, (0, 0, 24, 10)),
            (0, 1, 0, (24, 0, 16, 10)), (0, 2, 0, (0, 0, 40, 10))]  # fmt: skip
    matched = matched_of(dataset(rows))
    assert matched.units.unit.tolist() == [0, 1, 1, 2, 0]
    found = boxes_per_object(matched)
    assert found["n_twice"].tolist() == [1, 0, 0]
    assert found["n_split"].tolist() == [0, 1, 0]
    assert annotators(matched)["n_missed"].tolist() == [0, 0, 0]
    table = decomposition(matched)
    assert table["n_any"].tolist() == [0, 0, 0, 0, 1, 1]
    # Two pairs match among five boxes. Without halves, all three of the whole do, and the second
    # box is left; without the second box, one pair of four boxes matches.
    before = 2 * 2 / (2 * 5)
    assert table["f1_gain"][4:].tolist() == pytest.approx(
        [2 * 3 / (2 * 4) - before, 2 * 1 / (2 * 4) - before]
    )
