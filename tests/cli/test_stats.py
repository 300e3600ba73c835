"""What a user of `bboxqa stats` reads, and what it writes."""

import csv
import io
import json

import pytest
from support.cli import run
from support.study import write_selection

TABLE = "unit,annotator,value\n" + "".join(
    f"u{i},{name},{(i * step) % 3}\n" for i in range(20) for name, step in (("a", 1), ("b", 2))
)


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text(TABLE)
    return path


def test_text_says_what_was_measured(table):
    result = run("stats", table, "--bootstrap", 40)
    assert (result.returncode, result.stderr) == (0, "")
    assert "20 units, 2 annotators, 40 ratings" in result.stdout
    assert "krippendorff_alpha" in result.stdout
    assert "(Krippendorff)" in result.stdout


def test_json_and_csv_say_the_same(table, tmp_path):
    options = (table, "--coefficient", "krippendorff_alpha", "--bootstrap", 0)
    (found,) = json.loads(run("stats", *options, "--format", "json").stdout)
    assert (found["task"], found["n_ratings"]) == (None, 40)
    assert list(found["coefficients"]) == ["krippendorff_alpha"]
    output = tmp_path / "out.csv"
    result = run("stats", *options, "--format", "csv", "--output", output)
    assert (result.returncode, result.stdout) == (0, "")
    (row,) = csv.DictReader(io.StringIO(output.read_text()))
    assert float(row["value"]) == found["coefficients"]["krippendorff_alpha"]["value"]


def test_three_annotators_are_shown_in_pairs_and_one_by_one(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text(TABLE + "".join(f"u{i},c,{i % 3}\n" for i in range(20)))
    shown = run("stats", path, "--bootstrap", 0).stdout
    for titles in ("first  second  compared", "annotator  alpha without", "value  alpha without"):
        assert titles in shown
    (found,) = json.loads(run("stats", path, "--bootstrap", 0, "--format", "json").stdout)
    assert [(pair["first"], pair["second"], pair["n_shared"]) for pair in found["pairs"]] == [
        ("a", "b", 20), ("a", "c", 20), ("b", "c", 20),
    ]  # fmt: skip
    assert list(found["annotators"]) == ["a", "b", "c"]
    assert list(found["values"]) == ["0", "1", "2"]


def test_published_agreement_of_a_study(tmp_path):
    path = write_selection(tmp_path)
    result = run("stats", path, "--by", "task", "--bootstrap", 0)
    assert result.returncode == 0
    total = next(line for line in result.stdout.splitlines() if line.startswith(" total"))
    parts = total.split()
    assert [parts[2], *parts[6:9]] == ["0.7179", "11,880", "0.8927", "0.7796"]
    assert float(parts[3].strip("[,")) < 0.7179 < float(parts[4].strip("]"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["no.csv"], "no.csv: no such file"),
        (["{}", "--value", "label"], "has no column 'label'; columns: "),
        (["{}", "--value", "valeu"], "; did you mean 'value'?"),
        (["{}", "--by", "task"], "has no column 'task'"),
        (["{}", "--layout", "raters-x-units"], "its first column is called 'unit'"),
        (["{}", "--layout", "wide"], "Invalid value for '--layout'"),
        (["{}", "--output", "{}"], "is one of the files to read; name another file"),
        (["{}", "--bootstrap", "-1"], "Invalid value for '--bootstrap'"),
        (["{}", "--bootstrap", "20"], "--bootstrap is 20; expected 0, or 40 to 100,000"),
        (["{}", "--output", "."], "is a folder; name a file"),
    ],
)
def test_what_is_wrong_is_said_without_a_traceback(table, arguments, message):
    result = run("stats", *(str(table) if argument == "{}" else argument for argument in arguments))
    assert result.returncode == 2
    assert message in result.stderr
    assert "Traceback" not in result.stderr


def test_the_help_begins_with_examples():
    shown = run("stats", "--help").stdout
    assert "bboxqa stats labels.csv --by task" in shown
    for option in ("--layout", "--cluster", "--coefficient", "--interval", "--out"):
        assert option in shown
