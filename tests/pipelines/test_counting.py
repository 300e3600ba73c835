"""Counts of parts are those of the whole, and what is too much is refused before it is counted."""

import re
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import fields
from support.datasets import dataset, document_of

import bboxqa
from bboxqa.agreement import object_counts as paired
from bboxqa.core.errors import DatasetError
from bboxqa.diagnostics import offsets, rates
from bboxqa.matching.matchers import MATCHERS
from bboxqa.model.settings import AgreeSettings, settings_from
from bboxqa.pipelines import agree as of_agreement
from bboxqa.pipelines import counting
from bboxqa.pipelines.agree import agree_with
from bboxqa.pipelines.counting import ImagePart, count_agreement

PLACES = st.integers(0, 12)


@st.composite
def cases(draw):
    """Return a data set with empty images, settings, and whether greedy matching is counted."""
    matcher = draw(st.sampled_from(sorted(MATCHERS)))
    n_annotators = 2 if matcher == "hungarian" else draw(st.integers(2, 4))
    n_images = draw(st.integers(1, 9))
    row = st.tuples(
        st.integers(0, n_images - 1),
        st.integers(0, n_annotators - 1),
        st.integers(0, 1),
        st.tuples(PLACES, PLACES, st.sampled_from([0, 4, 6]), st.sampled_from([4, 6])),
    )
    rows = draw(st.lists(row, max_size=40))
    data = dataset(rows, n_images=n_images, n_annotators=n_annotators)
    missing = draw(st.sampled_from(["category", "ignore"]))
    ways = ["agree", "skip", "unit"] if missing == "category" else ["agree", "skip"]
    settings = settings_from(
        {
            "matcher": matcher,
            "iou_threshold": draw(st.sampled_from([[0.5], [0.3, 0.6], [0.9, 0.1, 0.5]])),
            "category_lenient": draw(st.booleans()),
            "missing": missing,
            "empty_images": draw(st.sampled_from(ways)),
        }
    )
    drawn = np.bincount(data.annotations.image, minlength=n_images)
    empty = np.flatnonzero((drawn == 0) & (data.assigned.sum(1) > 1)).astype(np.int32)
    return ImagePart(data, empty), settings, draw(st.booleans())


@given(cases(), st.sampled_from([1, 2, 10**9]), st.sampled_from([2, 1 << 20]))
def test_parts_in_turn_are_the_whole(case, size, crowded):
    images, settings, greedy = case
    said = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counting, "_PART", size)
        patch.setattr(counting, "_CROWDED", crowded)
        found = count_agreement(
            images, settings, greedy=greedy, progress=lambda *each: said.append(each)
        )
    whole = count_agreement(images, settings, greedy=greedy)
    assert all((each.greedy is not None) == greedy for each in whole.thresholds)
    same(found, whole)
    comparing = [each for each in said if each[0] == "comparing"]
    n = len(images.data.annotations)
    assert all(done <= total == n for _, done, total in comparing)
    assert not n or comparing[-1][1] == n


def same(joined, whole):
    assert joined.counts == whole.counts
    for found, expected in zip(joined.thresholds, whole.thresholds, strict=True):
        for name in ("units", "reliability", "greedy", "matched", "categories"):
            ours, theirs = getattr(found, name), getattr(expected, name)
            for field in () if theirs is None else fields(theirs):
                one, other = getattr(ours, field.name), getattr(theirs, field.name)
                np.testing.assert_array_equal(one, other)
                assert type(one) is type(other)
                assert np.asarray(one).dtype == np.asarray(other).dtype


NAMES = [f"p{number}" for number in range(6)]


@pytest.fixture
def few_pairs(monkeypatch):
    monkeypatch.setattr(paired, "MOST_PAIRED", 3)


def read(boxes, n_images=1):
    """Return the data set of boxes of image, annotator and left edge."""
    rows = [(place, who, 1, (x, 10, 20, 20)) for place, who, x in boxes]
    return bboxqa.read_coco(document_of(rows, n_images, ("cat", "dog"), size=(640, 480)))


def drawn(n_annotators=6):
    """Return a box of each annotator, of which the last three agree, and two more of the last."""
    names = NAMES[-n_annotators:]
    left = [90 * place if place < n_annotators - 3 else 600 for place in range(n_annotators)]
    boxes = [(1, name, x) for name, x in zip(names, left, strict=True)]
    return [*boxes, (1, NAMES[5], 0), (1, NAMES[4], 300)]


