"""Tables of ratings in any layout, and ratings from columns and arrays."""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from string import punctuation
from typing import Any

import numpy as np
from msgspec.structs import replace

from bboxqa.core.arrays import IndexArray
from bboxqa.core.errors import ConfigError, DatasetError
from bboxqa.core.text import count, first_few, nearest, unknown_name
from bboxqa.formats.box_tables.columns import columns_of
from bboxqa.formats.tables import Table, open_table
from bboxqa.model.ratings import Coded, LabelColumn, Ratings, code, column_of, number_of
from bboxqa.model.units import Cell, ReliabilityData

Places = Callable[[IndexArray], Sequence[str]]


def from_columns(
    unit: Any, annotator: Any, value: Any, *, cluster: Any = None, n_options: Any = None
) -> Ratings:
    """Return ratings from columns of equal length, sorted by unit, then annotator, then as given.

    Parameters
    ----------
    unit, annotator, value : (M,) sequences
        Lists, numpy arrays, or columns of pandas, polars or pyarrow, of texts or numbers. A value
        of None or NaN (NA, NaT) is missing; units and annotators must not be missing.
    cluster : (M,) sequence, optional
        The clusters that intervals draw, such as the image of each unit; by default the units.
    n_options : (M,) sequence of whole numbers, optional
        The number of objects to choose from.

    Raises
    ------
    DatasetError
        If lengths differ, a unit or an annotator is missing, a label is neither text nor number,
        or a unit has two clusters or two numbers of options.

    Examples
    --------
    >>> ratings = from_columns(["a", "a", "b"], ["x", "y", "x"], [10, 9, None])
    >>> ratings.value_names, ratings.data.value, ratings.unit_names
    (('9', '10'), array([1, 0], dtype=int32), ('a', 'b'))
    """
    given = {"unit": unit, "annotator": annotator, "value": value}
    given |= {"cluster": cluster, "n_options": n_options}
    columns = {
        name: each if isinstance(each, LabelColumn) else column_of(each, name)
        for name, each in given.items()
        if each is not None
    }
    lengths = {name: len(column) for name, column in columns.items()}
    if min(lengths.values()) != max(lengths.values()):
        found = ", ".join(f"{name} {length:,}" for name, length in lengths.items())
        raise DatasetError([f"columns differ in length: {found}; expected one row per rating"])
    names = {name: name for name in columns}
    return assemble(columns, names, lambda index: [f"record {row}" for row in index.tolist()])


def assemble(
    cells: Mapping[str, LabelColumn],
    names: Mapping[str, str],
    places: Places,
    notes: tuple[str, ...] = (),
) -> Ratings:
    """Return ratings from the cells of a table, one row a rating; DatasetError with every problem.

    `cells` are "unit", "annotator" and "value", and maybe "cluster" and "n_options"; `names` is
    what messages call them; `places` returns the locations of rows, given by number.
    """
    problems = [
        f"{place}: {names[field]} is missing; expected {'its' if field == 'unit' else 'a'} name"
        for field in ("unit", "annotator", "cluster")
        if field in cells
        for place in places(cells[field].missing())
    ]
    advice = "Only a value may be missing." if problems else ""
    options = whole_numbers(cells["n_options"]) if "n_options" in cells else None
    wrong = np.zeros(0, np.int64) if options is None else np.flatnonzero(options < 1)
    for row, place in zip(wrong.tolist(), places(wrong), strict=True):
        found = f"{names['n_options']} is {cells['n_options'].label(row)!r}"
        problems.append(f"{place}: {found}; expected a whole number, 1 or more")
    if problems:
        raise DatasetError(problems, advice)
    units = code(cells["unit"], names=True)
    annotators = code(cells["annotator"], names=True, natural=True)
    values = code(cells["value"])
    first = np.zeros(len(units.names), np.int64)
    # Assigned in reverse, so that the first row of each unit is kept.
    first[units.codes[::-1]] = np.arange(len(units.codes))[::-1]
    before = first[units.codes]
    for field in [each for each in ("cluster", "n_options") if each in cells]:
        codes, label = code(cells[field]).codes, cells[field].label
        wrong = np.flatnonzero(codes != codes[before])
        at = zip(wrong.tolist(), places(wrong), places(before[wrong]), strict=True)
        problems += (
            f"{place}: {names[field]} of unit {units.names[units.codes[row]]!r} is {label(row)!r}; "
            f"expected {label(int(before[row]))!r}, as in {other.rpartition(': ')[2]}"
            for row, place, other in at
        )
    if problems:
        raise DatasetError(problems, "A unit has one of each: rename the unit, or correct the row.")
    groups, cluster_names = np.arange(len(first)), tuple[str, ...]()
    if "cluster" in cells:
        clusters = code(cells["cluster"], names=True)
        groups, cluster_names = clusters.codes[first].astype(np.int64), clusters.names
    n_groups = len(cluster_names) if "cluster" in cells else len(first)
    return Ratings(
        reliability(units.codes, annotators.codes, values, groups, n_groups),
        units.names,
        annotators.names,
        values.names,
        values.numbers,
        None if options is None else options[first],
        cluster_names,
        notes,
    )


