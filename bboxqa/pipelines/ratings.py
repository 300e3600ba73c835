"""Measuring ratings and segments of time, differences of groups, and who answers like whom."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from math import isnan, nan
from pathlib import Path
from typing import get_args

import msgspec
import numpy as np
from msgspec.structs import replace

from bboxqa.agreement.chance import fleiss_per_value
from bboxqa.agreement.code_tables import independence
from bboxqa.agreement.consistency import CRONBACH_WARNING
from bboxqa.agreement.estimators import Estimator
from bboxqa.agreement.levels import SET_LEVELS, Distance, SetDistance, set_distance
from bboxqa.agreement.registry import CoefficientInputs, default_coefficients, named_coefficients
from bboxqa.agreement.registry import coefficient as coefficient_of
from bboxqa.agreement.resampling import (
    FEW_CLUSTERS,
    Difference,
    bca_interval,
    covering_intervals,
    expanded_level,
    jackknife,
    jackknife_error,
    paired_difference,
    replicates_of_all,
)
from bboxqa.core.arrays import FloatArray, Progress
from bboxqa.core.errors import ConfigError, DatasetError
from bboxqa.core.text import count, quoted, unknown_name
from bboxqa.diagnostics.answers import (
    Clusters,
    Method,
    alpha_without_annotators,
    alpha_without_units,
    alpha_without_values,
    annotator_similarity,
    cluster_annotators,
    shared_units,
)
from bboxqa.formats.ratings import column_problems
from bboxqa.formats.tables import open_table
from bboxqa.model.ratings import (
    ColumnAssociation,
    Estimate,
    Grouping,
    Ratings,
    SimilarAnnotators,
    TaskEstimates,
    code,
    number_of,
    set_of,
)
from bboxqa.model.settings import MAX_BOOTSTRAP, MIN_BOOTSTRAP
from bboxqa.model.table import Categorical, Column, Table
from bboxqa.model.units import Cell

INTERVALS = ("percentile", "bca")
"""Methods to compute intervals from the replicates."""

# Tables of values are made for fewer values only.
_MOST_SHOWN = 2000
# More numeric values are a continuous scale, on which leaving out single values has no effect.
_MOST_NUMBERS = 100
# Limit of the sums that a jackknife adds up.
_JACKKNIFE = 1 << 31


def measure(
    ratings: Ratings,
    coefficients: str | Sequence[str] | None = None,
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
        What `read_ratings`, or a function that begins with `ratings_from`, returns.
    coefficients : str or sequence of str, optional
        Names of coefficients, or ``"all"``; by default those that suit the ratings.
    level : {"nominal", "ordinal", "interval", "ratio", "masi", "jaccard"} or callable
        Level of measurement for Krippendorff's alpha, or a distance of two arrays of values.
    weights : {"identity", "linear", "quadratic"} or (K, K) array
        Agreement of unequal values, for the coefficients that have weights.
    bootstrap, seed : int
        How many times the clusters are drawn for the intervals, 40 to 100,000, and the seed of the
        draws; 0 for no intervals.
    interval : {"percentile", "bca"}
        Percentiles of the replicates, or bias-corrected and accelerated (Efron 1987,
        doi:10.1080/01621459.1987.10478410). Intervals of a mean over several pairs come from the
        jackknife's pseudo-values.
    task, progress : str and callable, optional
        A name for the result, and what is called as ``progress(stage, done, total)``.

    Returns
    -------
    TaskEstimates
        Standard errors are linearised if a formula is known, otherwise from the jackknife.

    Raises
    ------
    ConfigError
        If a name or a setting is not known, or the level does not suit the values.

    Examples
    --------
    >>> from bboxqa.stats import ratings_from_table as table
    >>> found = measure(table([[0, 1, 1], [0, 1, 0]]), "percent_agreement", bootstrap=0)
    >>> round(found.coefficients["percent_agreement"].value, 4)
    0.6667
    """
    if interval not in INTERVALS:
        raise ConfigError(f"interval {unknown_name(interval, INTERVALS)}")
    inputs = checked_inputs(ratings, level, weights, bootstrap=bootstrap, seed=seed)
    wanted = [coefficients] if isinstance(coefficients, str) else coefficients
    names = default_coefficients(inputs) if wanted is None else named_coefficients(wanted)
    estimators = {name: coefficient_of(name)(inputs) for name in names}
    estimates = estimates_of(
        estimators, bootstrap=bootstrap, seed=seed, interval=interval, progress=progress
    )
    data, drawn = inputs.data, inputs.data.state == Cell.CATEGORY
    annotators: dict[str, float] = {}
    is_known = "krippendorff_alpha" in names and not (inputs.repeated or inputs.anonymous)
    if is_known and inputs.n_annotators > 2:
        without = alpha_without_annotators(data, inputs.n_annotators, inputs.level, inputs.numbers)
        annotators = dict(zip(ratings.annotator_names, without.tolist(), strict=True))
    of_pairs = any(coefficient_of(name).of_pairs for name in names) and not inputs.anonymous
    return TaskEstimates(
        task=task,
        n_units=len(np.unique(data.unit[drawn])),
        n_annotators=len(np.unique(data.annotator[drawn])),
        n_ratings=int(drawn.sum()),
        coefficients=estimates,
        annotator_names=ratings.annotator_names,
        pairs=inputs.pairs.table if of_pairs else None,
        annotators=annotators,
        values=_values(inputs, names),
        notes=(*ratings.notes, *notes_of(inputs, estimates, bootstrap)),
    )


