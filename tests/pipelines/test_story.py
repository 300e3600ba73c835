"""The story and its warnings name what was simulated: who, which error, how large; no others."""

import numpy as np
import pytest
from msgspec.structs import replace
from support.cli import run
from support.datasets import dataset, document_of, object_rows, with_assigned
from support.resampled import expanded

import bboxqa
from bboxqa.core.errors import ConfigError
from bboxqa.diagnostics import diagnostic, names
from bboxqa.diagnostics.strata import Dependence
from bboxqa.model.settings import AgreeSettings
from bboxqa.pipelines.counting import compared_images
from bboxqa.pipelines.diagnosis.findings import (
    Bounds,
    Finding,
    above_others,
    median_of_others,
    of_others,
    words_of_some,
)
from bboxqa.pipelines.diagnosis.matched_units import matched_units
from bboxqa.pipelines.diagnosis.story import _with_worst

_TRIAL = {"p*": "jitter=1", "p03": "miss=0.1 offset=5,0 confuse=cow/sheep:0.2"}


def told(errors, **more):
    options = {"images": 80, "categories": ("cow", "sheep", "horse"), **more}
    draws = options.pop("bootstrap", 200)
    return bboxqa.agree(simulated(errors, **options), bootstrap=draws).tell()


def sentence(story, *words):
    """Return the one sentence with all of the words."""
    (found,) = [line for line in story.story if all(word in line for word in words)]
    return found


def number_before(text, unit):
    return float(text.split(unit)[0].split()[-1].lstrip("("))


@pytest.fixture(scope="module")
def trial():
    return told(_TRIAL, annotators=3, images=150)


def test_the_trial_names_person_offset_misses_and_categories(trial):
    offset = sentence(trial, "p03 draws boxes", "further right, or p01 and p02 the reverse")
    assert number_before(offset, " px") == pytest.approx(5.0, abs=0.2)
    missed = sentence(trial, "p03 misses")
    # Not inflated by boxes that do not match.
    assert number_before(missed, " %") == pytest.approx(10, abs=3)
    called = sentence(trial, "p03 calls", "cow sheep in", "sheep cow in")
    assert number_before(called, " %") == pytest.approx(20, abs=6)
    assert {name for line in trial.lines for name in line.annotators} == {"p03"}
    assert len(trial.story) == 3


def test_misses_from_an_hour_on_are_told_with_the_hour():
    document = bboxqa.simulate(errors={"p*": "jitter=1"}, images=80, annotators=3).document()
    rng = np.random.default_rng(5)
    kept = []
    for each in document["annotations"]:
        day, minute = divmod(each["image_id"], 60)
        each["created_at"] = f"2026-03-02T{9 + day:02d}:{minute:02d}:00Z"
        late = each["annotator"] == "p03" and each["image_id"] > 40
        kept += [] if late and rng.random() < 0.4 else [each]
    data = bboxqa.read_coco({**document, "annotations": kept}, time_key="created_at")
    found = sentence(bboxqa.agree(data, bootstrap=200).tell(), "p03 misses more later on")
    assert "from 2026-03-02 09:4" in found
    assert "none before" in found


def test_each_cause_is_told_once():
    """Each of three annotators errs in a way of its own, and a fourth one in none."""
    errors = {"p*": "jitter=1", "p02": "miss=0.12", "p03": "confuse=cow/sheep:0.3",
              "p04": "duplicate=0.15"}  # fmt: skip
    result = bboxqa.agree(simulated(errors, images=80, annotators=4), bootstrap=200)
    found, alpha = result.diagnose(), result.thresholds[0].alpha
    rows = {row["kind"]: row for row in found.tables["decomposition"].records()}
    for kind, words in (
        ("drawn twice by one", "p04 draws"),
        ("missed by some", "p02 misses"),
        ("class conflict", "p03 calls"),
    ):
        before, after = alpha, alpha + rows[kind]["alpha_gain"]
        told = f" (without that, alpha {before:.2f}→{after:.2f})"
        assert sentence(found, words).endswith(told)
    assert sum("without that, alpha" in line for line in found.story) == 3
    assert not any("gave different categories" in line for line in found.story)
    assert not found.warnings


def test_copied_boxes_put_nobody_in_the_wrong():
    """p01 and p02 agree as p02 copies; p03 places boxes as badly as they do."""
    story = told({"p*": "jitter=14%", "p02": "copy=p01:0.5"}, images=120)
    assert sentence(story, "p01 and p02 copied boxes, it is unknown who from whom")
    assert "above all" not in sentence(story, "boxes too far apart to match")


