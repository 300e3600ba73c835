"""Runs over many projects: what is done again, what belongs to whom, and what a bad one does."""

import contextlib
import json
import os
import re
import shutil
import signal
from html import unescape
from pathlib import Path

import pytest
from support import cli
from support.batch import left_by
from support.datasets import annotation, document, image, noisy, two_annotators, write

from bboxqa.batch import run as module
from bboxqa.batch.project import run_project
from bboxqa.batch.results import Regression, claim
from bboxqa.batch.run import Run, last_rows, run_batch
from bboxqa.batch.settings import Settings
from bboxqa.core.errors import OutputError
from bboxqa.model.annotations import Choices

PLAIN = Settings({"bootstrap": 50}, {})
ROOT, OUT = Path("root"), Path("out")
pytestmark = pytest.mark.usefixtures("light_workers")


@pytest.fixture(scope="module")
def night(tmp_path_factory):
    """Return a folder of three sound projects, the first the largest, and of a run over them."""
    top = tmp_path_factory.mktemp("night")
    for seed, name in enumerate("abc"):
        write(top / "root" / name / "x.json", noisy(seed, 32 - 12 * seed))
    with contextlib.chdir(top):
        assert run_batch(ROOT, OUT, PLAIN, Run(jobs=2)).passed
    return top


@pytest.fixture
def root(night, tmp_path, monkeypatch):
    """Return a copy of the three projects, to which relative paths lead."""
    shutil.copytree(night / ROOT, tmp_path / ROOT)
    monkeypatch.chdir(tmp_path)
    return ROOT


@pytest.fixture
def ran(night, root):
    """Return a copy of the three projects, beside the results of a run over them."""
    shutil.copytree(night / OUT, OUT)
    # Results that were moved with their root belong to the new place once this note is gone.
    (OUT / ".root.json").unlink()
    return root


def run(root, settings=PLAIN, out="out", on_project=None, **more):
    return run_batch(root, root.parent / out, settings, Run(**more), on_project)


def statuses(result):
    return {row.project: row.status for row in result.rows}


def times(root, out="out"):
    """Return when the folder of each project was made, and its files."""
    return {
        folder.name: (
            folder.stat().st_mtime_ns,
            folder.stat().st_ino,
            {path.name: path.stat().st_mtime_ns for path in folder.iterdir()},
        )
        for folder in (root.parent / out / "projects").iterdir()
    }


def linked(project):
    """Return the files of a project to which the page of a run leads."""
    page = (OUT / "index.html").read_text("utf-8")
    return re.findall(rf'href="projects/{project}/([^"]+)"', page)


def changed(before, after):
    return {name for name in after if after[name] != before.get(name)}


def files(root, out="out"):
    return left_by(root.parent / out)


def test_unchanged_is_not_run_again(root):
    first = run(root)
    assert (len(first.rows), first.n_reused, first.passed) == (3, 0, True)
    before, content = times(root), files(root)
    steps = []
    second = run(root, on_project=steps.append)
    assert (second.rows, second.n_reused, second.worse) == (first.rows, 3, ())
    assert [(step.reused, step.done, step.total) for step in steps] == [
        (True, number, 3) for number in (1, 2, 3)
    ]
    assert times(root) == before
    assert files(root) == content


def test_only_what_changed_is_run_again(ran):
    before = times(ran)
    write(ran / "b/x.json", noisy(9, 6))
    write(ran / "d/x.json", noisy(10, 6))
    write(ran / "c/bboxqa.toml", "seed = 5\n")
    result = run(ran)
    assert result.n_reused == 1
    assert changed(before, times(ran)) == {"b", "c", "d"}


def test_any_number_of_jobs_gives_the_same(root):
    for jobs in (1, 3):
        run(root, out=f"out {jobs}", jobs=jobs)
    assert files(root, "out 1") == files(root, "out 3")


def test_bad_projects_never_stop_the_rest(root):
    write(root / "b1/x.json", '{"images": [')
    write(root / "b2/x.json", two_annotators())
    write(root / "b2/bboxqa.toml", "nonsense = 1\n")
    write(root / "b3/x.json", document([annotation(1)]))
    write(root / "b4/x.json", document([annotation([], annotator=3)]))
    result = run(root)
    assert statuses(result) == {
        "a": "measured",
        "b": "measured",
        "b1": "failed",
        "b2": "failed",
        "b3": "not measured",
        "b4": "failed",
        "c": "measured",
    }
    assert not result.passed
    rows = {row.project: row for row in result.rows}
    assert "unknown setting 'nonsense'" in rows["b2"].message
    assert [row["project"] for row in _summary(root)["projects"]] == sorted(rows)


