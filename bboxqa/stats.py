"""Agreement on labels, numbers and choices: every coefficient, each with its uncertainty.

>>> from bboxqa import stats
>>> ratings = stats.ratings_from_columns(
...     unit=[1, 1, 2, 2, 3, 3, 4, 4], annotator=["ann", "bob"] * 4,
...     value=["cat", "cat", "dog", "dog", "dog", "cat", "cat", "cat"])
>>> found = stats.measure(ratings, ["krippendorff_alpha"], bootstrap=0)
>>> round(found.coefficients["krippendorff_alpha"].value, 4)
0.5333
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite, isnan, nan
from statistics import NormalDist

import numpy as np

from bboxqa.agreement.association import cross_table, independence
from bboxqa.agreement.consistency import CRONBACH_WARNING, cronbach_alpha
from bboxqa.agreement.counts import unit_counts
from bboxqa.agreement.dense import alpha_of_codes, kappa_of_codes
from bboxqa.agreement.difference import Difference, paired_difference
from bboxqa.agreement.estimator import Estimator
from bboxqa.agreement.groups import cluster_annotators
from bboxqa.agreement.intraclass import intraclass_correlations
from bboxqa.agreement.leave_out import (
    alpha_without_annotators,
    alpha_without_units,
    alpha_without_values,
)
from bboxqa.agreement.metrics import Distance
from bboxqa.agreement.registry import (
    COEFFICIENTS,
    Inputs,
    default_coefficients,
    named_coefficients,
)
from bboxqa.agreement.resampling import (
    LEVEL,
    bca_interval,
    jackknife,
    jackknife_error,
    percentile_interval,
    replicates_of,
)
from bboxqa.agreement.scales import SCALES, label, membership_probabilities
from bboxqa.agreement.similarity import annotator_similarity
from bboxqa.arrays import FloatArray
from bboxqa.errors import ConfigError
from bboxqa.estimates import Estimate, PairTable, TaskEstimates
from bboxqa.io.rating_columns import from_array as ratings_from_table
from bboxqa.io.rating_columns import from_columns as ratings_from_columns
from bboxqa.io.ratings import read_ratings
from bboxqa.model import Cell
from bboxqa.ratings import Ratings
from bboxqa.words import count

__all__ = [
    "COEFFICIENTS",
    "SCALES",
    "Contributions",
    "Difference",
    "Estimate",
    "PairTable",
    "Ratings",
    "TaskEstimates",
    "alpha_of_codes",
    "annotator_similarity",
    "cluster_annotators",
    "contributions",
    "cronbach_alpha",
    "cross_table",
    "difference",
    "independence",
    "intraclass_correlations",
    "kappa_of_codes",
    "label",
    "measure",
    "membership_probabilities",
    "only_annotators",
    "ratings_from_columns",
    "ratings_from_table",
    "read_ratings",
]

Progress = Callable[[str, int, int], None]

INTERVALS = ("percentile", "bca")
"""How intervals are made of the replicates."""

# Below this, intervals by resampling clusters are known to be too narrow.
_FEW_CLUSTERS = 20
_NORMAL = NormalDist().inv_cdf((1 + LEVEL) / 2)
# Numbers that a jackknife may have to look at.
_JACKKNIFE = 1 << 31


def measure(
    ratings: Ratings,
    coefficients: Sequence[str] | None = None,
    *,
    level: str | Distance = "nominal",
    weights: str | Sequence[Sequence[float]] | FloatArray = "identity",
    bootstrap: int = 1000,
    seed: int = 0,
    interval: str = "percentile",
    task: str | None = None,
    progress: Progress | None = None,
) -> TaskEstimates:
    """Measure agreement on any ratings.

    Parameters
    ----------
    ratings : Ratings
        What `read_ratings`, `ratings_from_columns` or `ratings_from_table` returns.
    coefficients : sequence of str, optional
        Names of `COEFFICIENTS`, or ``"all"``; by default those that suit the ratings.
    level : {"nominal", "ordinal", "interval", "ratio"} or callable
        Of measurement, for Krippendorff's alpha; or an own distance of two arrays of values.
    weights : {"identity", "linear", "quadratic"} or (K, K) array
        Agreement of unequal values, for the coefficients that have weights.
    bootstrap : int
        How many times the clusters are drawn for the intervals; 0 for no intervals.
    seed : int
        Of the draws.
    interval : {"percentile", "bca"}
        Percentiles of the replicates, or bias-corrected and accelerated (Efron 1987). Means over
        several pairs of annotators have the value ± 1.96 standard errors in either case:
        resampling is biased where pairs share few units.
    task : str, optional
        A name for the result.
    progress : callable, optional
        Is told a stage, and how much of how much of it is done.

    Returns
    -------
    TaskEstimates
        A standard error is linearised where a formula is known, else by the jackknife.

    Raises
    ------
    ConfigError
        If a name or a setting is not known, or the level does not suit the values.
    """
    if interval not in INTERVALS:
        raise ConfigError(f"interval: found {interval!r}, expected one of {', '.join(INTERVALS)}")
    inputs = Inputs(ratings, level, weights)
    _check_level(ratings, level, weights)
    names = default_coefficients(inputs)
    if coefficients is not None:
        names = named_coefficients(coefficients)
    estimates = {}
    for name in names:
        stage = None if progress is None else _stage(progress, name)
        estimator = COEFFICIENTS[name](inputs)
        estimates[name] = _estimate(estimator, bootstrap, seed, interval, stage)
    of_pairs = any(COEFFICIENTS[name].of_pairs for name in names)
    drawn = ratings.data.state == Cell.CATEGORY
    return TaskEstimates(
        task=task,
        n_units=len(np.unique(ratings.data.unit[drawn])),
        n_annotators=len(np.unique(ratings.data.annotator[drawn])),
        n_ratings=int(drawn.sum()),
        coefficients=estimates,
        annotator_names=ratings.annotator_names,
        pairs=inputs.pairs if of_pairs and ratings.annotator_names else None,
        notes=tuple(_notes(inputs, estimates, bootstrap)),
    )


def _stage(progress: Progress, name: str) -> Callable[[int, int], None]:
    return lambda done, total: progress(name, done, total)


def _check_level(
    ratings: Ratings, level: str | Distance, weights: str | Sequence[Sequence[float]] | FloatArray
) -> None:
    """Raise where an order of values is asked for that nobody gave."""
    if ratings.numbers is not None or not ratings.value_names:
        return
    asked = f"level {level}" if isinstance(level, str) and level != "nominal" else ""
    if isinstance(weights, str) and weights != "identity":
        asked = asked or f"weights {weights}"
    if callable(level):
        asked = "own metric"
    if asked:
        text = next(name for name in ratings.value_names if not _is_number(name))
        raise ConfigError(
            f"{asked}: value {text!r} is not a number, and nothing says where it stands among the "
            "others; write the values as numbers, such as 1 for low and 2 for high"
        )


def _is_number(text: str) -> bool:
    try:
        return isfinite(float(text))
    except ValueError:
        return False


def _estimate(
    estimator: Estimator,
    bootstrap: int,
    seed: int,
    interval: str,
    progress: Callable[[int, int], None] | None,
) -> Estimate:
    """Return a coefficient with its uncertainty."""
    bounds, error = np.full(2, nan), estimator.standard_error
    if bootstrap and not isnan(estimator.value) and len(estimator.clusters) > 1:
        without = np.full(1, nan)
        if estimator.sums.shape[0] * len(estimator.clusters) <= _JACKKNIFE:
            bca = interval == "bca" and not estimator.of_many_pairs
            without = jackknife(estimator) if bca or isnan(error) else without
            error = jackknife_error(without) if isnan(error) else error
        if estimator.of_many_pairs:
            reach = _NORMAL * error
            bounds = np.clip([estimator.value - reach, estimator.value + reach], -1, 1)
        else:
            drawn = replicates_of(estimator, bootstrap, seed, progress)
            bounds = percentile_interval(drawn[None])[0]
            if interval == "bca":
                bounds = bca_interval(estimator.value, drawn, without)
    return Estimate(
        value=estimator.value,
        interval=(float(bounds[0]), float(bounds[1])),
        standard_error=error,
        status=estimator.status,
        observed=estimator.observed,
        expected=estimator.expected,
        n_shared=estimator.n_shared,
    )


def _notes(inputs: Inputs, estimates: Mapping[str, Estimate], bootstrap: int) -> list[str]:
    """Return what a reader of the numbers has to know."""
    notes = []
    if "krippendorff_alpha" in estimates and isinstance(inputs.level, str):
        notes.append(f"krippendorff_alpha is of {inputs.level} data")
    if isinstance(inputs.weights, str) and inputs.weights != "identity":
        notes.append(f"{inputs.weights} weights in kappas, gwet_ac2 and percent agreement")
    data = inputs.data
    used = np.unique(data.group[data.unit])
    if bootstrap and len(used) < _FEW_CLUSTERS:
        what = "unit" if data.n_groups == len(data.group) else "cluster"
        notes.append(
            f"intervals come from resampling, and are too narrow with {count(len(used), what)} only"
            if len(used) > 1
            else f"no intervals: they come from resampling, and there is one {what} only"
        )
    sizes = inputs.counts.size[inputs.counts.size > 0]
    if len(sizes) and sizes.min() != sizes.max():
        notes.append(f"units have {sizes.min():.0f} to {sizes.max():.0f} ratings")
        single = int((sizes == 1).sum())
        if single:
            notes.append(f"{count(single, 'unit')} with one rating only: nothing to compare there")
    if bootstrap and len(used) > 1:
        bare = [
            name
            for name, found in estimates.items()
            if not isnan(found.value) and isnan(found.interval[0])
        ]
        if bare:
            notes.append(
                f"no interval for {', '.join(bare)}: too many resamples leave it undefined"
            )
    if "cronbach_alpha" in estimates and not isnan(estimates["cronbach_alpha"].value):
        notes.append(CRONBACH_WARNING)
    return notes


def difference(
    first: Ratings,
    second: Ratings,
    coefficient: str = "krippendorff_alpha",
    *,
    level: str | Distance = "nominal",
    bootstrap: int = 1000,
    seed: int = 0,
) -> Difference:
    """Return by how much a coefficient differs between two groups of annotators or guidelines.

    Parameters
    ----------
    first, second : Ratings
        Clusters of the same name, or units where each is a cluster of its own, are the same and
        are drawn together; without names they are the same by their place.
    coefficient : str
        A name of `COEFFICIENTS`.
    level : str or callable
        Of measurement, for Krippendorff's alpha.
    bootstrap, seed : int
        How many times to draw, and of the draws.

    Returns
    -------
    Difference
        first − second.

    Raises
    ------
    ConfigError
        If a name is not known, or the level does not suit the values.

    Examples
    --------
    >>> ours = ratings_from_table([[0, 1, 1, 0, 2], [0, 1, 1, 0, 2]])
    >>> theirs = ratings_from_table([[0, 1, 1, 0, 2], [0, 1, 0, 0, 1]])
    >>> round(difference(ours, theirs).value, 4)
    0.6207
    """
    if coefficient == "all":
        raise ConfigError("coefficient: found 'all', expected one name")
    (name,) = named_coefficients([coefficient])
    for ratings in (first, second):
        _check_level(ratings, level, "identity")
    names = [_cluster_names(ratings) for ratings in (first, second)]
    known = {text: place for place, text in enumerate(dict.fromkeys(names[0] + names[1]))}
    numbers = [np.array([known[text] for text in part], np.int64) for part in names]
    estimators = [COEFFICIENTS[name](Inputs(ratings, level)) for ratings in (first, second)]
    return paired_difference(estimators[0], estimators[1], numbers[0], numbers[1], bootstrap, seed)


def _cluster_names(ratings: Ratings) -> list[str]:
    data = ratings.data
    if ratings.cluster_names:
        return [*ratings.cluster_names]
    if data.n_groups == len(data.group) == len(ratings.unit_names):
        named = [""] * data.n_groups
        for place, text in zip(data.group.tolist(), ratings.unit_names, strict=True):
            named[place] = text
        return named
    return [str(place) for place in range(data.n_groups)]


def only_annotators(ratings: Ratings, names: Sequence[str]) -> Ratings:
    """Return the ratings of some of the annotators.

    Parameters
    ----------
    ratings : Ratings
    names : sequence of str
        Of annotators.

    Returns
    -------
    Ratings
        With the same units, values and annotators, the others having rated nothing.

    Raises
    ------
    ConfigError
        If a name is not known.
    """
    unknown = [name for name in names if name not in ratings.annotator_names]
    if unknown:
        raise ConfigError(
            f"annotators: found {', '.join(map(repr, unknown))}, expected some of "
            f"{', '.join(ratings.annotator_names)}"
        )
    wanted = np.isin(np.array(ratings.annotator_names), list(names))
    data = ratings.data
    kept = np.flatnonzero(wanted[data.annotator])
    part = replace(
        data,
        unit=data.unit[kept],
        annotator=data.annotator[kept],
        value=data.value[kept],
        state=data.state[kept],
    )
    return replace(ratings, data=part)


@dataclass(frozen=True, slots=True, eq=False)
class Contributions:
    """What lowers or raises nominal alpha.

    Attributes
    ----------
    alpha : float
        With everything.
    without_units : (U,) float64
        Without each unit; NaN where undefined.
    without_annotators : (A,) float64
        Without each annotator; NaN where nobody knows who gave which value.
    without_values : (K,) float64
        Without the row and column of each value in the coincidence matrix.
    """

    alpha: float
    without_units: FloatArray
    without_annotators: FloatArray
    without_values: FloatArray


def contributions(ratings: Ratings) -> Contributions:
    """Return Krippendorff's nominal alpha without each unit, annotator and value.

    Parameters
    ----------
    ratings : Ratings
        No annotator twice in a unit.

    Returns
    -------
    Contributions

    Raises
    ------
    ConfigError
        If an annotator answered a unit several times.

    Examples
    --------
    >>> found = contributions(ratings_from_table([[0, 1, 1], [0, 1, 1], [0, 1, 0]]))
    >>> found.without_annotators.round(4)
    array([0.4444, 0.4444, 1.    ])
    """
    inputs = Inputs(ratings)
    if inputs.repeated:
        raise ConfigError("an annotator answered a unit several times; keep one of the answers")
    counts = unit_counts(ratings.data)
    return Contributions(
        alpha=COEFFICIENTS["krippendorff_alpha"](inputs).value,
        without_units=alpha_without_units(counts),
        without_annotators=alpha_without_annotators(ratings.data, inputs.n_annotators)
        if ratings.annotator_names
        else np.full(inputs.n_annotators, nan),
        without_values=alpha_without_values(counts),
    )
