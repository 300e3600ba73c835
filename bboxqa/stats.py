"""Agreement on labels, numbers and choices: coefficients with their uncertainty.

>>> from bboxqa import stats
>>> ratings = stats.ratings_from_columns(
...     unit=[1, 1, 2, 2, 3, 3, 4, 4], annotator=["ann", "bob"] * 4,
...     value=["cat", "cat", "dog", "dog", "dog", "cat", "cat", "cat"])
>>> found = stats.measure(ratings, ["krippendorff_alpha"], bootstrap=0)
>>> round(found.coefficients["krippendorff_alpha"].value, 4)
0.5333
"""

from collections.abc import Iterable, Mapping
from typing import Any

from bboxqa.agreement.code_tables import alpha_of_codes, independence, kappa_of_codes
from bboxqa.agreement.consistency import cronbach_alpha, intraclass_correlations
from bboxqa.agreement.intervals import totals
from bboxqa.agreement.registry import COEFFICIENTS, SCALES, label, membership_probabilities
from bboxqa.agreement.resampling import Difference
from bboxqa.core.errors import ConfigError
from bboxqa.diagnostics.answers import annotator_similarity, cluster_annotators
from bboxqa.formats.ratings import from_array as ratings_from_table
from bboxqa.formats.ratings import from_columns as ratings_from_columns
from bboxqa.formats.ratings import is_unit_table, read_ratings, with_missed
from bboxqa.model.ratings import Estimate, PairTable, Ratings, TaskEstimates, column_of
from bboxqa.pipelines.ratings import (
    Contributions,
    contributions,
    difference,
    measure,
    only_annotators,
)

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