def _values(inputs: CoefficientInputs, names: Sequence[str]) -> dict[str, dict[str, float]]:
    """Return the figures of each value, by the names of value and column."""
    if inputs.repeated or inputs.data.n_values > _MOST_SHOWN:
        return {}
    columns = {}
    most = _MOST_SHOWN if inputs.level == "nominal" else _MOST_NUMBERS
    if "krippendorff_alpha" in names and 2 < inputs.data.n_values <= most:
        without = alpha_without_values(inputs.counts, inputs.level, inputs.numbers)
        columns["alpha_without"] = without.tolist()
    if "fleiss_kappa" in names:
        found = fleiss_per_value(inputs.counts)
        columns["fleiss_kappa"] = found.kappa.tolist()
        columns["standard_error"] = found.standard_error.tolist()
        columns["low"], columns["high"] = found.interval.T.tolist()
    if not columns:
        return {}
    return {
        name: {column: numbers[place] for column, numbers in columns.items()}
        for place, name in enumerate(inputs.ratings.value_names)
    }


def checked_inputs(
    ratings: Ratings,
    level: str | Distance,
    weights: str | Sequence[Sequence[float]] | FloatArray = "identity",
    *,
    bootstrap: int = 0,
    seed: int = 0,
) -> CoefficientInputs:
    """Return ratings as coefficients take them; ConfigError if a setting does not suit them."""
    whole = isinstance(bootstrap, int | np.integer)
    if not whole or (bootstrap and not MIN_BOOTSTRAP <= bootstrap <= MAX_BOOTSTRAP):
        expected = f"0, or {MIN_BOOTSTRAP} to {MAX_BOOTSTRAP:,}"
        raise ConfigError(f"is {bootstrap!r}; expected {expected}", "bootstrap")
    if not isinstance(seed, int | np.integer) or seed < 0:
        raise ConfigError(f"is {seed!r}; expected a whole number, 0 or more", "seed")
    if not isinstance(ratings, Ratings):
        raise ConfigError(
            f"ratings is of type {type(ratings).__name__}; expected what ratings_from_frame, "
            "ratings_from_columns or ratings_from_table (annotators × units) returns, or a value "
            "of what read_ratings does"
        )
    if isinstance(level, str) and level in SET_LEVELS:
        level = set_distance(level, ratings.value_names)
    inputs = CoefficientInputs(ratings, level, weights)
    asked = "distance function" if callable(level) else ""
    if isinstance(level, str) and level != "nominal":
        asked = f"level {level}"
    elif isinstance(weights, str) and weights != "identity":
        asked = asked or f"weights {weights}"
    if asked and inputs.numbers is None and ratings.value_names:
        text = next(name for name in ratings.value_names if number_of(name) is None)
        raise ConfigError(
            f"{asked}: value {quoted(text)} is not a number, so that its order is unknown; "
            "write the values as numbers, such as 1 for low and 2 for high"
        )
    return inputs


def estimates_of(
    estimators: Mapping[str, Estimator],
    *,
    bootstrap: int,
    seed: int,
    interval: str,
    progress: Progress | None = None,
) -> dict[str, Estimate]:
    """Return coefficients with their uncertainty; those over the same clusters share the draws."""
    drawn: dict[str, FloatArray] = {}
    if bootstrap:
        resampled = {
            name: estimator
            for name, estimator in estimators.items()
            if not isnan(estimator.value) and len(estimator.clusters) > 1
        }
        on_step = None if progress is None else partial(progress, "resampling")
        drawn = replicates_of_all(resampled, bootstrap, seed, on_step)
    return {
        name: _estimate(estimator, drawn.get(name), interval)
        for name, estimator in estimators.items()
    }


