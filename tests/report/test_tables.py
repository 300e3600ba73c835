"""Tables of plain text."""

from hypothesis import given
from hypothesis import strategies as st

from bboxqa.report.tables import table_lines


def test_a_wide_character_takes_two_columns():
    assert list(table_lines([["名", "n"], ["abc", "1"]], [0])) == ["名   n", "abc  1"]
    assert list(table_lines([["e\u0301", "n"], ["ab", "1"]], [0])) == ["e\u0301   n", "ab  1"]


def test_long_names_are_shortened_in_the_middle_where_the_terminal_is_narrow():
    rows = [["name", "alpha"], ["abcdefghijkl", "0.5000"]]
    assert list(table_lines(rows, [0], width=17)) == ["name        alpha", "abcd…ijkl  0.5000"]
    assert list(table_lines(rows, [0])) == ["name           alpha", "abcdefghijkl  0.5000"]


def test_sentences_are_folded_between_words():
    rows = [["name", "reason"], ["abcdefghijklmnopqrstuvwx", "drawn twice by ann"]]
    assert list(table_lines(rows, [0, 1], width=34, folded=[1])) == [
        "name              reason",
        "abcdefgh…rstuvwx  drawn twice by",
        "                  ann",
    ]


@given(
    st.lists(st.lists(st.text("ab日é", max_size=30), min_size=3, max_size=3), min_size=1),
    st.integers(0, 60),
)
def test_nothing_is_lost_where_cells_are_folded(rows, width):
    folded, whole = (
        "".join(table_lines(rows, [0, 1], width=most, folded=[0, 1])).replace(" ", "")
        for most in (width, None)
    )
    assert sorted(folded) == sorted(whole)


@given(st.lists(st.text("ab日é", max_size=30), min_size=1), st.integers(8, 40))
def test_shortened_names_keep_both_ends_and_fit(names, width):
    lines = table_lines([[name] for name in names], [0], width=width)
    for name, line in zip(names, lines, strict=True):
        start, cut, end = line.partition("…")
        assert name.startswith(start)
        assert name.endswith(end)
        assert len(line) + line.count("日") <= width
        assert bool(cut) == (len(name) + name.count("日") > width)
