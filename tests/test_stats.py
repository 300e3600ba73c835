"""Measuring ratings of any kind: what is measured, what is undefined, and what is said."""

from itertools import permutations

import numpy as np
import pytest

from bboxqa import stats
from bboxqa.agreement.consistency import CRONBACH_WARNING
from bboxqa.core.errors import ConfigError

RNG = np.random.default_rng(0)
CODES = RNG.integers(1, 4, (3, 40))
CODES[1:] = np.where(RNG.random((2, 40)) < 0.7, CODES[0], CODES[1:])
DEFAULT = ["krippendorff_alpha", "cohen_kappa", "gwet_ac1", "percent_agreement"]
REPEATED = (
    "undefined: an annotator answered a unit several times; only means over pairs are defined"
)
NO_PAIR = "undefined: no unit has two values to compare"
NO_VARIATION = "undefined: only one value occurs, so no disagreement is possible"
NAMELESS = "undefined: counts do not say who gave which value"
OF_PAIRS = {"cohen_kappa", "choice_kappa", "light_kappa"}


def table(values=CODES, **more):
    return stats.ratings_from_table(values, **more)


def statuses(ratings, **settings):
    found = stats.measure(ratings, ["all"], bootstrap=0, **settings)
    return {name: estimate.status for name, estimate in found.coefficients.items()}


def repeated():
    return stats.ratings_from_columns(
        ["u", "u", "u", "v", "v"], ["a", "a", "b", "a", "b"], [1, 2, 1, 2, 2]
    )


def counts(tmp_path, text="unit,no,yes\n1,2,1\n2,0,3\n3,3,0\n4,1,2\n"):
    path = tmp_path / "counts.csv"
    path.write_text(text)
    return stats.read_ratings(path, layout="counts")[None]


def test_by_default():
    found = stats.measure(table(), bootstrap=50, task="colours")
    assert found.task == "colours"
    assert (found.n_units, found.n_annotators, found.n_ratings) == (40, 3, 120)
    assert list(found.coefficients) == DEFAULT
    for estimate in found.coefficients.values():
        low, high = estimate.interval
        assert low < estimate.value < high
        assert 0 < estimate.standard_error < 0.2
        assert estimate.status == "ok"
    assert found.annotator_names == ("1", "2", "3")
    assert found.pairs.n_shared.tolist() == [40, 40, 40]
    assert found.coefficients["cohen_kappa"].n_shared == 120
    assert found.coefficients["krippendorff_alpha"].n_shared is None


@pytest.mark.parametrize("wanted", [["all"], "all"])
def test_all(wanted):
    found = stats.measure(table(), wanted, bootstrap=0)
    assert list(found.coefficients) == list(stats.COEFFICIENTS)
    status = {name: estimate.status for name, estimate in found.coefficients.items()}
    assert status.pop("choice_kappa") == "undefined: needs the number of options of each unit"
    assert status.pop("scott_pi") == (
        "undefined: for two annotators only; for more there is fleiss_kappa"
    )
    assert status.pop("gwet_ac2") == "undefined: needs weights; without them it is gwet_ac1"
    assert set(status.values()) == {"ok"}


def test_weights_make_ac2_and_change_what_has_weights():
    plain = stats.measure(table(), ["all"], bootstrap=0).coefficients
    found = stats.measure(table(), ["all"], weights="linear", bootstrap=0).coefficients
    assert found["gwet_ac2"].status == "ok"
    for name in ("cohen_kappa", "light_kappa", "conger_kappa", "fleiss_kappa",
                 "brennan_prediger", "percent_agreement"):  # fmt: skip
        assert found[name].value != plain[name].value
    for name in ("krippendorff_alpha", "gwet_ac1", "cronbach_alpha"):
        assert found[name].value == plain[name].value


def test_names_in_the_order_of_the_registry_each_once():
    names = ["percent_agreement", "fleiss_kappa", "fleiss_kappa"]
    found = stats.measure(table(), names, bootstrap=0)
    assert list(found.coefficients) == ["fleiss_kappa", "percent_agreement"]
    assert found.pairs is None