def test_failures_of_the_machine_are_tried_again(ran):
    content = files(ran)
    (OUT / "projects/b").rename("away")
    write(OUT / "projects/b", "in the way")
    result = run(ran)
    assert statuses(result) == {"a": "measured", "b": "failed", "c": "measured"}
    assert [row.message for row in result.rows] == [
        "",
        "[Errno 20] Not a directory: 'out/projects/b/record.json'",
        "",
    ]
    assert not result.passed
    (OUT / "projects/b").unlink()
    result = run(ran)
    assert (result.n_reused, result.passed) == (2, True)
    assert files(ran) == content


def _fatal(task, settings, out):
    if task[0].name == "a":
        os.kill(os.getpid(), signal.SIGKILL)
    return run_project(task, settings, out)


def test_project_that_kills_its_process(ran, monkeypatch):
    before = files(ran)
    write(ran / "a/bboxqa.toml", "seed = 5\n")
    with monkeypatch.context() as patched:
        patched.setattr(module, "run_project", _fatal)
        result = run(ran, jobs=2)
    assert statuses(result) == {"a": "failed", "b": "measured", "c": "measured"}
    message = "its process was ended by signal 9 (out of memory?)"
    assert result.rows[0].message == message
    assert not result.passed
    # What was known of it stays; the page leads to why it failed, and not there.
    left = {name: text for name, text in files(ran).items() if name.startswith("projects/")}
    assert left.pop("projects/a/failed.txt").decode() == f"{message}\n"
    assert left == {name: text for name, text in before.items() if name.startswith("projects/")}
    assert linked("a") == ["failed.txt"]
    result = run(ran)
    assert (result.n_reused, result.passed) == (2, True)
    assert len(linked("a")) > 1
    assert "failed.txt" not in linked("a")
    run(ran, out="undisturbed")
    ours, theirs = files(ran), files(ran, "undisturbed")
    # What fell since the last run is that run's own.
    assert ours.keys() == theirs.keys()
    projects = [name for name in ours if name.startswith("projects/")]
    assert [name for name in projects if ours[name] != theirs[name]] == []


def test_fail_fast(root):
    write(root / "b/x.json", noisy(3, 12))
    write(root / "b/bboxqa.toml", "min_alpha = 0.999\n")
    result = run(root, jobs=1, fail_fast=True)
    # The largest first: c is not reached.
    assert {row.project: row.passed for row in result.rows} == {"a": True, "b": False}
    assert _summary(root)["n_projects"] == 2
    result = run(root)
    assert (len(result.rows), result.n_reused) == (3, 2)


def test_a_project_that_is_gone_is_told_once(ran):
    shutil.rmtree(ran / "b")
    result = run(ran)
    gone = "project no longer exists, or holds no annotations that are read"
    assert result.worse == (Regression("b", gone),)
    assert result.passed
    assert f"<bdi>b</bdi>: {gone}" in (OUT / "index.html").read_text("utf-8")
    assert run(ran).worse == ()
    # What a pattern leaves out is there.
    assert run(ran, pattern="no*.json").worse == ()


def test_results_may_not_go_into_a_project(root):
    with pytest.raises(OutputError, match="or one of them; name another folder"):
        run_batch(root, root / "a", PLAIN)
    assert not (root / "a" / "index.html").exists()


def test_what_killed_runs_left_is_removed(ran):
    write(ran.parent / "out/projects/.bboxqa-old/old/record.json", "{}")
    for name in ("index.html", "projects.csv", "summary.json", "report.html"):
        write(ran.parent / f"out/.{name}.0123456789abcdef.part", "half")
    run(ran)
    # Another command may be writing the last one.
    left = [path.name for path in (ran.parent / "out").glob(".*.part")]
    assert left == [".report.html.0123456789abcdef.part"]
    assert {path.name for path in (ran.parent / "out/projects").iterdir()} == {"a", "b", "c"}


def _summary(root):
    return json.loads((root.parent / "out/summary.json").read_text())


PAGES = Settings({"bootstrap": 0}, {}, pages=True)


def with_pages(root, **more):
    steps = []
    run_batch(root, root.parent / "out", PAGES, Run(**more), steps.append)
    return {step.row.project for step in steps if not step.reused}


@pytest.fixture(scope="module")
def paged(tmp_path_factory):
    """Two projects, of which one has a single annotator, and a run with pages."""
    top = tmp_path_factory.mktemp("night")
    write(top / "root/two/x.json", two_annotators())
    alone = document([annotation(1, annotator="ann", bbox=(5, 5, 0, 9))], [image(1)])
    write(top / "root/one/x.json", alone)
    assert with_pages(top / "root") == {"one", "two"}
    return top


@pytest.fixture
def top(paged, tmp_path):
    top = Path(shutil.copytree(paged, tmp_path / "night"))
    (top / "out/.root.json").unlink()
    return top


