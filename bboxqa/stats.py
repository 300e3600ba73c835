"""Agreement on labels, numbers and choices: coefficients with their uncertainty.

>>> from bboxqa import stats
>>> ratings = stats.ratings_from_columns(
...     unit=[1, 1, 2, 2, 3, 3, 4, 4], annotator=["ann", "bob"] * 4,
...     value=["cat", "cat", "dog", "dog", "dog", "cat", "cat", "cat"])
>>> found = stats.measure(ratings, ["krippendorff_alpha"], bootstrap=0)
>>> round(found.coefficients["krippendorff_alpha"].value, 4)
0.5333
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from bboxqa.agreement.code_tables import alpha_of_codes, cross_table, independence, kappa_of_codes
from bboxqa.agreement.consistency import cronbach_alpha, intraclass_correlations
from bboxqa.agreement.intervals import totals
from bboxqa.agreement.registry import COEFFICIENTS, SCALES, label
from bboxqa.agreement.resampling import Difference
from bboxqa.core.errors import ConfigError
from bboxqa.diagnostics.answers import annotator_similarity, cluster_annotators
from bboxqa.formats.ratings import from_array as ratings_from_table
from bboxqa.formats.ratings import from_columns as ratings_from_columns
from bboxqa.formats.ratings import is_unit_table, read_ratings, with_missed
from bboxqa.model.ratings import Estimate, PairTable, Ratings, TaskEstimates, column_of
from bboxqa.pipelines.ratings import difference
from bboxqa.pipelines.ratings import measure as _measure

__all__ = [
    "COEFFICIENTS",
    "SCALES",
    "Difference",
    "Estimate",
    "PairTable",
    "Ratings",
    "TaskEstimates",
    "alpha_of_codes",
    "annotator_similarity",
    "cluster_annotators",
    "cronbach_alpha",
    "cross_table",
    "difference",
    "independence",
    "intraclass_correlations",
    "kappa_of_codes",
    "label",
    "measure",
    "ratings_from_columns",
    "ratings_from_frame",
    "ratings_from_table",
    "read_ratings",
    "totals",
]


def measure(
    ratings: Ratings | Mapping[str, Any] | Any,
    coefficients: str | Sequence[str] | None = None,
    *,
    unit: str = "unit",
    annotator: str = "annotator",
    value: str = "value",
    cluster: str | None = None,
    n_options: str | None = None,
    **settings: Any,
) -> TaskEstimates:
    """Measure agreement on any ratings.

    Parameters
    ----------
    ratings : Ratings, frame or mapping
        What `read_ratings`, `ratings_from_columns` or `ratings_from_table` returns, or what
        `ratings_from_frame` takes.
    coefficients : str or sequence of str, optional
        Names of coefficients, or ``"all"``; by default those that suit the ratings.
    unit, annotator, value, cluster, n_options : str
        Columns of a frame, as for `ratings_from_frame`: with ``cluster="image"``, intervals draw
        images.
    level : {"nominal", "ordinal", "interval", "ratio", "masi", "jaccard"} or callable
        Level of measurement for Krippendorff's alpha, or a distance of two arrays of values.
    weights : {"identity", "linear", "quadratic"} or (K, K) array
        Agreement of unequal values, for the coefficients that have weights.
    bootstrap : int
        How many times the clusters are drawn for the intervals, 40 to 100,000; 0 for no intervals.
    seed : int
        Seed of the draws.
    interval : {"percentile", "bca"}
        Percentiles of the replicates, or bias-corrected and accelerated [1]_. Intervals of a mean
        over several pairs of annotators come from the jackknife's pseudo-values, since recomputing
        the mean from each draw is biased where pairs share few units.
    task : str, optional
        A name for the result.
    progress : callable, optional
        Called as ``progress(stage, done, total)``.

    Returns
    -------
    TaskEstimates
        Standard errors are linearised if a formula is known, otherwise from the jackknife.

    Raises
    ------
    ConfigError
        If a name or a setting is not known, or the level does not suit the values.

    References
    ----------
    .. [1] B. Efron (1987), Better bootstrap confidence intervals, Journal of the American
           Statistical Association 82(397), doi:10.1080/01621459.1987.10478410.

    Examples
    --------
    >>> frame = {"unit": [1, 1, 2, 2], "annotator": ["ann", "bob"] * 2, "image": ["a", "a"] * 2,
    ...          "value": ["cat", "cat", "dog", "cat"]}
    >>> found = measure(frame, "krippendorff_alpha", cluster="image", bootstrap=0)
    >>> round(found.coefficients["krippendorff_alpha"].value, 4)
    0.0
    """
    if isinstance(ratings, Mapping) or hasattr(ratings, "columns"):
        named: dict[str, Any] = {"unit": unit, "annotator": annotator, "value": value}
        ratings = ratings_from_frame(ratings, **named, cluster=cluster, n_options=n_options)
    elif cluster is not None or n_options is not None:
        raise ConfigError("columns are for a frame; these ratings already have their clusters")
    return _measure(ratings, coefficients, **settings)


def ratings_from_frame(
    frame: Mapping[str, Any] | Any,
    *,
    unit: str = "unit",
    annotator: str = "annotator",
    value: str = "value",
    cluster: str | None = None,
    n_options: str | None = None,
) -> Ratings:
    """Return ratings from a frame of pandas, polars or pyarrow, or a dict of columns.

    Parameters
    ----------
    frame : frame or mapping
        One rating per row; columns are taken by name. In a table of units of `bboxqa.agree`, a
        missed object is the value "(missing)", and images are the clusters.
    unit, annotator, value : str
        Names of columns.
    cluster, n_options : str, optional
        Names of columns: clusters that intervals draw, and numbers of objects to choose from.

    Returns
    -------
    Ratings

    Raises
    ------
    ConfigError
        If there is no such column.
    DatasetError
        If the columns cannot be ratings.

    Examples
    --------
    >>> frame = {"unit": [1, 1], "annotator": ["ann", "bob"], "value": ["cat", "dog"]}
    >>> ratings_from_frame(frame).value_names
    ('cat', 'dog')
    """
    fields = getattr(getattr(frame, "dtype", None), "names", None)
    listed: Any = getattr(frame, "column_names", fields) or getattr(frame, "columns", frame)
    names = [*listed] if isinstance(listed, Iterable) else []
    named = {"unit": unit, "annotator": annotator, "value": value}
    named |= {"cluster": cluster} if cluster else {}
    named |= {"n_options": n_options} if n_options else {}
    if of_units := is_unit_table(names, value):
        levels = frame["iou_threshold"] if "iou_threshold" in names else ()
        thresholds = {float(str(each)) for each in levels}
        if len(thresholds) > 1:
            found = ", ".join(f"{each:g}" for each in sorted(thresholds))
            raise ConfigError(f"the frame has the units of iou_threshold {found}; expected one")
        named["value"] = "category"
        if unit == "unit":
            named.setdefault("cluster", "image")
    if absent := [field for field, name in named.items() if name not in names]:
        raise ConfigError(f"{absent[0]} is {named[absent[0]]!r}, which is not a column")
    columns = {field: column_of(frame[name], field) for field, name in named.items()}
    if of_units:
        columns["value"] = with_missed(columns["value"], column_of(frame["state"], "state"))
    return ratings_from_columns(**columns)