def whole_numbers(column: LabelColumn, missing: int = 0) -> IndexArray:
    """Return the cells as integers, (N,); `missing` where they are not whole numbers."""
    given = [None if label is None else number_of(label) for label in (*column.labels, None)]
    numbers = [
        int(each)
        if each is not None and float(each).is_integer() and abs(each) < 2**62
        else missing
        for each in given
    ]
    return np.array(numbers, np.int64)[column.codes]


def reliability(
    units: Any, annotators: Any, values: Coded, groups: IndexArray, n_groups: int
) -> ReliabilityData:
    """Return the cells that have a value, sorted by unit, then annotator, then row."""
    there = np.flatnonzero(values.codes >= 0)
    unit = units[there].astype(np.int64)
    annotator = annotators[there].astype(np.int64)
    key = unit * (int(annotator.max(initial=0)) + 1) + annotator
    if (np.diff(key) < 0).any():
        order = np.argsort(key, kind="stable")
        there, unit, annotator = there[order], unit[order], annotator[order]
    return ReliabilityData(
        unit=unit,
        annotator=annotator.astype(np.int32),
        value=values.codes[there],
        state=np.full(len(there), Cell.CATEGORY, np.uint8),
        group=groups.astype(np.int32),
        n_values=len(values.names),
        n_groups=n_groups,
    )


def from_array(
    table: Any,
    *,
    annotator_names: Sequence[str] | None = None,
    unit_names: Sequence[str] | None = None,
    n_options: Any = None,
) -> Ratings:
    """Return ratings from an array of annotators × units, in its order.

    Parameters
    ----------
    table : (A, U) array of numbers or texts
        None and NaN are missing.
    annotator_names, unit_names : sequence of str, optional
        One per row or column; by default "1", "2", … for annotators, and none for units.
    n_options : (U,) whole numbers, optional
        The number of objects to choose from.

    Raises
    ------
    DatasetError
        If the array does not have two dimensions, does not fit the names, or seems transposed:
        more annotators than units, and no annotator_names.

    Examples
    --------
    >>> ratings = from_array([["yes", "no"], ["yes", None]])
    >>> ratings.data.unit, ratings.data.annotator, ratings.data.value
    (array([0, 0, 1]), array([0, 1, 0], dtype=int32), array([1, 1, 0], dtype=int32))
    """
    # As objects, since numpy would convert None among texts to a text.
    cells = table if isinstance(table, np.ndarray) else np.array(table, dtype=object)
    if cells.ndim != 2 or hasattr(table, "columns"):
        found = f"is a {type(table).__name__} of shape {cells.shape}; expected an array"
        raise DatasetError([f"table: {found} of annotators × units"])
    n_annotators, n_units = cells.shape
    if annotator_names is None and n_annotators > n_units:
        raise DatasetError(
            [f"table: would be {n_annotators:,} annotators of {count(n_units, 'unit')}"],
            "Rows have to be annotators: transpose it (table.T). If they are, name them with "
            "annotator_names.",
        )
    given = range(1, n_annotators + 1) if annotator_names is None else annotator_names
    annotators = _names("annotator_names", given, n_annotators)
    units = _names("unit_names", unit_names or (), n_units if unit_names else 0)
    options = None
    if n_options is not None:
        options = whole_numbers(column_of(n_options, "n_options"))
        if len(options) != n_units or (options < 1).any():
            raise DatasetError(["n_options: expected a whole number, 1 or more, for each unit"])
    values = code(column_of(cells.T.ravel(), "value"))
    return from_cells(values, annotators, n_units, units, options)


