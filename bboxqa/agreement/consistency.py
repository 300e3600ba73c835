"""Consistency of ratings that are numbers: Cronbach's alpha and intraclass correlations."""

from collections.abc import Mapping
from math import inf, isnan, nan
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from bboxqa.agreement.estimators import OK, Estimator, SumTable, clusters_of, undefined
from bboxqa.agreement.intervals import pseudo_value_estimator
from bboxqa.core.arrays import BoolArray, FloatArray, sum_by
from bboxqa.core.errors import ConfigError, DatasetError
from bboxqa.core.text import count
from bboxqa.model.ratings import Estimate, Ratings
from bboxqa.model.units import Cell, ReliabilityData

TOO_FEW = "undefined: it needs two annotators, and two units that were rated by all of them"
NO_SPREAD = "undefined: all units have the same total of ratings"
CONTRADICTION = "undefined: covariances that come from different units contradict each other"
CRONBACH_WARNING = (
    "Cronbach's alpha says nothing about agreement: with many items, such as the points of a "
    "recording, it can exceed 0.9 even for opposite annotations"
)

# Sums of squares that cancel leave a residue of about 1e-16 of their terms.
_ROUNDING = 1e-13


def _table(scores: NDArray[Any]) -> FloatArray:
    table = np.asarray(scores, np.float64)
    if table.ndim != 2:
        problem = f"scores have shape {table.shape}; expected one row per unit"
        raise DatasetError([f"{problem} and one column per annotator"])
    for row, column in np.argwhere(np.isinf(table))[:1].tolist():
        found = f"scores: row {row}, column {column}: score is {table[row, column]}"
        raise DatasetError([f"{found}; expected a finite number, or NaN where it is missing"])
    return table


def complete_units(scores: NDArray[Any]) -> tuple[FloatArray, str]:
    """Return the units that every annotator rated, (M, J), and a status that counts the others."""
    table = _table(scores)
    whole = ~np.isnan(table).any(1)
    status = _left_out(int((~whole).sum()), len(table))
    return (table if whole.all() else table[whole]), status


def _left_out(number: int, n_units: int) -> str:
    return f"{number:,} of {count(n_units, 'unit')} left out: a rating is missing" if number else OK


def centred_columns(table: FloatArray) -> FloatArray:
    """Return columns with mean 0; constant columns become exact zeros. NaN is not allowed."""
    shifted = table - table[0]
    centred: FloatArray = shifted - shifted.mean(0)
    return centred


def cronbach_sums(table: FloatArray) -> FloatArray:
    """Return the sums by unit of which alpha is a function, (J + 3, N), from centred scores."""
    centred = centred_columns(table)
    own = (np.ones(len(table)), centred.sum(1) ** 2, (centred**2).sum(1))
    return np.concatenate([np.stack(own), centred.T])


def cronbach_of_sums(sums: FloatArray, n_items: int) -> FloatArray:
    """Return Cronbach's alpha of samples of units, (B,), from their (J + 3, B) sums, or NaN."""
    units, squared_totals, squares, scores = sums[0], sums[1], sums[2], sums[3:]
    with np.errstate(divide="ignore", invalid="ignore"):
        of_totals = squared_totals - scores.sum(0) ** 2 / units
        of_items = squares - (scores**2).sum(0) / units
    residue = np.where(units > 1, _ROUNDING * n_items * squares, inf)
    return cronbach_of_variances(np.float64(n_items), of_items, of_totals, residue)


def cronbach_of_variances(
    n_items: FloatArray | np.float64,
    of_items: FloatArray,
    of_totals: FloatArray,
    residue: FloatArray | float,
) -> FloatArray:
    """Return J / (J − 1) · (1 − Σ s_j² / s_T²), (B,); NaN for one item, and if s_T² is rounding."""
    with np.errstate(divide="ignore", invalid="ignore"):
        alpha: FloatArray = n_items / (n_items - 1) * (1 - of_items / of_totals)
    alpha[~((of_totals > residue) & (n_items > 1))] = np.nan
    return alpha


