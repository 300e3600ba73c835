"""What is kept of each run, and what became worse."""

import sqlite3
from contextlib import closing
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bboxqa.batch import history
from bboxqa.batch.history import (
    FILE,
    Regression,
    append,
    last_rows,
    regressions,
)
from bboxqa.batch.rows import FAILED, MEASURED, NOT_MEASURED, Row
from bboxqa.core.errors import OutputError

SOUND = Row("a", MEASURED, 1, alpha=0.8, low=0.7, high=0.9, n_errors=0, n_warnings=3)
WHEN = "2026-01-01T00:00:00+00:00"


def stored(folder, query):
    with closing(sqlite3.connect(folder / "history.sqlite")) as connection:
        return connection.execute(query).fetchall()


def found(before, after):
    return [part.what for part in regressions({before.project: before}, [after])]


def test_rows_of_each_run(tmp_path):
    other = Row("ü'\"; DROP TABLE runs", FAILED, 2, passed=False, message="why")
    append(tmp_path, WHEN, "1.0", [SOUND, other])
    append(
        tmp_path, WHEN, "1.1", [replace(SOUND, alpha=0.5, f1=0.9, class_alpha=0.7, mean_iou=0.75)]
    )
    append(tmp_path, WHEN, "1.1", [])
    assert stored(tmp_path, "SELECT * FROM runs") == [
        (1, WHEN, "1.0"), (2, WHEN, "1.1"), (3, WHEN, "1.1"),
    ]  # fmt: skip
    assert stored(tmp_path, "SELECT * FROM projects ORDER BY run, project") == [
        (1, "a", MEASURED, 0.8, 0.7, 0.9, 0, 3, None, None, None, None),
        (1, other.project, FAILED, None, None, None, None, None, None, None, None, None),
        (2, "a", MEASURED, 0.5, 0.7, 0.9, 0, 3, 0.9, 0.7, 0.75, None),
    ]


def test_a_history_of_an_earlier_version_gets_the_new_columns(tmp_path):
    with closing(sqlite3.connect(tmp_path / FILE)) as connection, connection:
        connection.execute("CREATE TABLE runs (run INTEGER PRIMARY KEY, started, version)")
        connection.execute(
            "CREATE TABLE projects (run, project, status, alpha REAL, low REAL, high REAL, "
            "n_errors INTEGER, n_warnings INTEGER)"
        )
        connection.execute("INSERT INTO runs VALUES (1, 'then', '0.1')")
        connection.execute("INSERT INTO projects VALUES (1, 'a', 'measured', 0.8, 0.7, 0.9, 0, 3)")
    assert last_rows(tmp_path)["a"].alpha == 0.8
    append(tmp_path, WHEN, "1.0", [replace(SOUND, alpha=None, f1=0.9)])
    last = last_rows(tmp_path)["a"]
    assert (last.alpha, last.f1, last.n_warnings) == (0.8, 0.9, 3)


DRAWN = replace(SOUND, alpha=None, f1=0.9, class_alpha=0.8, mean_iou=0.7)


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"f1": 0.85}, ["F1 fell from 0.9000 to 0.8500"]),
        ({"class_alpha": 0.75}, ["class alpha fell from 0.8000 to 0.7500"]),
        ({"mean_iou": 0.65}, ["mean IoU fell from 0.7000 to 0.6500"]),
        ({"f1": 0.95, "class_alpha": None, "mean_iou": 0.7}, []),
        ({"status": NOT_MEASURED, "f1": None}, ["F1 was 0.9000, now undefined"]),
        ({"status": FAILED, "f1": None}, ["failed, but not in the last run"]),
    ],
)
def test_existence_class_or_place_became_worse(change, what):
    assert found(DRAWN, replace(DRAWN, **change)) == what


def test_last_rows_are_those_of_the_last_run_that_had_the_project(tmp_path):
    assert last_rows(tmp_path) == {}
    assert list(tmp_path.iterdir()) == []
    append(tmp_path, WHEN, "1.0", [SOUND, Row("b", NOT_MEASURED, 1)])
    append(tmp_path, WHEN, "1.0", [replace(SOUND, alpha=0.1 + 0.2)])
    last = last_rows(tmp_path)
    assert sorted(last) == ["a", "b"]
    assert regressions(last, [replace(SOUND, alpha=0.1 + 0.2)]) == []
    assert last["a"].alpha == 0.1 + 0.2


def test_a_night_on_which_it_failed_hides_no_fall(tmp_path):
    append(tmp_path, WHEN, "1.0", [SOUND])
    append(tmp_path, WHEN, "1.0", [Row("a", FAILED, 1)])
    (worse,) = regressions(last_rows(tmp_path), [replace(SOUND, alpha=0.1)])
    assert worse.what == "alpha fell from 0.8000 to 0.1000"


