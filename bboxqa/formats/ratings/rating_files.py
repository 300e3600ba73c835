"""Reading tables of ratings in any layout."""

from pathlib import Path

from bboxqa.core.errors import ConfigError, DatasetError
from bboxqa.core.text import unknown_name
from bboxqa.formats.ratings.layouts import LAYOUTS, layout_of
from bboxqa.formats.ratings.long import read_long
from bboxqa.formats.ratings.own_tables import refuse_results, unit_table_columns
from bboxqa.formats.ratings.wide import read_wide
from bboxqa.formats.tables.table_files import TableFile, open_table
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
