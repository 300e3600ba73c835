"""The rule of a consensus: a slow twin, its ties, quorums, and images of unknown size."""

from itertools import combinations
from statistics import median

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.brute import box_iou
from support.datasets import dataset, random_rows

from bboxqa.core.errors import DatasetError
from bboxqa.model.consensus import EMPTY
from bboxqa.pipelines.fusion import consensus_of, quorums, votes_of


def found_of(data, link=0.3, quorum=None):
    votes = votes_of(data)
    return consensus_of(votes.data, link, quorum, also=votes.also)[0]


def clipped(box, size):
    x, y, width, height = box
    left, top = (min(max(each, 0), most) for each, most in zip((x, y), size, strict=True))
    right = min(max(x + width, 0), size[0])
    return left, top, right - left, min(max(y + height, 0), size[1]) - top


def slow_votes(rows, size):
    """Return image, annotator and box of each vote, own boxes joined one by one."""
    votes = []
    for image, who in sorted({row[:2] for row in rows}):
        own = [[clipped(row[3], size)] for row in rows if row[:2] == (image, who)]
        own = [each for each in own if each[0][2] > 0 and each[0][3] > 0]
        while pair := next(
            (
                (a, b)
                for a, b in combinations(own, 2)
                if any(box_iou(one, other) >= 0.7 for one in a for other in b)
            ),
            None,
        ):
            own.remove(pair[0])
            own.remove(pair[1])
            own.append(pair[0] + pair[1])
        for part in own:
            sides = [(x, y, x + w, y + h) for x, y, w, h in part]
            left, top, right, bottom = (sum(each) / len(each) for each in zip(*sides, strict=True))
            votes.append((image, who, (left, top, right - left, bottom - top)))
    return votes


def slow_objects(rows, size, link):
    """Return image, votes and median box of each object, joined pair by pair."""
    votes = slow_votes(rows, size)
    home = [{place} for place in range(len(votes))]
    pairs = [
        (box_iou(votes[a][2], votes[b][2]), a, b)
        for a, b in combinations(range(len(votes)), 2)
        if votes[a][0] == votes[b][0] and votes[a][1] != votes[b][1]
    ]
    for iou, a, b in sorted(pairs, key=lambda each: -each[0]):
        both = home[a] | home[b]
        people = [votes[each][1] for each in both]
        if iou >= link and home[a] is not home[b] and len({*people}) == len(people):
            for each in both:
                home[each] = both
    found = []
    for group in {id(each): each for each in home}.values():
        sides = [(x, y, x + w, y + h) for x, y, w, h in (votes[each][2] for each in group)]
        left, top, right, bottom = (median(each) for each in zip(*sides, strict=True))
        image = votes[min(group)][0]
        found.append((image, len(group), (left, top, right - left, bottom - top)))
    return sorted(found)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 5))
def test_objects_are_those_of_a_slow_twin(seed, n_annotators):
    rng = np.random.default_rng(seed)
    rows = random_rows(rng, n_annotators=n_annotators, n_images=2, n_boxes=4)
    noise = rng.normal(0, 0.5, (len(rows), 4))
    rows = [
        (*row[:3], tuple((np.array(row[3]) + each).tolist()))
        for row, each in zip(rows, noise, strict=True)
    ]
    rows += [(*row[:3], tuple(np.add(row[3], 0.01))) for row in rows[:2]]
    found = found_of(dataset(rows, size=(32, 28), n_images=2, n_annotators=n_annotators))
    expected = slow_objects(rows, (32, 28), 0.3)
    boxes = zip(found.image.tolist(), found.votes.tolist(), found.bbox.tolist(), strict=True)
    for own, true in zip(sorted((a, b, tuple(c)) for a, b, c in boxes), expected, strict=True):
        assert own[:2] == true[:2]
        assert own[2] == pytest.approx(true[2])


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000))
def test_neither_order_nor_names_nor_ids_matter(seed):
    rng = np.random.default_rng(seed)
    rows = random_rows(rng, n_annotators=4, n_images=2, side=12.0)
    found = found_of(dataset(rows, size=(14, 14), n_images=2, n_annotators=4))
    new = rng.permutation(4)
    order = rng.permutation(len(rows))
    mixed = [(rows[n][0], int(new[rows[n][1]]), *rows[n][2:]) for n in order]
    again = found_of(dataset(mixed, size=(14, 14), n_images=2, n_annotators=4))
    for name in ("image", "bbox", "votes", "asked", "category", "is_tie", "overlap", "spread"):
        assert getattr(found, name).tolist() == getattr(again, name).tolist(), name


BOX = (10.0, 10.0, 10.0, 10.0)


