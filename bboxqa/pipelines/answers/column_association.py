"""Test of independence of two columns of a table."""

from pathlib import Path

import numpy as np

from bboxqa.core.errors import ConfigError, DatasetError
from bboxqa.core.text import count
from bboxqa.diagnostics.answers import cross_table, independence
from bboxqa.formats.ratings.layouts import without_column
from bboxqa.formats.tables.table_files import open_table
from bboxqa.model.answers import ColumnAssociation
from bboxqa.model.labels import code


def column_association(path: str | Path, first: str, second: str) -> ColumnAssociation:
    r"""Return a chi-square test of independence of two columns, with Cramér's V.

    Parameters
    ----------
    path : str or Path
        CSV, TSV, JSON lines or Parquet. Rows in which one of the cells is missing are left out.
    first, second : str
        Names of columns.

    Raises
    ------
    DatasetError
        If the table cannot be read, or does not have one column of each name.
    ConfigError
        If both are one column.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "table.csv"
    >>> _ = path.write_text("a,b\nx,1\nx,1\ny,2\ny,2\n")
    >>> found = column_association(path, "a", "b")
    >>> found.cramers_v, found.counts.tolist()
    (1.0, [[2, 0], [0, 2]])
    """
    if first == second:
        raise ConfigError(f"both columns are {first!r}; expected two different ones")
    table = open_table(path)
    problems = [
        f"{table.name}: line 1: has several columns {name!r}; expected one"
        if times
        else without_column(table, name)
        for name in (first, second)
        if (times := table.header.count(name)) != 1
    ]
    if problems:
        raise DatasetError(problems)
    read = table.columns([first, second])
    coded = code(read[first]), code(read[second])
    known = np.flatnonzero((coded[0].codes >= 0) & (coded[1].codes >= 0))
    codes = [each.codes[known] for each in coded]
    shape = len(coded[0].names), len(coded[1].names)
    counts = cross_table(codes[0], codes[1], shape)
    test = independence(counts)
    missing = len(coded[0].codes) - len(known)
    left_out = (f"{count(missing, 'row')} left out: a value is missing",) if missing else ()
    return ColumnAssociation(
        columns=(first, second),
        values=(coded[0].names, coded[1].names),
        counts=counts,
        statistic=test.statistic,
        p_value=test.p_value,
        degrees_of_freedom=test.degrees_of_freedom,
        cramers_v=test.cramers_v,
        interval=test.interval,
        status=test.status,
        sentence=test.sentence,
        notes=(*test.notes, *left_out),
    )