def _estimate(estimator: Estimator, drawn: FloatArray | None, interval: str) -> Estimate:
    bounds, error = np.full(2, nan), estimator.standard_error
    if drawn is not None:
        n_clusters = np.array([len(estimator.clusters)])
        intervals, without = None, np.full(1, nan)
        is_small = estimator.sums.shape[0] * len(estimator.clusters) <= _JACKKNIFE
        if is_small and (interval == "bca" or isnan(error)):
            without = jackknife(estimator)
        error = jackknife_error(without) if isnan(error) else error
        if interval == "bca":
            drawn = np.minimum(drawn + estimator.bias, 1.0) if estimator.bias else drawn
            level = float(expanded_level(n_clusters)[0])
            intervals = bca_interval(estimator.value, drawn, without, level)[None]
        value = np.array([estimator.value])
        bounds = covering_intervals(value, drawn[None], n_clusters, intervals=intervals)[0]
    return Estimate(
        value=estimator.value,
        interval=(float(bounds[0]), float(bounds[1])),
        standard_error=error,
        status=estimator.status,
        observed=estimator.observed,
        expected=estimator.expected,
        n_shared=estimator.n_shared,
        n_clusters=len(estimator.clusters),
        advice=estimator.advice,
    )


def notes_of(
    inputs: CoefficientInputs, estimates: Mapping[str, Estimate], bootstrap: int
) -> Iterator[str]:
    """Yield notes on coefficients."""
    if "krippendorff_alpha" in estimates and isinstance(inputs.level, str):
        yield f"krippendorff_alpha is of {inputs.level} data"
    if isinstance(inputs.level, SetDistance):
        yield f"krippendorff_alpha is of sets of labels, by their {inputs.level.name} distance"
    elif inputs.level == "nominal" and any(map(set_of, inputs.ratings.value_names)):
        yield (
            "values are sets of labels, which agree where they are equal, in any order; "
            "--level masi or jaccard counts what they have in common"
        )
    if isinstance(inputs.weights, str) and inputs.weights != "identity":
        yield f"{inputs.weights} weights in kappas, gwet_ac2 and percent agreement"
    if inputs.repeated:
        yield (
            "an annotator answered a unit several times; if these are different questions, "
            "name their column with --by"
        )
    sizes = inputs.counts.size[inputs.counts.size > 0]
    if len(sizes) and sizes.min() != sizes.max():
        yield f"units have {sizes.min():.0f} to {sizes.max():.0f} ratings"
    people = len(np.unique(inputs.data.annotator)) if len(sizes) else 0
    if people > len(sizes) > 1 and not inputs.anonymous:
        yield (
            f"more annotators ({people:,}) than units ({len(sizes):,}): if it is the other way "
            "round, swap unit and annotator"
        )
    if single := int((sizes == 1).sum()):
        yield f"{count(single, 'unit')} with one rating only: nothing to compare there"
    what = "unit" if inputs.data.units_alone else "cluster"
    yield from missing_intervals(estimates, what) if bootstrap else ()
    if "cronbach_alpha" in estimates and not isnan(estimates["cronbach_alpha"].value):
        yield CRONBACH_WARNING