def f_quantiles(above: float, below: float) -> tuple[float, float]:
    """Return the 2.5 % and 97.5 % quantiles of the F distribution, by its degrees of freedom."""
    from scipy.special import fdtri

    return float(fdtri(above, below, 0.025)), float(fdtri(above, below, 0.975))


def cronbach_alpha(
    scores: NDArray[Any], missing: Literal["listwise", "pairwise"] = "listwise"
) -> Estimate:
    """Return Cronbach's alpha, which is not a measure of agreement: see `CRONBACH_WARNING`.

    α = J / (J − 1) · (1 − Σ s_j² / s_T²), with s_j² the variance of an annotator's scores and s_T²
    that of the totals of the units (Cronbach 1951, doi:10.1007/BF02310555). The interval is exact
    for normal scores: (1 − α) / (1 − α̂) follows an F distribution with N − 1 and (N − 1)(J − 1)
    degrees of freedom (Feldt 1965, doi:10.1007/BF02289499).

    Parameters
    ----------
    scores : (N, J) float64
        N units (subjects), J annotators (items); NaN where a score is missing.
    missing : {"listwise", "pairwise"}
        Leave out units that some annotator did not rate; or take the covariance of two annotators
        from the units that both rated, s_T² being the sum of all covariances.

    Returns
    -------
    Estimate
        At most 1, with no lower limit; it has no standard error, observed or expected part.

    Raises
    ------
    ConfigError, DatasetError
        If `missing` has another name, or the scores are not a table of finite numbers.

    Examples
    --------
    >>> import numpy as np
    >>> found = cronbach_alpha(np.array([[1.0, 2.0], [2.0, 2.0], [3.0, 5.0]]))
    >>> round(found.value, 4), found.status
    (0.8571, 'ok')
    """
    if missing not in ("listwise", "pairwise"):
        raise ConfigError(f"missing is {missing!r}; expected 'listwise' or 'pairwise'")
    table, status = complete_units(scores) if missing == "listwise" else (_table(scores), OK)
    # Units that nobody rated count in no covariance.
    table = table[~np.isnan(table).all(1)]
    n_units, n_items = table.shape
    if min(n_units, n_items) < 2 or np.isnan(table).all(0).any():
        return Estimate(nan, status=TOO_FEW)
    there: BoolArray = ~np.isnan(table)
    shifted = np.where(there, table - np.nanmean(table, axis=0), 0)
    shared = there.T.astype(np.float64) @ there
    sums = shifted.T @ there
    # Each covariance is that of the rows that both columns have.
    with np.errstate(divide="ignore", invalid="ignore"):
        products = shifted.T @ shifted - sums * sums.T / shared
        covariances = np.where(shared > 1, products / (shared - 1), np.nan)
    if np.isnan(covariances).any():
        return Estimate(nan, status=TOO_FEW)
    of_items, of_totals = float(np.trace(covariances)), float(covariances.sum())
    if abs(of_totals) <= _ROUNDING * n_items * of_items:
        return Estimate(nan, status=NO_SPREAD)
    value = n_items / (n_items - 1) * (1 - of_items / of_totals)
    # Proper covariances sum to at least 0, and to at most J times their diagonal.
    if of_totals < 0 or value > 1 + _ROUNDING:
        return Estimate(nan, status=CONTRADICTION)
    # (1 − α) / (1 − alpha) lies between quantiles of F.
    low, high = f_quantiles(n_units - 1, (n_units - 1) * (n_items - 1))
    return Estimate(value, (1 - (1 - value) * high, 1 - (1 - value) * low), status=status)


NOT_NUMBERS = "undefined: some values are not numbers"


