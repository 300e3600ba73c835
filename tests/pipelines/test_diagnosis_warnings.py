"""Each warning of a diagnosis comes where its cause is, with its figure, and nowhere else."""

import re

import numpy as np
import pytest
from support.datasets import dataset, with_assigned

import bboxqa
from bboxqa.model.annotations import EDGES

_KINDS = {
    "asked": "list who was asked",
    "image": "of the units",
    "groups": "share no image",
    "copies": "identical boxes",
    "base": "differ by the same amount",
    "twice": "twice: drawn once",
    "threshold": "depends on the threshold",
    "matcher": "depends on the matcher",
}


def warned(data, **settings):
    """Return the warnings by kind."""
    found = {}
    for line in bboxqa.agree(data, **{"bootstrap": 100, **settings}).story().warnings:
        (kind,) = [kind for kind, words in _KINDS.items() if words in line]
        found[kind] = line
    return found


def simulated(errors, **more):
    options = {"images": 30, "annotators": 3, "categories": ("cow", "sheep"), **more}
    return bboxqa.read_coco(bboxqa.simulate(errors=errors, **options).document())


def figures(line):
    return [float(number) for number in re.findall(r"\d\.\d\d", line)]


def rows_of(images, draws):
    """Return a row per image, annotator and object: category by the parity of the object."""
    return [
        (image, annotator, n % 2, (40.0 * n, 10.0 * annotator * moved, 30.0, 30.0))
        for image in images
        for annotator, moved in draws.items()
        for n in range(4)
    ]


def test_sound_data_have_no_warning():
    assert warned(simulated({"p*": "jitter=1"})) == {}


@pytest.mark.parametrize(("shift", "noise", "is_found"), [
    ((-1, -1, 0, 0), 0, True), ((0.5, 0.5, 0.5, 0.5), 1e-3, True), ((0, 0, 0, 0), 0, False),
    ((-1, -1, 0, 0), 0.3, False), ((3, 3, 3, 3), 0, False),
])  # fmt: skip
def test_files_that_count_pixels_otherwise(shift, noise, is_found):
    """One of 30 boxes is drawn otherwise, which says nothing about the others."""
    rng, rows = np.random.default_rng(0), []
    for image in range(10):
        for n in range(3):
            left, top, right, bottom = np.array([60.0 * n, 5, 60 * n + 40, 35]) + rng.integers(
                0, 9, 4
            )
            rows.append((image, 0, n % 2, (left, top, right - left, bottom - top)))
            moved = np.array(shift) + rng.normal(0, noise, 4) + 5 * (image == n == 0)
            left, top, right, bottom = np.array([left, top, right, bottom]) - moved
            rows.append((image, 1, n % 2, (left, top, right - left, bottom - top)))
    found = warned(dataset(rows))
    assert ("base" in found) is is_found
    if is_found:
        edges = [f"{name} {by:+g} px" for name, by in zip(EDGES, shift, strict=True) if by]
        assert f"29 of 30 matched pairs ({', '.join(edges)} for annotator 0000)" in found["base"]
        assert "--voc-base" in found["base"]


def test_one_image_that_holds_most_units():
    # Six images of 4 units on which both agree, and one of 20 objects of which each drew half.
    rows = rows_of(range(6), {0: 0, 1: 0})
    rows += [(6, n % 2, n % 2, (40.0 * n, 200.0, 30.0, 30.0)) for n in range(20)]
    line = warned(dataset(rows))["image"]
    assert "image 0006 holds 45 % of the units" in line
    assert "without it, alpha would be 1.00" in line


def test_a_large_image_that_changes_nothing_is_no_warning():
    assert "image" not in warned(dataset(rows_of(range(3), {0: 0, 1: 0})))


def test_groups_without_shared_images():
    rows = rows_of(range(4), {0: 0, 1: 0}) + [
        (image, annotator, (n + (annotator == 2) * (n > 1)) % 2, (40.0 * n, 0, 30, 30))
        for image in range(4, 8)
        for annotator in (2, 3)
        for n in range(4)
    ]
    asked = np.zeros((8, 4), bool)
    asked[:4, :2] = asked[4:, 2:] = True
    line = warned(with_assigned(dataset(rows, n_annotators=4), asked))["groups"]
    # Of 4 objects of the second group, 2 have different categories: D_o is 1/2. Annotator 3 has
    # 2 + 2, annotator 2 as well: of the 16 values of each category of 32, D_e = 2·16·16/(32·31).
    assert "('annotator 0000' and 'annotator 0001': 1.00; " in line
    assert (
        f"'annotator 0002' and 'annotator 0003': {1 - 0.5 / (2 * 16 * 16 / (32 * 31)):.2f}" in line
    )


