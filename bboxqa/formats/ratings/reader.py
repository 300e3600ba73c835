"""Reading tables of ratings in any layout."""

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bboxqa.core.arrays import IndexArray
from bboxqa.core.errors import ConfigError, DatasetError
from bboxqa.core.text import count, unknown_name
from bboxqa.formats.ratings.columns import Places, RatingColumns, assemble, from_cells, reliability
from bboxqa.formats.ratings.layouts import (
    LAYOUTS,
    MISSING,
    NAME_COLUMNS,
    answers,
    are_names,
    counts_in,
    layout_of,
    looks_like_annotators,
    looks_like_units,
    names_of_annotators,
    names_of_units,
    without_column,
)
from bboxqa.formats.table_files import open_table
from bboxqa.formats.tables.rows import TableFile
from bboxqa.model.labels import LabelColumn, code, number_of
from bboxqa.model.ratings import Ratings


def read_ratings(
    path: str | Path,
    *,
    layout: str | None = None,
    unit: str = "unit",
    annotator: str = "annotator",
    value: str = "value",
    by: str | None = None,
    cluster: str | None = None,
    n_options: str | None = None,
) -> dict[str | None, Ratings]:
    r"""Read a table of ratings.

    Parameters
    ----------
    path : str or Path
        CSV, TSV, JSON lines or Parquet. In CSV and TSV, a rating is missing if it is empty, NA,
        N/A, n/a, #N/A, NaN, nan, NAN, null, NULL, Null or -; but - is an answer if + is one as
        well. In JSON lines and Parquet, null, NaN and empty texts are missing. "none" is always an
        answer. In units.csv of `bboxqa agree`, a missed object has the value "(missing)", images
        are the clusters, and thresholds are the tasks if there are several.
    layout : str, optional
        ``"long"``: one rating per row; ``"raters-x-units"``: one annotator per row;
        ``"units-x-raters"``: one unit per row; ``"counts"``: one unit per row, with one column per
        value for the number of annotators who chose it (who chose what is unknown). By default, the
        layout is detected from the header; if that is not possible, an error asks for it.
    unit, annotator, value : str
        Columns of the long layout.
    by : str, optional
        Column of tasks, each of which is a separate table.
    cluster : str, optional
        Column of the clusters that intervals resample; by default the units.
    n_options : str, optional
        Column of the number of objects to choose from.

    Returns
    -------
    dict of str to Ratings
        By task, in order of appearance; under None if `by` is not given. Codes of different tasks
        are unrelated.

    Raises
    ------
    DatasetError
        If the file cannot be read or interpreted, with every problem and its line.
    ConfigError
        If the settings contradict one another.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "labels.csv"
    >>> _ = path.write_text("unit,annotator,value\n1,ann,yes\n1,bob,no\n2,ann,NA\n")
    >>> ratings = read_ratings(path)[None]
    >>> ratings.value_names, ratings.data.value, len(ratings.unit_names)
    (('no', 'yes'), array([1, 0], dtype=int32), 2)
    """
    if layout is not None and layout not in LAYOUTS:
        raise ConfigError(f"layout {unknown_name(layout, LAYOUTS)}")
    columns = {"unit": unit, "annotator": annotator, "value": value}
    if len(set(columns.values())) < len(columns):
        raise ConfigError("unit, annotator and value must be three different columns")
    extra = {"by": by, "cluster": cluster, "n_options": n_options}
    columns |= {field: name for field, name in extra.items() if name is not None}
    table = open_table(path)
    refuse_results(table)
    tasks = _tasks(table, layout, columns)
    if not any(len(ratings.data.unit) for ratings in tasks.values()):
        raise DatasetError([f"{table.name}: has no ratings: every value is missing"])
    return tasks


def _tasks(
    table: TableFile, layout: str | None, columns: dict[str, str]
) -> dict[str | None, Ratings]:
    """Return the ratings by task; under None if there is one task."""
    of_units = unit_table_columns(table, columns)
    layout = "long" if of_units else layout or layout_of(table, columns)
    if layout == "long":
        return read_long(table, of_units or columns, of_units=of_units is not None)
    for field, name in columns.items():
        if field not in ("unit", "annotator", "value") or name != field:
            option = field.replace("_", "-")
            raise ConfigError(
                f"--{option} names a column of the layout long; this table is {layout}"
            )
    return {None: read_wide(table, layout)}


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