def test_pairs_are_counted_among_those_who_drew_most(few_pairs):
    found = bboxqa.agree(read(drawn()), bootstrap=0)
    listed = [(row["annotator_1"], row["annotator_2"]) for row in found.pairs.records()]
    # The first of those who drew one box each comes with the two who drew two.
    assert listed == list(combinations(("p0", "p4", "p5"), 2))
    note = "pairs of annotators are counted among the 3 of 6 who drew the most annotations"
    assert note in found.notes


def test_too_many_annotators_for_their_annotations_are_refused(monkeypatch):
    # Tables of all annotators took 3.4 GB before an image was refused.
    data = read([(1, name, 10) for name in NAMES[:3]], n_images=3)
    monkeypatch.setattr(counting, "_MEMORY", 17 * counting._BYTES_OF_TABLES)
    bboxqa.agree(data, bootstrap=0)
    monkeypatch.setattr(counting, "_CELLS_OF_ANNOTATION", 5)
    with pytest.raises(DatasetError) as refused:
        bboxqa.agree(data, bootstrap=0)
    [problem] = refused.value.problems
    assert problem == (
        "3 annotators of 3 annotations in 3 images give 18 pairs of two annotators, or of one and "
        "an image; expected 17 at most"
    )


def test_too_many_objects_for_the_annotators_are_refused(monkeypatch):
    data = read(drawn())
    monkeypatch.setattr(counting, "_MEMORY", 30 * counting._BYTES)
    bboxqa.agree(data, bootstrap=0)
    monkeypatch.setattr(counting, "_MEMORY", 29 * counting._BYTES)
    with pytest.raises(DatasetError) as refused:
        bboxqa.agree(data, bootstrap=0)
    assert refused.value.problems == (
        "image '1.jpg': 6 annotators give 30 answers on 5 objects; expected 29 at most",
    )


def chain(n_images, n_annotators=4):
    """Return boxes of which each matches those beside it only, so that units are not clear."""
    people = range(n_annotators)
    return [(place, f"p{who}", 5.5 * who) for place in range(1, n_images + 1) for who in people]


def test_matching_without_each_of_many_annotators_is_refused(monkeypatch):
    data = read(chain(2), n_images=2)
    bboxqa.agree(data, bootstrap=0).diagnose()
    monkeypatch.setattr(rates, "_ROWS", 1)
    monkeypatch.setattr(rates, "_ROWS_OF_ANNOTATION", 0)
    with pytest.raises(DatasetError, match="4 annotators: a diagnosis matches images without each"):
        bboxqa.agree(data, bootstrap=0).diagnose()


def test_offsets_of_many_pairs_have_no_intervals(monkeypatch):
    data = read(chain(12, n_annotators=3), n_images=12)
    before = bboxqa.agree(data, bootstrap=1000).diagnose().tables["offsets"]
    monkeypatch.setattr(offsets, "MOST_DRAWN", 5)
    after = bboxqa.agree(data, bootstrap=1000).diagnose().tables["offsets"]
    assert after["offset_px"].tolist() == before["offset_px"].tolist()
    assert np.isnan(after["offset_px_low"]).all()


def boxes(image, n, step):
    """Return boxes of two annotators, each moved by a step, which overlap if it is below 9."""
    return [(image, i % 2, 0, (step * i, 0, 9, 9)) for i in range(n)]


@pytest.fixture
def data():
    """Return 60 boxes in one place, 80 side by side, and 40 in one place."""
    return dataset([*boxes(0, 60, 0), *boxes(1, 80, 9), *boxes(2, 40, 0)])


def test_a_result_has_no_story_of_crowds_and_says_so(data, monkeypatch):
    assert not agree_with(data, AgreeSettings(bootstrap=0)).why_slow
    monkeypatch.setattr(counting, "_PAIRS", -180 * counting._OF_ANNOTATION)
    result = agree_with(data, AgreeSettings(bootstrap=0))
    assert re.match("image 'image 0000': too many of its 60 annotations", result.why_slow)
    with pytest.raises(DatasetError, match="image 'image 0000'"):
        result.diagnose()


def test_a_story_of_many_outlines_is_told_on_request_only(monkeypatch):
    monkeypatch.setattr(of_agreement, "_QUICK_OUTLINES", 1)
    rows = [(0, i, 0, (10.0, 10.0, 20.0, 20.0)) for i in range(2)]
    ring = [np.array([[10.0, 10.0], [30, 10], [30, 30], [10, 30]])]
    drawn = bboxqa.agree(dataset(rows, [ring] * 2), similarity="polygon", bootstrap=0)
    assert drawn.why_slow == "with 2 outlines it takes longer than the figures"
    assert not bboxqa.agree(dataset(rows), bootstrap=0).why_slow
