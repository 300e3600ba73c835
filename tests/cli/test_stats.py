"""What a user of `bboxqa stats` reads, and what it writes."""

import csv
import io
import json

import pytest
from support.cli import run

TABLE = "unit,annotator,value\n" + "".join(
    f"u{i},{name},{(i * step) % 3}\n" for i in range(20) for name, step in (("a", 1), ("b", 2))
)


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text(TABLE)
    return path


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
        (["{}", "--bootstrap", "-1"], "--bootstrap is -1; expected 0, or 40 to 100,000"),
        (["{}", "--bootstrap", "20"], "--bootstrap is 20; expected 0, or 40 to 100,000"),
        (["{}", "--output", "."], "is a folder; name a file"),
    ],
)
def test_what_is_wrong_is_said_without_a_traceback(table, arguments, message):
    result = run("stats", *(str(table) if argument == "{}" else argument for argument in arguments))
    assert result.returncode == 2
    assert message in result.stderr
    assert "Traceback" not in result.stderr


SCHOOLS = ("ann", "bob", "cid", "dan", "eve")


@pytest.fixture
def schools(tmp_path):
    """Return a table in which ann, bob and cid agree, and dan and eve; two columns go together."""
    rows = [
        f"u{unit},{name},{unit % 3 if place < 3 else unit % 2},{'yes' if unit % 3 else 'no'}"
        for unit in range(12)
        for place, name in enumerate(SCHOOLS)
    ]
    path = tmp_path / "schools.csv"
    path.write_text("\n".join(["unit,annotator,value,hard", *rows, "u1,fay,,yes"]) + "\n")
    return path


def test_annotators_who_answer_alike(schools):
    result = run("stats", schools, "--annotators")
    assert (result.returncode, result.stderr) == (0, "")
    assert "1: ann, bob, cid" in result.stdout
    assert "2: dan, eve" in result.stdout
    (found,) = json.loads(run("stats", schools, "--annotators", "--format", "json").stdout)
    pairs = {(row["first"], row["second"]): row for row in found["pairs"]}
    assert len(pairs) == 10
    assert (pairs["ann", "bob"]["equal"], pairs["ann", "bob"]["cosine"]) == (1, pytest.approx(1))
    # Of six units, u % 3 and u % 2 are 0 and 0, 1 and 1, and then differ: one third is equal. The
    # cosine is Σ ab / √(Σ a² Σ b²) = 3 / √(10 · 3), of the pairs 00 11 20 01 10 21.
    assert pairs["ann", "dan"]["equal"] == pytest.approx(1 / 3)
    assert pairs["ann", "dan"]["cosine"] == pytest.approx(3 / 30**0.5)
    assert pairs["ann", "dan"]["n_shared"] == 12
    assert [row["kmeans"] for row in found["annotators"]] == [1, 1, 1, 2, 2, 0]
    shown = run("stats", schools, "--annotators", "--format", "csv").stdout
    assert len(list(csv.DictReader(io.StringIO(shown)))) == 10


def test_association_of_two_columns(schools):
    result = run("stats", schools, "--association", "unit", "hard")
    assert (result.returncode, result.stderr) == (0, "")
    assert "Cramér's V 1.0000" in result.stdout
    options = ("--association", "value", "hard", "--format", "json")
    found = json.loads(run("stats", schools, *options).stdout)
    # Hard is no where u % 3 is 0: the value of ann, bob, cid, and there u % 2 is 0 in half.
    assert found["values"] == [["0", "1", "2"], ["no", "yes"]]
    assert found["counts"] == [[12 + 4, 8], [4, 12 + 8], [0, 12]]
    assert found["notes"][-1] == "1 row left out: a value is missing"
    shown = run("stats", schools, *options[:-1], "csv").stdout
    first = next(iter(csv.DictReader(io.StringIO(shown))))
    assert first == {"value": "0", "hard": "no", "n": "16"}
