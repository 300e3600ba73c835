"""The whole of it: from a data set to a result."""

import json
from collections import Counter
from math import isnan

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import asdict, replace
from support import brute
from support.datasets import (
    annotation,
    boxes_as_outlines,
    dataset,
    document,
    document_of,
    image,
    object_rows,
    write,
)
from support.reference import data_file

from bboxqa import ConfigError, agree, read_coco
from bboxqa.agreement.estimators import NO_VARIATION
from bboxqa.report.agreement_summary import figures_at, missed_gates

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
    if isinstance(value, msgspec.Struct):
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
        if missing == "category" and len(said) == 1:
            assert row["alpha"] is None
            assert row["status"].startswith("no meaning: all annotations are of one")
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


def test_one_category_of_which_some_objects_are_missed_is_not_agreement():
    """Without missing as a category, nothing is known of the objects that one annotator missed."""
    rows = [(i, a, 0, BOX) for i in range(3) for a in range(2)]
    rows += [(0, 0, 0, (50.0, 50.0, 9.0, 9.0))]
    (part,) = agree(dataset(rows), missing="ignore").thresholds
    assert part.status == NO_VARIATION
    assert [*missed_gates(figures_at(part), {"min_alpha": 0.0, "min_f1": None})]


# What is left out, and what is noted.


def test_an_image_that_holds_only_a_crowd_is_not_empty():
    """Its annotators saw something there: to agree on nothing would be another statement."""
    rows = [(0, 0, 0, BOX), (0, 1, 0, BOX), (1, 0, 0, BOX)]
    rows += [(2, a, 1, BOX) for a in range(2)]
    data = dataset(rows)
    data = replace(
        data, annotations=replace(data.annotations, iscrowd=np.array([0, 0, 1, 0, 0], bool))
    )
    result = agree(data)
    assert result.n_empty_images == 0
    assert result.images.records()[1]["alpha"] is None
    # The mean is that of the other images.
    assert result.mean_image_alpha == 1
    assert "1 image with crowd annotations only: not in the mean over images" in result.notes
    assert not any("crowd annotations only" in note for note in agree(dataset(rows)).notes)


@pytest.mark.parametrize("similarity", ["polygon", "mask", "pixel", "raster"])
def test_a_ring_of_two_points(similarity, tmp_path):
    rings = [[10, 10, 30, 10, 30, 30, 10, 30], [1, 1, 90, 90]]
    content = document(
        [annotation(n, rater=r, segmentation=rings) for n, r in ((1, "ann"), (2, "bob"))]
    )
    result = agree(read_coco(write(tmp_path / "a.json", content)), similarity=similarity)
    assert result.existence.f1 == 1
    assert "2 rings of fewer than 3 points left out" in result.notes
    for record in content["annotations"]:
        record["segmentation"] = rings[1:]
    result = agree(read_coco(write(tmp_path / "b.json", content)), similarity=similarity)
    assert result.thresholds[0].n_units == 2


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


def test_a_crowded_image_is_as_its_boxes_in_many_images():
    """Neighbours do not overlap, so the images that boxes are in do not matter."""
    crowded = agree(dataset(sorted(grid(3000, 3, n_images=1))), bootstrap=0)
    spread = agree(dataset(sorted(grid(3000, 3, n_images=50))), bootstrap=0)
    assert crowded.alpha == pytest.approx(spread.alpha, abs=1e-12)
    assert crowded.thresholds[0].n_units == spread.thresholds[0].n_units


# Results as values.


