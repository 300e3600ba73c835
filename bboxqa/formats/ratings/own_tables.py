"""Recognising tables that `bboxqa` writes, by their columns."""

from collections.abc import Collection

import numpy as np

from bboxqa.core.errors import DatasetError
from bboxqa.formats.tables.table_files import TableFile
from bboxqa.model.labels import LabelColumn

UNIT_COLUMNS = ("image", "unit", "annotator", "annotation", "category", "state")
"""The columns of the table of units that `bboxqa agree` writes."""

UNITS_NOTE = (
    "a table of units of bboxqa agree: a missed object has the value (missing), and intervals draw "
    "images"
)
"""The note on how a table of units is read."""

_THRESHOLD = "iou_threshold"
# Combinations of columns that occur in one table only, and the description of this table.
_RESULTS = {
    ("image", "alpha", "status", "n_units"): "a table of images, images.csv of bboxqa agree",
    ("annotator_1", "annotator_2", "alpha", "n_units"): (
        "a table of pairs of annotators, pairs.csv of bboxqa agree"
    ),
    ("category", "alpha", "n_annotations", "n_pairable"): (
        "a table of categories, categories.csv of bboxqa agree"
    ),
    ("project", "status", "alpha", "n_errors"): "a table of projects, projects.csv of bboxqa batch",
    ("coefficient", "value", "low", "high", "standard_error"): (
        "a table of coefficients, as bboxqa stats and segments write with --format csv"
    ),
    ("n_reference", "precision", "recall"): "reference.csv of bboxqa agree",
    ("annotator", "n", "miss_rate"): "a table of annotators, annotators.csv of bboxqa agree",
    ("annotator", "n_twice", "n_split", "n_merged"): "boxes_per_object.csv of bboxqa agree",
    ("annotator", "group", "within", "between"): "agreement_groups.csv of bboxqa agree",
    ("annotator", "category", "n_used", "n_expected"): "category_use.csv of bboxqa agree",
    ("annotator", "category", "others", "n"): "confusion_matrix.csv of bboxqa agree",
    ("annotator", "edge", "offset_px"): "a table of offsets of bboxqa agree",
    ("kind", "n_objects", "share", "alpha_gain"): "a table of disagreement of bboxqa agree",
    ("image", "kind", "reason", "annotations", "boxes"): "review.csv of bboxqa agree",
    ("image", "n_objects", "reason", "annotators"): "review_images.csv of bboxqa agree",
    ("step", "categories", "gain"): "category_merges.csv of bboxqa agree",
    ("category", "alpha_without", "vitality"): "category_vitality.csv of bboxqa agree",
    ("annotator_1", "annotator_2", "n_pairs"): "pair_similarity.csv of bboxqa agree",
    ("annotator", "category", "reference", "n"): "reference_confusion_matrix.csv of bboxqa agree",
    ("change", "id_before", "id_after"): "a table of changes, changes.csv of bboxqa compare",
    ("status", "n_before", "n_after"): "a table of changes of bboxqa compare",
    ("category_before", "category_after", "n_annotations"): "renames.csv of bboxqa compare",
    ("alpha_before", "alpha_after"): "a table of alpha before and after, of bboxqa compare",
}
# No table of ratings has a figure with the ends of its interval.
_FIGURES = "a table of figures with intervals, of a result of bboxqa"


def refuse_results(table: TableFile) -> None:
    """Refuse a table of results of `bboxqa`, which does not contain ratings."""
    names = set(table.header)
    found = [what for columns, what in _RESULTS.items() if names.issuperset(columns)]
    if any({f"{name}_low", f"{name}_high"} <= names for name in names):
        found.append(_FIGURES)
    first, *others = table.header
    if first == "annotator" and others and all(name.startswith("with ") for name in others):
        found = ["agreement_matrix.csv of bboxqa agree"]
    if found:
        raise DatasetError(
            [f"{table.name}: is {found[0]}; expected ratings"],
            "Ratings are in units.csv, which bboxqa agree writes with --out FOLDER.",
        )


def has_unit_columns(names: Collection[str]) -> bool:
    """Return whether these column names are the columns of a table of units.

    Examples
    --------
    >>> has_unit_columns(["iou_threshold", *UNIT_COLUMNS]), has_unit_columns(["unit", "value"])
    (True, False)
    """
    return set(UNIT_COLUMNS) <= set(names)


def unit_table_columns(table: TableFile, columns: dict[str, str]) -> dict[str, str] | None:
    """Return the columns of a table of units by field; None for other tables or values.

    `columns` are the columns that the user chose. By default, images are the clusters, and
    thresholds are the tasks if there are several. Raises DatasetError if units at several
    thresholds would be mixed.
    """
    if not has_unit_columns(table.header) or columns["value"] not in {"value", "category"}:
        return None
    chosen = columns | {"value": "category"}
    if columns["unit"] == "unit":
        chosen.setdefault("cluster", "image")
    if _THRESHOLD not in table.header:
        return chosen
    levels = [x for x in table.columns([_THRESHOLD])[_THRESHOLD].labels if x is not None]
    if len(levels) > 1 and chosen.setdefault("by", _THRESHOLD) != _THRESHOLD:
        found = f"{len(levels)} thresholds, {', '.join(levels)}"
        raise DatasetError(
            [f"{table.name}: holds units at {found}; expected one threshold"],
            f"Give --by {_THRESHOLD}, or keep the rows of one threshold.",
        )
    return chosen


def with_missed(category: LabelColumn, state: LabelColumn) -> LabelColumn:
    """Return categories in which a missed object is a value of its own.

    Both columns belong to a table of units. Where the state is missing, there is no category.

    Examples
    --------
    >>> from bboxqa.model.labels import column_of
    >>> found = with_missed(column_of(["cat", ""], "category"), column_of(["drawn", "missing"], ""))
    >>> [found.label(row) for row in range(2)]
    ['cat', '(missing)']
    """
    name = "(missing)"
    while name in category.labels:
        name = f"({name})"
    missed = np.array([label == "missing" for label in (*state.labels, None)])[state.codes]
    codes = np.where(missed, len(category.labels), category.codes)
    return LabelColumn(codes, (*category.labels, name))
