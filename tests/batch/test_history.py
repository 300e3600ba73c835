"""What is kept of each run, and what became worse."""

import sqlite3
from contextlib import closing

import pytest
from msgspec.structs import replace

from bboxqa.batch.results import FAILED, MEASURED, NOT_MEASURED, Row
from bboxqa.batch.run import append, last_rows, regressions
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


def test_a_night_on_which_it_failed_hides_no_fall(tmp_path):
    append(tmp_path, WHEN, "1.0", [SOUND])
    append(tmp_path, WHEN, "1.0", [Row("a", FAILED, 1)])
    (worse,) = regressions(last_rows(tmp_path), [replace(SOUND, alpha=0.1)])
    assert worse.what == "alpha fell from 0.8000 to 0.1000"


def test_a_run_is_added_as_a_whole_or_not_at_all(tmp_path):
    append(tmp_path, WHEN, "1.0", [SOUND])
    with pytest.raises(OutputError, match=r"history\.sqlite: Error binding"):
        append(tmp_path, WHEN, "1.1", [replace(SOUND, alpha=0.1), Row("b", FAILED, 1, alpha=[])])
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
