"""The first rows of tables, as a terminal shows them."""

import numpy as np

from bboxqa.model.table import Table
from bboxqa.report.tables import Excerpt, table_excerpt


def test_numbers_are_written_as_in_sentences():
    table = Table({"alpha": np.array([0.5, 0.25]), "n": np.array([1865, 12])})
    assert list(table_excerpt(table, np.arange(2), None, Excerpt("Counts", "counts"))) == [
        "", "Counts", "  alpha      n", " 0.5000  1,865", " 0.2500     12",
    ]  # fmt: skip
