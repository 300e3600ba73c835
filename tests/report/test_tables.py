"""Tables of plain text."""

from bboxqa.report.tables import table_lines


def test_a_wide_character_takes_two_columns():
    assert list(table_lines([["名", "n"], ["abc", "1"]], [0])) == ["名   n", "abc  1"]
    assert list(table_lines([["e\u0301", "n"], ["ab", "1"]], [0])) == ["e\u0301   n", "ab  1"]
