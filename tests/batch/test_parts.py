import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from support.datasets import dataset

from bboxqa.config import settings_from
from bboxqa.matching import MATCHERS
from bboxqa.shards import join_matched, match_images, split_images

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
    settings = settings_from(
        {
            "matcher": matcher,
            "iou_threshold": draw(st.sampled_from([[0.5], [0.3, 0.6], [0.9, 0.1, 0.5]])),
            "category_lenient": draw(st.booleans()),
        }
    )
    return data, settings, draw(st.integers(1, 12)), draw(st.integers(2, 5)), draw(st.booleans())


@given(cases())
def test_parts_joined_in_any_tree_are_the_whole(case):
    data, settings, n_parts, fan_in, greedy = case
    whole = match_images(data, settings, greedy=greedy)
    level = [match_images(part, settings, greedy=greedy) for part in split_images(data, n_parts)]
    while len(level) > 1:
        level = [join_matched(level[i : i + fan_in]) for i in range(0, len(level), fan_in)]
    (joined,) = level
    assert joined.n_images == whole.n_images
    assert joined.counts == whole.counts
    assert len(joined.greedy) == len(whole.greedy) == greedy * len(settings.iou_threshold)
    for ours, theirs in zip(
        (*joined.units, *joined.greedy), (*whole.units, *whole.greedy), strict=True
    ):
        np.testing.assert_array_equal(ours.unit, theirs.unit)
        np.testing.assert_array_equal(ours.image, theirs.image)
        assert ours.unit.dtype == theirs.unit.dtype
        assert ours.image.dtype == theirs.image.dtype