def test_level_is_that_of_alpha():
    names = ["krippendorff_alpha", "cohen_kappa"]
    values = {
        level: stats.measure(table(), names, level=level, bootstrap=0).coefficients
        for level in ("nominal", "ordinal", "interval", "ratio")
    }
    assert len({found["krippendorff_alpha"].value for found in values.values()}) == 4
    assert len({found["cohen_kappa"].value for found in values.values()}) == 1
    own = stats.measure(table(), level=lambda a, b: (a - b) ** 2, bootstrap=0).coefficients
    expected = values["interval"]["krippendorff_alpha"].value
    assert own["krippendorff_alpha"].value == pytest.approx(expected)


@pytest.mark.parametrize("level", ["ordinal", "interval", "ratio", lambda a, b: abs(a - b)])
def test_only_alpha_knows_of_levels(level):
    found = stats.measure(table(), level=level, bootstrap=0)
    assert list(found.coefficients) == ["krippendorff_alpha"]
    assert found.pairs is None
    both = stats.measure(table(), ["fleiss_kappa", "krippendorff_alpha"], level=level, bootstrap=0)
    assert list(both.coefficients) == ["krippendorff_alpha", "fleiss_kappa"]
    columns = {"alpha_without", "fleiss_kappa", "standard_error", "low", "high"}
    assert set(both.values["1"]) == columns
    # Answers that are repeated, and choices, have one coefficient whatever the level.
    assert list(stats.measure(repeated(), level=level, bootstrap=0).coefficients) == ["cohen_kappa"]


def test_without_bootstrap_there_is_no_interval():
    for estimate in stats.measure(table(), bootstrap=0).coefficients.values():
        assert estimate.standard_error > 0
        assert np.isnan(estimate.interval).all()


@pytest.mark.parametrize("name", ["cohen_kappa", "light_kappa"])
def test_intervals_of_a_mean_over_pairs(name):
    percentile, bca = (
        stats.measure(table(), [name], bootstrap=4000, interval=kind).coefficients[name]
        for kind in ("percentile", "bca")
    )
    # Student's t of 40 units less one.
    reach = 2.0227 * percentile.standard_error
    for found in (percentile, bca):
        assert found.interval == pytest.approx((found.value - reach, found.value + reach), abs=0.02)
    assert percentile.interval != bca.interval


def test_interval_of_a_mean_over_pairs_stays_on_the_scale():
    values = np.tile([0, 1], (3, 10))
    values[2, 0] = 1
    found = stats.measure(table(values), ["cohen_kappa"]).coefficients["cohen_kappa"]
    assert found.value + 1.96 * found.standard_error > 1
    assert found.interval[0] < found.value < found.interval[1] <= 1
    values[2] = 1 - values[2]
    values[1:, 0] = values[0, 0]
    found = stats.measure(table(values[::2]), ["cohen_kappa"]).coefficients["cohen_kappa"]
    assert -1 <= found.interval[0] < found.value


def test_points_of_a_scale_are_not_left_out_one_by_one():
    scores = np.tile(np.arange(101) / 10, (3, 1))
    scores[0, :50] += 0.1
    found = stats.measure(table(scores), ["krippendorff_alpha"], level="interval", bootstrap=0)
    assert found.values == {}
    assert len(found.annotators) == 3


def test_nobody_can_be_left_out_of_two_annotators_or_values():
    two = stats.measure(table(CODES[:2]), bootstrap=0)
    assert two.annotators == {}
    assert set(two.values) == {"1", "2", "3"}
    binary = stats.measure(table((CODES == 1).astype(int)), bootstrap=0)
    assert set(binary.annotators) == {"1", "2", "3"}
    assert binary.values == {}


def test_many_values_are_not_told_apart():
    values = np.tile(np.arange(2001), (2, 1))
    assert stats.measure(table(values), ["all"], bootstrap=0).values == {}
    assert len(stats.measure(table(values[:, 1:]), ["all"], bootstrap=0).values) == 2000


