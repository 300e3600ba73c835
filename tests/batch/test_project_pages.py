"""Pages of projects: they are linked, and made for what is new or changed only."""

import json
import re
import shutil
from pathlib import Path

import pytest
from support.cli import run
from support.datasets import annotation, document, image, two_annotators, write

from bboxqa.batch.run import Run, run_batch
from bboxqa.batch.settings import Settings

PAGES = Settings({"bootstrap": 0}, {}, pages=True)


def ran(root, **more):
    steps = []
    run_batch(root, root.parent / "out", PAGES, Run(**more), steps.append)
    return {step.row.project for step in steps if not step.reused}


@pytest.fixture(scope="module")
def night(tmp_path_factory):
    """Two projects, of which one has a single annotator, and a run with pages."""
    top = tmp_path_factory.mktemp("night")
    write(top / "root/two/x.json", two_annotators())
    alone = document([annotation(1, annotator="ann", bbox=(5, 5, 0, 9))], [image(1)])
    write(top / "root/one/x.json", alone)
    assert ran(top / "root") == {"one", "two"}
    return top


@pytest.fixture
def top(night, tmp_path):
    top = Path(shutil.copytree(night, tmp_path / "night"))
    (top / "out/.root.json").unlink()
    return top


def test_pages_are_linked(night):
    page = (night / "out/index.html").read_text()
    assert '<a href="projects/one/findings.html">one</a>' in page
    assert '<a href="projects/two/report.html">two</a>' in page
    links = re.findall(r'href="(projects/[^"]*html)"', page)
    assert sorted(links) == [
        "projects/one/findings.html", "projects/two/findings.html", "projects/two/report.html",
    ]  # fmt: skip
    for link in links:
        assert '<meta name="generator" content="bboxqa' in (night / "out" / link).read_text()
    assert "B001" in (night / "out/projects/one/findings.html").read_text()


def test_a_page_has_a_diagnosis_and_is_that_of_its_folder(top):
    folder = top / "out/projects/two"
    page = (folder / "report.html").read_bytes()
    assert b'id="annotators"' in page
    assert run("report", folder, "--out", top / "again.html").returncode == 0
    back = b'<p class="kicker"><a href="../../index.html">All projects</a></p>\n'
    assert page.count(back) == 1
    assert (folder / "findings.html").read_bytes().count(back) == 1
    assert (folder / "../../index.html").is_file()
    assert (top / "again.html").read_bytes() == page.replace(back, b"")


def test_only_what_changed_gets_a_new_page(top):
    pages = sorted((top / "out").rglob("*/*.html"))
    before = [page.stat().st_mtime_ns for page in pages]
    assert ran(top / "root") == set()
    assert [page.stat().st_mtime_ns for page in pages] == before
    changed = two_annotators()
    changed["info"] = {"year": 2026}
    write(top / "root/two/x.json", changed)
    assert ran(top / "root") == {"two"}
    assert sorted((top / "out").rglob("*/*.html")) == pages


def test_a_run_without_pages_keeps_them_and_is_run_again_for_them(top):
    root, out = top / "root", top / "out"
    plain = Settings({"bootstrap": 0}, {})
    assert run_batch(root, out, plain).n_reused == 2
    assert "projects/two/report.html" in (out / "index.html").read_text()
    assert run_batch(root, out, plain, Run(fresh=True)).n_reused == 0
    assert not list(out.rglob("*/*.html"))
    assert ran(root) == {"one", "two"}
    assert (out / "projects/two/report.html").exists()
    record = json.loads((out / "projects/two/record.json").read_text())
    assert {"report.html", "findings.html", "details.json"} <= {*record["files"]}
