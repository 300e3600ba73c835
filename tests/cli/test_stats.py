"""What a user of `bboxqa stats` and `bboxqa segments` reads, and what they write."""

import json

import pytest
from support.cli import run
from support.datasets import csv_rows

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
    (row,) = csv_rows(output)
    assert float(row["value"]) == found["coefficients"]["krippendorff_alpha"]["value"]


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
    assert len(csv_rows(shown)) == 10


def test_counts_do_not_show_annotators_who_answer_alike(tmp_path):
    path = tmp_path / "counts.csv"
    path.write_text("item,yes,no\na,2,1\nb,0,3\nc,3,0\n")
    result = run("stats", path, "--layout", "counts", "--annotators")
    assert (result.returncode, result.stdout) == (2, "")
    assert "counts do not say who gave which value" in result.stderr


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
    assert csv_rows(shown)[0] == {"value": "0", "hard": "no", "n": "16"}


TRACKS = {
    "ann": "start_ms,end_ms,label\n0,1200,walk\n1500,4000,run\n6000,9000,sit\n",
    "bob": "start_ms,end_ms,label\n100,1250,walk\n1400,3900,run\n6200,8000,sit\n8000,9000,walk\n",
    "cara": "start_ms,end_ms,label\n0,1000,walk\n1600,4100,sit\n6100,9050,sit\n",
}


@pytest.fixture
def tracks(tmp_path):
    paths = []
    for name, text in TRACKS.items():
        path = tmp_path / f"{name}.csv"
        path.write_text(text)
        paths.append(str(path))
    return paths


def test_values_as_counted_by_the_millisecond(tracks):
    found = run("segments", *tracks, "--duration", 10000, "--format", "json")
    assert found.returncode == 0
    (tier,) = json.loads(found.output)
    coefficients = tier["coefficients"]
    assert coefficients["krippendorff_alpha"]["value"] == pytest.approx(0.5940121800406002)
    # The mean of the three pairs, which share 10 s each.
    assert coefficients["cohen_kappa"]["value"] == pytest.approx(
        (0.7906961042468436 + 0.5829504488584152 + 0.44324772162386084) / 3
    )
    assert coefficients["cohen_kappa"]["n_shared"] == 30_000
    assert coefficients["percent_agreement"]["value"] == pytest.approx(0.71)
    assert coefficients["krippendorff_alpha"]["interval"] is None
    assert {row["label"]: (row["both"], row["either"]) for row in tier["labels"]}["sit"] == (
        6500,
        14000,
    )


def test_csv(tracks):
    lines = run("segments", *tracks, "--format", "csv").output.splitlines()
    assert lines[0].startswith("task,n_units,n_annotators,n_ratings,coefficient,value")
    assert [line.split(",")[4] for line in lines[5:]] == [
        "label run", "label sit", "label walk", "label (nothing marked)",
    ]  # fmt: skip


def test_overlaps_are_refused_or_resolved(tmp_path):
    path = tmp_path / "ann.csv"
    path.write_text("start_ms,end_ms,label\n0,100,a\n50,200,b\n")
    other = tmp_path / "bob.csv"
    other.write_text("start_ms,end_ms,label\n0,200,a\n")
    found = run("segments", path, other)
    assert found.returncode == 2
    assert "'b' from 50 ms to 200 ms" in found.stderr
    resolved = run("segments", path, other, "--overlaps", "first")
    assert "1 overlap resolved: the first segment counts" in resolved.output


def recordings(tmp_path, n=12):
    rows = ["annotator,recording,start_ms,end_ms,label"]
    for number in range(n):
        shift = 40 * (number % 5)
        rows.append(f"ann,r{number},0,{500 + shift},walk")
        rows.append(f"bob,r{number},{shift},600,walk")
        rows.append(f"ann,r{number},{700 + shift},1000,sit")
        rows.append(f"bob,r{number},700,1000,{'sit' if number % 3 else 'stand'}")
    path = tmp_path / "recordings.csv"
    path.write_text("\n".join(rows) + "\n")
    return path


def test_labels_and_cronbach_have_intervals_that_draw_recordings(tmp_path):
    path = recordings(tmp_path)
    tiers = {
        kind: json.loads(run("segments", path, "--interval", kind, "--format", "json").output)[0]
        for kind in ("percentile", "bca")
    }
    for tier in tiers.values():
        labels = {row["label"]: row for row in tier["labels"]}
        low, high = labels["walk"]["interval"]
        assert 0 < low < labels["walk"]["agreement"] < high < 1
        assert labels["walk"]["standard_error"] == pytest.approx((high - low) / 4, rel=0.3)
        # Nobody agrees on it in any recording.
        assert (labels["stand"]["agreement"], labels["stand"]["status"]) == (0, "ok")
        assert set(tier["coefficients"]) >= {"cronbach_alpha", "cohen_kappa"}
        for name in ("cohen_kappa", "percent_agreement"):
            found = tier["coefficients"][name]
            assert found["interval"][0] < found["value"] < found["interval"][1]
    low, high = tiers["percentile"]["coefficients"]["cronbach_alpha"]["interval"]
    assert low < tiers["percentile"]["coefficients"]["cronbach_alpha"]["value"] < high
    walks = [next(r for r in tier["labels"] if r["label"] == "walk") for tier in tiers.values()]
    assert walks[0]["interval"] != walks[1]["interval"]
    line = next(
        line for line in run("segments", path).output.splitlines() if " segments  walk " in line
    )
    low, high = walks[0]["interval"]
    assert f"[{low:.4f}, {high:.4f}]" in line