def _names(what: str, given: Iterable[Any], expected: int) -> tuple[str, ...]:
    """Return names; raises DatasetError unless there are `expected` different ones."""
    names = tuple(map(str, given))
    if len(names) != expected:
        raise DatasetError([f"{what}: has {len(names):,} names; expected {expected:,}"])
    if repeated := [name for name, times in Counter(names).items() if times > 1]:
        raise DatasetError([f"{what}: {repeated[0]!r} occurs several times; expected once"])
    return names


def from_cells(
    values: Coded,
    annotator_names: tuple[str, ...],
    n_units: int,
    unit_names: tuple[str, ...] = (),
    n_options: IndexArray | None = None,
) -> Ratings:
    """Return ratings from U × A cells of a complete table, unit by unit."""
    n_annotators = len(annotator_names)
    units = np.repeat(np.arange(n_units), n_annotators)
    annotators = np.tile(np.arange(n_annotators), n_units)
    data = reliability(units, annotators, values, np.arange(n_units), n_units)
    return Ratings(data, unit_names, annotator_names, values.names, values.numbers, n_options)


_KEY = r"([ _-]?(id|name|no|number|index))?"
_PEOPLE = r"(annotator|rater|coder|judge|observer|labell?er|reviewer|worker)"
_THINGS = (
    r"(unit|item|image|img|file(name)?|picture|photo|frame|object|subject|patient|case|sample|"
    r"document|doc|text|sentence|question|recording)"
)
# Titles of columns that name annotators, such as rater_id, and units, such as image or subject.
_ANNOTATORS = re.compile(rf"{_PEOPLE}s?{_KEY}", re.IGNORECASE)
_UNITS = re.compile(rf"{_THINGS}s?{_KEY}", re.IGNORECASE)
_ONE_ANNOTATOR = re.compile(rf"{_PEOPLE}([ _-]?\d+|[ _-]\w+|[ _-]?[a-z])", re.IGNORECASE)

MISSING = {"-", ".", "#N/A", "N/A", "n/a", "NA", "NAN", "NaN", "nan", "NULL", "Null", "null"}
"""Cells without a rating."""
LAYOUTS = ("long", "raters-x-units", "units-x-raters", "counts")
_LONG = ("unit", "annotator", "value")
_MOST_COUNTS = 10**7
_NAME_COLUMNS = (
    "Name the columns of the layout long with --unit, --annotator, --value, --by, --cluster and "
    "--n-options."
)
_SAY_LAYOUT = (
    "Say so with --layout: long (one rating a row; name its columns with --unit, --annotator and "
    "--value),\nraters-x-units (one annotator a row), units-x-raters (one unit a row) or counts "
    "(one unit a row, how often each value was chosen)."
)