def test_choices_are_measured_as_choices():
    ratings = table([["none", "x"], ["none", "y"]], n_options=[2, 4])
    found = stats.measure(ratings, bootstrap=0)
    assert list(found.coefficients) == ["choice_kappa"]
    estimate = found.coefficients["choice_kappa"]
    assert (estimate.observed, estimate.n_shared) == (0.5, 2)
    assert estimate.expected == pytest.approx(0.25 + 0.25 * 2 / 6)
    assert found.pairs.kappa[0] == estimate.value
    # Cohen's kappa of the same answers does not know of options.
    cohen = stats.measure(ratings, ["cohen_kappa"], bootstrap=0).coefficients["cohen_kappa"]
    plain = stats.measure(table([["none", "x"], ["none", "y"]]), ["cohen_kappa"], bootstrap=0)
    expected = plain.coefficients["cohen_kappa"]
    assert (cohen.value, cohen.expected) == (expected.value, expected.expected) == (1 / 3, 0.25)


def test_repeated_answers_leave_means_over_pairs():
    ratings = repeated()
    measured = stats.measure(ratings, bootstrap=0)
    assert list(measured.coefficients) == ["cohen_kappa"]
    assert (measured.annotators, measured.values) == ({}, {})
    assert (
        "an annotator answered a unit several times; if these are different questions, "
        "name their column with --by"
    ) in measured.notes
    found = statuses(ratings)
    assert {name for name, status in found.items() if status == REPEATED} == (set(found) - OF_PAIRS)
    assert found["cohen_kappa"] == "ok"


def test_counts_do_not_say_who(tmp_path):
    ratings = counts(tmp_path)
    found = stats.measure(ratings, bootstrap=0)
    assert list(found.coefficients) == [
        "krippendorff_alpha", "fleiss_kappa", "gwet_ac1", "percent_agreement"
    ]  # fmt: skip
    status = statuses(ratings)
    for name in ("cohen_kappa", "light_kappa", "conger_kappa", "scott_pi", "cronbach_alpha"):
        assert status[name] == NAMELESS
    assert found.pairs is None
    assert found.annotators == {}
    assert list(found.values) == ["no", "yes"]
    assert stats.measure(ratings, ["all"], bootstrap=0).pairs is None
    named = table([["no", "yes", "no", "no"], ["no", "yes", "no", "yes"],
                   ["yes", "yes", "no", "yes"]])  # fmt: skip
    expected = stats.measure(named, ["fleiss_kappa"], bootstrap=0).coefficients["fleiss_kappa"]
    assert found.coefficients["fleiss_kappa"].value == pytest.approx(expected.value)


def test_scott_is_fleiss_of_the_units_that_two_rated():
    values = np.array([[1, 2, 1, 2, 3, None], [1, 2, 2, 2, None, 1]], object)
    found = stats.measure(table(values), ["scott_pi"], bootstrap=0).coefficients["scott_pi"]
    whole = stats.measure(table(values[:, :4]), ["fleiss_kappa"], bootstrap=0)
    assert found.value == pytest.approx(whole.coefficients["fleiss_kappa"].value)


def test_no_unit_has_two_ratings():
    found = stats.measure(table([[1, None], [None, 2]]), ["all"], bootstrap=50)
    status = {name: estimate.status for name, estimate in found.coefficients.items()}
    for name in [*DEFAULT, "fleiss_kappa", "conger_kappa", "scott_pi", "light_kappa"]:
        assert status[name] == NO_PAIR
        assert np.isnan(found.coefficients[name].value)
        assert np.isnan(found.coefficients[name].interval).all()
    assert (found.n_units, found.n_annotators, found.n_ratings) == (2, 2, 2)


def test_one_value_only():
    found = stats.measure(table([["a"] * 5] * 2), bootstrap=50).coefficients
    assert found["krippendorff_alpha"].status == NO_VARIATION
    assert np.isnan(found["krippendorff_alpha"].value)
    assert found["cohen_kappa"].value == 1
    assert found["percent_agreement"].value == 1