@pytest.mark.parametrize("images", [1, 4])
def test_copies_are_told_of_few_images(images):
    size = {"images": images, "objects": 20}
    story = told({"p*": "jitter=14%", "p02": "copy=p01:1"}, **size)
    assert sentence(story, "p01 and p02 copied boxes", "100 % of those that both drew")
    assert not any("copied" in line for line in told({"p*": "jitter=14%"}, **size).story)


def test_where_copies_leave_two_it_is_unknown_whose_boxes_are_moved():
    story = told({"p*": "jitter=1", "p02": "copy=p01:1", "p03": "offset=5,0"})
    assert sentence(story, "p01 and p02 copied boxes")
    assert sentence(story, "p01 draws boxes 5.0 px further left, or p03 the reverse")


def test_a_category_that_is_missed_more_often_is_told():
    data = simulated({"p*": "jitter=1"}, images=60)
    is_cow = (data.annotations.category == 0) & (data.annotations.annotator == 2)
    some = without(data, "p03", lambda _: is_cow & (is_cow.cumsum() % 3 > 0))
    story = bboxqa.agree(some, bootstrap=200).tell()
    found = sentence(story, "p03 misses cow: ", " of them, none of other categories")
    assert number_before(found, " %") == pytest.approx(67, abs=2)


@pytest.mark.parametrize("seed", range(4))
def test_nobody_is_named_where_all_err_alike(seed):
    story = told({"p*": "jitter=2 miss=0.1 confuse=0.1"}, annotators=5, seed=seed)
    named = [line for line in story.story if any(f"p0{n} " in line for n in range(1, 6))]
    assert story.story
    assert not named


def test_the_order_of_records_and_the_ids_do_not_matter(trial):
    options = {"annotators": 3, "images": 150, "categories": ("cow", "sheep", "horse")}
    document = bboxqa.simulate(errors=_TRIAL, **options).document()
    document["annotations"].reverse()
    for number, each in enumerate(document["annotations"]):
        each["id"] = number
    story = bboxqa.agree(bboxqa.read_coco(document), bootstrap=200).tell()
    assert story.story == trial.story


@pytest.mark.parametrize(
    "rows",
    [
        [], [(0, 0, 0, (0, 0, 10, 10))], [(0, 0, 0, (0, 0, 10, 10)), (0, 1, 0, (0, 0, 10, 10))],
        [(0, 0, 0, (0, 0, 10, 10)), (1, 1, 1, (50, 0, 10, 10)), (2, 2, 1, (0, 0, 0, 0))],
    ],
)  # fmt: skip
def test_few_annotations_are_diagnosed(rows):
    data = dataset(rows, n_images=3, n_annotators=3)
    found = bboxqa.agree(data, bootstrap=40).diagnose()
    assert 1 <= len(found.story) <= 10
    assert "sensitivity" in found.tables
    assert len(found.review_document["annotations"]) == sum(
        text.count(":") for text in found.review["boxes"]
    )


def test_a_moved_edge_is_told_as_one():
    rng = np.random.default_rng(0)
    rows = []
    for image in range(30):
        for x in (0, 100, 200):
            for who in range(3):
                left, top, right, bottom = rng.normal((x, 0, x + 50 - 5 * (who == 2), 60), 0.5)
                rows.append((image, who, 0, (left, top, right - left, bottom - top)))
    story = bboxqa.agree(dataset(rows), bootstrap=200).tell()
    found = sentence(story, "draws boxes narrower (right edge", " left), or ")
    assert number_before(found, " px") == pytest.approx(5, abs=0.2)
    assert "further" not in found


def test_against_a_reference_errors_are_those_against_it():
    # Two of three are displaced alike: most others would confirm them.
    errors = {"p*": "jitter=1", "p02": "offset=6,0", "p03": "offset=6,0 miss=0.2"}
    made = simulated(errors, images=60, annotators=4)
    result = bboxqa.agree(made, reference="p04", bootstrap=200)
    story = result.tell()
    missed = sentence(story, "p03 misses", "of the objects of p04")
    # Objects that are 6 px off are not missed.
    assert number_before(missed, " %") == pytest.approx(20, abs=6)
    assert not any("p01 draws boxes" in line for line in story.story)
    assert result.reference.annotators["miss_rate"][0] == 0


