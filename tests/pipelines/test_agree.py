"""The whole of it: from a data set to a result."""

import json
from collections import Counter
from dataclasses import asdict, is_dataclass, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import brute
from support.datasets import (
    annotation,
    boxes_as_outlines,
    dataset,
    document,
    image,
    object_rows,
    two_annotators,
    with_assigned,
    write,
)
from support.reference import WORKED, data_file

from bboxqa import BboxqaError, ConfigError, agree, read_coco
from bboxqa.agreement.alpha.nominal import pooled_alpha
from bboxqa.agreement.counts.unit_counts import coincidences
from bboxqa.agreement.uncertainty.estimator import ALL_AGREE, NO_PAIR, NO_VARIATION
from bboxqa.geometry.similarities import registry as similarities
from bboxqa.matching import matchers
from bboxqa.report.agreement_text import text_lines

BOX = (10.0, 10.0, 20.0, 20.0)
FIELDS = ("alpha", "status", "interval", "observed", "expected", "mean_image_alpha",
          "meaningful_image_alpha",
          "mean_image_interval", "mean_drawn_image_alpha", "share_of_images_at_1", "existence",
          "class_agreement", "place", "n_units", "n_complete_units", "greedy_alpha")  # fmt: skip
TABLES = ("images", "categories", "pairs")


def made(seed=0, **more):
    return dataset(sorted(object_rows(np.random.default_rng(seed), **more)), n_images=12)


def figures(result):
    """Return every figure of a result, None for what is undefined, without numbers of units."""
    return [
        [
            [_plain(getattr(part, name)) for name in FIELDS],
            *(getattr(part, name).records() for name in TABLES),
            contents(part.units),
        ]
        for part in result.thresholds
    ]


def contents(units):
    """Return what was said about each unit, in an order of its own."""
    found = {}
    for row in units.records():
        said = row["annotator"], row["category"], row["state"]
        found.setdefault((row["image"], row["unit"]), []).append(said)
    return sorted((image, said) for (image, _), said in found.items())


def _plain(value):
    if is_dataclass(value):
        # Sums of similarities depend on their order in the last digits.
        return {
            name: round(each, 12) if isinstance(each, float) and each == each else _plain(each)
            for name, each in asdict(value).items()
        }
    if isinstance(value, tuple):
        return [_plain(side) for side in value]
    return None if isinstance(value, float) and np.isnan(value) else value


# Published figures.


@pytest.fixture(scope="module")
def lvis():
    return read_coco(data_file("lvis_double_100.json"))


@pytest.mark.parametrize(
    ("similarity", "means"),
    [("bbox", (0.7066, 0.5980, 0.3672)), ("polygon", (0.6979, 0.5394, 0.2064))],
)
def test_lvis_mean_image_alpha(similarity, means, lvis):
    result = agree(lvis, similarity=similarity, iou_threshold=(0.5, 0.75, 0.9), bootstrap=0)
    found = [part.mean_image_alpha for part in result.thresholds]
    assert found == pytest.approx(means, abs=5e-4)
    assert (result.n_images, result.n_empty_images, result.n_annotations) == (100, 6, 1287)


@pytest.mark.parametrize(
    ("settings_", "name", "bbox", "polygon"),
    [
        ({"empty_images": "skip"}, "mean_image_alpha", 0.6878, 0.6786),
        ({}, "alpha", 0.6635, 0.6584),
        ({"empty_images": "skip"}, "alpha", 0.6635, 0.6584),
        ({"empty_images": "unit"}, "alpha", 0.6655, 0.6604),
        ({"empty_images": "unit", "category_lenient": True}, "alpha", 0.6722, 0.6698),
    ],
)
def test_lvis_variants(settings_, name, bbox, polygon, lvis):
    for similarity, expected in (("bbox", bbox), ("polygon", polygon)):
        result = agree(lvis, similarity=similarity, bootstrap=0, **settings_)
        assert getattr(result, name) == pytest.approx(expected, abs=5e-4)


def test_lvis_interval(lvis):
    result = agree(lvis)
    low, high = result.interval
    assert low < result.alpha < high
    assert 0.02 < high - low < 0.2