def _layout_of(table: Table, columns: dict[str, str]) -> str:
    """Return the layout of a table; raises DatasetError if the header does not show it."""
    header = table.header
    if {columns[field] for field in _LONG} <= set(header) or len(columns) > len(_LONG):
        return "long"
    has_boxes = not columns_of(header, {}).problem
    if len(header) > 1 and not has_boxes:
        if _ANNOTATORS.fullmatch(header[0]):
            return "raters-x-units"
        # A table with columns unit, annotator, label is long, with one column renamed.
        chosen = {columns["annotator"], columns["value"]}
        is_long = any(map(_ANNOTATORS.fullmatch, header)) or not chosen.isdisjoint(header)
        of_units = _UNITS.fullmatch(header[0]) is not None and not is_long
        if of_units:
            # All cells except the first column may be counts.
            cells, width = table.grid()
            inner = LabelColumn(cells.codes.reshape(-1, width)[:, 1:].ravel(), cells.labels)
            given = code(_answers(table, inner), names=True)
            numbers = LabelColumn(np.arange(len(given.names)), given.names)
            of_units = not len(cells) or bool((whole_numbers(numbers, missing=-1) < 0).any())
        if of_units or all(map(_ONE_ANNOTATOR.fullmatch, header[1:])):
            return "units-x-raters"
    named = [name for field, name in columns.items() if name != field]
    if problems := [*column_problems(table, named)]:
        raise DatasetError(problems, _NAME_COLUMNS)
    if len(named) > 1:
        return "long"  # No other layout has several columns that the user can name.
    problem = f"the header does not show the layout of the table: {_listed(table)}"
    advice = "`bboxqa agree` measures its boxes.\n" * has_boxes + _SAY_LAYOUT
    raise DatasetError([f"{table.name}: line 1: {problem}"], advice)


def _listed(table: Table) -> str:
    return first_few(table.header, 20, lambda name: name or "(empty)")


def column_problems(table: Table, names: Iterable[str]) -> Iterator[str]:
    """Yield the problem of each name that is not that of one column."""
    for name in names:
        if table.header.count(name) > 1:
            yield f"{table.name}: line 1: has several columns {name!r}; expected one"
        elif name not in table.header:
            found = f"columns: {_listed(table)}{nearest(name, table.header)}"
            yield f"{table.name}: line 1: has no column {name!r}; {found}"


def _answers(table: Table, column: LabelColumn) -> LabelColumn:
    """Return ratings with markers of missing ratings, such as NA, made missing."""
    if not table.is_text:
        return column
    others = (x for x in column.labels if isinstance(x, str) and x not in MISSING)
    has_signs = any(x and not x.strip(punctuation) for x in others)
    missing = MISSING - {*"-."} if has_signs else MISSING
    return LabelColumn(column.codes, tuple(None if x in missing else x for x in column.labels))


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
        N/A, #N/A, NaN, null, - or ., as programs write them; "none" is an answer, and so are -
        and . beside other signs, such as +. In JSON lines and Parquet, null, NaN and empty texts
        are missing. In units.csv of `bboxqa agree`, a missed object has the value "(missing)",
        images are the clusters, and thresholds the tasks.
    layout : str, optional
        ``"long"``: one rating per row; ``"raters-x-units"``: one annotator per row;
        ``"units-x-raters"``: one unit per row; ``"counts"``: one unit per row, with one column per
        value for the number of annotators who chose it (who chose what is unknown). By default, the
        layout is detected from the header; if that is not possible, an error asks for it.
    unit, annotator, value : str
        Columns of the long layout.
    by, cluster, n_options : str, optional
        Columns of tasks, each of which is a separate table, of the clusters that intervals draw,
        by default the units, and of the number of objects to choose from.

    Returns
    -------
    dict of str to Ratings
        By task, in order of appearance; under None if `by` is not given.

    Raises
    ------
    ConfigError, DatasetError
        If the settings contradict one another, or the file cannot be read, with every problem.

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
    if len({unit, annotator, value}) < len(_LONG):
        raise ConfigError("unit, annotator and value must be three different columns")
    columns = {"unit": unit, "annotator": annotator, "value": value}
    extra = {"by": by, "cluster": cluster, "n_options": n_options}
    columns |= {field: name for field, name in extra.items() if name is not None}
    table = open_table(path)
    _refuse_results(table)
    if of_units := is_unit_table(table.header, value):
        layout, columns = "long", _unit_columns(table, columns)
    layout = layout or _layout_of(table, columns)
    if layout == "long":
        tasks = _read_long(table, columns, of_units=of_units)
    else:
        for field, name in columns.items():
            if field not in _LONG or name != field:
                option = f"--{field.replace('_', '-')}"
                raise ConfigError(f"{option} is for the layout long; this table is {layout}")
        tasks = {None: _read_wide(table, layout)}
    if not any(len(ratings.data.unit) for ratings in tasks.values()):
        raise DatasetError([f"{table.name}: has no ratings: every value is missing"])
    return tasks