def read_long(
    table: TableFile, columns: dict[str, str], *, of_units: bool
) -> dict[str | None, Ratings]:
    """Return the ratings of a table with one rating per row, by task.

    `columns` are column names by field. With `of_units`, it is a table of units of `bboxqa agree`.
    Raises DatasetError with every problem.
    """
    problems = [
        f"{table.name}: line 1: has several columns {name!r}; expected one"
        if times
        else without_column(table, name)
        for name in dict.fromkeys(columns.values())
        if (times := table.header.count(name)) != 1
    ]
    if problems:
        raise DatasetError(problems, NAME_COLUMNS)
    read = table.columns(list(dict.fromkeys([*columns.values(), *["state"] * of_units])))
    if of_units:
        read["category"] = with_missed(read["category"], read["state"])
    cells = {field: read[name] for field, name in columns.items()}
    kept = _filled(list(cells.values()))
    if len(kept) == 0:
        raise DatasetError([f"{table.name}: has a header only; expected ratings below it"])
    cells = {field: column.take(kept) for field, column in cells.items()}
    rows = RatingColumns(
        cells["unit"],
        cells["annotator"],
        cells["value"] if of_units or table.header_is_certain else answers(cells["value"]),
        cells.get("cluster"),
        cells.get("n_options"),
        columns,
        (UNITS_NOTE,) if of_units and columns.get("cluster") == "image" else (),
    )
    if "by" not in cells:
        return {None: assemble(rows, _places_of(table, kept))}
    return _by_task(table, rows, cells["by"], kept)


def _filled(columns: list[LabelColumn]) -> IndexArray:
    """Return the non-empty rows, as spreadsheets add empty rows at the end."""
    empty = np.ones(len(columns[0]), bool)
    for column in columns:
        absent = np.zeros(len(column), bool)
        absent[column.missing()] = True
        empty &= absent
    return np.flatnonzero(~empty)


def _by_task(
    table: TableFile, rows: RatingColumns, by: LabelColumn, kept: IndexArray
) -> dict[str | None, Ratings]:
    """Return the ratings of each task, or raise the problems of all tasks at once."""
    nameless = by.missing()
    problems = [
        f"{place}: {rows.names['by']} is missing; expected the name of a task"
        for place in table.places(kept[nameless])
    ]
    advice = "With --by, every row has to belong to a task." if problems else ""
    tasks: dict[str, int] = {}
    numbers = [-1 if label is None else tasks.setdefault(label, len(tasks)) for label in by.labels]
    number = np.array([*numbers, -1], np.int64)[by.codes]
    order = np.argsort(number, kind="stable")
    bounds = np.searchsorted(number[order], np.arange(len(tasks) + 1))
    result: dict[str | None, Ratings] = {}
    for task, start, stop in zip(tasks, bounds[:-1], bounds[1:], strict=True):
        index = order[start:stop]
        try:
            result[task] = assemble(rows.take(index), _places_of(table, kept[index]))
        except DatasetError as error:
            problems += error.problems
            advice = advice or error.advice
    if problems:
        raise DatasetError(problems, advice)
    return result


def _places_of(table: TableFile, kept: IndexArray) -> Places:
    return lambda index: table.places(kept[index])


_MOST_COUNTS = 10**7


@dataclass(frozen=True, slots=True)
class _Wide:
    """The R × C cells of a table, and the names of its rows and columns."""

    cells: LabelColumn
    row_names: tuple[str, ...]
    column_names: tuple[str, ...]
    corner: str

    @property
    def shape(self) -> tuple[int, int]:
        width = len(self.column_names)
        return len(self.cells) // width, width