def cronbach(data: ReliabilityData, numbers: FloatArray | None) -> Estimator:
    """Return Cronbach's alpha of the units that all annotators with ratings have rated."""
    if numbers is None:
        advice = "Values have to be numbers; nominal coefficients take names."
        return undefined(NOT_NUMBERS, advice=advice)
    drawn = np.flatnonzero(data.state == Cell.CATEGORY)
    size = np.bincount(data.unit[drawn], minlength=len(data.group))
    n_annotators = len(np.unique(data.annotator[drawn]))
    complete = np.flatnonzero((size == n_annotators) & (n_annotators > 1))
    if len(complete) < 2:
        return undefined(TOO_FEW, advice="Have a second annotator rate the same units.")
    cells = drawn[size[data.unit[drawn]] == n_annotators]
    scores = numbers[data.value[cells]].reshape(len(complete), n_annotators)
    parts = cronbach_sums(scores)
    if data.weight is not None:
        parts = parts * data.weight[complete]
    group = data.group[complete]
    sums = np.stack([sum_by(group, part, data.n_groups) for part in parts])

    def evaluate(column: FloatArray) -> FloatArray:
        return cronbach_of_sums(column, n_annotators)

    rated = int(np.count_nonzero(size))
    value = float(evaluate(parts.sum(1, keepdims=True))[0])
    if np.isnan(value):
        advice = "Report percent agreement: consistency needs ratings that vary."
        return undefined(NO_SPREAD, advice=advice)
    status = _left_out(rated - len(complete), rated)
    table, clusters = SumTable(lambda: sums), clusters_of(group, group >= 0)
    return Estimator(value, nan, nan, status, table, evaluate, clusters)


# A variance below this share of the squares is rounding.
_SQUARED_ROUNDING = 1e-26

_NO_TWO = "undefined: no stretch of time was annotated by everyone, or there is one annotator only"
_SAME_TOTALS = "undefined: the annotators' codes have the same sum, so the variance of sums is 0"


def cronbach_of_points(ratings: Ratings) -> Estimator:
    """Return Cronbach's alpha with the points in time as items and the annotators as cases.

    As a program gives it that takes columns of a table as items. It measures whether annotators
    differ in their sums of codes, not whether they agree. Each unit stands for as many points as
    its weight; values that are not numbers are replaced by their ranks.
    """
    data = ratings.data
    n_annotators = len(ratings.annotator_names)
    said = data.state == Cell.CATEGORY
    weight = np.ones(len(data.group), np.int64) if data.weight is None else data.weight
    complete = np.bincount(data.unit[said], minlength=len(data.group)) == n_annotators
    rows = np.flatnonzero(said)[complete[data.unit[said]]]
    weight = weight[complete]
    if n_annotators < 2 or weight.sum() < 2:
        advice = "Have everybody mark some recording from beginning to end."
        return undefined(_NO_TWO, advice=advice)
    codes = np.arange(data.n_values) if ratings.numbers is None else ratings.numbers
    points = codes[data.value[rows]].reshape(-1, n_annotators)
    columns = [weight, weight * points.var(axis=1, ddof=1), *(weight[:, None] * points).T]
    group = data.group[complete]
    sums = np.stack([sum_by(group, column, data.n_groups) for column in columns])
    value = float(_cronbach(sums.sum(1, keepdims=True))[0])
    if np.isnan(value):
        advice = "Report krippendorff_alpha, which needs no differing sums."
        return undefined(_SAME_TOTALS, advice=advice)
    clusters = clusters_of(group, weight > 0)
    # Not resampled: a recording drawn twice would be a repeated item, which raises alpha.
    rest = sums.sum(1, keepdims=True) - sums[:, clusters]
    return pseudo_value_estimator(value, clusters, _cronbach(rest), data.n_groups)


def _cronbach(sums: FloatArray) -> FloatArray:
    points, of_items, of_sums = sums[0], sums[1], sums[2:].var(axis=0, ddof=1)
    residue = _SQUARED_ROUNDING * np.abs(sums[2:]).max(axis=0) ** 2
    return cronbach_of_variances(points, of_items, of_sums, residue)


FORMS = ("ICC1", "ICC2", "ICC3", "ICC1k", "ICC2k", "ICC3k")