@pytest.mark.parametrize(("n_annotators", "n_images"), [(30, 6), (160, 5), (10, 20)])
def test_of_many_annotators_with_few_images_few_are_named_by_mistake(n_annotators, n_images):
    rng = np.random.default_rng(0)
    draws = rng.multinomial(n_images, np.full(n_images, 1 / n_images), size=400).T
    n_named = 0
    for _ in range(40):
        n_drawn = rng.poisson(5, (n_annotators, n_images)) + 1
        missed = rng.binomial(n_drawn, 0.3)
        rates = (missed @ draws) / (n_drawn @ draws)
        value = missed.sum(1) / n_drawn.sum(1)
        found = Bounds(value, *expanded(rates, n_images, axis=1))
        n_named += len(above_others(found, np.full(n_annotators, n_images))) > 0
    # 5 % of 40, for all kinds of errors together; with normal quantiles 9 to 40 of 40.
    assert n_named <= 2


@pytest.mark.parametrize(
    ("others", "own", "told"),
    [
        ([0.01, 0.05], 0.2, "; the others: 1.0 to 5.0 %"),
        ([0.01, 0.21], 0.2, "; the others: 1.0 to 21 %"),
        ([0.03, 0.03], 0.2, "; the others: 3.0 %"),
        ([0.01, 0.02, 0.03, 0.04, 0.3], 0.2, "; half of the others: 2.0 to 4.0 %"),
        ([0.01, 0.02, 0.03, 0.2, 0.3], 0.2, "; the median of the others: 3.0 %"),
        ([*np.arange(10) / 100, 0.5], 0.2, "; most of the others: 1.0 to 9.0 %"),
        ([np.nan], 0.2, ""),
    ],
)
def test_the_range_of_others_has_no_room_for_who_stands_out(others, own, told):
    assert of_others(np.array(others), own) == told


def test_medians_of_others_are_those_without_each():
    rng = np.random.default_rng(0)
    for n in (1, 2, 3, 4, 7):
        values = rng.integers(0, 4, (n, 30)).astype(float)
        values[rng.random(values.shape) < 0.3] = np.nan
        found = median_of_others(values)
        for column in range(30):
            for row in range(n):
                others = np.delete(values[:, column], row)
                others = others[~np.isnan(others)]
                expected = np.median(others) if len(others) else np.nan
                np.testing.assert_equal(found[row, column], expected)


def test_what_the_data_cannot_show_is_said():
    # More draws would not help.
    for draws in (200, 0):
        few = told({"p*": "jitter=1 miss=0.1"}, annotators=3, images=3, bootstrap=draws).story
        assert few[0] == "with 3 images nobody is named: it takes 5 or more"
    without = told({"p*": "jitter=1 miss=0.1"}, annotators=3, bootstrap=0).story
    assert without[0] == "with --bootstrap 0 nobody is named: it takes 200 or more"
    errors = {"p*": "jitter=1 confuse=cow/sheep:0.3"}
    confused = told(errors, annotators=3, images=40, bootstrap=0).story
    assert any(line.startswith("cow and sheep are confused") for line in confused)
    for miss in (0, 0.1):
        errors = {"p*": f"jitter=1% miss={miss}"}
        two = told(errors, annotators=2, images=20).story
        assert any(", unknown who is right" in line for line in two) is (miss > 0)
        assert any("all annotators drew the same" in line for line in two) is (miss == 0)


def test_what_has_no_room_is_counted(monkeypatch):
    errors = {
        "*": {"jitter": 0.02},
        "p01": {"miss": 0.3, "offset": (6, 6)},
        "p02": {"extra": 0.4, "scale": 1.2},
        "p03": {"confuse": 0.4, "offset": (-5, 0)},
        "p04": {"miss": 0.2, "confuse": 0.3, "offset": (0, 5)},
        "p05": {"duplicate": 0.2, "split": 0.2, "offset": (0, -5)},
    }
    result = bboxqa.agree(simulated(errors, images=120, annotators=9, seed=2), bootstrap=200)
    told = result.story
    assert len(told) == 9
    monkeypatch.setattr("bboxqa.pipelines.diagnosis.story._MOST", 100)
    everything = result.tell().story
    n_more = len(everything) - 8
    words = "more finding" + "s" * (n_more > 1)
    assert told == (*everything[:8], f"{n_more} {words}: see the tables of --details")


