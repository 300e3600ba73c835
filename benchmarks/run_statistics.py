"""Time one coefficient of one tool on made data, run by that tool's own Python.

    python run_statistics.py TOOL CASE SIZE

Prints the seconds of each of five runs after one to warm up, the value, and the peak memory. The
data are made from a seed, so that all tools see the same, and in the form that the tool takes;
making that form is not timed.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

RUNS = 5
LIMIT = 16 << 30
"""Bytes of memory that a tool may ask for."""


def codes(n_annotators: int, n_units: int, n_values: int, missing: float) -> Any:
    """Give what annotators say, (A, U) int32: 70 % the truth, -1 where missing."""
    generator = np.random.default_rng(0)
    truth = generator.integers(0, n_values, n_units)
    guess = generator.integers(0, n_values, (n_annotators, n_units))
    said = np.where(generator.random(guess.shape) < 0.7, truth, guess).astype(np.int32)
    said[generator.random(said.shape) < missing] = -1
    return said


def alpha_krippendorff(said: Any, n_values: int) -> Callable[[], float]:
    """Krippendorff's alpha by `krippendorff`."""
    import krippendorff

    data = np.where(said < 0, np.nan, said)
    domain = list(range(n_values))
    return lambda: krippendorff.alpha(data, level_of_measurement="nominal", value_domain=domain)


def alpha_nltk(said: Any, n_values: int) -> Callable[[], float]:  # noqa: ARG001 - one form for all
    """Krippendorff's alpha by `nltk`."""
    from nltk.metrics.agreement import AnnotationTask

    given = np.argwhere(said >= 0).tolist()
    triples = [(annotator, unit, int(said[annotator, unit])) for annotator, unit in given]
    return lambda: AnnotationTask(data=triples).alpha()


def alpha_bboxqa(said: Any, n_values: int) -> Callable[[], float]:
    """Krippendorff's alpha by bboxqa."""
    from bboxqa.stats import alpha_of_codes

    return lambda: alpha_of_codes(said, n_values).value


def bootstrap_bboxqa(said: Any, n_values: int) -> Callable[[], float]:
    """1,000 replicates of alpha, ten units an image, from ratings sorted by unit."""
    from bboxqa.agreement.levels import alpha
    from bboxqa.agreement.resampling import quantiles, replicates_of_all
    from bboxqa.agreement.unit_counts import unit_counts
    from bboxqa.model.units import ReliabilityData

    unit, annotator = np.nonzero(said.T >= 0)
    n_units = said.shape[1]
    data = ReliabilityData(
        unit=unit,
        annotator=annotator.astype(np.int32),
        value=said[annotator, unit],
        state=np.zeros(len(unit), np.uint8),
        group=(np.arange(n_units) // 10).astype(np.int32),
        n_values=n_values,
        n_groups=-(-n_units // 10),
    )

    def run() -> float:
        estimator = alpha(unit_counts(data))
        drawn = replicates_of_all({"": estimator}, 1000, 0)[""]
        return float(quantiles(drawn[None], 0.025, 0.975)[0, 0])

    return run


def labels_bboxqa(said: Any, n_values: int) -> Callable[[], float]:  # noqa: ARG001
    """Coding of labels by bboxqa."""
    from bboxqa.model.ratings import code, column_of

    names = [f"category {value}" for value in said.ravel().tolist()]
    return lambda: float(len(code(column_of(names, "value")).codes))


def labels_pandas(said: Any, n_values: int) -> Callable[[], float]:  # noqa: ARG001
    """Coding of labels by pandas."""
    import pandas as pd

    names = np.array([f"category {value}" for value in said.ravel().tolist()], object)
    return lambda: float(len(pd.factorize(names, sort=True)[0]))


def pairs_bboxqa(said: Any, n_values: int) -> Callable[[], float]:
    """Cohen's kappa of all pairs by bboxqa."""
    from bboxqa.stats import kappa_of_codes

    return lambda: float(kappa_of_codes(said, n_values).kappa.mean())


def sure_bboxqa(said: Any, n_values: int) -> Callable[[], float]:  # noqa: ARG001
    """Cohen's kappa of all pairs by bboxqa, with all that is known of its uncertainty."""
    from bboxqa.stats import measure, ratings_from_table

    table = ratings_from_table(np.where(said < 0, np.nan, said))
    return lambda: float(measure(table, "cohen_kappa", bootstrap=0).pairs.kappa.mean())


def pairs_sklearn(said: Any, n_values: int) -> Callable[[], float]:  # noqa: ARG001
    """Cohen's kappa of all pairs by `scikit-learn`, for each on the units that both rated."""
    from itertools import combinations

    from sklearn.metrics import cohen_kappa_score

    def run() -> float:
        kappas = []
        for left, right in combinations(said, 2):
            both = (left >= 0) & (right >= 0)
            kappas.append(cohen_kappa_score(left[both], right[both]))
        return float(np.mean(kappas))

    return run


def pairs_statsmodels(said: Any, n_values: int) -> Callable[[], float]:
    """Cohen's kappa of all pairs by `statsmodels`, from contingency tables."""
    from itertools import combinations

    from statsmodels.stats.inter_rater import cohens_kappa

    def run() -> float:
        kappas = []
        for left, right in combinations(said, 2):
            both = (left >= 0) & (right >= 0)
            place = left[both] * n_values + right[both]
            table = np.bincount(place, minlength=n_values**2).reshape(n_values, n_values)
            kappas.append(cohens_kappa(table, return_results=False))
        return float(np.mean(kappas))

    return run


def fleiss_bboxqa(said: Any, n_values: int) -> Callable[[], float]:
    """Fleiss' kappa by bboxqa, from ratings."""
    from bboxqa.agreement.chance import chance_corrected
    from bboxqa.agreement.unit_counts import from_table, unit_counts

    data = from_table(said, np.ones(said.shape, np.bool_), n_values)
    return lambda: chance_corrected(unit_counts(data), "fleiss").value


def fleiss_statsmodels(said: Any, n_values: int) -> Callable[[], float]:
    """Fleiss' kappa by `statsmodels`, from ratings."""
    from statsmodels.stats.inter_rater import aggregate_raters, fleiss_kappa

    return lambda: float(fleiss_kappa(aggregate_raters(said.T, n_cat=n_values)[0]))


# Annotators, values, share missing.
CASES = {
    "alpha": (3, 1203, 0.05),
    "alpha80": (3, 80, 0.05),
    "bootstrap": (3, 1203, 0.05),
    "labels": (3, 1203, 0.0),
    "pairs": (20, 5, 0.0),
    "sure": (20, 5, 0.0),
    "fleiss": (3, 80, 0.0),
}


def main() -> None:
    """Run the command line."""
    tool, case, size = sys.argv[1], sys.argv[2], int(sys.argv[3])
    resource.setrlimit(resource.RLIMIT_AS, (LIMIT, LIMIT))
    n_annotators, n_values, missing = CASES[case]
    said = codes(n_annotators, size, n_values, missing)
    run = globals()[f"{case.removesuffix('80')}_{tool}"](said, n_values)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    value = run()
    seconds = []
    for _ in range(RUNS):
        start = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - start)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps({"seconds": seconds, "value": value, "extra_mb": (peak - before) / 1000}))


if __name__ == "__main__":
    main()