def _mean_squares(table: FloatArray) -> tuple[float, float, float, float]:
    """Return the mean squares between and within units, of annotators, and of the rest."""
    n_units, n_annotators = table.shape
    centred = centred_columns(table)
    of_units = centred.mean(1)
    shifted = table - table[0, 0]
    between = n_annotators * float((of_units**2).sum())
    error = float(((centred - of_units[:, None]) ** 2).sum())
    annotators = n_units * float(((shifted.mean(0) - shifted.mean()) ** 2).sum())
    if between <= _ROUNDING * (between + error):
        between = 0.0
    return (
        between / (n_units - 1),
        (annotators + error) / (n_units * (n_annotators - 1)),
        annotators / (n_annotators - 1),
        error / ((n_units - 1) * (n_annotators - 1)),
    )


def _ratio(above: float, *below: float) -> float:
    total = sum(below)
    return above / total if total > _ROUNDING * sum(map(abs, below)) else nan


def intraclass_correlations(scores: NDArray[Any]) -> Mapping[str, Estimate]:
    """Return the six intraclass correlations of Shrout and Fleiss, with 95 % intervals.

    ICC1: each unit has its own annotators. ICC2: annotators are a random sample, and differences
    between them count. ICC3: annotators are fixed, and constant differences between them do not
    count. With k: of the mean of all annotators instead of one rating. ICC3k is Cronbach's alpha.
    (Shrout and Fleiss 1979, doi:10.1037/0033-2909.86.2.420; bounds of ICC2k: McGraw and Wong 1996,
    table 7, doi:10.1037/1082-989X.1.1.30.)

    Parameters
    ----------
    scores : (N, k) float64
        N units, k annotators; units with a NaN are left out, and the status says so.

    Returns
    -------
    mapping of str to Estimate
        By the names in `FORMS`. Undefined where the units do not vary; a bound that the formula
        does not give is NaN.

    Raises
    ------
    DatasetError
        If the scores are not a table of finite numbers.

    Examples
    --------
    >>> import numpy as np
    >>> found = intraclass_correlations(np.array([[1.0, 2.0], [2.0, 2.0], [3.0, 5.0]]))
    >>> {name: round(one.value, 2) for name, one in found.items()}
    {'ICC1': 0.62, 'ICC2': 0.64, 'ICC3': 0.75, 'ICC1k': 0.76, 'ICC2k': 0.78, 'ICC3k': 0.86}
    """
    table, status = complete_units(scores)
    n, k = table.shape
    if min(n, k) < 2:
        return {name: Estimate(nan, status=TOO_FEW) for name in FORMS}
    between, within, annotators, error = _mean_squares(table)

    def against(noise: float) -> tuple[float, float]:
        """Return the correlations of one rating and of the mean, with this noise."""
        signal = between - noise
        return _ratio(signal, between, (k - 1) * noise), _ratio(signal, between)

    def random(factor: float) -> tuple[float, float]:
        """Return those for random annotators, with their noise times a factor."""
        signal, total = n * (between - factor * error), n * between
        one = factor * (k * annotators + (k * n - k - n) * error)
        mean = factor * (annotators - error)
        return _ratio(signal, total, one), _ratio(signal, total, mean)

    low, high = f_quantiles(n - 1, n * (k - 1))
    first = [against(factor * within) for factor in (1.0, high, low)]
    value = random(1.0)[0]
    # Without noise both bounds equal the value.
    freedom = float((n - 1) * (k - 1))
    if annotators or error:
        of_annotators = k * value * annotators
        of_error = (n * (1 + (k - 1) * value) - k * value) * error
        squares = (n - 1) * of_annotators**2, of_error**2
        freedom = _ratio((k - 1) * (n - 1) * (of_annotators + of_error) ** 2, *squares)
    low, high = f_quantiles(n - 1, freedom)
    # A negative value leaves few degrees of freedom, and the bound would be below the value.
    second = [random(factor) for factor in (1.0, high, low if low <= 1 else nan)]
    low, high = f_quantiles(n - 1, (n - 1) * (k - 1))
    third = [against(factor * error) for factor in (1.0, high, low)]
    found = []
    for place in (0, 1):
        for bounds in (first, second, third):
            value, low, high = (each[place] for each in bounds)
            known = Estimate(value, (low, high), status=status)
            found.append(Estimate(nan, status=NO_SPREAD) if isnan(value) else known)
    return dict(zip(FORMS, found, strict=True))