# The same figures, from the definitions.


WAYS = [
    {},
    {"empty_images": "skip"},
    {"empty_images": "unit"},
    {"empty_images": "unit", "category_lenient": True},
    {"missing": "ignore"},
]


@pytest.mark.parametrize("similarity", ["bbox", "polygon"])
@pytest.mark.parametrize("way", WAYS, ids=str)
def test_alphas_by_definition(way, similarity):
    rows = sorted(object_rows(np.random.default_rng(20), n_images=40, n_annotators=2))
    # Outlines fill the left half of their boxes, so that they overlap otherwise.
    halves = [(*row[:3], (*row[3][:2], row[3][2] / 2, row[3][3])) for row in rows]
    data = dataset(rows, boxes_as_outlines(halves), n_images=44)
    thresholds = (0.4, 0.6, 0.75)
    result = agree(data, similarity=similarity, iou_threshold=thresholds, bootstrap=0, **way)
    lenient = way.get("category_lenient", False)
    more = {name: value for name, value in way.items() if name != "category_lenient"}
    found, expected = [], []
    for part, threshold in zip(result.thresholds, thresholds, strict=True):
        measured_rows = rows if similarity == "bbox" else halves
        units, unique = brute.units_of_images(
            measured_rows, lambda _: 2, brute.box_iou, threshold, bonus=1 if lenient else None
        )
        n_empty = 44 - len(units)
        assert unique
        assert result.n_empty_images == n_empty > 4
        expected += map(float, brute.alphas(units, [2] * n_empty, **more))
        found += [part.alpha, part.mean_image_alpha]
    assert found == pytest.approx(expected, abs=1e-12)
    assert len(set(found)) == len(found)


# Several thresholds, order, invariance.


@pytest.mark.parametrize("matcher", ["recursive", "greedy"])
@pytest.mark.parametrize("similarity", ["bbox", "polygon", "giou"])
def test_several_thresholds_are_as_single_runs(matcher, similarity):
    rows = sorted(object_rows(np.random.default_rng(3)))
    data = dataset(rows, boxes_as_outlines(rows))
    thresholds = (0.5, 0.1, 0.9)
    more = {"similarity": similarity, "matcher": matcher, "bootstrap": 100}
    together = figures(agree(data, iou_threshold=thresholds, **more))
    for found, threshold in zip(together, thresholds, strict=True):
        (alone,) = figures(agree(data, iou_threshold=threshold, **more))
        assert found == _approx(alone)