def _refuse_results(table: Table) -> None:
    known = {*table.header}
    if {"alpha", "status"} <= known or any({f"{e}_low", f"{e}_high"} <= known for e in known):
        raise DatasetError(
            [f"{table.name}: is a table of results of bboxqa; expected ratings"],
            "Ratings are in units.csv, which bboxqa agree writes with --out FOLDER.",
        )


_OF_UNITS = {"image", "unit", "annotator", "annotation", "category", "state"}
_UNITS_NOTE = (
    "a table of units of bboxqa agree: a missed object has the value (missing), and intervals draw "
    "images; of three annotators or more, two agree on an object that only others drew (pairs.csv "
    "of bboxqa agree leaves it out)"
)
_THRESHOLD = "iou_threshold"


def is_unit_table(names: Collection[str], value: str) -> bool:
    """Return whether columns are those of units of `bboxqa agree`, whose categories are values."""
    return set(names) >= _OF_UNITS and value in {"value", "category"}


def _unit_columns(table: Table, columns: dict[str, str]) -> dict[str, str]:
    """Return the columns of a table of units by field."""
    chosen = columns | {"value": "category"}
    if columns["unit"] == "unit":
        chosen.setdefault("cluster", "image")
    levels = table.columns([_THRESHOLD])[_THRESHOLD].labels if _THRESHOLD in table.header else ()
    if len(levels) > 1 and chosen.setdefault("by", _THRESHOLD) != _THRESHOLD:
        found = f"{len(levels)} thresholds, {', '.join(map(str, levels))}"
        raise DatasetError(
            [f"{table.name}: holds units at {found}; expected one threshold"],
            f"Give --by {_THRESHOLD}, or keep the rows of one threshold.",
        )
    return chosen


def with_missed(category: LabelColumn, state: LabelColumn) -> LabelColumn:
    """Return the categories of a table of units, with a value of its own for missed objects."""
    name = "(missing)"
    while name in category.labels:
        name = f"({name})"
    missed = np.array([label == "missing" for label in (*state.labels, None)])[state.codes]
    codes = np.where(missed, len(category.labels), category.codes)
    return LabelColumn(codes, (*category.labels, name))


def _read_long(
    table: Table, columns: dict[str, str], *, of_units: bool
) -> dict[str | None, Ratings]:
    if problems := [*column_problems(table, dict.fromkeys(columns.values()))]:
        raise DatasetError(problems, _NAME_COLUMNS)
    read = table.columns(list(dict.fromkeys([*columns.values(), *["state"] * of_units])))
    if of_units:
        read["category"] = with_missed(read["category"], read["state"])
    cells = {field: read[name] for field, name in columns.items()}
    # Spreadsheets add empty rows at the end.
    absent = [np.isin(np.arange(len(each)), each.missing()) for each in cells.values()]
    kept = np.flatnonzero(~np.all(absent, axis=0))
    cells = {field: column.take(kept) for field, column in cells.items()}
    if not of_units:
        cells["value"] = _answers(table, cells["value"])
    notes = (_UNITS_NOTE,) * (of_units and columns.get("cluster") == "image")
    rows: dict[str | None, Any] = {None: np.arange(len(kept))}
    if "by" in cells:
        if problems := [
            f"{place}: {columns['by']} is missing; expected the name of a task"
            for place in table.places(kept[cells["by"].missing()])
        ]:
            raise DatasetError(problems, "With --by, every row has to belong to a task.")
        tasks: dict[str | None, int] = {}
        by = cells["by"]
        number = np.array([tasks.setdefault(label, len(tasks)) for label in by.labels])[by.codes]
        order = np.argsort(number, kind="stable")
        bounds = np.searchsorted(number[order], np.arange(1, len(tasks)))
        rows = dict(zip(tasks, np.split(order, bounds), strict=True))
    result: dict[str | None, Ratings] = {}
    for task, index in rows.items():
        places = partial(lambda rows, own: table.places(rows[own]), kept[index])
        own = {field: column.take(index) for field, column in cells.items()}
        result[task] = assemble(own, columns, places, notes)
    return result


