"""Simulated annotators err as often as they are told to, and diagnostics find no other errors."""

import json
from collections import Counter
from functools import cache

import numpy as np
import pytest
from support.cli import run

import bboxqa
from bboxqa.core.errors import ConfigError, OutputError


def simulate(errors, **more):
    return bboxqa.simulate(images=80, annotators=2, errors=errors, **more)


def drawn(simulation, name):
    found = [each for each in simulation.document()["annotations"] if each["annotator"] == name]
    return sorted(found, key=lambda each: (each["image_id"], each.get("true_id", 0), each["bbox"]))


def without(annotations, *keys):
    keys = {"id", "created_at", *keys}
    return [{key: each[key] for key in each if key not in keys} for each in annotations]


def likely(n_errors, n, rate):
    """Return whether so many errors are between the 0.05 % points of the binomial distribution."""
    # Here, since each process that collects tests would import it.
    from scipy.stats import binom

    low, high = binom.interval(0.999, n, rate)
    return low <= n_errors <= high


def same_truth(simulation):
    return simulation.truth()["annotations"]


def test_perfect_annotators_draw_the_truth():
    found = simulate({})
    true = without(same_truth(found), "annotator")
    for name in ("p01", "p02"):
        assert without(drawn(found, name), "annotator", "true_id") == true
    ids = [each["id"] for each in same_truth(found)]
    assert [each["true_id"] for each in drawn(found, "p01")] == ids


def test_missed_objects_are_not_drawn():
    perfect, found = simulate({}), simulate({"p02": "miss=0.2"})
    left, all_drawn = without(drawn(found, "p02")), without(drawn(perfect, "p02"))
    n_missed = len(all_drawn) - len(left)
    assert likely(n_missed, len(all_drawn), 0.2)
    kept = {each["true_id"] for each in left}
    assert left == [each for each in all_drawn if each["true_id"] in kept]


def test_extras_are_boxes_of_nothing():
    from scipy.stats import poisson

    perfect, found = simulate({}), simulate({"p02": "extra=0.2"})
    extras = [each for each in drawn(found, "p02") if "true_id" not in each]
    # Five objects per image are expected; how many there are has no effect.
    low, high = poisson.interval(0.999, 0.2 * 5 * 80)
    assert low <= len(extras) <= high
    rest = [each for each in drawn(found, "p02") if "true_id" in each]
    assert without(rest) == without(drawn(perfect, "p02"))
    for extra in extras:
        x, y, width, height = extra["bbox"]
        assert min(x, y) >= 0
        assert (x + width <= 640) & (y + height <= 480)
        for other in same_truth(found):
            if other["image_id"] == extra["image_id"]:
                u, v, w, h = other["bbox"]
                shared = min(x + width, u + w) - max(x, u), min(y + height, v + h) - max(y, v)
                # Coordinates are rounded.
                assert min(shared) <= 0.02


@pytest.mark.parametrize(
    ("errors", "rates"),
    [
        ("confuse=0.2", {"cow": 0.2, "sheep": 0.2, "dog": 0.2}),
        ("confuse=cow/sheep:0.3", {"cow": 0.3, "sheep": 0.3, "dog": 0}),
        ("confuse=cow/sheep:0.3 confuse=0.1", {"cow": 0.37, "sheep": 0.37, "dog": 0.1}),
    ],
)
def test_confused_categories(errors, rates):
    names = ["cow", "sheep", "dog"]
    found = simulate({"p02": errors}, categories=names)
    true = {each["id"]: names[each["category_id"] - 1] for each in same_truth(found)}
    pairs = Counter(
        (true[each["true_id"]], names[each["category_id"] - 1]) for each in drawn(found, "p02")
    )
    for name in names:
        of_name = {other: pairs[name, other] for other in names}
        n = sum(of_name.values())
        assert likely(n - of_name[name], n, rates[name])
    assert ("/" in errors and "0.1" not in errors) == (pairs["cow", "dog"] == 0)
    assert without(drawn(found, "p02"), "category_id") == without(
        drawn(simulate({}, categories=names), "p02"), "category_id"
    )


def edges(annotations):
    boxes = np.array([each["bbox"] for each in annotations])
    return np.concatenate([boxes[:, :2], boxes[:, :2] + boxes[:, 2:]], axis=1)


def displaced(errors):
    found = simulate({"p02": errors})
    assert without(drawn(found, "p02"), "bbox", "area") == without(
        drawn(simulate({}), "p02"), "bbox", "area"
    )
    true = edges(same_truth(found))
    return edges(drawn(found, "p02")) - true, np.tile(true[:, 2:] - true[:, :2], 2)