def _approx(value):
    """Compare numbers to 1e-12 wherever they are."""
    if isinstance(value, dict):
        return {key: _approx(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_approx(item) for item in value)
    return pytest.approx(value, abs=1e-12) if isinstance(value, float) else value


def test_a_run_is_repeatable():
    assert figures(agree(made())) == figures(agree(made()))
    assert agree(made(), seed=1).interval != agree(made(), seed=2).interval


def coco(rows, *, ids=lambda n: n, turn=None, change=lambda box: box):
    """Return rows as a document; `turn` shuffles its lists."""
    content = document(
        [
            annotation(ids(n), i + 1, c + 1, change(np.array(box)).tolist(), rater=f"r{a}")
            for n, (i, a, c, box) in enumerate(rows)
        ],
        [image(i + 1, width=500, height=500, annotators=["r0", "r1", "r2"]) for i in range(12)],
        [{"id": c + 1, "name": f"c{c}"} for c in range(3)],
    )
    if turn is not None:
        for part in content.values():
            turn.shuffle(part)
    return content


def measured(folder, content, **more):
    data = read_coco(write(folder / "export.json", content))
    return figures(agree(data, iou_threshold=(0.3, 0.6), bootstrap=50, **more))


@pytest.mark.parametrize("matcher", ["recursive", "greedy"])
@settings(max_examples=5)
@given(st.integers(0, 2**32))
def test_order_ids_place_and_scale_change_nothing(matcher, tmp_path_factory, seed):
    folder = tmp_path_factory.mktemp("same")
    rng = np.random.default_rng(seed)
    rows = object_rows(rng)
    numbers = rng.permutation(len(rows)) + 1000
    expected = measured(folder, coco(rows), matcher=matcher)
    for content in (
        coco(rows, turn=rng),
        coco(rows, ids=lambda n: int(numbers[n])),
        coco(rows, change=lambda box: box * 8),
    ):
        assert measured(folder, content, matcher=matcher) == expected
    moved = coco(rows, change=lambda box: np.add(box, [64, 32, 0, 0]))
    found = measured(folder, moved, matcher=matcher)
    # In other images the boxes are at other places, so that the seeded draw of images is another.
    for part in (*expected, *found):
        for name in ("chance", "alpha", "alpha_interval"):
            del part[0][FIELDS.index("existence")][name]
    assert found == expected


def test_order_of_files_changes_nothing(tmp_path):
    rows = object_rows(np.random.default_rng(2))
    paths = []
    for annotator in range(3):
        content = coco([row for row in rows if row[1] == annotator])
        for record in content["annotations"]:
            del record["rater"]
        for record in content["images"]:
            del record["annotators"]
        paths.append(write(tmp_path / f"{annotator}.json", content))
    results = [agree(read_coco(order)) for order in (paths, paths[::-1])]
    assert figures(results[0]) == figures(results[1])
    assert results[0].alpha == agree(read_coco(write(tmp_path / "all.json", coco(rows)))).alpha


@pytest.mark.parametrize("missing", ["category", "ignore"])
def test_new_numbers_of_categories_change_nothing(missing):
    rows = sorted(object_rows(np.random.default_rng(4)))
    turned = [(i, a, (c + 1) % 3, box) for i, a, c, box in rows]
    one, other = (agree(dataset(r), missing=missing) for r in (rows, turned))
    assert one.alpha == pytest.approx(other.alpha, abs=1e-12)
    assert one.mean_image_alpha == pytest.approx(other.mean_image_alpha, abs=1e-12)


@pytest.mark.parametrize("missing", ["category", "ignore"])
@pytest.mark.parametrize("matcher", ["recursive", "greedy"])
def test_alpha_is_that_of_the_units_it_reports(matcher, missing):
    result = agree(made(5), matcher=matcher, missing=missing, bootstrap=0)
    units, images = {}, {}
    for row in result.units.records():
        said = row["category"] if row["state"] == "drawn" else brute.MISSING
        if said != brute.MISSING or missing == "category":
            units.setdefault(row["unit"], []).append(said)
        images[row["unit"]] = row["image"]
    assert result.alpha == pytest.approx(float(brute.alpha(units.values())))
    every, meaningful = [], []
    for row in result.images.records():
        own = [values for unit, values in units.items() if images[unit] == row["image"]]
        own = [values for values in own if len(values) > 1]
        expected = brute.alpha(own)
        if expected is None:
            expected = 1 if own or not row["n_annotations"] else None
        every += [] if expected is None else [float(expected)]
        said = Counter(value for values in own for value in values if value != brute.MISSING)
        if missing == "category" and said and max(said.values()) > 0.9 * said.total():
            assert row["alpha"] is None
            assert row["status"].startswith("no meaning: more than 90 %")
            continue
        assert row["alpha"] == (None if expected is None else pytest.approx(float(expected)))
        if own:
            meaningful.append(float(expected))
    (part,) = result.thresholds
    # The mean as published takes images of one category, and those that all left empty.
    assert part.mean_image_alpha == pytest.approx(np.mean(every))
    found = part.meaningful_image_alpha
    assert found.mean == pytest.approx(np.mean(meaningful))
    assert found.n_images == len(meaningful)


def test_images_of_one_category_have_no_alpha_and_no_part_in_its_mean():
    """Three images of two categories, one of them with a conflict, and three of one category.

    Of the latter, one has a miss: it has F1 2/3 and no alpha.
    """
    far = (60.0, 60.0, 20.0, 20.0)
    rows = [(i, a, c, box) for i in range(3) for a in range(2) for c, box in ((0, BOX), (1, far))]
    rows[-1] = (2, 1, 0, far)
    rows += [(i, a, 0, BOX) for i in (3, 4, 5) for a in range(2)] + [(5, 1, 0, far)]
    result = agree(dataset(rows), bootstrap=100, min_alpha=0.9)
    alone = float(brute.alpha([[0, 0], [1, 0]]))
    records = result.images.records()
    assert [row["alpha"] for row in records] == [1, 1, pytest.approx(alone), None, None, None]
    assert [row["below_threshold"] for row in records] == [False, False, True, False, False, False]
    (part,) = result.thresholds
    found = part.meaningful_image_alpha
    assert (found.mean, found.n_images) == (pytest.approx((2 + alone) / 3), 3)
    assert found.interval[0] < found.mean < found.interval[1] <= 1
    text = "\n".join(text_lines(result))
    assert "over the 3 of 6 images with objects where it has a meaning: no category" in text
    worst = result.diagnose().worst_images["images"]
    assert {image["file_name"]: image["alpha"] for image in worst} == {
        row["image"]: row["alpha"] for row in records
    }


@pytest.mark.parametrize("n_categories", [3, 10, 30])
def test_an_interval_contains_its_alpha(n_categories):
    """Draws repeat images of rare categories: their alphas lie below that of all images."""
    rows = [
        (i, a, category, (x, 0.0, 10.0, 10.0))
        for i in range(30)
        for a in range(2)
        for category, x in ((i % n_categories, 0.0), ((i + a) % n_categories, 20.0))
    ]
    result = agree(dataset(rows), bootstrap=200)
    (part,) = result.thresholds
    assert part.interval[0] <= part.alpha <= part.interval[1]
    low, high = part.mean_image_interval
    assert low <= part.mean_image_alpha <= high
    for row in part.categories.records():
        assert row["low"] is None or row["low"] <= row["alpha"] <= row["high"]
    notes = [note for note in result.notes if "lower in draws than in the data" in note]
    assert len(notes) == (part.interval_shift > 0) == (n_categories > 3)
    assert all(f"alpha at IoU 0.5 is {part.interval_shift:.4f} lower" in note for note in notes)


def test_all_agree_on_one_category():
    """Alpha is undefined, and the result says why; a gate is passed."""
    rows = [(i, a, 0, BOX) for i in range(3) for a in range(2)]
    (part,) = agree(dataset(rows)).thresholds
    assert np.isnan(part.alpha)
    assert part.status == ALL_AGREE
    assert part.all_agree
    assert part.reaches(0.9)
    assert np.isnan(part.mean_image_alpha)
    assert part.existence.f1 == 1
    assert pooled_alpha(coincidences(part.reliability, "category")).status == NO_VARIATION


def test_one_category_of_which_some_objects_are_missed_is_not_agreement():
    """Without missing as a category, nothing is known of the objects that one annotator missed."""
    rows = [(i, a, 0, BOX) for i in range(3) for a in range(2)]
    rows += [(0, 0, 0, (50.0, 50.0, 9.0, 9.0))]
    (part,) = agree(dataset(rows), missing="ignore").thresholds
    assert part.status == NO_VARIATION
    assert not part.all_agree
    assert not part.reaches(0.0)


# What is left out, and what is noted.


def test_crowd_is_left_out_and_counted():
    data = made()
    crowd = np.zeros(len(data.annotations), bool)
    crowd[::7] = True
    marked = replace(data, annotations=replace(data.annotations, iscrowd=crowd))
    without = replace(data, annotations=data.annotations.take(np.flatnonzero(~crowd)))
    found, expected = agree(marked), agree(without)
    assert figures(found) == figures(expected)
    assert found.n_crowd == crowd.sum()
    assert found.n_annotations == (~crowd).sum()
    drawn = np.unique(data.annotations.category[crowd]).tolist()
    names = ", ".join(repr(data.category_names[each]) for each in drawn)
    assert f"{crowd.sum()} crowd annotations left out, of categories {names}" in found.notes
    alone = replace(data, annotations=replace(data.annotations, iscrowd=np.arange(len(crowd)) == 0))
    name = data.category_names[data.annotations.category[0]]
    assert f"1 crowd annotation left out, of category {name!r}" in agree(alone).notes


def test_an_image_of_one_annotator_is_left_out_and_noted(tmp_path):
    rows = [(0, 0, 0, BOX), (0, 1, 0, BOX), (1, 0, 1, BOX), (2, 0, 1, BOX), (2, 1, 1, BOX)]
    assigned = [[True, True], [True, False], [True, True]]
    result = agree(with_assigned(dataset(rows), assigned))
    assert result.n_images == 2
    assert result.n_annotations == 4
    assert result.images["image"].tolist() == ["image 0000", "image 0002"]
    assert result.alpha == 1
    content = two_annotators(images=[image(1), image(2)])
    content["annotations"].append(annotation(3, 2, annotator="ann"))
    found = agree(read_coco(write(tmp_path / "a.json", content)))
    assert "1 image with fewer than two annotators left out" in found.notes


def test_empty_images():
    rows = [(0, 0, 0, BOX), (0, 1, 1, BOX), (1, 0, 0, BOX), (1, 1, 0, BOX)]
    data = dataset(rows, n_images=4)
    by_mode = {mode: agree(data, empty_images=mode) for mode in ("agree", "unit", "skip")}
    assert {result.n_empty_images for result in by_mode.values()} == {2}
    assert by_mode["agree"].mean_image_alpha == pytest.approx((0 + 1 + 1 + 1) / 4)
    assert by_mode["skip"].mean_image_alpha == pytest.approx((0 + 1) / 2)
    pooled = float(brute.alpha([[0, 1], [0, 0]]))
    assert by_mode["agree"].alpha == by_mode["skip"].alpha == pytest.approx(pooled)
    more = float(brute.alpha([[0, 1], [0, 0], ["-", "-"], ["-", "-"]]))
    assert by_mode["unit"].alpha == pytest.approx(more)
    assert {result.thresholds[0].n_units for result in by_mode.values()} == {2}


@pytest.mark.parametrize(
    ("categories", "reason"),
    [
        ([0] * 20, "no meaning with one category"),
        ([0] * 19 + [1], "no meaning: 94.9 % of the annotations are of one category"),
        ([0] * 18 + [1] * 2, ""),
    ],
)
def test_alpha_without_meaning_is_no_number(categories, reason):
    """Two annotators, of whom one misses one of twenty objects of 10 images.

    F1 is 2 · 19 / (20 + 19).
    """
    boxes = [(i // 2, c, (40.0 * (i % 2), 0.0, 9.0, 9.0)) for i, c in enumerate(categories)]
    rows = [(image, a, c, box) for image, c, box in boxes for a in range(2)][1:]
    # The one that is missed is of the first category.
    (part,) = agree(dataset(rows), bootstrap=40, min_alpha=-1).thresholds
    assert part.existence.f1 == 38 / 39
    assert part.alpha_reason.startswith(reason)
    assert bool(reason) == np.isnan(part.alpha) == part.alpha_has_no_meaning
    assert part.reaches(-1) is not bool(reason)
    if reason:
        mean = part.meaningful_image_alpha
        assert mean.n_images == 0
        lines = [*text_lines(agree(dataset(rows), bootstrap=0))]
        place = next(n for n, line in enumerate(lines) if "alpha   (mean)" in line)
        assert lines[place].endswith("] = –")
        assert lines[place - 1].startswith(f"   {reason}")
        for value in (part.mean_image_alpha, *part.interval, *part.mean_image_interval, mean.mean):
            assert np.isnan(value)
        assert np.isnan(part.images["alpha"]).all()
        assert np.isnan(part.pairs["alpha"]).all()
        assert part.pairs["status"][0].startswith("no meaning")
        raw = pooled_alpha(coincidences(part.reliability, "category"))
        assert raw.value < 0.8
    # A category of more than 90 % has no alpha against the rest; the others have one.
    shares = [categories.count(c) / 20 > 0.9 for c in sorted(set(categories))]
    assert np.isnan(part.categories["alpha"]).tolist() == shares


def test_few_images_are_told():
    two = dataset([(i, a, i, BOX) for i in range(2) for a in range(2)])
    assert any("too narrow with so few" in note for note in agree(two).notes)
    one = dataset([(0, 0, 0, BOX), (0, 1, 0, BOX)])
    assert any("not possible with one" in note for note in agree(one).notes)
    assert np.isnan(agree(one).interval).all()
    assert not any("images" in note for note in agree(two, bootstrap=0).notes)


def test_boxes_without_area_match_nothing():
    rows = [(0, a, 0, (5.0, 5.0, 0.0, 9.0)) for a in range(2)]
    rows += [(0, a, 1, BOX) for a in range(2)]
    result = agree(dataset(rows), bootstrap=0)
    assert result.thresholds[0].n_units == 3
    assert "2 annotations without area match no other" in result.notes


def test_invalid_polygons_are_told(tmp_path):
    ring = [0, 0, 10, 10, 10, 0, 0, 10]
    content = document(
        [annotation(n, rater=r, segmentation=[ring]) for n, r in ((1, "ann"), (2, "bob"))]
    )
    result = agree(read_coco(write(tmp_path / "a.json", content)), similarity="polygon")
    assert result.existence.f1 == 1
    assert "2 invalid polygons repaired before comparing" in result.notes


# Undefined is a result.


def test_one_category_everywhere_is_undefined():
    result = agree(dataset([(i, a, 0, BOX) for i in range(30) for a in range(2)]))
    assert np.isnan(result.alpha)
    assert result.status == ALL_AGREE
    assert np.isnan(result.interval).all()
    assert result.existence.interval == (1, 1)


def test_nothing_to_compare():
    rows = [(0, 0, 0, BOX), (0, 1, 0, (80.0, 80.0, 5.0, 5.0))]
    result = agree(dataset(rows), missing="ignore")
    assert np.isnan(result.alpha)
    assert result.status == NO_PAIR
    assert np.isnan(result.mean_image_alpha)
    assert result.images.records()[0]["alpha"] is None
    assert len(result.pairs) == 0
    assert result.categories.records()[0]["alpha"] is None


def test_category_0_is_not_a_miss():
    rows = sorted(object_rows(np.random.default_rng(1)))
    shifted = [(i, a, c + 1, box) for i, a, c, box in rows]
    assert agree(dataset(rows)).alpha == pytest.approx(agree(dataset(shifted)).alpha, abs=1e-12)


# Large images.


def grid(n_boxes, n_annotators=2, *, seed=0, n_images=1):
    """Return boxes on a grid of their own, jittered by annotator, 5 % of them missing."""
    rng = np.random.default_rng(seed)
    rows = []
    for place in range(n_boxes):
        x, y = place % 100 * 20.0, place // 100 * 20.0
        for annotator in range(n_annotators):
            if rng.random() < 0.95:
                dx, dy = rng.uniform(-2, 2, 2)
                category = int(rng.random() < 0.1)
                rows.append((place % n_images, annotator, category, (x + dx, y + dy, 15.0, 15.0)))
    return rows


@pytest.fixture(scope="module")
def crowd():
    """Return 10,000 objects in one image, and how many units they make by hand."""
    rows = grid(10_000)
    places = {}
    for *_, (x, y, *size) in rows:
        places.setdefault((round(x / 20), round(y / 20)), []).append((x, y, *size))
    both = sum(len(boxes) == 2 and brute.box_iou(*boxes) >= 0.5 for boxes in places.values())
    return rows, len(rows) - both


@pytest.mark.parametrize("matcher", ["recursive", "greedy", "hungarian"])
def test_ten_thousand_boxes_in_one_image(matcher, crowd):
    rows, n_units = crowd
    result = agree(dataset(rows), matcher=matcher, bootstrap=0)
    assert result.n_annotations == len(rows) > 18_000
    assert result.thresholds[0].n_units == n_units


def test_a_chain_of_overlapping_boxes_in_one_component():
    rows = [(0, a, 0, (float(n), 0.0, 60.0, 10.0)) for n in range(1500) for a in range(2)]
    result = agree(dataset(sorted(rows)), iou_threshold=0.5, bootstrap=0)
    assert result.thresholds[0].n_units == 1500
    assert result.existence.f1 == 1


# Results as values.


def test_min_alpha_marks_images():
    rows = [(0, 0, 0, BOX), (0, 1, 1, BOX), (1, 0, 0, BOX), (1, 1, 0, BOX)]
    result = agree(dataset(rows), min_alpha=0.6)
    assert result.images["below_threshold"].tolist() == [True, False]
    assert "below_threshold" not in agree(dataset(rows)).images.columns
    undefined = agree(dataset([(0, 0, 0, BOX)], n_annotators=2), missing="ignore", min_alpha=0.6)
    assert undefined.images["below_threshold"].tolist() == [False]


def test_one_alpha_of_several_thresholds_is_refused():
    result = agree(made(), iou_threshold=(0.5, 0.75))
    own = ("existence", "class_agreement", "place")
    for name in ("alpha", "interval", "mean_image_alpha", "status", "units", *own, *TABLES):
        with pytest.raises(BboxqaError, match=r"several thresholds \(0.5, 0.75\); choose one"):
            getattr(result, name)
    assert [part.iou_threshold for part in result.thresholds] == [0.5, 0.75]


def test_a_miss_has_no_annotation():
    result = agree(dataset([(0, 0, 0, BOX)], n_annotators=2), bootstrap=0)
    assert result.units["annotation"].tolist() == [0, None]
    assert result.units["category"].tolist() == ["category 0000", ""]
    assert result.units["state"].tolist() == ["drawn", "missing"]
    assert [row["annotation"] for row in result.units.records()] == [0, None]


def test_pandas():
    result = agree(made())
    for name in (*TABLES, "units"):
        table, frame = getattr(result, name), getattr(result, name).to_pandas()
        assert list(frame.columns) == list(table.columns)
        assert len(frame) == len(table)
    found = agree(dataset([(0, 0, 0, BOX)], n_annotators=2), bootstrap=0).units.to_pandas()
    assert found["annotation"].isna().tolist() == [False, True]
    assert result.images.to_pandas()["alpha"].to_numpy() == pytest.approx(
        result.images["alpha"], nan_ok=True
    )


def test_html_is_escaped():
    bad = "<script>alert(1)</script>"
    data = made()
    data = replace(
        data,
        image_names=tuple(bad + name for name in data.image_names),
        category_names=tuple(bad + name for name in data.category_names),
        annotator_names=tuple(bad + name for name in data.annotator_names),
        notes=(bad,),
    )
    result = agree(data)
    views = [result, result.images, result.categories, result.pairs, result.units]
    for view in views:
        html = view._repr_html_()
        assert "<script>" not in html
        assert "&lt;script&gt;" in html
        assert html.count("<table>") == 1


def test_the_data_set_is_left_alone():
    data = made()
    before = {n: getattr(data.annotations, n).copy() for n in ("id", "bbox", "category")}
    agree(data)
    for name, values in before.items():
        assert np.array_equal(getattr(data.annotations, name), values)


def test_the_result_says_how_it_was_made(tmp_path):
    path = write(tmp_path / "a.json", two_annotators())
    result = agree(read_coco(path), seed=7, iou_threshold=0.3)
    assert result.settings.seed == 7
    assert result.settings.iou_threshold == (0.3,)
    assert result.sources[0].name == str(path)
    assert result.attribution == "the key 'annotator' on annotations"
    assert result.version


def test_progress():
    told = []
    agree(made(), progress=lambda *step: told.append(step), bootstrap=150)
    assert list(dict.fromkeys(stage for stage, *_ in told)) == [
        "comparing", "matching", "resampling"
    ]  # fmt: skip
    for stage in ("comparing", "matching", "resampling"):
        *_, (_, done, total) = [step for step in told if step[0] == stage]
        assert done == total > 0


# Settings.


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"matchers": "greedy"}, "unknown setting 'matchers'; did you mean 'matcher'?"),
        ({"zzz": 1}, "unknown setting 'zzz'"),
        ({"similarity": "iou"},
         f"similarity is 'iou'; expected one of {', '.join(similarities.names())}"),
        ({"matcher": "best"}, f"expected one of {', '.join(matchers.names())}"),
        ({"missing": None}, "missing is None; expected one of category, ignore"),
        ({"empty_images": "keep"}, "expected one of agree, unit, skip"),
        ({"iou_threshold": "0.5"}, "iou_threshold is '0.5': "),
        ({"iou_threshold": ()}, "iou_threshold is empty; expected at least one number"),
        ({"iou_threshold": 0}, ("iou_threshold is 0; expected more than 0 and at most 1 for "
         "similarity 'bbox'")),
        ({"iou_threshold": 1.01}, "iou_threshold is 1.01; expected more than 0 and at most 1"),
        ({"iou_threshold": float("nan")}, "iou_threshold is nan; expected more than 0"),
        ({"iou_threshold": 50}, "iou_threshold is 50; expected more than 0 and at most 1"),
        ({"iou_threshold": -1, "similarity": "giou"}, "expected more than -1 and at most 1"),
        ({"iou_threshold": [0.5, 0.5]}, "iou_threshold names a number twice"),
        ({"iou_threshold": True}, "iou_threshold"),
        ({"bootstrap": -1}, "bootstrap is -1; expected 0, or 40 to 100,000"),
        ({"bootstrap": 1.5}, "bootstrap is 1.5: expected a whole number"),
        ({"seed": -1}, "seed is -1; expected 0 or more"),
        ({"seed": "x"}, "seed is 'x': expected a whole number"),
        ({"min_alpha": 1.5}, "min_alpha is 1.5; expected -1 to 1"),
        ({"min_alpha": float("nan")}, "min_alpha is nan; expected -1 to 1"),
        ({"category_lenient": "yes"}, "category_lenient is 'yes': expected true or false"),
        ({"empty_images": "unit", "missing": "ignore"}, ("empty_images is 'unit', which counts "
         "agreement on missing annotations, but missing 'ignore' leaves these out; expected")),
        ({"matcher": "hungarian"}, "matcher 'hungarian' is for two annotators and there are 3"),
    ],
    ids=str,
)  # fmt: skip
def test_settings_that_are_refused(values, message):
    with pytest.raises(ConfigError) as caught:
        agree(made(n_annotators=3), **values)
    assert message in str(caught.value)


