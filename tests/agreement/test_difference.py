"""The difference of two coefficients, by replaying the draws that both share."""

import numpy as np
import pytest
from hypothesis import assume, given
from support.ratings import jackknife_of, reliability, tables
from support.resampled import expanded

from bboxqa import stats
from bboxqa.agreement.levels import alpha
from bboxqa.agreement.resampling import drawn_counts, paired_difference
from bboxqa.agreement.unit_counts import unit_counts
from bboxqa.core.errors import ConfigError


def estimated(values):
    return alpha(unit_counts(reliability(values)))


def numbers(values, start=0):
    return np.arange(start, start + np.shape(values)[1])


def noisy(seed, share, truth):
    rng = np.random.default_rng(seed)
    wrong = rng.random((2, len(truth))) < share
    return np.where(wrong, rng.integers(0, 4, wrong.shape), truth)


TRUTH = np.random.default_rng(0).integers(0, 4, 80)


@given(tables(units=(3, 6)), tables(units=(3, 6)))
def test_both_see_the_same_draws(ours, theirs):
    first, second = estimated(ours), estimated(theirs)
    assume(not np.isnan(first.value + second.value))
    shift = 2
    found = paired_difference(first, second, numbers(ours), numbers(theirs, shift), 30, 4)
    assert found.value == pytest.approx(first.value - second.value)
    names = sorted({*first.clusters.tolist(), *(second.clusters + shift).tolist()})
    common = set(first.clusters.tolist()) & set((second.clusters + shift).tolist())
    assert (found.n_clusters, found.n_common) == (len(names), len(common))
    if len(names) < 2:
        assert np.isnan([*found.interval, found.standard_error]).all()
        return
    (weights,) = drawn_counts(len(names), 30, 4)
    expected = []
    for drawn in weights.T.astype(int):
        units = np.repeat(names, drawn)
        left = ours[:, [unit for unit in units if unit in first.clusters]]
        right = theirs[:, [unit - shift for unit in units if unit - shift in second.clusters]]
        expected.append(estimated(left).value - estimated(right).value)
    if np.isnan(expected).mean() > 0.05:
        assert np.isnan([*found.interval, found.standard_error]).all()
        return
    bounds = expanded(expected, min(len(first.clusters), len(second.clusters)))
    assert found.interval == pytest.approx(tuple(bounds), abs=1e-9)
    assert found.standard_error == pytest.approx(np.nanstd(expected, ddof=1), abs=1e-9)


@pytest.mark.parametrize("which", ["first", "second"])
def test_undefined(which):
    fine, broken = estimated(noisy(1, 0.1, TRUTH)), estimated([[1, 1, 1], [1, 1, 1]])
    both = (broken, fine) if which == "first" else (fine, broken)
    names = [np.arange(estimator.sums.shape[1]) for estimator in both]
    found = paired_difference(*both, *names, 50, 0)
    assert np.isnan([found.value, *found.interval, found.standard_error]).all()
    assert found.status == (
        f"{which}: undefined: only one value occurs, so no disagreement is possible"
    )


def columns(values, names):
    units = np.tile(names, len(values))
    annotators = np.repeat([f"a{row}" for row in range(len(values))], len(names))
    return stats.ratings_from_columns(units.tolist(), annotators.tolist(), np.ravel(values))


def test_units_of_the_same_name_are_the_same():
    values, other = noisy(1, 0.1, TRUTH), noisy(2, 0.4, TRUTH)
    names = np.array([f"u{place:03}" for place in range(80)])
    turned = names[::-1]
    expected = stats.difference(columns(values, names), columns(other, names), bootstrap=100)
    found = stats.difference(columns(values, names), columns(other[:, ::-1], turned), bootstrap=100)
    assert found == expected
    assert found.n_common == 80
    strangers = columns(other, np.char.add("other", names))
    assert stats.difference(columns(values, names), strangers, bootstrap=40).n_common == 0


def test_other_coefficients_and_levels():
    ours = stats.ratings_from_table(noisy(1, 0.1, TRUTH))
    theirs = stats.ratings_from_table(noisy(2, 0.4, TRUTH))
    for name, level in (("fleiss_kappa", "nominal"), ("krippendorff_alpha", "interval")):
        found = stats.difference(ours, theirs, name, level=level, bootstrap=40)
        each = [
            stats.measure(part, [name], level=level, bootstrap=0).coefficients[name].value
            for part in (ours, theirs)
        ]
        assert found.value == pytest.approx(each[0] - each[1])


def test_of_two_groups_of_annotators():
    values = np.concatenate([noisy(1, 0.1, TRUTH), noisy(2, 0.5, TRUTH)])
    ratings = stats.ratings_from_table(values, annotator_names=["a", "b", "c", "d"])
    parts = [stats.only_annotators(ratings, names) for names in (["a", "b"], ["d", "c"])]
    found = stats.difference(*parts, bootstrap=100)
    assert found.value == pytest.approx(estimated(values[:2]).value - estimated(values[2:]).value)
    assert found.n_common == 80


@pytest.mark.parametrize("name", ["cohen_kappa", "light_kappa"])
@pytest.mark.parametrize("sizes", [(3, 3), (3, 2), (2, 3)])
def test_means_over_pairs_are_drawn_in_pairs(name, sizes):
    truth = TRUTH[:30]
    values = [
        np.concatenate([noisy(seed, 0.2, truth), noisy(seed + 1, 0.5, truth)])[:n]
        for seed, n in zip((1, 5), sizes, strict=True)
    ]
    names = np.arange(30), np.arange(4, 34)

    def measured(left_out):
        each = [
            stats.measure(
                stats.ratings_from_table(part[:, own != left_out]), [name], bootstrap=0
            ).coefficients[name].value
            for part, own in zip(values, names, strict=True)
        ]  # fmt: skip
        return each[0] - each[1]

    parts = [
        columns(part, np.char.mod("u%03d", own)) for part, own in zip(values, names, strict=True)
    ]
    found = stats.difference(*parts, name, bootstrap=4000)
    assert found.value == pytest.approx(measured(-1))
    assert (found.n_clusters, found.n_common, found.status) == (34, 26, "ok")
    error = jackknife_of([measured(unit) for unit in range(34)])
    assert found.standard_error == pytest.approx(error, rel=0.1)
    reach = 1.96 * error
    assert found.interval == pytest.approx((found.value - reach, found.value + reach), abs=0.06)
    same = stats.difference(parts[0], parts[0], name)
    assert (same.value, same.standard_error, same.interval) == (0, 0, (0, 0))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"coefficient": "kappa"}, "coefficient is 'kappa'; expected one of "),
        ({"coefficient": "all"}, "coefficient is 'all'; expected one name"),
        ({"level": "ordinal"}, "is not a number"),
    ],
)
def test_what_is_refused(settings, message):
    ours = stats.ratings_from_table([["low", "high"], ["low", "low"]])
    with pytest.raises(ConfigError, match=message):
        stats.difference(ours, ours, **settings)