def test_where_two_share_all_boxes_nobody_is_judged():
    story = told({"p*": "jitter=3% miss=0.1", "p03": "copy=p01:1"}, annotators=3)
    assert sentence(story, "p01 and p03 copied boxes", "so agreement seems higher than it is")
    assert not any("p02" in line for line in story.story)


@pytest.mark.parametrize(
    ("errors", "advice"),
    [
        ({"p03": "miss=0.3"}, "agree with p03 on what must be drawn"),
        ({"*": "miss=0.2"}, "agree on what must be drawn"),
        ({"p03": "confuse=0.3"}, "clarify categories with p03"),
        ({"*": "confuse=0.3"}, "clarify categories with examples"),
        ({"*": ""}, ""),
    ],
)
def test_the_costliest_kind_has_advice_with_whom_it_is(errors, advice):
    data = simulated(errors, images=40, annotators=4)
    assert bboxqa.agree(data, bootstrap=400).tell().advice == advice


def test_sentences_are_in_the_order_of_what_they_cost():
    errors = {"*": "confuse=0.25 jitter=1", "p03": "miss=0.05"}
    story = told(errors, annotators=4, images=60)
    first = sentence(story, "different categories (without that")
    assert story.story.index(first) < story.story.index(sentence(story, "p03 misses"))


def test_of_two_annotators_every_difference_says_that_it_is_unknown_who_is_right():
    errors = {"*": "jitter=8% miss=0.05 confuse=0.1", "p02": "duplicate=0.1"}
    story = told(errors, annotators=2)
    assert all("unknown who is right" in line for line in story.story)
    assert sentence(story, "are drawn twice by p02,").count("p0") == 1
    story = told({"p02": "merge=0.3"}, annotators=2)
    assert sentence(story, "in parts by some, or together with another object, unknown who")


def test_where_two_differ_in_place_nobody_is_advised_alone():
    story = told({"p02": "offset=6,0"}, annotators=2)
    (line,) = [line for line in story.lines if "the reverse" in line.text]
    assert line.annotators == ("p01", "p02")
    assert story.advice == "settle how close boxes must be"


def test_an_offset_is_harmless_only_where_place_is_good():
    far, near = (told({"*": "jitter=1", "p02": f"offset=0,{px}"}, annotators=2) for px in (12, 2))
    assert not sentence(far, "p01 draws boxes").endswith("harmless at IoU 0.5")
    assert sentence(near, "p01 draws boxes").endswith("harmless at IoU 0.5")


def without(data, who, is_left_out):
    """Return data without the annotations of somebody for which a function of them is true."""
    of, person = data.annotations, data.annotator_names.index(who)
    left_out = (of.annotator == person) & is_left_out(of)
    return replace(data, annotations=of.take(np.flatnonzero(~left_out)))


def test_images_that_somebody_left_empty_are_told_as_such():
    data = simulated({"*": "jitter=1 miss=0.02"}, images=60, annotators=3)
    empty = without(data, "p03", lambda of: of.image % 3 == 0)
    story = bboxqa.agree(empty, bootstrap=200).tell()
    assert sentence(story, "p03 misses", "of what most others drew, most in 20 images left empty")
    assert story.advice == "look with p03 at the images left empty"
    data = simulated({"*": "jitter=1 miss=0.02"}, images=60, annotators=2)
    two = bboxqa.agree(without(data, "p02", lambda of: of.image % 3 == 0)).tell()
    assert sentence(two, "of what p01 drew (most in 20 images left empty), and p01 ")
    assert two.advice == "look at the images left empty"
    nothing = without(simulated({}, images=30, annotators=2), "p02", lambda of: of.image >= 0)
    (idle,) = bboxqa.agree(nothing, bootstrap=200).tell().story
    assert idle == ("p02 drew nothing in 30 images where p01 drew something, unknown who is right")


