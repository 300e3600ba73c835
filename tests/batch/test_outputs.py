"""The table, the summary, the page and the history of a run."""

import json
import sqlite3
from contextlib import closing
from importlib.resources import files

import pytest
from msgspec.structs import fields, replace
from support import pages
from support.datasets import csv_rows, write

from bboxqa.batch.discovery import Discovered
from bboxqa.batch.results import (
    FAILED,
    MEASURED,
    NOT_MEASURED,
    Regression,
    Row,
    folder_of,
    write_outputs,
)
from bboxqa.batch.run import append, last_rows, regressions
from bboxqa.batch.settings import Settings
from bboxqa.core.errors import OutputError
from bboxqa.core.text import one_line

SETTINGS = Settings({"min_alpha": 0.6}, {})
NOTHING = Discovered((), (), ())
NASTY = "<script>alert('x')</script> & \"?#%2e\n日本"
ROWS = [
    Row("a/b", MEASURED, 2, 1200, alpha=0.5, low=0.25, high=0.75, n_errors=0, n_warnings=3,
        f1=0.875, f1_low=0.75, f1_high=1.0, class_alpha=0.625, class_share=0.8, mean_iou=0.7),
    Row("alone", NOT_MEASURED, 1, n_errors=0, n_warnings=0, message='nothing, "said"'),
    Row(NASTY, FAILED, 1, passed=False, message="<b>bad</b>\x1b[31m"),
]  # fmt: skip


class Page(pages.Page):
    """What a browser makes of a page: the rows of its projects, items of lists, and scripts."""

    def __init__(self, text):
        self.cells, self.items, self.scripts = [], [], []
        super().__init__(text)

    def handle_starttag(self, tag, attrs):
        super().handle_starttag(tag, attrs)
        if tag == "li":
            self.items.append("")
        elif tag == "tr" and "details" not in self.open:
            self.cells.append([])
        elif tag == "td" and "details" not in self.open:
            self.cells[-1].append("")

    def handle_data(self, data):
        if "script" in self.open:
            self.scripts.append(data)
        if "td" in self.open and not {"small", "details"} & {*self.open}:
            self.cells[-1][-1] += data
        if "li" in self.open:
            self.items[-1] += data


def script(name):
    """Return a script of the package."""
    return files("bboxqa.report").joinpath("templates", f"{name}.js").read_text("utf-8")


def written(out, rows=ROWS, found=NOTHING, worse=()):
    write_outputs(out, found, rows, worse, SETTINGS, "2026-11-22T17:21:23+00:00")
    return Page((out / "index.html").read_text("utf-8"))


def test_table(tmp_path):
    written(tmp_path)
    rows = csv_rows(tmp_path / "projects.csv")
    assert [*rows[0]] == [field.name for field in fields(Row)]
    assert [row["project"] for row in rows] == ["a/b", "alone", NASTY.replace("\n", r"\n")]
    assert [rows[0][name] for name in ("status", "n_files", "n_images", "alpha", "high")] == [
        "measured", "2", "1200", "0.5", "0.75",
    ]  # fmt: skip
    assert (rows[1]["alpha"], rows[1]["passed"], rows[1]["message"]) == (
        "", "True", 'nothing, "said"',
    )  # fmt: skip


def test_summary(tmp_path):
    found = Discovered((), ("other\x1b.json",), ("b: Permission denied",))
    written(tmp_path, found=found, worse=[Regression("a/b", "alpha fell")])
    values = json.loads((tmp_path / "summary.json").read_bytes())
    assert [values[f"n_{name}"] for name in ("projects", "measured", "not_measured", "failed")] == [
        3, 1, 1, 1,
    ]  # fmt: skip
    assert values["passed"] is False
    assert values["worse"] == [{"project": "a/b", "what": "alpha fell"}]
    assert values["left_alone"] == ["other\\x1b.json"]
    assert values["unreadable"] == ["b: Permission denied"]
    assert values["projects"][0]["alpha"] == 0.5
    assert values["projects"][1]["alpha"] is None


def test_page_escapes(tmp_path):
    write(folder_of(tmp_path, NASTY) / "log.txt", "log")
    page = written(tmp_path, worse=[Regression(NASTY, "<i>fell")])
    assert not {"b", "i", "img"} & set(page.tags)
    assert page.scripts == [script("page")]
    failed = page.cells[1]
    assert failed[0] == one_line(NASTY)
    assert failed[-1] == "<b>bad</b>\\x1b[31m"
    assert page.items == [f"{one_line(NASTY)}: <i>fell"]
    assert "\x1b" not in (tmp_path / "index.html").read_text("utf-8")


