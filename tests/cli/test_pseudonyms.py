"""With a key of pseudonyms, no command and no run of many projects shows the name of a person."""

import json
import stat
from pathlib import Path

import pytest
from support.cli import run
from support.datasets import csv_rows
from support.named_people import MARKS, PEOPLE, SOURCES, key_on_annotations, names_shown

import bboxqa

COMMANDS = {
    "agree": (
        *("agree", "IN", "--bootstrap", "0", "--diagnose", "--out", "OUT/run"),
        *("--report", "OUT/run.html"),
    ),
    **{
        f"convert to {to}": ("convert", "IN", f"OUT/{out}", "--to", to, "--lossy")
        for to, out in (("coco", "all.json"), ("cvat", "cvat"), ("csv", "all.csv"))
    },
    "consensus": ("consensus", "IN", "-o", "OUT/m.json", "--report", "OUT/m.html"),
    "plan": ("plan", "IN", "--target-width", "0.1"),
    "plan as json": ("plan", "IN", "--target-width", "0.1", "--format", "json"),
    "draw": ("draw", "IN", "--image", "0.jpg", "--out", "OUT/drawn.svg"),
    "draw as png": ("draw", "IN", "--image", "0.jpg", "--by", "unit", "--out", "OUT/drawn.png"),
    "draw panels": ("draw", "IN", "--image", "0.jpg", "--side-by-side", "--out", "OUT/drawn.svg"),
    "draw findings": ("draw", "IN", "--image", "0.jpg", "--by", "finding", "--out", "OUT/f.svg"),
    "compare": ("compare", "IN", "IN", "--bootstrap", "0", "--out", "OUT/changes"),
    "compare as json": ("compare", "IN", "IN", "--bootstrap", "0", "--format", "json"),
    "validate": ("validate", "IN", "--verbose", "--max-findings", "0", "--show-consequences"),
    "validate page": (
        *("validate", "IN", "--report", "OUT/page.html"),
        *("--write-baseline", "OUT/known.json"),
    ),
    **{
        f"validate as {view}": ("validate", "IN", "--format", view, "--out", "OUT/found")
        for view in ("concise", "json", "jsonl", "sarif", "github", "junit", "html")
    },
}


# Other ways to show the same are tried with one source.
OF_ALL_SOURCES = {
    "agree", "convert to coco", "convert to cvat", "convert to csv", "consensus", "plan", "draw",
    "draw findings", "compare", "validate", "validate as json",
}  # fmt: skip
CASES = [
    pytest.param(make, command, id=f"{make.__name__}-{name}")
    for make in SOURCES
    for name, command in COMMANDS.items()
    if make is key_on_annotations or name in OF_ALL_SOURCES
]


@pytest.mark.parametrize(("make", "command"), CASES)
def test_no_output_and_no_error_shows_a_name(make, command, tmp_path):
    (tmp_path / "in").mkdir()
    source = make(tmp_path / "in")
    out, key = tmp_path / "out", tmp_path / "key.json"
    out.mkdir()
    arguments = [each.replace("OUT/", f"{out}/") for each in command]
    arguments = [source if each == "IN" else each for each in arguments]
    outcome = run(*arguments, "--pseudonyms", key)
    assert "internal error" not in outcome.output
    assert names_shown(outcome, out) == []
    # Files that name nobody and are no people of a folder have nobody in the key.
    assert not key.exists() or {*json.loads(key.read_bytes())} >= {*PEOPLE}


def test_every_command_calls_a_person_the_same(tmp_path):
    source, key = key_on_annotations(tmp_path), tmp_path / "key.json"
    drawn = tmp_path / "drawn.svg"
    run("draw", source, "--image", "0.jpg", "--pseudonyms", key, "--out", drawn)
    given = json.loads(key.read_bytes())
    assert all(given[who] in drawn.read_text() for who in PEOPLE)
    found = json.loads(run("validate", source, "--pseudonyms", key, "--format", "json").stdout)
    (case,) = [each for each in found["findings"] if each["code"] == "A001"]
    assert given[PEOPLE[0]] in case["message"]
    assert given[f"{PEOPLE[0]} "] in case["message"]
    assert case["line"] == 1
    changes = tmp_path / "changes"
    run("compare", source, source, "--pseudonyms", key, "--bootstrap", "0", "--out", changes)
    assert all(given[who] in (changes / "annotators.csv").read_text() for who in PEOPLE)
    assert json.loads(key.read_bytes()) == given