def test_f1_leads_the_warnings_where_alpha_has_no_meaning():
    """With one category: groups without shared images, thresholds, matchers and copies."""
    rows = [
        (image, annotator, 0, (40.0 * n, 10.0 * (annotator == 1), 30.0, 30.0))
        for image in range(8)
        for annotator in ((0, 1) if image < 4 else (2, 3))
        for n in range(4 if annotator != 3 else 3)
    ]
    asked = np.zeros((8, 4), bool)
    asked[:4, :2] = asked[4:, 2:] = True
    data = with_assigned(dataset(rows, n_annotators=4), asked)
    found = warned(data)
    # The second group: 3 of 4 and 3 objects match, F1 is 2 · 3 / 7.
    groups = "'annotator 0000' and 'annotator 0001': 1.00; 'annotator 0002' and 'annotator 0003'"
    assert f"and F1 pools them ({groups}: 0.86)" in found["groups"]
    at = [bboxqa.agree(data, iou_threshold=t, bootstrap=0).existence.f1 for t in (0.4, 0.5, 0.6)]
    values = " / ".join(f"{value:.2f}" for value in at)
    assert f"F1 depends on the threshold: {values} at IoU" in found["threshold"]


def test_f1_leads_the_warning_of_copies_where_alpha_has_no_meaning():
    options = {"annotators": 3, "categories": ("cow",), "images": 30}
    data = simulated({"p*": "jitter=3 miss=0.3", "p02": "copy=p01:0.9"}, **options)
    line = warned(data)["copies"]
    part = bboxqa.agree(data, bootstrap=0).thresholds[0]
    (f1,) = [row["f1"] for row in part.pairs.records() if row["annotator_1"] == "p01"
             and row["annotator_2"] == "p03"]  # fmt: skip
    (other,) = re.findall(r"without p02, F1 would be (.*) and", line)
    assert line.endswith(f"and not {part.existence.f1:.2f}")
    # Objects that only p02 joined stay one: nothing else differs from p01 and p03 alone.
    assert float(other) == pytest.approx(f1, abs=0.005)


def test_copied_boxes():
    data = simulated({"p*": "jitter=3 miss=0.2", "p02": "copy=p01:0.8"}, annotators=4)
    line = warned(data)["copies"]
    assert line.startswith("p01 and p02 have")
    document = bboxqa.agree(data, bootstrap=0)
    assert f"and not {document.alpha:.2f}" in line


def test_several_who_copy_are_named_in_one_warning():
    errors = {"p*": "jitter=1 miss=0.2", "p02": "copy=p01:0.6", "p03": "copy=p01:0.6"}
    line = warned(simulated(errors, annotators=4))["copies"]
    assert line.startswith("p01, p02 and p03 have identical boxes, ")
    alone = bboxqa.simulate(errors=errors, annotators=4, images=30, categories=("cow", "sheep"))
    document = alone.document()
    document["annotations"] = [
        each for each in document["annotations"] if each["annotator"] in ("p01", "p04")
    ]
    for image in document["images"]:
        image["annotators"] = ["p01", "p04"]
    expected = bboxqa.agree(bboxqa.read_coco(document), bootstrap=0).alpha
    (only,) = re.findall(r"with p01 as the only one of them, alpha would be (.*) and", line)
    assert float(only) == pytest.approx(expected, abs=0.015)


def test_where_everybody_copies_alpha_says_nothing():
    errors = {"p*": "jitter=3 miss=0.2", "p02": "copy=p01:1", "p03": "copy=p01:1"}
    line = warned(simulated(errors))["copies"]
    assert line.startswith("p01, p02 and p03 have identical boxes, 100 % of those")
    assert "alpha 1.00 does not show" in line


def test_objects_drawn_twice():
    line = warned(simulated({"p*": "jitter=1", "p02": "duplicate=0.5"}))["twice"]
    assert re.match(r"p02 drew \d+ of \d+ objects twice: ", line)
    after, before = figures(line)
    once = bboxqa.agree(simulated({"p*": "jitter=1"}), bootstrap=0).alpha
    assert before < after == pytest.approx(once, abs=0.03)


def test_objects_drawn_twice_are_counted_as_in_the_table_of_boxes():
    """Where another annotator copies them, both count what was drawn independently."""
    errors = {"p*": "jitter=1 miss=0.1", "p01": "duplicate=0.5", "p02": "copy=p01:0.5"}
    found = bboxqa.agree(simulated(errors, annotators=4), bootstrap=100).diagnose()
    line = next(line for line in found.warnings if "twice" in line)
    first, second, *_ = found.tables["boxes_per_object"].records()
    assert second["n_twice"] == 0
    assert line.startswith(f"p01 drew {first['n_twice']} of {first['n']} objects twice: ")