def notes(ratings, names=("fleiss_kappa",), **settings):
    return stats.measure(ratings, list(names), **settings).notes


FEW = "intervals come from resampling, and are somewhat too narrow with 7 units only"
LOST = (
    "no interval for fleiss_kappa: two units only, or too many resamples leave it undefined or on "
    "one side"
)
SINGLE = CODES.astype(object)
SINGLE[1, 0] = SINGLE[1:, 1] = None
# One of all pairs of annotators gave one value only.
OF_ONE = [[1, 1, 1, 1, None], [1, 1, 1, 1, None], [1, 1, 1, 2, 2], [1, 1, 2, 2, 2]]


@pytest.mark.parametrize(
    ("values", "name", "settings", "said"),
    [
        (CODES, "fleiss_kappa", {}, []),
        (CODES, "krippendorff_alpha", {"level": "interval"},
         ["krippendorff_alpha is of interval data"]),
        (CODES, "fleiss_kappa", {"weights": "linear"},
         ["linear weights in kappas, gwet_ac2 and percent agreement"]),
        (CODES, "cronbach_alpha", {"bootstrap": 0}, [CRONBACH_WARNING]),
        (CODES[:, :7], "fleiss_kappa", {}, [FEW]),
        (CODES[:, :7], "fleiss_kappa", {"bootstrap": 0}, []),
        ([[1, None, None], [1, None, None], [2, None, None]], "fleiss_kappa", {},
         ["no intervals: they come from resampling, and there is one unit only"]),
        # What is undefined says so itself.
        (np.ones((3, 3), int), "fleiss_kappa", {}, []),
        (np.eye(2, 30, 29, int) + 1, "fleiss_kappa", {}, [f"{LOST} of it"]),
        (SINGLE, "fleiss_kappa", {"bootstrap": 0},
         ["units have 1 to 3 ratings", "1 unit with one rating only: nothing to compare there"]),
        (OF_ONE, "fleiss_kappa", {"bootstrap": 0}, ["units have 2 to 4 ratings"]),
    ],
)  # fmt: skip
def test_notes(values, name, settings, said):
    assert [*notes(table(values), [name], **settings)] == said


@pytest.mark.parametrize(
    ("call", "message"),
    [
        *((lambda number=number: stats.measure(table(), ["fleiss_kappa"], bootstrap=number),
           f"bootstrap is {number}; expected 0, or 40 to 100,000")
          for number in (1, 20, 39, 100_001, -1)),
        (lambda: stats.only_annotators(table(annotator_names=["a", "b", "c"]), ["a", "d", "e"]),
         "annotator is 'd'; expected one of a, b, c"),
        (lambda: stats.contributions(repeated()),
         "an annotator answered a unit several times; keep one of the answers"),
    ],
)  # fmt: skip
def test_what_is_refused(call, message):
    with pytest.raises(ConfigError) as error:
        call()
    assert str(error.value) == message


def test_units_that_nothing_is_compared_in_do_not_widen_intervals():
    values = np.full((3, 40), None, object)
    values[:, :7], values[0] = CODES[:, :7], CODES[0]
    assert notes(table(values), ["krippendorff_alpha"])[-1] == FEW


def test_the_error_of_gwet_widens_by_single_ratings_and_the_interval_does_not():
    values = CODES.astype(object)
    single = np.concatenate([values, np.full((3, 60), None)], axis=1)
    single[0, 40:] = RNG.integers(1, 4, 60)
    whole, wider = (
        stats.measure(table(part), ["percent_agreement"]).coefficients["percent_agreement"]
        for part in (values, single)
    )
    assert wider.value == pytest.approx(whole.value)
    assert wider.standard_error > 1.05 * whole.standard_error


