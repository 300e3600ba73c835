"""Published and independently recomputed values of every coefficient."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.ratings import at_total, jackknife_of, only_units, reliability
from support.reference import shared_file

from bboxqa.agreement.alpha import alpha
from bboxqa.agreement.association import independence
from bboxqa.agreement.cohen import cohen_pairs
from bboxqa.agreement.consistency import cronbach_alpha
from bboxqa.agreement.counts import unit_counts
from bboxqa.agreement.intraclass import intraclass_correlations
from bboxqa.agreement.registry import COEFFICIENTS, Inputs
from bboxqa.agreement.reliability import from_table
from bboxqa.agreement.resampling import (
    jackknife,
    jackknife_error,
    percentile_interval,
    replicates_of,
)
from bboxqa.agreement.scales import SCALES, membership_probabilities
from bboxqa.agreement.segments import sweep
from bboxqa.io.rating_columns import from_array
from bboxqa.segments import Segments

_FILE = Path(__file__).parents[1] / "data" / "coefficients.json"
CARRIED = json.loads(_FILE.read_text("utf-8"))

LAYOUTS = {
    "raters_x_units": "annotators",
    "units_x_raters": "units",
    "subjects_x_items": "units",
    "units_x_category_counts": "counts",
    "contingency_table": "contingency",
}
SAME = {"randolph_kappa": "brennan_prediger"}


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
    return COEFFICIENTS[coefficient](Inputs(ratings_of(answers), level, weights))


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
            Inputs(replace(ratings, data=only_units(ratings.data, units != unit)), weights=weights)
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
        pairs = Inputs(ratings_of(answers)).pairs.table
        assert pairs.kappa == pytest.approx(case["kappas"], abs=1e-9)
        if "shared" in case:
            assert pairs.n_shared.tolist() == case["shared"]
            assert pairs.observed == pytest.approx(case["observed"], abs=1e-9)
            assert found.n_shared == sum(case["shared"])


def test_carried_over_values_name_their_source():
    assert all(case["source"] for case in CARRIED["cases"])
    assert {case["coefficient"] for case in CARRIED["cases"]} == set(COEFFICIENTS) - {
        "choice_kappa"
    }


def test_five_ways_to_be_sure():
    """The linearised error, the jackknife and the bootstrap, of one table."""
    answers = by_annotator(**CARRIED["tables"]["four_annotators_with_gaps"])
    found = estimated("krippendorff_alpha", answers)
    assert found.standard_error == pytest.approx(0.145478717222199, abs=1e-9)
    assert jackknife_error(jackknife(found)) == pytest.approx(0.14632665220070634, abs=1e-9)
    low, high = percentile_interval(replicates_of(found, 5000, 0)[None])[0]
    assert low == pytest.approx(0.423, abs=0.02)
    assert high == 1


def test_pooled_alpha_is_not_the_mean_of_the_images():
    images = [[[0] * 9 + [1], [0] * 9 + [1]], [[0, 1, 0, 1], [1, 0, 0, 1]], [[0, 0], [0, 0]]]
    each = [alpha(unit_counts(reliability(image))).value for image in images]
    assert each == pytest.approx([1, 0.125, np.nan], nan_ok=True)
    assert np.nanmean(each) == 0.5625
    pooled = alpha(unit_counts(reliability(np.concatenate(images, axis=1))))
    assert pooled.value == pytest.approx(47 / 78, abs=1e-9)


# What follows reads the shared file itself.


def _answers(case):
    return by_annotator(LAYOUTS[case["layout"]], case["data"])


def _settings(case):
    settings = {"level": (case.get("params") or {}).get("level", "nominal")}
    weights = (case.get("params") or {}).get("weights", "unweighted")
    if case["coefficient"] == "krippendorff_alpha" and weights == "quadratic":
        settings["level"] = "interval"
    elif weights != "unweighted":
        settings["weights"] = weights
    if (case.get("params") or {}).get("missing") == "as_category":
        settings["missing"] = "category"
    return settings


def one_number(case):
    coefficient, answers = SAME.get(case["coefficient"], case["coefficient"]), _answers(case)
    found = estimated(coefficient, answers, **_settings(case))
    scale = error_scale(coefficient, LAYOUTS[case["layout"]], len(answers[0]))
    # Errors of weights above 1 are not those of the paper.
    error = None if isinstance(_settings(case).get("weights"), list) else case.get("se")
    check(found, case["expected"], error, scale)


def pairwise(case):
    codes, n_values = coded(_answers(case))
    pairs = cohen_pairs(reliability(codes, n_values), len(codes)).table
    names = [f"{a}-{b}" for a, b in zip(pairs.first, pairs.second, strict=True)]
    found = estimated("cohen_kappa", _answers(case))
    if isinstance(case["expected"], dict):
        assert dict(zip(names, pairs.kappa, strict=True)) == pytest.approx(
            case["expected"], abs=1e-9
        )
        check(found, case["weighted_mean"])
        return
    check(found, case["expected"])
    for place, name in enumerate(names):
        assert pairs.kappa[place] == pytest.approx(case["pairs"][name]["kappa"], abs=1e-9)
        assert pairs.n_shared[place] == case["pairs"][name]["n_shared"]
        agreement = case["pairs"][name]["percent_agreement"]
        assert pairs.observed[place] == pytest.approx(agreement, abs=1e-9)
    check_without("cohen_kappa", _answers(case), found)
    light = estimated("light_kappa", _answers(case))
    check_without("light_kappa", _answers(case), light)
    assert light.value == pytest.approx(case["unweighted_mean"], abs=1e-9)
    assert found.n_shared == case["n_pairs_total"]


def cronbach(case):
    missing = (case.get("params") or {}).get("nan_policy", "listwise")
    found = cronbach_alpha(np.array(case["data"], np.float64), missing)
    assert found.value == pytest.approx(case["expected"], abs=1e-9)


def intraclass(case):
    found = intraclass_correlations(np.array(case["data"], np.float64))
    for form, value in case["expected"].items():
        assert found[form].value == pytest.approx(value, abs=1e-9)


def chi_square(case):
    settings, expected = case.get("params") or {}, case["expected"]
    found = independence(np.array(case["data"]), **settings)
    assert found.statistic == pytest.approx(expected["statistic"], abs=1e-9)
    assert found.p_value == pytest.approx(expected["pvalue"], rel=1e-9)
    assert found.degrees_of_freedom == expected["dof"]
    if "cramers_v" in expected:
        assert found.cramers_v == pytest.approx(expected["cramers_v"], abs=1e-9)
    if "expected_freq" in expected:
        assert found.expected == pytest.approx(np.array(expected["expected_freq"]))
    if "cohen_kappa" in expected:
        assert estimated("cohen_kappa", _answers(case)).value == expected["cohen_kappa"]


def over_time(case):
    rows = [(who, *piece) for who, own in case["data"].items() for piece in own]
    names, labels = sorted(case["data"]), sorted({row[3] for row in rows})
    nothing = np.zeros(len(rows), np.int32)
    ratings = sweep(
        Segments(
            nothing,
            np.array([names.index(row[0]) for row in rows], np.int32),
            nothing,
            np.array([row[1] for row in rows]),
            np.array([row[2] for row in rows]),
            np.array([labels.index(row[3]) for row in rows], np.int32),
            ("recording",),
            tuple(names),
            ("tier",),
            tuple(labels),
            np.array([10_000]),
            np.ones((1, len(names)), bool),
        )
    )
    check(COEFFICIENTS["krippendorff_alpha"](Inputs(ratings)), case["expected"])
    pairs = Inputs(ratings).pairs.table
    for place, expected in enumerate(case["pairwise"].values()):
        assert pairs.kappa[place] == pytest.approx(expected["kappa"], abs=1e-9)
        assert pairs.observed[place] == pytest.approx(expected["agreement"], abs=1e-9)


def of_images(case):
    tables = [coded(by_annotator("annotators", image))[0] for image in case["data"]]
    each = [alpha(unit_counts(reliability(table))).value for table in tables]
    expected = case["expected"]
    assert each[:2] == pytest.approx(expected["per_image"][:2])
    assert np.isnan(each[2])
    assert np.nanmean(each) == pytest.approx(expected["mean_skipping_undefined"])
    assert np.nan_to_num(each, nan=1).mean() == pytest.approx(expected["mean_with_undefined_as_1"])
    pooled = alpha(unit_counts(reliability(np.concatenate(tables, axis=1))))
    assert pooled.value == pytest.approx(expected["pooled"], abs=1e-9)


def several_errors(case):
    found, expected = estimated("krippendorff_alpha", _answers(case)), case["expected"]
    check(found, expected["alpha"], expected["se_linearised"])
    assert jackknife_error(jackknife(found)) == pytest.approx(expected["se_jackknife"], abs=1e-9)
    bounds = percentile_interval(replicates_of(found, 5000, 0)[None])[0]
    assert bounds == pytest.approx(expected["bootstrap_unit_percentile_B5000"], abs=0.02)


def benchmark(case):
    for name, expected in case["expected"].items():
        data = case["data"]
        found = membership_probabilities(SCALES[name], data["coefficient"], data["se"])
        assert found == pytest.approx(expected, abs=5e-6)


CHECKS = {
    **dict.fromkeys(
        ["krippendorff_alpha", "percent_agreement", "fleiss_kappa", "scott_pi", "randolph_kappa",
         "brennan_prediger", "gwet_ac1", "gwet_ac2", "conger_kappa", "cohen_kappa", "light_kappa"],
        one_number,
    ),
    "cohen_kappa_pairwise": pairwise,
    "cohen_kappa_pairwise_weighted": pairwise,
    "cronbach_alpha": cronbach,
    "icc": intraclass,
    "chi2_independence": chi_square,
    "krippendorff_alpha_time": over_time,
    "krippendorff_alpha_pooled_and_mean": of_images,
    "krippendorff_alpha_ci": several_errors,
    "benchmark_cumulative_probability": benchmark,
}  # fmt: skip


def test_the_shared_reference():
    path = shared_file("README.md").parents[1] / "reference" / "agreement_coefficients.json"
    cases = json.loads(path.read_text("utf-8"))["cases"]
    assert {case["coefficient"] for case in cases} == set(CHECKS)
    wrong = []
    for case in cases:
        try:
            CHECKS[case["coefficient"]](case)
        except AssertionError as error:
            wrong.append(f"{case['name']}: {error}")
    assert len(cases) >= 84
    assert not wrong, "\n".join(wrong)