def test_a_box_drawn_again_has_the_category_that_is_more_usual_in_the_file():
    elsewhere = (30.0, 30.0, 5.0, 5.0)
    for usual in (0, 1):
        data = dataset([(0, 0, 0, BOX), (0, 0, 1, BOX), (0, 1, usual, elsewhere)])
        assert votes_of(data).data.annotations.category.tolist() == [usual, usual]


def test_a_box_drawn_again_in_two_categories_counts_for_both():
    elsewhere = [(0, 2, 0, (30.0 + 9 * place, 30.0, 5.0, 5.0)) for place in range(3)]
    rows = [(0, 0, 0, BOX), (0, 0, 1, BOX), (0, 1, 1, BOX)]
    found = found_of(dataset([*rows, *elsewhere]))
    (place,) = np.flatnonzero(found.votes == 2).tolist()
    assert (found.category[place], found.is_tie[place]) == (1, False)


def test_who_drew_nothing_was_asked_as_well():
    data = dataset([(0, 0, 0, BOX), (0, 1, 0, BOX)], n_annotators=5)
    found = found_of(data)
    assert (found.votes[0], found.asked[0], found.quorum[0]) == (2, 5, 2)
    assert found.overlap[0] == pytest.approx(0.4)
    assert not found_of(dataset([(0, 0, 0, BOX)], n_annotators=5)).is_kept[0]
    assert found_of(dataset([(0, 0, 0, BOX)], n_annotators=2)).is_kept[0]
    assert found_of(dataset([(0, 0, 0, BOX)], n_annotators=1)).is_kept[0]


@pytest.mark.parametrize(
    ("quorum", "expected"),
    [
        (None, [1, 1, 2, 2, 2, 3, 3, 4]),
        (0.5, [1, 1, 2, 2, 3, 4, 4, 5]),
        (3, [1, 2, 3, 3, 3, 3, 3, 3]),
    ],
)
def test_quorums(quorum, expected):
    asked = np.array([1, 2, 3, 4, 6, 7, 8, 10])
    assert quorums(asked, quorum).tolist() == expected


def test_boxes_are_cut_off_at_the_border_and_at_0_where_the_size_is_unknown():
    rows = [(0, 0, 0, (-5.0, 2.0, 10.0, 30.0)), (0, 1, 0, (-20.0, 0.0, 10.0, 5.0))]
    assert found_of(dataset(rows, size=(20, 20))).bbox.tolist() == [[0, 2, 5, 18]]
    assert found_of(dataset(rows)).bbox.tolist() == [[0, 2, 5, 30]]
    assert votes_of(dataset(rows)).left_out.tolist() == [0, EMPTY]
    assert votes_of(dataset(rows)).n_clipped == 1


def test_a_tie_is_for_the_annotator_who_agrees_most_then_for_the_most_frequent_category():
    far = [(50.0 * place + 100, 10.0, 10.0, 10.0) for place in range(3)]
    # Annotator 2 names the other objects as 1 does; 0 does not.
    rows = [(0, 0, 0, BOX), (0, 2, 1, BOX)]
    rows += [(0, who, int(who > 0), box) for who in (0, 1, 2) for box in far]
    found = found_of(dataset(rows))
    assert found.category.tolist() == [1, 1, 1, 1]
    assert found.is_tie.tolist() == [True, False, False, False]
    # Nobody agrees with anybody: the most frequent category, then the first by name.
    rows = [(0, 0, 1, BOX), (0, 1, 0, BOX), (0, 0, 1, far[0])]
    assert found_of(dataset(rows)).category.tolist() == [1, 1]
    assert found_of(dataset(rows[:2])).category.tolist() == [0]


def test_an_object_drawn_twice_by_one_annotator_is_one_vote_with_the_mean_of_the_edges():
    again = (11.0, 10.0, 10.0, 10.0)
    rows = [(0, 0, 0, BOX), (0, 0, 1, again), (0, 0, 1, again), (0, 1, 0, BOX)]
    found = found_of(dataset(rows, n_annotators=3))
    assert (len(found), found.votes[0]) == (1, 2)
    assert found.bbox[0].tolist() == pytest.approx([10 + 1 / 3, 10, 10, 10])
    assert found.spread[0].tolist() == pytest.approx([2 / 3, 0, 2 / 3, 0])
    # Boxes of one annotator that overlap less are two objects.
    rows = [(0, 0, 0, BOX), (0, 0, 0, (13.0, 10.0, 10.0, 10.0))]
    assert len(found_of(dataset(rows))) == 2


def test_nothing_drawn_gives_no_objects():
    assert len(found_of(dataset([], n_images=3, n_annotators=2))) == 0


def test_too_many_boxes_in_one_place_are_refused_before_memory_is_taken():
    rows = [(0, 0, 0, (10 + n / 100, 10.0, 50.0, 50.0)) for n in range(3000)]
    with pytest.raises(DatasetError, match="too many boxes of one annotator overlap"):
        votes_of(dataset(rows))