def test_min_alpha_marks_images():
    rows = [(0, 0, 0, BOX), (0, 1, 1, BOX), (1, 0, 0, BOX), (1, 1, 0, BOX)]
    result = agree(dataset(rows), min_alpha=0.6)
    assert result.images["below_threshold"].tolist() == [True, False]
    assert "below_threshold" not in agree(dataset(rows)).images.columns
    undefined = agree(dataset([(0, 0, 0, BOX)], n_annotators=2), missing="ignore", min_alpha=0.6)
    assert undefined.images["below_threshold"].tolist() == [False]


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
        assert html.count("<table>") + html.count("<pre>") == 1


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
        ({"missing": None}, "missing is None; expected one of category, ignore"),
        ({"empty_images": "keep"}, "expected one of agree, unit, skip"),
        ({"iou_threshold": -1, "similarity": "giou"}, "expected more than -1 and at most 1"),
        ({"min_alpha": float("nan")}, "min_alpha is nan; expected -1 to 1"),
        ({"category_lenient": "yes"}, "category_lenient is 'yes': expected `bool`"),
    ],
    ids=str,
)  # fmt: skip
def test_settings_that_are_refused(values, message):
    with pytest.raises(ConfigError) as caught:
        agree(made(n_annotators=3), **values)
    assert message in str(caught.value)


NOTE = "annotated by some annotators only, without a list of who was asked"


def export(seed, *, listed=(), n_annotators=3):
    """Return 12 images of which some list who was asked: all."""
    rows = object_rows(np.random.default_rng(seed), n_annotators=n_annotators)
    rows = [(i + 1, f"r{a}", c + 1, box) for i, a, c, box in rows]
    content = document_of(rows, 12, ("c0", "c1", "c2"), size=(500, 500))
    for place in listed:
        content["images"][place]["annotators"] = [f"r{a}" for a in range(n_annotators)]
    return content


@pytest.mark.parametrize("n_annotators", [2, 3])
@pytest.mark.parametrize("seed", range(1, 6))
def test_the_other_alpha_is_that_of_asking_all(seed, n_annotators, tmp_path):
    path = write(tmp_path / "a.json", export(seed, listed=(3, 5), n_annotators=n_annotators))
    settings = {"bootstrap": 0, "iou_threshold": [0.3, 0.6]}
    found = agree(read_coco(path), **settings)
    other = agree(read_coco(path, asked="all"), **settings)
    for part, expected in zip(found.thresholds, other.thresholds, strict=True):
        assert part.all_asked_alpha == pytest.approx(expected.alpha, abs=1e-12, nan_ok=True)
        assert part.all_asked_f1 == pytest.approx(expected.existence.f1, abs=1e-12)
        assert isnan(expected.all_asked_alpha)
        assert isnan(expected.all_asked_f1)
    assert (found.n_images, other.n_images) == (12 - lonely(path), 12)
    assert any(NOTE in note for note in found.notes)
    assert not any(NOTE in note for note in other.notes)


def lonely(path):
    """Return how many images without a list have fewer than two annotators."""
    content = json.loads(path.read_text())
    by_image = {each["id"]: set(each.get("annotators", ())) for each in content["images"]}
    for each in content["annotations"]:
        by_image[each["image_id"]].add(each["annotator"])
    return sum(len(names) < 2 for names in by_image.values())


def alone():
    """Return two annotators who agree on 2 images; on 6 others only one of them drew something."""
    drawn = [(1, "ann"), (1, "bob"), (2, "ann"), (2, "bob")]
    drawn += [(number, ("ann", "bob")[number % 2]) for number in range(3, 9)]
    rows = [(place, who, 1 + place % 2, (10, 10, 20, 20)) for place, who in drawn]
    return document_of(rows, 10, ("cat", "dog"))


@pytest.mark.parametrize("other", ["cat", "dog"])
def test_no_alpha_is_compared_with_one_that_is_undefined(other, tmp_path):
    """All annotators agree on one category; `other` is in images that one of them drew in."""
    content = alone()
    for each in content["annotations"]:
        each["category_id"] = 1 if other == "cat" or each["image_id"] < 6 else 2
    path = write(tmp_path / "a.json", content)
    found = agree(read_coco(path), bootstrap=0)
    expected = agree(read_coco(path, asked="all"), bootstrap=0)
    assert isnan(found.alpha)
    assert isnan(expected.alpha) == (other == "cat")
    alpha = found.thresholds[0].all_asked_alpha
    assert alpha == pytest.approx(expected.alpha, abs=1e-12, nan_ok=True)
