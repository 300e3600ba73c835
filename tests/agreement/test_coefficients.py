"""Published and independently recomputed values of every coefficient."""

import json
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace
from support.ratings import at_total, jackknife_of, only_units, replicates_of

from bboxqa.agreement.levels import alpha
from bboxqa.agreement.registry import COEFFICIENTS, Coefficient, CoefficientInputs, coefficient
from bboxqa.agreement.resampling import jackknife, jackknife_error, quantiles
from bboxqa.agreement.unit_counts import from_table, unit_counts
from bboxqa.cli.stats import scale_label
from bboxqa.core.errors import ConfigError
from bboxqa.formats.ratings import from_array
from bboxqa.stats import measure, ratings_from_table

_FILE = Path(__file__).parents[1] / "data" / "coefficients.json"
CARRIED = json.loads(_FILE.read_text("utf-8"))
# Choice kappa is tested in test_choice.py.
NOT_PUBLISHED = {"choice_kappa"}


def by_annotator(rows_are, rows):
    """Return the answers as one row per annotator."""
    if rows_are == "annotators":
        return rows
    if rows_are == "counts":
        rows = [[value for value, n in enumerate(row) for _ in range(n)] for row in rows]
    if rows_are == "contingency":
        rows = [
            [first, second]
            for first, row in enumerate(rows)
            for second, n in enumerate(row)
            for _ in range(n)
        ]
    return [list(column) for column in zip(*rows, strict=True)]


def coded(answers):
    """Return (A, U) codes, -1 where missing, and the number of values."""
    values = sorted({value for row in answers for value in row if value is not None})
    codes = [[-1 if value is None else values.index(value) for value in row] for row in answers]
    return np.array(codes), len(values)


def estimated(coefficient, answers, *, level="nominal", weights="identity", missing="ignore"):
    if missing == "category":
        codes, n_values = coded(answers)
        data = from_table(codes, np.ones(codes.shape, np.bool_), n_values)
        return alpha(unit_counts(data, missing), level)
    return COEFFICIENTS[coefficient](CoefficientInputs(ratings_of(answers), level, weights))


def ratings_of(answers):
    """Return ratings of however many annotators."""
    return from_array(answers, annotator_names=range(1, len(answers) + 1))


def check_without(coefficient, answers, found, weights="identity"):
    """Check a mean over pairs without each unit, and its error, by measuring what is left."""
    if found.without is None:
        return
    ratings = ratings_of(answers)
    units = np.arange(len(ratings.data.group))
    without = [
        COEFFICIENTS[coefficient](
            CoefficientInputs(
                replace(ratings, data=only_units(ratings.data, units != unit)), weights=weights
            )
        ).value
        for unit in found.clusters
    ]
    assert found.without == pytest.approx(without, abs=1e-9, nan_ok=True)
    assert found.standard_error == pytest.approx(jackknife_of(without), abs=1e-9, nan_ok=True)


def check(found, value, error=None, scale=1.0, status="ok"):
    if value is None:
        assert np.isnan(found.value)
        assert found.status.startswith("undefined")
        return
    assert found.value == pytest.approx(value, abs=1e-9)
    assert found.status == status
    assert at_total(found) == pytest.approx(value, abs=1e-9)
    if error is not None:
        assert found.standard_error * scale == pytest.approx(error, abs=1e-9)


def error_scale(coefficient, rows_are, n_units):
    """Return what makes our n − 1 the n of errors that were taken from tables of counts."""
    if rows_are == "contingency" and coefficient != "cohen_kappa":
        return np.sqrt((n_units - 1) / n_units)
    return 1.0


@pytest.mark.parametrize(
    "case",
    CARRIED["cases"],
    ids=lambda case: " ".join(
        filter(None, [case["coefficient"], case["table"], case.get("level"), case.get("missing")])
    ),
)
def test_carried_over(case):
    table = CARRIED["tables"][case["table"]]
    answers = by_annotator(**table)
    settings = {name: case[name] for name in ("level", "weights", "missing") if name in case}
    found = estimated(case["coefficient"], answers, **settings)
    scale = error_scale(case["coefficient"], table["rows_are"], len(answers[0]))
    check(found, case["value"], case.get("error"), scale, case.get("status", "ok"))
    check_without(case["coefficient"], answers, found, case.get("weights", "identity"))
    if "kappas" in case:
        pairs = CoefficientInputs(ratings_of(answers)).pairs.table
        assert pairs.kappa == pytest.approx(case["kappas"], abs=1e-9)
        if "shared" in case:
            assert pairs.n_shared.tolist() == case["shared"]
            assert pairs.observed == pytest.approx(case["observed"], abs=1e-9)
            assert found.n_shared == sum(case["shared"])


# Values of other kinds are with what they test: chi-squared in test_code_tables.py, intraclass
# correlations and Cronbach's alpha of pairs in test_consistency.py, scales and segments in the
# files of their names; five errors of one alpha, and pooled alpha, are below.
def test_carried_over_values_name_their_source():
    assert len(CARRIED["cases"]) >= 74
    assert all(case["source"] for case in CARRIED["cases"])
    published = {case["coefficient"] for case in CARRIED["cases"]}
    assert published == set(COEFFICIENTS) - NOT_PUBLISHED


def test_five_ways_to_be_sure():
    """The linearised error, the jackknife and the bootstrap, of one table."""
    answers = by_annotator(**CARRIED["tables"]["four_annotators_with_gaps"])
    found = estimated("krippendorff_alpha", answers)
    assert found.standard_error == pytest.approx(0.145478717222199, abs=1e-9)
    assert jackknife_error(jackknife(found)) == pytest.approx(0.14632665220070634, abs=1e-9)
    low, high = quantiles(replicates_of(found, 5000, 0)[None], 0.025, 0.975)[0]
    assert low == pytest.approx(0.423, abs=0.02)
    assert high == 1


def test_a_coefficient_is_added_by_one_line(monkeypatch):
    """It has intervals, a standard error and a word of its scale like those that are built in."""
    answers = [["a", "b", "a", "b", "a", "b"], ["a", "b", "b", "b", "a", "a"]]
    ratings = ratings_from_table(answers)

    def doubtful(inputs):
        return replace(alpha(inputs.counts), status="doubtful")

    monkeypatch.setitem(COEFFICIENTS, "own_alpha", Coefficient(doubtful, scale="landis_koch"))
    found = measure(ratings, ["own_alpha", "krippendorff_alpha"], bootstrap=100).coefficients
    assert tuple(COEFFICIENTS)[-1] == "own_alpha"
    assert replace(found["own_alpha"], status="ok") == found["krippendorff_alpha"]
    assert found["own_alpha"].status == "doubtful"
    assert scale_label("own_alpha", 0.5) == "moderate (Landis and Koch)"


def test_unknown_coefficient():
    with pytest.raises(ConfigError, match=r"coefficient is 'kohen_kappa'.* mean 'cohen_kappa'"):
        coefficient("kohen_kappa")


def test_undefined_coefficients_say_what_would_define_them():
    found = measure(
        ratings_from_table([["a", "b", "a"], ["a", "b", "b"], ["b", "b", "a"]]), "all"
    ).coefficients
    advice = {name: one.advice for name, one in found.items() if one.advice}
    assert advice == {
        "choice_kappa": "Name their column with --n-options.",
        "scott_pi": "Report fleiss_kappa, or cohen_kappa of each pair.",
        "gwet_ac2": "Give --weights linear or quadratic.",
        "cronbach_alpha": "Values have to be numbers; nominal coefficients take names.",
    }