def read_wide(table: TableFile, layout: str) -> Ratings:
    """Return the ratings of a table with one annotator or one unit per row.

    Raises DatasetError if names cannot be distinguished from ratings, if a name occurs twice, if
    the table seems transposed, or if a count is not a whole number.

    Parameters
    ----------
    table : TableFile
        The first row may name the columns, and the first column the rows.
    layout : str
        ``"raters-x-units"``, ``"units-x-raters"`` or ``"counts"``.

    Returns
    -------
    Ratings
        Units and annotators in the order of the table.
    """
    wide = _split(table, counts=layout == "counts")
    if layout != "counts":
        _refuse_transposed(table, wide, layout)
    problems = [
        f"{table.name}: {what} {name!r} occurs several times; expected each once"
        for what, names in (("row", wide.row_names), ("column", wide.column_names))
        for name, times in Counter(names).items()
        if times > 1
    ]
    if problems:
        raise DatasetError(problems, "Every annotator and every unit has one row or column.")
    if layout == "counts":
        return _from_counts(table, wide)
    values = answers(wide.cells) if not table.header_is_certain else wide.cells
    n_rows, n_columns = wide.shape
    row_names = wide.row_names or tuple(str(row) for row in range(1, n_rows + 1))
    if layout == "units-x-raters":
        return from_cells(code(values), wide.column_names, n_rows, row_names)
    across = values.codes.reshape(n_rows, n_columns).T.ravel()
    return from_cells(
        code(LabelColumn(across, values.labels)), row_names, n_columns, wide.column_names
    )


def _split(table: TableFile, *, counts: bool) -> _Wide:
    """Separate the names of rows and columns from the cells."""
    cells, width = table.grid()
    codes = cells.codes.reshape(-1, width)
    header: list[str | None] = [name or None for name in table.header]
    corner = table.header[0]
    peopled = looks_like_annotators(table.header)
    titled = corner == "" or names_of_annotators(corner) or names_of_units(corner)
    titled = titled or peopled or looks_like_annotators(table.header[1:])
    below = _labels(codes, cells)
    has_header: bool | None = True
    if not table.header_is_certain and not (titled and None not in header[1:]):
        has_header = _heads_counts(header, codes, cells) if counts else are_names(header, below)
    if has_header and len(codes) == 0:
        raise DatasetError([f"{table.name}: has a header only; expected ratings below it"])
    if has_header is False:
        cells, codes = _with_row(cells, codes, header)
    first = [cells.label(row * width) for row in range(len(codes))]
    has_names: bool | None = bool(has_header and titled and None not in first)
    if width == 1 or peopled:
        has_names = False
    elif counts and not has_names:
        has_names = any(name is not None and number_of(name) is None for name in first)
    elif not has_names:
        has_names = are_names(first, _labels(codes[:, 1:], cells))
    _refuse_unclear(table, has_header, has_names)
    names = [name or "" for name in header] if has_header else [str(i + 1) for i in range(width)]
    if not has_names:
        return _Wide(LabelColumn(codes.ravel(), cells.labels), (), tuple(names), "")
    columns = names[1:] if has_header else [str(i) for i in range(1, width)]
    inner = LabelColumn(codes[:, 1:].ravel(), cells.labels)
    rows = tuple(name or "" for name in first)
    return _Wide(inner, rows, tuple(columns), corner if has_header else "")


def _refuse_unclear(table: TableFile, has_header: bool | None, has_names: bool | None) -> None:
    """Refuse a table in which names cannot be distinguished from ratings."""
    if has_header is None or has_names is None:
        where = "line 1" if has_header is None else "the first column"
        raise DatasetError(
            [f"{table.name}: {where}: may be names or ratings"],
            "Give every row and every column a name, and begin the first line with the word "
            "annotator (one annotator per row) or unit (one unit per row).",
        )


def _labels(codes: IndexArray, cells: LabelColumn) -> set[str]:
    """Return the labels that occur, without missing cells."""
    found = (None if place < 0 else cells.labels[place] for place in np.unique(codes).tolist())
    return {label for label in found if label is not None and label not in MISSING}


def _with_row(
    cells: LabelColumn, codes: IndexArray, row: list[str | None]
) -> tuple[LabelColumn, IndexArray]:
    """Return the cells with a row added at the top."""
    start = len(cells.labels)
    whole = np.concatenate([[np.arange(start, start + len(row))], codes])
    return LabelColumn(whole.ravel(), (*cells.labels, *row)), whole


def _heads_counts(header: list[str | None], codes: IndexArray, cells: LabelColumn) -> bool | None:
    """Return whether the first row names the categories of counts; None if unclear."""
    numbers = [None if cell is None else number_of(cell) for cell in header]
    if any(number is None for number in numbers):
        return True
    first = [float(number or 0) for number in numbers]
    sums = counts_in(LabelColumn(codes.ravel(), cells.labels)).reshape(codes.shape).sum(axis=1)
    steps = set(np.diff(first).tolist())
    if steps == {1.0} and first[0] in {0, 1} and not (sums == sum(first)).all():
        return None
    return False