@pytest.mark.parametrize(
    ("errors", "expected"),
    [
        ("offset=10%,-5%", [0.1, -0.05, 0.1, -0.05]),
        # A scale keeps the centre.
        ("scale=1.2", [-0.1, -0.1, 0.1, 0.1]),
    ],
)
def test_offsets_and_scales_are_exact(errors, expected):
    moved, sides = displaced(errors)
    assert moved == pytest.approx(np.array(expected) * sides, abs=0.011)
    moved, _ = displaced("offset=5,-2.5")
    assert moved == pytest.approx(np.tile([5, -2.5], (len(moved), 2)))


@pytest.mark.parametrize(("errors", "expected"), [("jitter=2", 2), ("jitter=4%", 0.04)])
def test_jitter_has_this_deviation_on_each_edge(errors, expected):
    moved, sides = displaced(errors)
    if errors.endswith("%"):
        moved = moved / sides
    # The standard error of a deviation of 400 normal values is 3.5 % of it.
    assert moved.std(axis=0) == pytest.approx(np.full(4, expected), rel=0.15)
    assert np.abs(np.corrcoef(moved.T) - np.eye(4)).max() < 0.25


def test_split_objects_are_two_parts_of_the_box():
    found = simulate({"p02": "split=0.2"})
    by_object = {}
    for each in drawn(found, "p02"):
        by_object.setdefault(each["true_id"], []).append(each)
    parted = {key: each for key, each in by_object.items() if len(each) == 2}
    assert likely(len(parted), len(by_object), 0.2)
    for true in same_truth(found):
        own = edges(by_object[true["id"]])
        assert [*own[:, :2].min(axis=0), *own[:, 2:].max(axis=0)] == pytest.approx(edges([true])[0])
        areas = (own[:, 2:] - own[:, :2]).prod(axis=1)
        assert areas.sum() == pytest.approx(true["area"], abs=0.01)
        assert areas.max() <= 0.66 * true["area"] or true["id"] not in parted


def test_merged_objects_are_one_box():
    from scipy.stats import binom

    found = simulate({"p02": "merge=0.2"}, objects=8)
    true = {each["id"]: each for each in same_truth(found)}
    merged = [each for each in drawn(found, "p02") if "merged_id" in each]
    # Two objects that both want to be merged are merged once.
    assert binom.ppf(0.001, len(true), 0.1) <= len(merged) <= binom.ppf(0.999, len(true), 0.2)
    for each in merged:
        first, second = true[each["true_id"]], true[each["merged_id"]]
        assert first["image_id"] == second["image_id"] == each["image_id"]
        both = edges([first, second])
        expected = [*both[:, :2].min(axis=0), *both[:, 2:].max(axis=0)]
        assert edges([each])[0] == pytest.approx(expected)
    used = Counter(each[key] for each in drawn(found, "p02") for key in each if key in
                   ("true_id", "merged_id"))  # fmt: skip
    assert used == Counter(list(true))


def test_duplicates_are_drawn_twice_with_jitter_of_their_own():
    found = simulate({"p02": "duplicate=0.2 jitter=1"})
    counts = Counter(each["true_id"] for each in drawn(found, "p02"))
    assert set(counts.values()) == {1, 2}
    assert likely(sum(n == 2 for n in counts.values()), len(same_truth(found)), 0.2)
    assert len({tuple(each["bbox"]) for each in drawn(found, "p02")}) == counts.total()


def test_copies_are_equal_to_what_the_other_drew():
    found = simulate({"p*": "jitter=1", "p02": "copy=p01:0.5"})
    images = [{}, {}]
    for own, name in zip(images, ("p01", "p02"), strict=True):
        for each in drawn(found, name):
            (one,) = without([each], "annotator")
            own.setdefault(each["image_id"], []).append(one)
    n_equal = sum(images[1][number] == drawing for number, drawing in images[0].items())
    assert likely(n_equal, len(images[0]), 0.5)


def test_an_error_of_one_annotator_changes_no_other():
    assert without(drawn(simulate({"p*": "jitter=1"}), "p01")) == without(
        drawn(simulate({"p*": "jitter=1", "p02": "miss=0.3 extra=0.2 split=0.1"}), "p01")
    )


def test_each_image_has_so_many_annotators():
    found = bboxqa.simulate(images=30, annotators=6, per_image=2)
    document = found.document()
    asked = {each["id"]: each["annotators"] for each in document["images"]}
    assert {len(names) for names in asked.values()} == {2}
    assert {(each["image_id"], each["annotator"]) for each in document["annotations"]} <= {
        (image, name) for image, names in asked.items() for name in names
    }
    assert len({name for names in asked.values() for name in names}) == 6