def test_the_others_are_compared_in_the_objects_that_somebody_misses():
    data = simulated({"*": "jitter=1"}, images=80, annotators=4)
    area = np.sort(data.annotations.bbox[:, 2:].prod(1))[len(data.annotations) // 3]
    rng = np.random.default_rng(0)
    for who, share in (("p03", 0.9), ("p02", 0.3)):
        data = without(
            data, who,
            lambda of, share=share: (of.bbox[:, 2:].prod(1) < area) & (rng.random(len(of)) < share),
        )  # fmt: skip
    missed = sentence(bboxqa.agree(data, bootstrap=200).tell(), "p03 misses small objects")
    # The other who misses some does so among small objects as well: about 30 % of these.
    assert number_before(missed.split("the others: ")[1].split("to ")[1], " %") > 20
    unnamed = bboxqa.agree(data, bootstrap=0).tell()
    assert sentence(unnamed, "not drawn by everyone, above all small objects: 92 % below")


def test_who_exchanges_two_categories_in_all_objects_is_named_once():
    story = told({"p*": "jitter=1", "p03": "confuse=cow/sheep:1"}, annotators=3)
    assert "cow sheep in 100 %" in sentence(story, "p03 ")
    two = {"p*": "jitter=1", **dict.fromkeys(("p02", "p03"), "confuse=cow/sheep:0.6")}
    for seed in range(3):
        story = told(two, annotators=3, images=60, seed=seed).story
        assert not any("p01" in line for line in story)


def test_who_adds_objects_is_not_said_to_misname_those_of_a_stranger():
    data = simulated({"p*": "jitter=1", "p04": "extra=0.3"}, images=100, annotators=5)
    corners = np.random.default_rng(0).uniform(0, 450, (len(data.annotations), 2))
    moved = np.hstack([corners, data.annotations.bbox[:, 2:]])
    bbox = np.where(data.annotations.annotator[:, None] == 4, moved, data.annotations.bbox)
    data = replace(data, annotations=replace(data.annotations, bbox=bbox))
    story = bboxqa.agree(data, bootstrap=200).tell()
    assert sentence(story, "p05 agrees with nobody")
    teams = {"p06": "jitter=1 offset=200,200", "p07": "jitter=1 offset=200,200"}
    assert not any("with nobody" in line for line in told(teams, annotators=7, images=40).story)
    assert sentence(story, "p04 ").startswith("p04 drew objects that most others did not draw")


def test_alpha_without_somebody_says_that_fewer_annotators_lower_it():
    story = told({"*": "jitter=1", "p04": "jitter=1 miss=0.4 extra=0.4"}, annotators=4)
    assert sentence(story, "without p04", "; fewer annotators lower it)")


def test_advice_is_also_on_what_decides_the_verdict():
    data = simulated({"*": "jitter=9% confuse=0.05"}, annotators=3, images=60)
    assert bboxqa.agree(data, bootstrap=200, iou_threshold=0.25).tell().advice == (
        "clarify categories with examples and settle how close boxes must be"
    )


def rare_document():
    """Return 60 images of 12 RBC, a WBC and a Platelet by ann, bob and cid, who err on the rare."""
    rng, rows = np.random.default_rng(1), []
    for image in range(60):
        for place in range(14):
            for who in ("ann", "bob", "cid"):
                if rng.random() < 0.01 or (who == "bob" and place == 13 and image % 5 < 2):
                    continue
                category = 1 if who == "cid" and place == 12 and image % 4 == 0 else place - 10
                box = rng.normal((100 * (place % 7) + 5, 150 * (place // 7) + 5, 90, 90), 1)
                box[0] += 8 * (who == "cid")
                rows.append((image + 1, who, max(category, 1), box.tolist()))
    return document_of(rows, 60, ("RBC", "WBC", "Platelets"), size=(800, 600))


def test_who_errs_on_a_rare_category_is_named_before_a_harmless_offset():
    result = bboxqa.agree(bboxqa.read_coco(rare_document()), bootstrap=200)
    called, missed, offset = result.tell().story
    assert missed.startswith("bob misses Platelets: 4")
    assert called.startswith("cid calls WBC RBC in 25 % of cases")
    assert offset.startswith("cid draws boxes")
    assert offset.endswith("harmless at IoU 0.5")


def test_who_misses_much_is_told_so_before_a_rare_category_that_they_never_draw():
    errors = {"p*": "jitter=1 miss=0.02", "p03": "miss=0.2"}
    data = simulated(errors, images=150, objects=6, categories="cow:96,zebra:4")
    missed = bboxqa.agree(without(data, "p03", lambda of: of.category == 1), bootstrap=200).story[0]
    assert missed.startswith("p03 misses zebra: 100 % of them, 20 % of other categories")
    assert "without p03, alpha" in missed


def test_equal_works_need_nothing_to_be_looked_at(tmp_path):
    found = bboxqa.simulate(images=20, annotators="ann,bob")
    found.write(tmp_path / "equal.json")
    output = run("agree", tmp_path / "equal.json").output
    assert "with the same category: nothing has to be looked at again" in output
    assert "all boxes that both ann and bob drew are identical" in output
    assert "--send-back" not in output


def test_equal_objects_in_other_places_are_not_said_to_need_nothing():
    rows = [
        (image, who, 1, (100 * n + moved, moved, 60, 60))
        for image in range(1, 11) for n in range(4) for who, moved in (("ann", 0), ("bob", 10))
    ]  # fmt: skip
    found = bboxqa.agree(document_of(rows, 10, size=(640, 480)), bootstrap=0)
    assert found.place.mean_iou < 0.65
    assert found.story[0] == "all annotators drew the same 40 objects with the same category"


def test_an_offset_with_which_somebody_matches_least_is_not_harmless():
    values = {"words": "9 px further right", "drawn": "boxes", "other": "the others"}
    values["cost"] = "; harmless at IoU 0.5"
    offset = Finding("offset", ("cid",), values=values)
    without = 0.11, " (without cid, alpha 0.80→0.91)"
    worst = Finding("worst", ("cid",), 0.9, gain=without)
    (told,) = _with_worst([offset], [worst])
    text = "cid draws boxes 9 px further right than the others (without cid, alpha 0.80→0.91)"
    assert told.line.text == text
    assert told.weight == pytest.approx(0.1)
    called = Finding("miss_rate", ("cid",), weight=0.1, values={"others": ""})
    assert [each.gain for each in _with_worst([offset, called], [worst])] == [None, without]


_KINDS = {"image": "of the objects", "groups": "share no image"}


def warned(data, **settings):
    """Return the warnings by kind."""
    found = {}
    for line in bboxqa.agree(data, **{"bootstrap": 100, **settings}).tell().warnings:
        (kind,) = [kind for kind, words in _KINDS.items() if words in line]
        found[kind] = line
    return found


def simulated(errors, **more):
    options = {"images": 30, "annotators": 3, "categories": ("cow", "sheep"), **more}
    return bboxqa.read_coco(bboxqa.simulate(errors=errors, **options).document())


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


def test_an_object_with_two_labels_is_no_confusion_where_equal_categories_match_first():
    data = dataset(two_labels())
    result = bboxqa.agree(data, bootstrap=200, category_lenient=True)
    found = result.diagnose()
    assert result.alpha == 1 > bboxqa.agree(data, bootstrap=0).alpha
    assert not len(found.tables["confusions"])
    kinds = found.tables["decomposition"]
    assert kinds["n_any"].tolist() == [36, 0, 0, 0, 0, 0]
    assert found.tables["annotators"]["class_share"].tolist() == [1, 1, 1]


def test_an_image_with_many_units_and_groups_without_a_common_image():
    rows = rows_of(range(2), {0: 0, 1: 0}) + rows_of((2, 3), {2: 0, 3: 0})
    rows += [(3, 2, 0, (40.0 * n, 200.0, 30.0, 30.0)) for n in range(9)]
    data = dataset(rows, size=(640, 480))
    assigned = np.repeat([[True, True, False, False], [False, False, True, True]], 2, axis=0)
    found = warned(with_assigned(data, assigned))
    assert set(found) == {"image", "groups"}
    assert found["groups"].startswith("2 groups of annotators share no image")
    assert " % of the objects: without it, alpha would be 1.00 and not " in found["image"]
    # A third of the objects of three images is usual.
    assert not warned(simulated({"*": "jitter=1 miss=0.3"}, images=3))


@pytest.fixture
def data():
    return dataset(object_rows(np.random.default_rng(5)))


def test_every_diagnostic_has_its_table(data):
    tables = bboxqa.agree(data, iou_threshold=0.3, bootstrap=0).diagnose().tables
    assert [*tables] == [
        *names(data, "boxes"),
        "sensitivity",
        "suggested_threshold",
        "review_images",
    ]
    assert len(tables["sensitivity"]) == 19


def test_what_is_refused(data):
    with pytest.raises(ConfigError, match="'ofsets'; expected one of decomposition"):
        diagnostic("ofsets")
    settings = AgreeSettings(iou_threshold=(0.5, 0.7))
    with pytest.raises(ConfigError, match="has 2 numbers; expected one"):
        matched_units(compared_images(data), settings)


@pytest.mark.parametrize(("cut", "where"), [(1, "no"), (2, "fewer than 2")])
def test_objects_that_overlap_none_are_named_so(cut, where):
    words = words_of_some(Dependence("crowding", cut, True, 0.2, 0.1), [])
    assert words["where"] == f"with {where} overlapping others"
