"""A folder of results belongs to one root."""

import sys
from pathlib import Path

import pytest
from support.datasets import two_annotators, write

from bboxqa.batch.results import claim
from bboxqa.batch.run import Run, names_of_last_run, run_batch
from bboxqa.batch.settings import Settings
from bboxqa.core.errors import OutputError

OUT = Path("out")


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delattr(sys.modules["__main__"], "__file__", raising=False)
    for name in ("first", "second"):
        write(Path(name, name[0], "x.json"), two_annotators())
    OUT.mkdir()


def run(root, **more):
    return run_batch(root, OUT, Settings({"bootstrap": 0}, {}), Run(**more))


def test_another_root_is_refused_before_anything_is_written():
    run("first")
    before = (OUT / "index.html").read_bytes()
    with pytest.raises(OutputError, match=r"holds the results of .*first; name another folder"):
        run("second")
    assert (OUT / "index.html").read_bytes() == before
    assert names_of_last_run(OUT) == ["f"]


def test_force_replaces_them_and_begins_a_new_history():
    run("first")
    result = run("second", force=True)
    assert [row.project for row in result.rows] == ["s"]
    # That the projects of the other root are not here is no loss.
    assert result.worse == ()
    assert (OUT / "history.sqlite.bak").exists()
    assert names_of_last_run(OUT) == ["s"]
    assert run("second").n_reused == 1


def test_stores_are_told_apart():
    claim(OUT, "s3://bucket/a/", force=False)
    claim(OUT, "s3://bucket/a", force=False)
    with pytest.raises(OutputError, match="holds the results of s3://bucket/a;"):
        claim(OUT, "s3://bucket/b", force=False)


@pytest.mark.parametrize("name", ["index.html", "notes.txt", "projects/a/record.json"])
def test_a_folder_with_other_files_is_left_as_it_is(name):
    (OUT / name).parent.mkdir(parents=True, exist_ok=True)
    (OUT / name).write_text("mine")
    before = sorted(OUT.rglob("*"))
    with pytest.raises(OutputError, match=r"^out: is not empty, .* add --force$"):
        run("first")
    assert sorted(OUT.rglob("*")) == before
    assert (OUT / name).read_text() == "mine"
    assert run("first", force=True).passed
    # From then on it is a folder of results.
    assert run("first").n_reused == 1