def test_what_has_to_be_looked_at_comes_first(tmp_path):
    rows = [
        Row("fine", MEASURED, 1, alpha=0.9),
        Row("one category", MEASURED, 1, f1=0.5),
        Row("low", MEASURED, 1, alpha=0.1),
        Row("no", NOT_MEASURED, 1),
        Row("gate", MEASURED, 1, alpha=0.3, passed=False),
        Row("bad", FAILED, 1, passed=False),
    ]
    cells = written(tmp_path, rows).cells[1:]
    assert [line[0] for line in cells] == ["bad", "gate", "low", "one category", "fine", "no"]
    assert {len(line) for line in cells} == {12}


@pytest.mark.parametrize(("n_annotators", "is_told"), [(2, False), (3, True)])
def test_alphas_of_other_numbers_of_annotators_are_said_to_differ(tmp_path, n_annotators, is_told):
    rows = [
        Row("one", MEASURED, 1, n_annotators=2, alpha=0.5),
        Row("other", MEASURED, 1, n_annotators=n_annotators, alpha=0.6),
        Row("without", NOT_MEASURED, 1, n_annotators=1),
    ]
    written(tmp_path, rows)
    page = (tmp_path / "index.html").read_text("utf-8")
    assert ("Alpha may rise with the number of annotators" in page) == is_told


def test_the_last_ones_are_replaced_and_nothing_else_is_left(tmp_path):
    written(tmp_path)
    written(tmp_path, ROWS[:1])
    assert {path.name for path in tmp_path.iterdir()} == {
        "index.html", "projects.csv", "summary.json",
    }  # fmt: skip
    assert json.loads((tmp_path / "summary.json").read_bytes())["n_projects"] == 1


def test_one_that_cannot_be_written_leaves_those_before_it(tmp_path):
    (tmp_path / "summary.json").mkdir()
    with pytest.raises(OutputError, match=r"summary\.json: cannot be written"):
        written(tmp_path)
    assert (tmp_path / "projects.csv").is_file()
    assert {path.name for path in tmp_path.iterdir()} == {"projects.csv", "summary.json"}


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
    (worse,) = regressions(last_rows(tmp_path)[0], [replace(SOUND, alpha=0.1)])
    assert worse.what == "alpha fell from 0.8000 to 0.1000"


def test_a_run_is_added_as_a_whole_or_not_at_all(tmp_path):
    append(tmp_path, WHEN, "1.0", [SOUND])
    with pytest.raises(OutputError, match=r"history\.sqlite: Error binding"):
        append(tmp_path, WHEN, "1.1", [replace(SOUND, alpha=0.1), Row("b", FAILED, 1, alpha=[])])
    assert stored(tmp_path, "SELECT version FROM runs") == [("1.0",)]
    assert last_rows(tmp_path)[0]["a"].alpha == 0.8


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
        ({"status": FAILED, "alpha": None, "n_errors": 2}, ["failed, but not in the last run"]),
    ],
)  # fmt: skip
def test_became_worse(change, what):
    assert found(SOUND, replace(SOUND, **change)) == what


def test_findings_of_a_file_that_was_not_read_whole_are_not_compared(tmp_path):
    for row in (SOUND, replace(SOUND, status=FAILED, n_errors=1, n_warnings=0)):
        append(tmp_path, WHEN, "1.0", [row])
    assert regressions(last_rows(tmp_path)[0], [SOUND]) == []


def test_figures_of_more_annotators_say_so():
    before, now = (replace(SOUND, annotators=names) for names in (("ann",), ("ann", "eve")))
    assert found(before, replace(now, alpha=0.7)) == ["alpha fell from 0.8000 to 0.7000"]


@pytest.mark.parametrize(
    ("before", "now", "what"),
    [
        (("ann", "bob", "eve"), ("ann", "bob"), ["annotators gone: eve"]),
        (("ann", "bob"), ("ann", "eve"), ["annotators gone: bob"]),
        (("ann", "bob"), ("cid", "dan", "eve"), ["annotators gone: ann, bob"]),
        (tuple("abcdef"), tuple("ab"), ["annotators gone: c, d, e and 1 more"]),
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
    assert [each.what for each in regressions(last_rows(tmp_path)[0], [after])] == what
    append(tmp_path, WHEN, "1.0", [after])
    assert regressions(last_rows(tmp_path)[0], [after]) == []
