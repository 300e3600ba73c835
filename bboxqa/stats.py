"""Agreement on labels, numbers and choices: coefficients with their uncertainty.

>>> from bboxqa import stats
>>> ratings = stats.ratings_from_columns(
...     unit=[1, 1, 2, 2, 3, 3, 4, 4], annotator=["ann", "bob"] * 4,
...     value=["cat", "cat", "dog", "dog", "dog", "cat", "cat", "cat"])
>>> found = stats.measure(ratings, ["krippendorff_alpha"], bootstrap=0)
>>> round(found.coefficients["krippendorff_alpha"].value, 4)
0.5333
"""

from bboxqa.agreement.code_tables import alpha_of_codes, independence, kappa_of_codes
from bboxqa.agreement.consistency import cronbach_alpha, intraclass_correlations
from bboxqa.agreement.intervals import totals
from bboxqa.agreement.registry import COEFFICIENTS, SCALES, label
from bboxqa.agreement.resampling import Difference
from bboxqa.diagnostics.answers import annotator_similarity, cluster_annotators
from bboxqa.formats.ratings import from_array as ratings_from_table
from bboxqa.formats.ratings import from_columns as ratings_from_columns
from bboxqa.formats.ratings import read_ratings
from bboxqa.model.ratings import Estimate, PairTable, Ratings, TaskEstimates
from bboxqa.pipelines.ratings import difference, measure

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
    "difference",
    "independence",
    "intraclass_correlations",
    "kappa_of_codes",
    "label",
    "measure",
    "ratings_from_columns",
    "ratings_from_table",
    "read_ratings",
    "totals",
]
