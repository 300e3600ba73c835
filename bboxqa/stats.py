"""Agreement on labels, numbers and choices: coefficients with their uncertainty.

>>> from bboxqa import stats
>>> ratings = stats.ratings_from_columns(
...     unit=[1, 1, 2, 2, 3, 3, 4, 4], annotator=["ann", "bob"] * 4,
...     value=["cat", "cat", "dog", "dog", "dog", "cat", "cat", "cat"])
>>> found = stats.measure(ratings, ["krippendorff_alpha"], bootstrap=0)
>>> round(found.coefficients["krippendorff_alpha"].value, 4)
0.5333
"""

from collections.abc import Mapping
from typing import Any

from bboxqa.agreement.code_tables import alpha_of_codes, kappa_of_codes
from bboxqa.agreement.consistency import cronbach_alpha, intraclass_correlations
from bboxqa.agreement.registry import COEFFICIENTS, SCALES, label, membership_probabilities
from bboxqa.agreement.uncertainty.linear import totals
from bboxqa.agreement.uncertainty.resampling import Difference
from bboxqa.core.errors import ConfigError
from bboxqa.diagnostics.answers import (
    annotator_similarity,
    cluster_annotators,
    cross_table,
    independence,
)
from bboxqa.formats.ratings.columns import from_array as ratings_from_table
from bboxqa.formats.ratings.columns import from_columns as ratings_from_columns
from bboxqa.formats.ratings.reader import has_unit_columns, read_ratings, with_missed
from bboxqa.model.labels import column_of
from bboxqa.model.ratings import Estimate, PairTable, Ratings, TaskEstimates
from bboxqa.pipelines.ratings.contrasts import (
    Contributions,
    contributions,
    difference,
    only_annotators,
)
from bboxqa.pipelines.ratings.measure import measure

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
    "ratings_from_frame",
    "ratings_from_table",
    "read_ratings",
    "totals",
]


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
    of_units = value in {"value", "category"} and _is_unit_table(frame)
    if of_units:
        value, cluster = "category", cluster or ("image" if unit == "unit" else None)
    named = {"unit": unit, "annotator": annotator, "value": value}
    named |= {"cluster": cluster} if cluster else {}
    named |= {"n_options": n_options} if n_options else {}
    columns = {}
    for field, name in named.items():
        try:
            columns[field] = frame[name]
        except (KeyError, IndexError, TypeError, ValueError):
            raise ConfigError(f"{field} is {name!r}, which is not a column") from None
        except Exception as error:
            # Each library has its own error for a missing column.
            if "NotFound" not in type(error).__name__:
                raise
            raise ConfigError(f"{field} is {name!r}, which is not a column") from None
    if of_units:
        category, state = (column_of(frame[name], name) for name in ("category", "state"))
        filled = with_missed(category, state)
        columns["value"] = [filled.label(row) for row in range(len(filled))]
    return ratings_from_columns(**columns)


def _is_unit_table(frame: Mapping[str, Any] | Any) -> bool:
    """Return whether a frame has the columns of a table of units of `bboxqa.agree`."""
    names: Any = getattr(frame, "column_names", None) or getattr(frame, "columns", frame)
    try:
        return has_unit_columns([str(name) for name in names])
    except TypeError:
        return False