def test_more_annotators_than_units_are_told():
    rows = [(unit, annotator, "xy"[(unit * annotator) % 2]) for unit in range(3)
            for annotator in range(9)]  # fmt: skip
    ratings = stats.ratings_from_columns(*zip(*rows, strict=True))
    said = (
        "more annotators (9) than units (3): if it is the other way round, swap unit and annotator"
    )
    assert said in notes(ratings, bootstrap=0)
    turned = stats.ratings_from_columns(*zip(*((b, a, v) for a, b, v in rows), strict=True))
    assert said not in notes(turned, bootstrap=0)


@pytest.mark.parametrize("coefficient", ["cohen_kappa", "choice_kappa"])
def test_every_pair_has_an_interval_about_its_kappa(coefficient):
    rng = np.random.default_rng(3)
    truth = rng.integers(0, 3, 60)
    codes = np.where(rng.random((4, 60)) < 0.7, truth, rng.integers(0, 3, (4, 60)))
    names = np.array(["none", "a", "b"])[codes]
    options = np.full(60, 2) if coefficient == "choice_kappa" else None
    ratings = stats.ratings_from_table(names, n_options=options)
    pairs = stats.measure(ratings, [coefficient], bootstrap=0).pairs
    assert len(pairs) == 6
    assert (pairs.interval[:, 0] < pairs.kappa).all()
    assert (pairs.kappa < pairs.interval[:, 1]).all()
    # As wide as resampling finds it, where two are measured alone.
    two = stats.ratings_from_table(names[:2], n_options=options)
    low, high = stats.measure(two, [coefficient]).coefficients[coefficient].interval
    assert pairs.interval[0] == pytest.approx([low, high], abs=0.06)


@pytest.mark.parametrize("interval", ["percentile", "bca"])
def test_an_interval_of_two_units_is_given_or_refused_with_its_reason(interval):
    found = stats.measure(table([[1, 2], [1, 1]]), ["fleiss_kappa"], interval=interval)
    is_refused = np.isnan(found.coefficients["fleiss_kappa"].interval[0])
    assert is_refused == any(note.startswith("no interval for fleiss") for note in found.notes)
    assert is_refused or interval == "percentile"


@pytest.mark.parametrize(
    ("settings", "asked"),
    [
        ({"level": "ordinal"}, "level ordinal"),
        ({"level": "interval"}, "level interval"),
        ({"weights": "linear"}, "weights linear"),
        ({"level": lambda a, b: abs(a - b)}, "distance function"),
    ],
)
def test_texts_have_no_order(settings, asked):
    ratings = table([["1", "low", "high"], ["1", "low", "low"]])
    with pytest.raises(ConfigError) as error:
        stats.measure(ratings, bootstrap=0, **settings)
    assert str(error.value) == (
        f"{asked}: value 'high' is not a number, so that its order is unknown; "
        "write the values as numbers, such as 1 for low and 2 for high"
    )


def test_weights_that_are_not_symmetric_are_averaged():
    one_way, other_way = np.eye(3), np.eye(3)
    one_way[0, 1], other_way[1, 0] = 0.8, 0.8
    values = {
        stats.measure(table(), ["gwet_ac2"], weights=matrix, bootstrap=0)
        .coefficients["gwet_ac2"].value
        for matrix in (one_way, other_way, (one_way + other_way) / 2)
    }  # fmt: skip
    assert max(values) == pytest.approx(min(values), abs=1e-12)


def test_texts_have_own_weights():
    ratings = table([["a", "b", "c"], ["a", "b", "b"]])
    found = stats.measure(ratings, weights=np.eye(3), bootstrap=0).coefficients
    plain = stats.measure(ratings, bootstrap=0).coefficients
    assert found["cohen_kappa"].value == pytest.approx(plain["cohen_kappa"].value)


