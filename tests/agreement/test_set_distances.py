"""Sets of labels: read in any notation, and compared by MASI and Jaccard's distance."""

import json
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bboxqa.agreement.levels import set_distance
from bboxqa.core.errors import ConfigError
from bboxqa.model.ratings import set_of
from bboxqa.stats import contributions, measure, ratings_from_columns, read_ratings

SETS = st.frozensets(st.sampled_from("abcde"), max_size=4)


def masi(one, other):
    """Passonneau (2006); nltk rounds the thirds to 0.67 and 0.33."""
    common = len(one & other)
    if not one | other:
        return 0.0
    part = 1.0 if one == other else 2 / 3 if common == min(len(one), len(other)) else 1 / 3
    return 1 - common / len(one | other) * part


def jaccard(one, other):
    return 1 - len(one & other) / len(one | other) if one | other else 0.0


DISTANCES = {"masi": masi, "jaccard": jaccard}


def alpha_of(pairs, distance):
    """Krippendorff's alpha of two annotators without missing values, by all pairs of values."""
    values = [each for pair in pairs for each in pair]
    observed = np.mean([distance(*pair) for pair in pairs])
    expected = np.mean([distance(*pair) for pair in permutations(values, 2)])
    return 1 - observed / expected if expected > 1e-12 else np.nan


# As nltk.metrics.distance documents them: masi_distance 0.665 and jaccard_distance 0.5.
@pytest.mark.parametrize(
    ("one", "other", "of_masi", "of_jaccard"),
    [
        ({1, 2}, {1, 2, 3, 4}, 0.665, 0.5), ({1, 2}, {1, 2}, 0, 0),
        ({1, 2}, {2, 3}, 1 - 0.33 / 3, 2 / 3), ({1}, {2}, 1, 1), (set(), {2}, 1, 1),
        (set(), set(), 0, 0),
    ],
)  # fmt: skip
def test_known_distances(one, other, of_masi, of_jaccard):
    values = [str(sorted(one)), str(sorted(other)), "[9]"]
    for name, expected in (("masi", of_masi), ("jaccard", of_jaccard)):
        found = set_distance(name, values).between
        assert found[0, 1] == found[1, 0] == pytest.approx(expected, abs=0.002)


@pytest.mark.parametrize("name", DISTANCES)
@given(pairs=st.lists(st.tuples(SETS, SETS), min_size=2, max_size=7))
def test_alpha_of_sets_equals_that_of_all_pairs(name, pairs):
    if not any(each for pair in pairs for each in pair):
        return
    cells = [list(each) for pair in pairs for each in pair]
    unit = [place for place in range(len(pairs)) for _ in range(2)]
    ratings = ratings_from_columns(unit, ["x", "y"] * len(pairs), cells)
    found = measure(ratings, "krippendorff_alpha", level=name, bootstrap=0)
    expected = alpha_of(pairs, DISTANCES[name])
    value = found.coefficients["krippendorff_alpha"].value
    assert value == pytest.approx(expected, nan_ok=True, abs=1e-12)
    assert contributions(ratings, level=name).alpha == pytest.approx(value, nan_ok=True)


@pytest.mark.parametrize(
    ("first", "second"),
    [("[5, 6]", "[6, 5]"), ("['a', 'b']", '["b", "a"]'), ('{"choices": ["a"]}', "{'a'}")],
)
def test_equal_sets_agree_in_any_order_and_notation(tmp_path, first, second):
    path = tmp_path / "a.jsonl"
    cells = [("u", "x", first), ("u", "y", second), ("v", "x", "[7]"), ("v", "y", "[8]")]
    keys = ("unit", "annotator", "value")
    path.write_text("\n".join(json.dumps(dict(zip(keys, each, strict=True))) for each in cells))
    found = measure(read_ratings(path)[None], "percent_agreement", bootstrap=0)
    assert found.coefficients["percent_agreement"].value == 0.5
    assert any("values are sets of labels" in note for note in found.notes)


def test_lists_of_json_lines_are_sets_and_pairs_of_numbers_are_not(tmp_path):
    path = tmp_path / "a.jsonl"
    cells = {"x": [5, 6], "y": [6, 5, 5]}
    rows = [{"unit": 1, "annotator": who, "value": each} for who, each in cells.items()]
    path.write_text("\n".join(map(json.dumps, rows)))
    assert read_ratings(path)[None].value_names == ("[5, 6]",)
    assert [set_of(each) for each in ("(1, 2)", "[[1]]", "[x]", "{'a': 1}", "[" * 9)] == [None] * 5


def test_levels_of_sets_need_sets():
    ratings = ratings_from_columns([1, 1], ["x", "y"], ["a", "b"])
    with pytest.raises(ConfigError, match="level masi: no value is a list of labels"):
        measure(ratings, level="masi")
    sets = ratings_from_columns([1, 1], ["x", "y"], [["a"], ["b"]])
    with pytest.raises(ConfigError, match="is not a number"):
        measure(sets, level="interval")