def test_a_run_is_added_as_a_whole_or_not_at_all(tmp_path):
    append(tmp_path, WHEN, "1.0", [SOUND])
    with pytest.raises(OutputError, match=r"history\.sqlite: UNIQUE"):
        append(tmp_path, WHEN, "1.1", [replace(SOUND, alpha=0.1), Row("b", FAILED, 1), SOUND])
    assert stored(tmp_path, "SELECT version FROM runs") == [("1.0",)]
    assert last_rows(tmp_path)["a"].alpha == 0.8


@pytest.mark.parametrize("content", [b"no database" * 100, b"SQLite format 3\0" + b"x" * 4096])
@pytest.mark.parametrize("act", [last_rows, lambda out: append(out, WHEN, "1.0", [SOUND])])
def test_broken_file(tmp_path, content, act):
    (tmp_path / "history.sqlite").write_bytes(content)
    with pytest.raises(OutputError, match="move it away to begin a new history"):
        act(tmp_path)
    assert (tmp_path / "history.sqlite").read_bytes() == content


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"alpha": 0.75}, ["alpha fell from 0.8000 to 0.7500"]),
        ({"alpha": 0.8 - 1e-15}, []),
        ({"alpha": 0.85, "low": 0.1, "high": 0.9}, []),
        ({"n_errors": 1200}, ["errors rose from 0 to 1,200"]),
        ({"n_warnings": 4}, ["warnings rose from 3 to 4"]),
        ({"n_warnings": 2, "n_infos": 99}, []),
        ({"status": FAILED, "alpha": None}, ["failed, but not in the last run"]),
        ({"status": NOT_MEASURED, "alpha": None}, ["alpha was 0.8000, now undefined"]),
        ({"alpha": -0.1, "n_errors": 1},
         ["alpha fell from 0.8000 to -0.1000", "errors rose from 0 to 1"]),
        ({"n_errors": None, "n_warnings": None}, []),
    ],
)  # fmt: skip
def test_became_worse(change, what):
    assert found(SOUND, replace(SOUND, **change)) == what


NUMBERS = st.none() | st.integers(0, 3)
ROWS = st.builds(
    Row,
    st.just("a"),
    st.sampled_from([MEASURED, NOT_MEASURED, FAILED]),
    st.just(1),
    alpha=st.none() | st.sampled_from([-0.5, 0.0, 0.5]),
    n_errors=NUMBERS,
    n_warnings=NUMBERS,
)


@given(ROWS, ROWS)
def test_nothing_is_worse_both_ways_in_the_same_respect(first, second):
    assert found(first, first) == []
    forth, back = found(first, second), found(second, first)
    assert not {part.split()[0] for part in forth} & {part.split()[0] for part in back}


def test_names_the_project():
    assert regressions({"a": SOUND}, [Row("b", FAILED, 1), replace(SOUND, status=FAILED)]) == [
        Regression("a", "failed, but not in the last run")
    ]


def test_a_history_in_use_is_not_to_be_moved_away(tmp_path, monkeypatch):
    monkeypatch.setattr(history, "_SECONDS_TO_WAIT", 0.1)
    append(tmp_path, "2026-01-01", "1", [Row("a", "measured", 1, alpha=0.5)])
    with closing(sqlite3.connect(tmp_path / FILE)) as connection:
        connection.execute("BEGIN EXCLUSIVE")
        with pytest.raises(OutputError, match=r"history\.sqlite: is in use by another program"):
            append(tmp_path, "2026-01-02", "1", [Row("a", "measured", 1, alpha=0.5)])


@pytest.mark.parametrize(
    ("before", "now", "what"),
    [
        (("ann", "bob", "eve"), ("ann", "bob"), ["annotators fell from 3 to 2, without eve"]),
        (("ann", "bob"), ("ann", "eve"), ["annotator gone: bob"]),
        (("ann", "bob"), ("cid", "dan", "eve"), ["annotators gone: ann, bob"]),
        (
            ("a", "b", "c", "d", "e", "f"),
            ("a", "b"),
            ["annotators fell from 6 to 2, without c, d, e and 1 more"],
        ),
        (("ann", "bob"), ("ann", "bob", "eve"), []),
        # Of earlier versions, and of projects that are not measured, annotators are unknown.
        ((), ("ann", "bob"), []),
        (("ann", "bob"), (), []),
    ],
)
def test_annotators_who_are_gone_are_told_even_if_agreement_rose(tmp_path, before, now, what):
    append(tmp_path, WHEN, "1.0", [replace(SOUND, annotators=before)])
    # A failed run in between hides nobody.
    append(tmp_path, WHEN, "1.0", [replace(SOUND, status=FAILED)])
    after = replace(SOUND, alpha=0.9, annotators=now)
    assert [each.what for each in regressions(last_rows(tmp_path), [after])] == what
    append(tmp_path, WHEN, "1.0", [after])
    assert regressions(last_rows(tmp_path), [after]) == []
