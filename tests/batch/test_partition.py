from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import fields
from support.datasets import dataset

from bboxqa.matching.matchers import MATCHERS
from bboxqa.model.settings import settings_from
from bboxqa.pipelines import counting
from bboxqa.pipelines.counting import (
    ImagePart,
    count_part,
    count_sequentially,
    join_counted,
    split_images,
)

PLACES = st.integers(0, 12)


@st.composite
def cases(draw):
    """Yield a data set with empty images, a matcher, and how it is cut and joined."""
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
    return (
        ImagePart(data, empty),
        settings,
        draw(st.integers(1, 12)),
        draw(st.integers(2, 5)),
        draw(st.booleans()),
    )


@given(cases())
def test_parts_joined_in_any_tree_are_the_whole(case):
    images, settings, n_parts, fan_in, greedy = case
    count = partial(count_part, settings=settings, greedy=greedy)
    whole = count(images)
    assert len(whole.objects) == len(settings.iou_threshold)
    level = [count(part) for part in split_images(images, n_parts)]
    while len(level) > 1:
        level = [join_counted(level[i : i + fan_in]) for i in range(0, len(level), fan_in)]
    (joined,) = level
    same(joined, whole)


@given(cases(), st.sampled_from([1, 2, 10**9]), st.sampled_from([2, 1 << 20]))
def test_parts_in_turn_are_the_whole(case, size, crowded):
    images, settings, _, _, greedy = case
    said = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counting, "_PART", size)
        patch.setattr(counting, "_CROWDED", crowded)
        found = count_sequentially(
            images, settings, greedy=greedy, progress=lambda *each: said.append(each)
        )
    whole = count_part(images, settings, greedy=greedy)
    assert len(whole.greedy) == greedy * len(settings.iou_threshold)
    same(found, whole)
    comparing = [each for each in said if each[0] == "comparing"]
    n = len(images.data.annotations)
    assert all(done <= total == n for _, done, total in comparing)
    assert not n or comparing[-1][1] == n


def same(joined, whole):
    assert joined.n_images == whole.n_images
    assert joined.counts == whole.counts
    for name in ("units", "coincidences", "greedy", "pairs", "classes"):
        for ours, theirs in zip(getattr(joined, name), getattr(whole, name), strict=True):
            for field in fields(theirs):
                one, other = getattr(ours, field.name), getattr(theirs, field.name)
                np.testing.assert_array_equal(one, other)
                assert type(one) is type(other)
                assert np.asarray(one).dtype == np.asarray(other).dtype
    for ours, theirs in zip(joined.objects, whole.objects, strict=True):
        np.testing.assert_array_equal(ours.pair, theirs.pair)
        np.testing.assert_array_equal(ours.similarities, theirs.similarities)
        for name in ("images", "categories", "pairs"):
            one, other = getattr(ours, name).stacked(), getattr(theirs, name).stacked()
            np.testing.assert_array_equal(one, other)