def test_numpy_numbers_are_numbers():
    assert agree(made(), iou_threshold=np.float64(0.5)).alpha == agree(made()).alpha
    thresholds = agree(made(), iou_threshold=np.array([0.5, 0.75])).thresholds
    assert [part.iou_threshold for part in thresholds] == [0.5, 0.75]


@pytest.mark.parametrize("name", WORKED["images"])
def test_every_matcher_and_similarity_runs_on_the_images(name, tmp_path):
    scene = WORKED["images"][name]
    records = []
    for number, (annotator, category, bbox) in scene["annotations"].items():
        x, y, width, height = bbox
        ring = [x, y, x + width, y, x + width, y + height, x, y + height]
        records.append(annotation(int(number), 1, category, bbox, rater=annotator,
                                  segmentation=[ring]))  # fmt: skip
    width, height = scene["size"]
    categories = [{"id": int(n), "name": label} for n, label in scene["categories"].items()]
    images = [{"id": 1, "file_name": "a.png", "width": width, "height": height}]
    data = read_coco(write(tmp_path / "a.json", json.dumps(document(records, images, categories))))
    assert agree(data, similarity="polygon", bootstrap=0).alpha == pytest.approx(
        agree(data, bootstrap=0).alpha
    )
    for similarity in ("giou", "centroid", "mask", "pixel", "raster"):
        assert -1 <= agree(data, similarity=similarity, bootstrap=0).alpha <= 1


@pytest.mark.parametrize("data", ["export.json", {"images": []}])
def test_data_that_were_not_read_are_refused(data):
    kind = type(data).__name__
    with pytest.raises(TypeError, match=f"data is a {kind}; expected what `bboxqa.read_coco`"):
        agree(data)