def _refuse_transposed(table: TableFile, wide: _Wide, layout: str) -> None:
    """Refuse a table that seems transposed."""
    n_rows, n_columns = wide.shape
    by_annotator = layout == "raters-x-units"
    other = "units-x-raters" if by_annotator else "raters-x-units"
    n_annotators, n_units = (n_rows, n_columns) if by_annotator else (n_columns, n_rows)
    titled, against = names_of_annotators(wide.corner), names_of_units(wide.corner)
    across, down = wide.column_names, wide.row_names
    if not by_annotator:
        titled, against, across, down = against, titled, down, across
    reason = ""
    if against:
        reason = f"its first column is called {wide.corner!r}"
    elif looks_like_annotators(across) and not looks_like_annotators(down):
        reason = f"its {'columns' if by_annotator else 'rows'} are called {across[0]!r}, …"
    elif looks_like_units(down) and not looks_like_units(across):
        reason = f"its {'rows' if by_annotator else 'columns'} are called {down[0]!r}, …"
    elif n_annotators > n_units and not titled and not looks_like_annotators(down):
        reason = f"it would be {n_annotators:,} annotators of {count(n_units, 'unit')}"
    if reason:
        word = "annotator" if by_annotator else "unit"
        raise DatasetError(
            [f"{table.name}: does not look like {layout}: {reason}"],
            f"Give --layout {other} if the table is transposed. If it is not, begin its first line "
            f"with the word {word}, above the names of the rows.",
        )


def _from_counts(table: TableFile, wide: _Wide) -> Ratings:
    """Expand counts to ratings by unknown annotators without names."""
    nameless = [place for place, name in enumerate(wide.column_names, start=1) if not name]
    if nameless:
        raise DatasetError(
            [
                f"{table.name}: line 1: column {place} of the counts has no name"
                for place in nameless
            ],
            "Name each column after the value that it counts.",
        )
    amounts = counts_in(wide.cells).reshape(wide.shape)
    _refuse_no_counts(table, wide, amounts)
    n_units, n_values = amounts.shape
    ratings = np.repeat(np.arange(amounts.size), amounts.ravel())
    units, values = np.divmod(ratings, n_values)
    per_unit = amounts.sum(axis=1)
    starts = np.cumsum(per_unit) - per_unit
    annotators = np.arange(len(units)) - starts[units]
    # Categories that were never chosen count as possible answers.
    every = np.concatenate([np.arange(n_values), values])
    coded = code(LabelColumn(every, wide.column_names))
    coded = type(coded)(coded.codes[n_values:], coded.names, coded.numbers)
    data = reliability(units, annotators, coded, np.arange(n_units), n_units)
    unit_names = wide.row_names or tuple(str(row) for row in range(1, n_units + 1))
    return Ratings(data, unit_names, (), coded.names, coded.numbers)


def _refuse_no_counts(table: TableFile, wide: _Wide, amounts: IndexArray) -> None:
    n_columns = wide.shape[1]
    problems = []
    for place in np.flatnonzero(amounts.ravel() < 0).tolist():
        row, column = divmod(place, n_columns)
        shown = wide.cells.label(place)
        named = repr(wide.row_names[row]) if wide.row_names else f"{row + 1}"
        problems.append(
            f"{table.name}: row {named}, column {wide.column_names[column]!r}: is "
            f"{'missing' if shown is None else repr(shown)}; expected a count, 0 or more"
        )
    advice = "If the cells are ratings: --layout units-x-raters or --layout raters-x-units."
    if not problems and looks_like_annotators(wide.column_names):
        problems = [f"{table.name}: columns are called {wide.column_names[0]!r}, …, as annotators"]
    if (
        not problems
        and looks_like_units(wide.column_names)
        and not looks_like_units(wide.row_names)
    ):
        problems = [f"{table.name}: columns are called {wide.column_names[0]!r}, …, as units"]
        advice = "Transpose the table: one unit per row, and one category per column."
    if not problems and amounts.sum() > _MOST_COUNTS:
        problems = [f"{table.name}: counts add up to {amounts.sum():,}; expected ratings of people"]
    if problems:
        raise DatasetError(problems, advice)