def _read_wide(table: Table, layout: str) -> Ratings:
    """Return the ratings of a table with one annotator or one unit per row."""
    cells, width = table.grid()
    codes = cells.codes.reshape(-1, width)
    corner, *columns = table.header
    rows = [cells.label(row * width) for row in range(len(codes))]
    is_data = corner != "" and number_of(corner) is not None
    if not columns or is_data or _ONE_ANNOTATOR.fullmatch(corner) or None in rows:
        raise DatasetError(
            [f"{table.name}: expected names of columns in line 1, and of rows in column 1"],
            "Give every row and every column a name, and begin the first line with the word "
            "annotator (one annotator per row) or unit (one unit per row).",
        )
    names = tuple(map(str, rows)), tuple(columns)
    of_rows = layout == "raters-x-units"
    units, annotators = names[::-1] if of_rows else names
    right, wrong = (_ANNOTATORS, _UNITS) if of_rows else (_UNITS, _ANNOTATORS)
    reason = f"its first column is called {corner!r}" if wrong.fullmatch(corner) else ""
    if not reason and len(annotators) > len(units) and not right.fullmatch(corner):
        reason = f"it would be {len(annotators):,} annotators of {count(len(units), 'unit')}"
    if reason and layout != "counts":
        word, other = ("annotator", LAYOUTS[2]) if of_rows else ("unit", LAYOUTS[1])
        raise DatasetError(
            [f"{table.name}: does not look like {layout}: {reason}"],
            f"Give --layout {other} if the table is transposed. If it is not, begin its first line "
            f"with the word {word}, above the names of the rows.",
        )
    if problems := [
        f"{table.name}: {what} {name!r} occurs several times; expected each once"
        for what, given in zip(("row", "column"), names, strict=True)
        for name, times in Counter(given).items()
        if times > 1
    ]:
        advice = "Every annotator and every unit has one row or column; the first one holds names."
        raise DatasetError(problems, advice)
    inner = codes[:, 1:].T if of_rows else codes[:, 1:]
    values = LabelColumn(inner.ravel(), cells.labels)
    if layout == "counts":
        return _from_counts(table, values, *names)
    return from_cells(code(_answers(table, values)), annotators, len(units), units)


def _from_counts(
    table: Table, cells: LabelColumn, units: tuple[str, ...], values: tuple[str, ...]
) -> Ratings:
    """Expand counts to ratings by unknown annotators without names."""
    n_units, n_values = len(units), len(values)
    amounts = whole_numbers(cells, missing=-1).reshape(n_units, n_values)
    problems = [
        f"{table.name}: row {units[row]!r}, column {values[column]!r}: is "
        f"{cells.label(row * n_values + column)!r}; expected a count, 0 or more"
        for row, column in np.argwhere(amounts < 0).tolist()
    ]
    if not problems and amounts.astype(float).sum() > _MOST_COUNTS:
        total = amounts.astype(float).sum()
        problems = [f"{table.name}: counts add up to {total:,.0f}; expected ratings of people"]
    if not all(values):
        problems.append(f"{table.name}: line 1: expected a name for each column of counts")
    if problems:
        advice = "If the cells are ratings: --layout units-x-raters or --layout raters-x-units."
        raise DatasetError(problems, advice)
    ratings = np.repeat(np.arange(amounts.size), amounts.ravel())
    unit, value = np.divmod(ratings, n_values)
    per_unit = amounts.sum(axis=1)
    annotator = np.arange(len(unit)) - (np.cumsum(per_unit) - per_unit)[unit]
    # Categories that were never chosen count as possible answers.
    coded = code(LabelColumn(np.concatenate([np.arange(n_values), value]), values))
    coded = replace(coded, codes=coded.codes[n_values:])
    data = reliability(unit, annotator, coded, np.arange(n_units), n_units)
    return Ratings(data, units, (), coded.names, coded.numbers)