def test_pages_are_linked(paged):
    page = (paged / "out/index.html").read_text()
    assert '<a href="projects/one/findings.html">one</a>' in page
    assert '<a href="projects/two/report.html">two</a>' in page
    links = re.findall(r'href="(projects/[^"]*html)"', page)
    assert sorted(links) == [
        "projects/one/findings.html", "projects/two/findings.html", "projects/two/report.html",
    ]  # fmt: skip
    for link in links:
        assert '<meta name="generator" content="bboxqa' in (paged / "out" / link).read_text()
    assert "B001" in (paged / "out/projects/one/findings.html").read_text()


def test_a_page_of_findings_shows_settings_and_files(tmp_path):
    file = write(tmp_path / "root/two/x.json", two_annotators())
    validate = {"ignore": ["S004", "C005"], "fail_on": "warning"}
    settings = Settings({}, validate, pages=True, choices=Choices(missing_txt="asked"))
    run_batch(tmp_path / "root", tmp_path / "out", settings)
    page = unescape((tmp_path / "out/projects/two/findings.html").read_text())
    assert "<td>missing_txt</td><td>asked</td>" in page
    assert "<td>fail_on</td><td>warning</td>" in page
    assert str(file) in page


def test_a_page_has_a_diagnosis_and_is_that_of_its_folder(top):
    folder = top / "out/projects/two"
    page = (folder / "report.html").read_bytes()
    assert b'id="annotators"' in page
    assert cli.run("report", folder, "--out", top / "again.html").returncode == 0
    back = b'<p class="kicker"><a href="../../index.html">All projects</a></p>\n'
    assert page.count(back) == 1
    assert (folder / "findings.html").read_bytes().count(back) == 1
    assert (folder / "../../index.html").is_file()
    assert (top / "again.html").read_bytes() == page.replace(back, b"")


def test_only_what_changed_gets_a_new_page(top):
    pages = sorted((top / "out").rglob("*/*.html"))
    before = [page.stat().st_mtime_ns for page in pages]
    assert with_pages(top / "root") == set()
    assert [page.stat().st_mtime_ns for page in pages] == before
    changed = two_annotators()
    changed["info"] = {"year": 2026}
    write(top / "root/two/x.json", changed)
    assert with_pages(top / "root") == {"two"}
    assert sorted((top / "out").rglob("*/*.html")) == pages


def test_a_run_without_pages_keeps_them_and_is_run_again_for_them(top):
    root, out = top / "root", top / "out"
    plain = Settings({"bootstrap": 0}, {})
    assert run_batch(root, out, plain).n_reused == 2
    assert "projects/two/report.html" in (out / "index.html").read_text()
    assert run_batch(root, out, plain, Run(fresh=True)).n_reused == 0
    assert not list(out.rglob("*/*.html"))
    assert with_pages(root) == {"one", "two"}
    assert (out / "projects/two/report.html").exists()
    record = json.loads((out / "projects/two/record.json").read_text())
    assert {"report.html", "findings.html", "details.json"} <= {*record["files"]}


@pytest.fixture
def two_roots(tmp_path, monkeypatch):
    """Make two folders of a project, and one for the results of either."""
    monkeypatch.chdir(tmp_path)
    for name in ("first", "second"):
        write(Path(name, name[0], "x.json"), two_annotators())
    OUT.mkdir()


def into_out(root, **more):
    return run_batch(root, OUT, Settings({"bootstrap": 0}, {}), Run(**more))


def test_another_root_is_refused_before_anything_is_written(two_roots):
    into_out("first")
    before = (OUT / "index.html").read_bytes()
    with pytest.raises(OutputError, match=r"holds the results of .*first; name another folder"):
        into_out("second")
    assert (OUT / "index.html").read_bytes() == before
    assert last_rows(OUT)[1] == {"f"}


def test_force_replaces_them_and_begins_a_new_history(two_roots):
    into_out("first")
    result = into_out("second", force=True)
    assert [row.project for row in result.rows] == ["s"]
    # That the projects of the other root are not here is no loss.
    assert result.worse == ()
    assert (OUT / "history.sqlite.bak").exists()
    assert last_rows(OUT)[1] == {"s"}
    assert into_out("second").n_reused == 1


def test_stores_are_told_apart(two_roots):
    claim(OUT, "s3://bucket/a/", force=False)
    claim(OUT, "s3://bucket/a", force=False)
    with pytest.raises(OutputError, match="holds the results of s3://bucket/a;"):
        claim(OUT, "s3://bucket/b", force=False)


@pytest.mark.parametrize("name", ["index.html", "notes.txt", "projects/a/record.json"])
def test_a_folder_with_other_files_is_left_as_it_is(name, two_roots):
    (OUT / name).parent.mkdir(parents=True, exist_ok=True)
    (OUT / name).write_text("mine")
    before = sorted(OUT.rglob("*"))
    with pytest.raises(OutputError, match=r"^out: is not empty, .* add --force$"):
        into_out("first")
    assert sorted(OUT.rglob("*")) == before
    assert (OUT / name).read_text() == "mine"
    assert into_out("first", force=True).passed
    # From then on it is a folder of results.
    assert into_out("first").n_reused == 1