def two_labels(n_images=6):
    """Return rows of boxes of 30 px, and of two categories on one place by all of three.

    Their jitter of 1 px decides with which of both boxes of another annotator each one overlaps
    more, and has nothing to do with categories.
    """
    rng = np.random.default_rng(0)
    rows = rows_of(range(n_images), {0: 0, 1: 0, 2: 0})
    for image in range(n_images):
        rows += [
            (image, who, category, (*(200 + rng.normal(0, 1, 2)), 40.0, 40.0))
            for who in range(3)
            for category in (2, 3)
        ]
    return rows


def test_an_object_with_two_labels_is_no_confusion():
    result = bboxqa.agree(dataset(two_labels()), bootstrap=200)
    found = result.diagnose()
    (line,) = [line for line in found.warnings if "--category-lenient" in line]
    lenient = bboxqa.agree(dataset(two_labels()), bootstrap=0, category_lenient=True).alpha
    assert line.startswith(
        "6 places have overlapping boxes of two categories by the same annotators, category 0002 "
        "and category 0003: "
    )
    assert f"gives {lenient:.2f} and not {result.alpha:.2f}" in line
    assert lenient == 1 > result.alpha
    assert not len(found.tables["confusions"])
    kinds = found.tables["decomposition"]
    assert kinds["n_any"].tolist() == [36, 0, 0, 0, 0, 0]
    assert found.tables["annotators"]["class_share"].tolist() == [1, 1, 1]


def test_one_annotator_with_two_labels_is_told_no_such_thing():
    """Nobody else drew both: the others gave it another category, and missed one."""
    rows = [row for row in two_labels() if row[2] < 2 or row[1] == 0 or row[2] == 3]
    found = bboxqa.agree(dataset(rows), bootstrap=0).diagnose()
    assert not any("--category-lenient" in line for line in found.warnings)


def test_alpha_that_moves_with_the_threshold():
    # Boxes of 30 moved by 10: an IoU of 20 / 40 = 0.5.
    data = dataset(rows_of(range(6), {0: 0, 1: 1}))
    line = warned(data)["threshold"]
    assert "at IoU 0.4 / 0.5 / 0.6" in line
    high = bboxqa.agree(data, iou_threshold=0.6, bootstrap=0).alpha
    assert f"1.00 / 1.00 / {high:.2f}" in line
    # At a low threshold there is no pair below half of it: only the higher neighbour is known.
    assert "threshold" not in warned(data, iou_threshold=0.15)


def test_who_was_asked_is_not_known():
    document = bboxqa.simulate(images=20, annotators=2, categories=("cow", "sheep")).document()
    first = {image["id"] for image in document["images"][:8]}
    for image in document["images"]:
        del image["annotators"]
    document["annotations"] = [
        each
        for each in document["annotations"]
        if each["annotator"] == "p01" or each["image_id"] not in first
    ]
    data = bboxqa.read_coco(document)
    result = bboxqa.agree(data, bootstrap=0)
    line = warned(data)["asked"]
    everyone = bboxqa.agree(bboxqa.read_coco(document, asked="all"), bootstrap=0)
    assert f"would be {everyone.alpha:.2f}" in line
    assert f"alpha {result.alpha:.2f}" in line


def test_a_matcher_that_matters_more_than_the_draws():
    # Chains of boxes, each half over the next: what matches depends on the matcher.
    rng = np.random.default_rng(0)
    rows = [
        (image, annotator, int(n % 2), (40.0 * n + rng.normal(0, 7), rng.normal(0, 7), 30.0, 30.0))
        for image in range(60)
        for annotator in range(6)
        for n in range(4)
    ]
    data = dataset(rows)
    assert_matchers(data, "recursive", ("greedy", "average"), "alpha")
    # The matcher of publications is looked at too, and greedy is what auto means.
    assert_matchers(data, "auto", ("recursive", "average"), "alpha")
    of_one = dataset([(image, who, 0, box) for image, who, _, box in rows])
    assert_matchers(of_one, "recursive", ("greedy", "average"), "F1")


def assert_matchers(data, own, others, what):
    """All matchers outside of the interval are in one warning, with their figures."""
    figure = {name: figure_of(data, name, what) for name in (own, *others)}
    (part,) = bboxqa.agree(data, matcher=own, bootstrap=100).thresholds
    low, high = part.interval if what == "alpha" else part.existence.interval
    apart = [name for name in others if not low <= figure[name] <= high
             and abs(figure[name] - figure[own]) >= 0.02]  # fmt: skip
    assert apart
    line = warned(data, matcher=own)["matcher"]
    assert f"{own} gives {what} {figure[own]:.2f} [" in line
    assert re.findall(r"(\w+) gives (\d\.\d\d)", line) == [
        (name, f"{figure[name]:.2f}") for name in ("recursive", "greedy", "average")
        if name in apart
    ]  # fmt: skip


def figure_of(data, matcher, what):
    result = bboxqa.agree(data, matcher=matcher, bootstrap=0)
    return result.alpha if what == "alpha" else result.existence.f1