def missing_intervals(estimates: Mapping[str, Estimate], what: str) -> Iterator[str]:
    """Yield what is wrong with intervals that were drawn from clusters, which are called `what`."""
    n_clusters = max((found.n_clusters for found in estimates.values()), default=0)
    if n_clusters == 1:
        yield f"no intervals: they come from resampling, and there is one {what} only"
        return
    drawn = [found for found in estimates.values() if not isnan(found.interval[0])]
    least = min((found.n_clusters for found in drawn), default=FEW_CLUSTERS)
    if least < FEW_CLUSTERS:
        some = count(least, what)
        yield f"intervals come from resampling, and are somewhat too narrow with {some} only"
    if bare := [
        e for e in estimates if not isnan(estimates[e].value) and isnan(estimates[e].interval[0])
    ]:
        why = f"two {what}s only, or too many resamples leave it undefined or on one side of it"
        yield f"no interval for {', '.join(bare)}: {why}"


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
        Clusters with the same name are drawn together. If each unit is a cluster, units with the
        same name are, or without names, units with the same index.
    coefficient, level : str, or a callable for the level
        Name of a coefficient, and the level of measurement for Krippendorff's alpha.
    bootstrap, seed : int
        How many times to draw, and the seed of the draws.

    Returns
    -------
    Difference
        first − second.

    Examples
    --------
    >>> from bboxqa.stats import ratings_from_table
    >>> ours = ratings_from_table([[0, 1, 1, 0, 2], [0, 1, 1, 0, 2]])
    >>> theirs = ratings_from_table([[0, 1, 1, 0, 2], [0, 1, 0, 0, 1]])
    >>> round(difference(ours, theirs).value, 4)
    0.6207
    """
    if coefficient == "all":
        raise ConfigError("coefficient is 'all'; expected one name")
    (name,) = named_coefficients([coefficient])
    inputs = [checked_inputs(e, level, bootstrap=bootstrap, seed=seed) for e in (first, second)]
    names = []
    for data, ratings in ((each.data, each) for each in (first, second)):
        named = dict(enumerate(ratings.cluster_names))
        if not named and data.n_groups == len(data.group) == len(ratings.unit_names):
            named = dict(zip(data.group.tolist(), ratings.unit_names, strict=True))
        names.append([named.get(place, str(place)) for place in range(data.n_groups)])
    place_of = {text: place for place, text in enumerate(dict.fromkeys(names[0] + names[1]))}
    places = [np.array([place_of[text] for text in part], np.int64) for part in names]
    one, other = map(coefficient_of(name), inputs)
    return paired_difference(one, other, places[0], places[1], bootstrap, seed)


def only_annotators(ratings: Ratings, names: Sequence[str]) -> Ratings:
    """Return the ratings of some of the annotators.

    Parameters
    ----------
    ratings : Ratings
    names : sequence of str
        Names of annotators.

    Returns
    -------
    Ratings
        With the same units and annotators, but without the ratings of the others, and with the
        values that remain.

    Raises
    ------
    ConfigError
        If a name is not known.
    """
    for name in names:
        if name not in ratings.annotator_names:
            raise ConfigError(f"annotator {unknown_name(name, ratings.annotator_names)}")
    wanted = np.isin(np.array(ratings.annotator_names), list(names))
    data = ratings.data
    kept = np.flatnonzero(wanted[data.annotator])
    # Chance agreement counts only the values that the remaining annotators gave.
    drawn = data.state[kept] == Cell.CATEGORY
    occurring, code = np.unique(data.value[kept][drawn], return_inverse=True)
    value = np.zeros(len(kept), np.int32)
    value[drawn] = code
    part = replace(data.take(kept), value=value, n_values=len(occurring))
    return replace(
        ratings,
        data=part,
        value_names=tuple(ratings.value_names[place] for place in occurring.tolist()),
        numbers=None if ratings.numbers is None else ratings.numbers[occurring],
    )


class Contributions(msgspec.Struct, frozen=True, eq=False):
    """Krippendorff's alpha without each unit, annotator and value, which shows their influence."""

    alpha: float
    """Alpha of all data."""
    without_units: FloatArray
    """(U,) float64. Without each unit; NaN where undefined."""
    without_annotators: FloatArray
    """(A,) float64. Without each annotator; NaN where it is unknown who gave which value."""
    without_values: FloatArray
    """(K,) float64. Without the row and column of each value in the coincidence matrix."""


def contributions(ratings: Ratings, *, level: str | Distance = "nominal") -> Contributions:
    """Return Krippendorff's alpha without each unit, annotator and value.

    Parameters
    ----------
    ratings : Ratings
        No annotator may appear twice in a unit.
    level : {"nominal", "ordinal", "interval", "ratio", "masi", "jaccard"} or callable
        Level of measurement, or a distance of two arrays of values.

    Raises
    ------
    ConfigError
        If an annotator answered a unit several times, or the level does not suit the values.

    Examples
    --------
    >>> from bboxqa.stats import ratings_from_table
    >>> found = contributions(ratings_from_table([[0, 1, 1], [0, 1, 1], [0, 1, 0]]))
    >>> found.without_annotators.round(4)
    array([0.4444, 0.4444, 1.    ])
    """
    inputs = checked_inputs(ratings, level)
    if inputs.repeated:
        raise ConfigError("an annotator answered a unit several times; keep one of the answers")
    counts, level, numbers = inputs.counts, inputs.level, inputs.numbers
    return Contributions(
        alpha=coefficient_of("krippendorff_alpha")(inputs).value,
        without_units=alpha_without_units(counts, level, numbers),
        without_annotators=alpha_without_annotators(
            ratings.data, inputs.n_annotators, level, numbers
        )
        if ratings.annotator_names
        else np.full(inputs.n_annotators, nan),
        without_values=alpha_without_values(counts, level, numbers),
    )


