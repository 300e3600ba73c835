"""Comparisons of ratings: two groups of annotators, two guidelines, all but one annotator."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import nan

import numpy as np

from bboxqa.agreement.alpha.levels import Distance
from bboxqa.agreement.registry import coefficient as coefficient_of
from bboxqa.agreement.registry import named_coefficients
from bboxqa.agreement.uncertainty.resampling import Difference, paired_difference
from bboxqa.core.arrays import FloatArray
from bboxqa.core.errors import ConfigError
from bboxqa.core.text import unknown_name
from bboxqa.diagnostics.influence import (
    alpha_without_annotators,
    alpha_without_units,
    alpha_without_values,
)
from bboxqa.model.ratings import Ratings
from bboxqa.model.units import Cell
from bboxqa.pipelines.ratings.measure import checked_inputs


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
    coefficient : str
        Name of a coefficient.
    level : str or callable
        Level of measurement for Krippendorff's alpha.
    bootstrap, seed : int
        How many times to draw, and the seed of the draws.

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
    >>> from bboxqa.stats import ratings_from_table
    >>> ours = ratings_from_table([[0, 1, 1, 0, 2], [0, 1, 1, 0, 2]])
    >>> theirs = ratings_from_table([[0, 1, 1, 0, 2], [0, 1, 0, 0, 1]])
    >>> round(difference(ours, theirs).value, 4)
    0.6207
    """
    if coefficient == "all":
        raise ConfigError("coefficient is 'all'; expected one name")
    (name,) = named_coefficients([coefficient])
    inputs = [
        checked_inputs(ratings, level, bootstrap=bootstrap, seed=seed)
        for ratings in (first, second)
    ]
    names = [_cluster_names(ratings) for ratings in (first, second)]
    place_of = {text: place for place, text in enumerate(dict.fromkeys(names[0] + names[1]))}
    places = [np.array([place_of[text] for text in part], np.int64) for part in names]
    one, other = map(coefficient_of(name), inputs)
    return paired_difference(one, other, places[0], places[1], bootstrap, seed)


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


@dataclass(frozen=True, slots=True, eq=False)
class Contributions:
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