def test_only_some_annotators():
    ratings = table(annotator_names=["a", "b", "c"])
    part = stats.only_annotators(ratings, ["c", "a"])
    found = stats.measure(part, bootstrap=0)
    assert (found.n_units, found.n_annotators, found.n_ratings) == (40, 2, 80)
    assert found.annotator_names == ("a", "b", "c")
    expected = stats.measure(table(CODES[[0, 2]]), bootstrap=0)
    for name, estimate in found.coefficients.items():
        assert estimate.value == pytest.approx(expected.coefficients[name].value)
        error = expected.coefficients[name].standard_error
        assert estimate.standard_error == pytest.approx(error)
    assert len(ratings.data.unit) == 120


def test_alpha_without_each_unit_annotator_and_value():
    found = stats.contributions(table())
    measured = stats.measure(table(annotator_names=["a", "b", "c"]), bootstrap=0)
    assert found.alpha == measured.coefficients["krippendorff_alpha"].value
    assert len(found.without_units) == 40
    for row in range(3):
        rest = stats.measure(table(np.delete(CODES, row, axis=0)), bootstrap=0).coefficients
        assert found.without_annotators[row] == pytest.approx(rest["krippendorff_alpha"].value)
    assert measured.annotators == dict(zip("abc", found.without_annotators, strict=True))
    without = [{"alpha_without": value} for value in found.without_values]
    assert measured.values == dict(zip("123", without, strict=True))


def test_contributions_of_counts(tmp_path):
    """Nobody can be left out who is not known."""
    found = stats.contributions(counts(tmp_path))
    assert not np.isfinite(found.without_annotators).any()


def test_measuring_changes_no_argument():
    ratings = table()
    before = [ratings.data.unit.copy(), ratings.data.value.copy(), ratings.numbers.copy()]
    stats.measure(ratings, ["all"], weights="linear", level="ordinal", bootstrap=40)
    stats.contributions(ratings)
    after = [ratings.data.unit, ratings.data.value, ratings.numbers]
    assert all(np.array_equal(a, b) for a, b in zip(before, after, strict=True))
    with pytest.raises(ValueError, match="read-only"):
        ratings.data.value[0] = 1


def test_the_order_of_annotators_does_not_move_bca():
    """Draws that equal the value are ties, whatever rounding makes of them."""
    values = [[1, 0, 0, 0, 1, 0, 1, 0, 0, 0], [1, 0, 0, 1, 1, 0, 1, 0, 0, 0],
              [1, 0, 0, 1, 1, 0, 1, 1, 0, 0]]  # fmt: skip
    found = {
        tuple(np.round(stats.measure(table(np.array(values)[list(order)]), ["cohen_kappa"],
                                     interval="bca").coefficients["cohen_kappa"].interval, 9))
        for order in permutations(range(3))
    }  # fmt: skip
    assert len(found) == 1


def test_bca_of_a_mean_over_pairs_that_share_little_is_moved_by_the_bias():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 120)
    values = np.where(rng.random((8, 120)) < 0.4, rng.integers(0, 3, (8, 120)), truth)
    there = np.argsort(np.argsort(rng.random((8, 120)), axis=0), axis=0) < 2
    ratings = table(np.where(there, values, None))
    percentile, bca = (
        stats.measure(ratings, ["cohen_kappa"], interval=kind) for kind in ("percentile", "bca")
    )
    without = [
        stats.measure(table(np.where(there & (np.arange(120) != unit), values, None)),
                      ["cohen_kappa"], bootstrap=0).coefficients["cohen_kappa"].value
        for unit in range(120)
    ]  # fmt: skip
    value = percentile.coefficients["cohen_kappa"].value
    bias = 119 * (np.mean(without) - value)
    moved = np.subtract(bca.coefficients["cohen_kappa"].interval,
                        percentile.coefficients["cohen_kappa"].interval)  # fmt: skip
    error = percentile.coefficients["cohen_kappa"].standard_error
    assert abs(bias) > 0.25 * error
    assert moved == pytest.approx([-bias, -bias], abs=0.25 * error)


def test_an_array_is_no_ratings():
    for act in (lambda: stats.measure(CODES), lambda: stats.difference(table(), CODES)):
        with pytest.raises(ConfigError, match="ratings is of type ndarray; expected what"):
            act()