def column_association(path: str | Path, first: str, second: str) -> ColumnAssociation:
    """Return a chi-square test of independence of two columns of a table, with Cramér's V."""
    if first == second:
        raise ConfigError(f"both columns are {first!r}; expected two different ones")
    table = open_table(path)
    if problems := [*column_problems(table, (first, second))]:
        raise DatasetError(problems)
    read = table.columns([first, second])
    coded = code(read[first]), code(read[second])
    known = np.flatnonzero((coded[0].codes >= 0) & (coded[1].codes >= 0))
    shape = len(coded[0].names), len(coded[1].names)
    cell = coded[0].codes[known].astype(np.int64) * shape[1] + coded[1].codes[known]
    counts = np.bincount(cell, minlength=shape[0] * shape[1]).reshape(shape)
    test = independence(counts)
    missing = len(coded[0].codes) - len(known)
    left_out = (f"{count(missing, 'row')} left out: a value is missing",) if missing else ()
    names = coded[0].names, coded[1].names
    return ColumnAssociation((first, second), names, counts, test, (*test.notes, *left_out))


# More groups than this are not looked for.
_MOST_GROUPS = 10

TOO_FEW = "no groups: they need three annotators or more"
NOTHING_SHARED = "no groups: some annotators share no unit, so that their similarity is unknown"
ALL_ALIKE = "no groups: all annotators are equally similar"


def similar_annotators(
    ratings: Ratings, *, task: str | None = None, seed: int = 0
) -> SimilarAnnotators:
    """Return the similarity of each pair of annotators, and groups of annotators.

    Pairs are by falling share of equal answers. Groups are of rows of the matrix of these shares,
    as many as have the largest silhouette.
    """
    names = ratings.annotator_names
    if not names:
        raise DatasetError(
            ["counts do not say who gave which value, so that no annotators can be compared"],
            "Give ratings instead of counts, one row each.",
        )
    similarity = annotator_similarity(ratings.data, len(names))
    # An annotator without ratings is in no group.
    rated = np.flatnonzero(~np.isnan(np.diagonal(similarity)))
    compared = similarity[np.ix_(rated, rated)]
    most = min(_MOST_GROUPS, len(rated) - 1, len(np.unique(compared, axis=0)))
    reasons = (
        (len(rated) < 3, TOO_FEW),
        (bool(np.isnan(compared).any()), NOTHING_SHARED),
        (most < 2, ALL_ALIKE),
    )
    notes = tuple(reason for applies, reason in reasons if applies)[:1]
    clusters = dict[str, Clusters]()
    columns: dict[str, Column] = {
        "annotator": Categorical(np.arange(len(names), dtype=np.int32), names)
    }
    for method in get_args(Method):
        columns[method] = labels = np.zeros(len(names), np.int32)
        if not notes:
            tried = (cluster_annotators(compared, k, method, seed) for k in range(2, most + 1))
            clusters[method] = max(
                tried, key=lambda each: -1.0 if np.isnan(each.silhouette) else each.silhouette
            )
            labels[rated] = clusters[method].labels + 1
    return SimilarAnnotators(
        task=task,
        pairs=_pairs(ratings, similarity),
        groups=Table(columns),
        groupings=tuple(
            Grouping(method, int(found.labels.max()) + 1, found.silhouette, found.status)
            for method, found in clusters.items()
        ),
        notes=notes,
    )


def _pairs(ratings: Ratings, similarity: FloatArray) -> Table:
    names = ratings.annotator_names
    shared = shared_units(ratings.data, len(names))
    first, second = np.nonzero(np.triu(shared, 1))
    cosine = np.full(similarity.shape, np.nan)
    if ratings.numbers is not None:
        cosine = annotator_similarity(ratings.data, len(names), ratings.numbers, "cosine")
    equal = similarity[first, second]
    order = np.lexsort([second, first, -equal])
    first, second = first[order], second[order]
    return Table(
        {
            "first": Categorical(first.astype(np.int32), names),
            "second": Categorical(second.astype(np.int32), names),
            "n_shared": shared[first, second],
            "equal": equal[order],
            "cosine": cosine[first, second],
        }
    )