def test_objects_overlap_as_far_as_allowed():
    def highest(overlap):
        scene = bboxqa.simulate(images=20, objects=10, overlap=overlap).scene
        pairs = [(i, j) for i in range(len(scene)) for j in range(i)
                 if scene.image[i] == scene.image[j]]  # fmt: skip
        left, right = (scene.edges[list(part)] for part in zip(*pairs, strict=True))
        sides = np.minimum(left[:, 2:], right[:, 2:]) - np.maximum(left[:, :2], right[:, :2])
        shared = sides.clip(0).prod(axis=1)
        areas = [(each[:, 2:] - each[:, :2]).prod(axis=1) for each in (left, right)]
        return (shared / (sum(areas) - shared)).max()

    assert highest(0) < 0.01
    assert 0.1 < highest(0.3) <= 0.31


def test_files_are_not_replaced(tmp_path):
    found = simulate({})
    paths = found.write(tmp_path / "trial.json")
    assert [path.name for path in paths] == ["trial.json", "trial_truth.json"]
    assert json.loads(paths[0].read_text("utf-8")) == found.document()
    assert json.loads(paths[1].read_text("utf-8")) == found.truth()
    paths[0].unlink()
    with pytest.raises(OutputError, match=r"trial_truth\.json: already exists"):
        found.write(tmp_path / "trial.json")
    assert [path.name for path in tmp_path.iterdir()] == ["trial_truth.json"]
    simulate({}, seed=1).write(tmp_path / "trial.json", force=True)
    assert json.loads(paths[1].read_text("utf-8")) == simulate({}, seed=1).truth()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"images": 0}, "images is 0; expected 1 or more"),
        ({"objects": -1}, "objects is -1; expected 0 to 10,000"),
        ({"categories": 0}, "categories is 0; expected 1 to 10,000"),
        ({"categories": "cow:x"}, "category 'cow:x': expected a name, or a name and a share"),
        ({"annotators": "ann,ann"}, "annotators is 'ann,ann'; expected names that differ"),
        ({"per_image": 4}, "per_image is 4; expected 1 to 3"),
        ({"overlap": 2}, "overlap is 2; expected 0 to 1"),
        ({"seed": -1}, "seed is -1; expected 0 or more"),
        ({"categories": 1, "errors": {"p01": "confuse=0.1"}}, "confuse needs two categories"),
        *(
            ({"annotators": 2, "errors": errors}, message)
            for errors, message in (
                (
                    ["p02"],
                    "no annotator is 'p02'; expected a name, or a pattern of names, and errors",
                ),
                ({"p3": "miss=0.1"}, "no annotator is 'p3'; expected a name"),
                ({"p02": "mis=0.1"}, "p02: error is 'mis'; expected one of miss, extra"),
                ({"p02": "miss"}, "p02: miss is ''; expected a rate from 0 to 1"),
                ({"p02": "miss=2"}, "p02: miss is '2'; expected a rate from 0 to 1, such as 0.1"),
                ({"p02": "miss=0.1 miss=0.2"}, "p02: miss is given twice"),
                ({"p02": "jitter=x%"}, "p02: jitter is 'x%'; expected pixels or percent of a side"),
                ({"p02": "offset=5"}, "p02: offset is '5'; expected pixels or percent of a side"),
                ({"p02": "offset=nan,1"}, "p02: offset is 'nan,1'; expected pixels or percent"),
                (
                    {"p02": "confuse=cow/shep:0.1"},
                    "p02: confuse is 'cow/shep:0.1'; expected a rate",
                ),
                ({"p02": "confuse=cow/cow:0.1"}, "p02: confuse is 'cow/cow:0.1'; expected a rate"),
                ({"p02": "copy=p02:0.1"}, "p02: copy is 'p02'; expected one of p01"),
                ({"p02": "miss='0.1"}, 'p02: "miss=\'0.1" cannot be read: No closing quotation'),
                ({"p02": 3}, "p02: error is '3'; expected one of miss, extra"),
            )
        ),
    ],
)
def test_what_is_wrong_is_answered_with_what_is_allowed(given, message):
    with pytest.raises(ConfigError) as stop:
        bboxqa.simulate(**given)
    assert message in str(stop.value)


