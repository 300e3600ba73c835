"""Categories of an annotator and of the others, against counting object by object."""

from collections import Counter, defaultdict

import pytest
from support.datasets import dataset
from support.matched import matched, objects_of, random_data

from bboxqa.diagnostics.categories import category_use, confusion_matrix
from bboxqa.model.diagnosis import NO_BOX


def _most(said):
    """Return what more than half said, or nothing."""
    return next((each for each, n in Counter(said).items() if 2 * n > len(said)), "")


@pytest.mark.parametrize(("seed", "n_annotators"), [(1, 2), (2, 3), (3, 5)])
def test_confusion_matrix_one_by_one(seed, n_annotators):
    units = matched(random_data(seed, n_annotators=n_annotators))
    names, categories = units.data.annotator_names, units.data.category_names
    of = units.data.annotations.category
    expected, by_most = Counter(), Counter()
    for _, asked, drawn in objects_of(units):
        said = {a: categories[of[drawn[a]]] if a in drawn else "(no box)" for a in asked.tolist()}
        expected.update(
            (names[a], said[a], said[b])
            for a in said
            for b in said
            if a != b and {said[a], said[b]} != {"(no box)"}
        )
        by_most.update(
            (names[a], said[a], most)
            for a in said
            if (most := _most([said[b] for b in said if b != a])) and {said[a], most} != {NO_BOX}
        )
    table = confusion_matrix(units)
    assert {(a, c, d): n for a, c, d, n, *_ in table.rows()} == expected
    assert {(a, c, d): n for a, c, d, _, _, n in table.rows() if n} == by_most
    of_row = defaultdict(int)
    for (annotator, category, _), n in expected.items():
        of_row[annotator, category] += n
    for annotator, category, _, n, share, _ in table.rows():
        assert share == pytest.approx(n / of_row[annotator, category])


@pytest.mark.parametrize(("seed", "n_annotators"), [(1, 2), (2, 3), (3, 5)])
def test_category_use_one_by_one(seed, n_annotators):
    units = matched(random_data(seed, n_annotators=n_annotators))
    names, categories = units.data.annotator_names, units.data.category_names
    of = units.data.annotations.category
    used, by_others = Counter(), Counter()
    for _, _, drawn in objects_of(units):
        for who, row in drawn.items():
            most = _most([categories[of[other]] for name, other in drawn.items() if name != who])
            if most:
                by_others[names[who], most] += 1
                used[names[who], categories[of[row]]] += 1
    table = category_use(units)
    for annotator, category, n_used, n_expected, use, *_ in table.rows():
        key = annotator, category
        assert n_used == used.pop(key, 0)
        assert n_expected == pytest.approx(by_others.pop(key, 0))
        assert use == (pytest.approx(n_used / n_expected) if n_expected else None)
    assert not used
    assert not by_others


def test_alone_with_everything():
    # Nobody shares an object: no category is used in the place of another one.
    units = matched(dataset([(0, 0, 0, (1, 1, 4, 4)), (0, 1, 0, (20, 20, 4, 4))]), bootstrap=50)
    assert len(category_use(units)) == 0
    assert {row[1:4] for row in confusion_matrix(units).rows()} == {
        ("category 0000", "(no box)", 1),
        ("(no box)", "category 0000", 1),
    }
