"""Images in the places of others: whose, and how often."""

from itertools import permutations

import numpy as np

from bboxqa.agreement.objects import chance_slots


def slots_of(assigned, kind=None, passes=1, seed=0, ranks=None):
    """Return (pass, image, annotator, source) of every row."""
    assigned = np.array(assigned, bool)
    image, annotator = np.nonzero(assigned)
    kind = np.zeros(len(assigned), int) if kind is None else np.array(kind)
    ranks = tuple(map(np.arange, assigned.shape)) if ranks is None else ranks
    generator = np.random.default_rng(seed)
    found = chance_slots(image, annotator, kind[image], ranks, passes, generator)
    number, image = np.divmod(found.place, len(assigned))
    columns = (number, image, found.annotator, found.source)
    return list(zip(*(column.tolist() for column in columns), strict=True))


def test_all_annotators_of_the_same_images_take_part_in_every_place():
    rows = slots_of(np.ones((6, 4)), passes=3)
    assert len(rows) == 3 * 6 * 4
    for number in range(3):
        for annotator in range(4):
            # Each brings each of the images once.
            brought = [row[3] for row in rows if row[0] == number and row[2] == annotator]
            assert sorted(brought) == list(range(6))


def test_every_two_images_meet_equally_often():
    rows = slots_of(np.ones((4, 2)), passes=3000)
    pairs = [(one[3], other[3]) for one, other in zip(rows[::2], rows[1::2], strict=True)]
    for pair in permutations(range(4), 2):
        # 12,000 places and 12 ordered pairs; the standard deviation is about 30.
        assert abs(pairs.count(pair) - 1000) < 120


def test_random_numbers_follow_the_ranks():
    assigned = np.random.default_rng(1).random((9, 4)) < 0.7
    images, annotators = np.random.default_rng(2).permutation(9), np.array([2, 0, 3, 1])
    rows = slots_of(assigned, passes=4)
    renamed = np.zeros_like(assigned)
    renamed[np.ix_(images, annotators)] = assigned
    ranks = np.argsort(images), np.argsort(annotators)
    expected = sorted((n, images[i], annotators[a], images[s]) for n, i, a, s in rows)
    assert slots_of(renamed, passes=4, ranks=ranks) == expected