def test_writes_what_the_function_returns(tmp_path):
    options = ["--images", 20, "--objects", 3, "--categories", "cow,sheep", "--seed", 2]
    options += ["--annotators", "ann,bob", "--annotator", "bob: miss=0.2"]
    found = run("simulate", "--out", "trial.json", *options, cwd=tmp_path)
    assert found.returncode == 0
    expected = bboxqa.simulate(
        images=20, objects=3, categories=["cow", "sheep"], seed=2, annotators=["ann", "bob"],
        errors={"bob": "miss=0.2"},
    )  # fmt: skip
    assert json.loads((tmp_path / "trial.json").read_text("utf-8")) == expected.document()
    truth = json.loads((tmp_path / "trial_truth.json").read_text("utf-8"))
    assert truth["annotations"] == expected.truth()["annotations"]
    assert found.output == (
        f"Written: trial.json: {len(expected)} annotations by 2 annotators\n"
        f"Written: trial_truth.json: {len(expected.scene)} objects\n"
    )


def test_a_truth_of_its_own(tmp_path):
    run("simulate", "--images", 4, cwd=tmp_path)
    found = run("simulate", "--truth", "simulated_truth.json", "--out", "again.json", cwd=tmp_path)
    assert found.returncode == 0
    again, truth = (
        json.loads((tmp_path / name).read_text("utf-8"))
        for name in ("again_truth.json", "simulated_truth.json")
    )
    for document in (again, truth):
        names = {each["id"]: each["name"] for each in document["categories"]}
        for each in document["annotations"]:
            each["category"] = names[each.pop("category_id")]
    assert again["annotations"] == truth["annotations"]


@cache
def figures(setting):
    """Return F1, share of equal categories and mean IoU of three annotators with these errors."""
    found = bboxqa.simulate(images=60, errors=["p*: jitter=2%", setting])
    (measured,) = bboxqa.agree(bboxqa.read_coco(found.document()), bootstrap=0).thresholds
    return {
        "existence": measured.existence.f1,
        "class": measured.class_agreement.share,
        "place": measured.place.mean_iou,
    }


@pytest.mark.parametrize(
    ("error", "levels", "falling", "moved"),
    [
        ("p*: miss", ("0.1", "0.3"), {"existence"}, {"place": 0.005}),
        # Two invented boxes may happen to lie in one place.
        ("p*: extra", ("0.1", "0.3"), {"existence"}, {"place": 0.005, "class": 0.005}),
        ("p*: confuse", ("0.1", "0.3"), {"class"}, {}),
        ("p*: jitter", ("4%", "8%"), {"place"}, {"existence": 0.03}),
        ("p03: offset", ("5%,0%", "15%,0%"), {"place"}, {}),
        ("p03: scale", ("1.1", "1.2"), {"place"}, {}),
        # Half a box is also badly placed.
        ("p*: split", ("0.1", "0.3"), {"existence", "place"}, {}),
        # A box that shows two objects has the category of one.
        ("p*: merge", ("0.1", "0.3"), {"existence", "class"}, {"place": 0.02}),
        # The better of two boxes is matched.
        ("p*: duplicate", ("0.1", "0.3"), {"existence"}, {"place": 0.01}),
    ],
)
def test_each_error_lowers_its_own_figures(error, levels, falling, moved):
    none = figures("p*:")
    assert (none["existence"], none["class"]) == (1, 1)
    steps = [none, *(figures(f"{error}={level}") for level in levels)]
    for name in none:
        few, some, many = (step[name] for step in steps)
        if name in falling:
            assert few > some > many
        else:
            assert some == pytest.approx(few, abs=moved.get(name, 0))
            assert many == pytest.approx(few, abs=moved.get(name, 0))


@pytest.mark.parametrize(
    ("errors", "existence", "classes"),
    [
        # Both find 0.9 · 0.9 of the objects, and each draws 0.9: F1 = 0.81 / 0.9.
        ("miss=0.1", 0.9, 1),
        # Each draws 0.9 + 0.2 boxes for each object: F1 = 0.81 / 1.1.
        ("miss=0.1 extra=0.2", 0.81 / 1.1, 1),
        # Both are right in 0.8 · 0.8, and have the same wrong one of 4 in 0.2 · 0.2 / 4.
        ("confuse=0.2", 1, 0.65),
    ],
)
def test_figures_are_those_that_the_errors_imply(errors, existence, classes):
    found = bboxqa.simulate(images=400, errors=[f"p*: jitter=2% {errors}"])
    (measured,) = bboxqa.agree(bboxqa.read_coco(found.document()), bootstrap=0).thresholds
    assert measured.existence.f1 == pytest.approx(existence, abs=0.015)
    assert measured.class_agreement.share == pytest.approx(classes, abs=0.02)