@pytest.mark.parametrize(
    "arguments",
    [
        ("plan", "--target-width", "0.1", "--out"),
        ("draw", "--image", "0.jpg", "--force", "--out"),
        ("validate", "--report"),
        ("validate", "--write-baseline"),
    ],
)
def test_the_key_is_not_written_over(arguments, tmp_path):
    source, key = key_on_annotations(tmp_path), tmp_path / "key.json"
    key.write_text('{"ann": "person-01"}')
    refused = run(arguments[0], source, *arguments[1:], key, "--pseudonyms", key)
    assert refused.returncode == 2
    assert key.read_text() == '{"ann": "person-01"}'


def test_a_page_of_a_saved_result_has_the_names_of_the_result(tmp_path):
    source, key, page = key_on_annotations(tmp_path), tmp_path / "key.json", tmp_path / "page.html"
    saved = ("--bootstrap", "0", "--diagnose", "--out", tmp_path / "run", "--pseudonyms", key)
    run("agree", source, *saved)
    refused = run("report", tmp_path / "run", "--pseudonyms", key, "--out", page)
    assert refused.returncode == 2
    assert "No such option" in refused.stderr
    assert names_shown(run("report", tmp_path / "run", "--out", page), page.parent / "none") == []
    assert "person-01" in page.read_text()
    assert not any(mark in page.read_text().lower() for mark in MARKS)


def test_a_reference_is_named_as_in_the_file(tmp_path):
    source, key = key_on_annotations(tmp_path), tmp_path / "key.json"
    found = run("agree", source, "--pseudonyms", key, "--reference", PEOPLE[0])
    assert found.returncode == 0, found.stderr
    given = json.loads(key.read_bytes())
    assert given[PEOPLE[0]] in found.stdout
    assert stat.S_IMODE(key.stat().st_mode) == 0o600


def test_the_key_is_not_passed_on(tmp_path):
    source = key_on_annotations(tmp_path)
    for command in (("agree", source, "--out"), ("convert", source, "--to", "cvat")):
        refused = run(*command, tmp_path / "out", "--pseudonyms", tmp_path / "out/k")
        assert refused.returncode == 2
        assert "would be in" in refused.stderr
    assert not (tmp_path / "out").exists()


def test_files_named_after_somebody_in_the_key_have_the_pseudonym(tmp_path):
    key = tmp_path / "key.json"
    key.write_text('{"zoe": "person-07"}')
    source = key_on_annotations(tmp_path).rename(tmp_path / "zoe.json")
    data = bboxqa.read_coco(source, pseudonyms=key)
    assert [each.name for each in data.sources] == [f"{tmp_path}/person-07.json"]
    assert "person-07" not in data.annotator_names
    with pytest.raises(bboxqa.ConfigError, match="is not a key of pseudonyms; expected an object"):
        bboxqa.read_coco(source, pseudonyms=source)


def test_files_named_after_somebody_of_the_other_version_have_the_pseudonym(tmp_path):
    before = key_on_annotations(tmp_path).rename(tmp_path / "of_zoe.json")
    after = tmp_path / f"of_{PEOPLE[0]}.json"
    after.write_text(before.read_text().replace(PEOPLE[0], "zoe"))
    found = run("compare", before, after, "--pseudonyms", tmp_path / "key.json", "--bootstrap", "0")
    assert found.returncode == 0, found.stderr
    shown = found.stdout + found.stderr
    assert [name for name in (*PEOPLE, "zoe") if name in shown] == []


ROOT, OUT, KEY = Path("root"), Path("out"), Path("keys/key.json")
BATCH = ("batch", ROOT, "--out", OUT, "--pseudonyms", KEY)


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch, light_workers):
    monkeypatch.chdir(tmp_path)


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
    return [{*row["annotators"].split("; ")} for row in csv_rows(OUT / "projects.csv")]


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
    assert "1 project, 1 unchanged" in again.stdout
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
    assert "out: holds results made with --pseudonyms of another key" in refused.stderr
    refused = run(*other)
    assert refused.returncode == 2
    assert "out: holds results made with --pseudonyms of another key" in refused.stderr
    KEY.unlink()
    assert "another key" in run(*BATCH, *force).stderr
    assert (OUT / "index.html").read_bytes() == before
    run("batch", ROOT, "--out", "named")
    refused = run("batch", ROOT, "--out", "named", *force, "--pseudonyms", KEY)
    assert refused.returncode == 2
    assert "named: holds results made with --pseudonyms of another key" in refused.stderr


def test_workers_of_other_machines_are_refused():
    one_project()
    refused = run(*BATCH, "--scheduler", "tcp://10.0.0.9:8786")
    assert refused.returncode == 2
    assert "cannot add names to the key; give --scheduler local:N" in refused.stderr
    assert not OUT.exists()
