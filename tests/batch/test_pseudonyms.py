"""A run with a key of pseudonyms shows no name, and its results belong to this key."""

import csv
import json
import sys
from pathlib import Path

import pytest
from support.cli import run
from support.named_people import PEOPLE, SOURCES, key_on_annotations, names_shown

ROOT, OUT, KEY = Path("root"), Path("out"), Path("keys/key.json")
BATCH = ("batch", ROOT, "--out", OUT, "--pseudonyms", KEY)


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    # Workers have to find this file; they need not load pytest's own command.
    monkeypatch.syspath_prepend(Path(__file__).parents[2])
    monkeypatch.delattr(sys.modules["__main__"], "__file__", raising=False)


def one_project():
    (ROOT / "p").mkdir(parents=True)
    return key_on_annotations(ROOT / "p")


def all_sources():
    """Make a project of each source that names people."""
    for make in SOURCES:
        folder = ROOT / make.__name__.replace("_", " ") / "annotations"
        folder.mkdir(parents=True)
        make(folder)


def pseudonyms_in_table():
    with (OUT / "projects.csv").open(newline="") as file:
        return [{*row["annotators"].split("; ")} for row in csv.DictReader(file)]


@pytest.mark.parametrize("workers", [("--jobs", "2"), ("--scheduler", "local:2")])
def test_no_result_shows_a_name(workers):
    if "--scheduler" in workers:
        pytest.importorskip("distributed", exc_type=ImportError)
    all_sources()
    outcome = run(*BATCH, "--pages", *workers)
    assert outcome.returncode == 1, outcome.output
    assert "internal error" not in outcome.output
    assert names_shown(outcome, OUT) == []
    given = json.loads(KEY.read_bytes())
    assert {*given} >= {*PEOPLE}
    # A person has one pseudonym in all projects, whichever process read it first.
    measured = [names for names in pseudonyms_in_table() if names != {""}]
    assert len(measured) >= 4
    people = {given[who] for who in PEOPLE}
    assert all(people <= names for names in measured)


def test_unchanged_projects_keep_results_and_pseudonyms():
    one_project()
    run(*BATCH)
    before = pseudonyms_in_table()
    record = (OUT / "projects/p/record.json").stat().st_mtime_ns
    again = run(*BATCH)
    assert "1 project, unchanged since the last run" in again.stdout
    assert (OUT / "projects/p/record.json").stat().st_mtime_ns == record
    # Names of other projects are added to the key, and it stays the same key.
    (ROOT / "q").mkdir()
    content = json.loads((ROOT / "p/export.json").read_bytes())
    text = json.dumps(content).replace(PEOPLE[0], "noor@example.org")
    (ROOT / "q/export.json").write_text(text)
    more = run(*BATCH)
    assert "2 projects, 1 unchanged" in more.stdout
    assert pseudonyms_in_table()[0] == before[0]
    assert "noor" not in more.output
    assert "noor@example.org" in json.loads(KEY.read_bytes())


@pytest.mark.parametrize("force", [(), ("--force",)])
def test_results_of_keys_and_with_names_are_not_mixed(force):
    one_project()
    run(*BATCH)
    before = (OUT / "index.html").read_bytes()
    other = ("batch", ROOT, "--out", OUT, *force)
    refused = run(*other, "--pseudonyms", "keys/other.json")
    assert refused.returncode == 2
    assert "out: holds results made with another key of pseudonyms; name" in refused.stderr
    refused = run(*other)
    assert refused.returncode == 2
    assert "out: holds results made with --pseudonyms; name another folder" in refused.stderr
    KEY.unlink()
    assert "another key" in run(*BATCH, *force).stderr
    assert (OUT / "index.html").read_bytes() == before
    run("batch", ROOT, "--out", "named")
    refused = run("batch", ROOT, "--out", "named", *force, "--pseudonyms", KEY)
    assert refused.returncode == 2
    assert "named: holds results that name annotators; name another folder" in refused.stderr


def test_workers_of_other_machines_are_refused():
    one_project()
    refused = run(*BATCH, "--scheduler", "tcp://10.0.0.9:8786")
    assert refused.returncode == 2
    assert "cannot add names to the key; run without --scheduler or with local:N" in refused.stderr
    assert not OUT.exists()
