"""What a user of `bboxqa validate` reads, and what it writes."""

import json

import pytest
from support.cli import run
from support.mutants import clean, text

from bboxqa.rules.registry import RULES


@pytest.fixture
def export(tmp_path):
    """A file with an id 0 (safe fix), a box without area (unsafe fix) and a wrong area."""
    document = clean(0)
    document["annotations"][3]["id"] = 0
    document["annotations"][7].update(bbox=[10, 10, 0, 5], area=1)
    del document["annotations"][7]["segmentation"]
    document["annotations"][9]["area"] = 1
    path = tmp_path / "export.json"
    path.write_bytes(text(document))
    return path


def found(result):
    return json.loads(result.stdout)["counts"]


def test_what_is_found_is_told_with_its_place_and_the_next_step(export):
    result = run("validate", export)
    assert result.returncode == 1
    assert "B001 error: box without area (1)" in result.stdout
    assert "annotation 8 (image 2): bbox width is 0; expected more than 0" in result.stdout
    assert f"{export}:1:" in result.stdout
    assert f"Next: bboxqa validate {export} --unsafe-fixes --diff" in result.stdout


def test_the_least_severity_that_fails(export):
    def code(*more):
        return run("validate", export, *more).returncode

    assert code("--ignore", "B001,S010") == 0
    assert code("--ignore", "B001,S010", "--fail-on", "warning") == 1
    assert code("--exit-zero") == 0
    assert code("--select", "C", "--fail-on", "info") == 0


def test_select_ignore_and_ignores_of_files(export):
    assert set(found(run("validate", export, "--select", "B0", "--output-format", "json"))) == {
        "B001", "B011",
    }  # fmt: skip
    some = run(
        "validate", export, "--select", "B", "--select", "I003", "--ignore", "B01",
        "--per-file-ignores", "exp*:B001", "--output-format", "json",
    )  # fmt: skip
    assert set(found(some)) == {"I003"}


def test_fix_writes_beside_and_leaves_the_source(export):
    before = export.read_bytes()
    result = run("validate", export, "--fix")
    assert result.returncode == 1
    assert "2 changes (B011 1, I003 1)" in result.stderr
    fixed = export.with_name("export.fixed.json")
    assert export.read_bytes() == before
    ids = [annotation["id"] for annotation in json.loads(fixed.read_bytes())["annotations"]]
    assert 0 not in ids
    assert len(set(ids)) == 48
    assert "I003" not in result.stdout
    again = run("validate", export, "--fix")
    assert again.returncode == 2
    assert "export.fixed.json: already exists; move it away, or give --force" in again.stderr
    assert run("validate", export, "--fix", "--force").returncode == 1


def test_fix_in_place_keeps_a_copy(export):
    before = export.read_bytes()
    result = run("validate", export, "--fix", "--unsafe-fixes", "--in-place")
    assert result.returncode == 0
    assert export.with_name("export.json.bak").read_bytes() == before
    assert len(json.loads(export.read_bytes())["annotations"]) == 47
    after = export.read_bytes()
    assert "nothing to fix" in run("validate", export, "--fix", "--in-place").stderr
    assert export.read_bytes() == after


def test_diff_shows_and_writes_nothing(export):
    before = sorted(export.parent.iterdir())
    result = run("validate", export, "--diff")
    assert "@@ I003 /annotations/3/id\n- 0\n+ 49\n" in result.stdout
    assert (result.returncode, sorted(export.parent.iterdir())) == (1, before)
    # The first pass removes row 7, and another moves the box of row 9 into the image.
    document = json.loads(export.read_bytes())
    document["annotations"][9]["bbox"] = [10, 20, -30, 40]
    export.write_text(json.dumps(document))
    changes = run("validate", export, "--diff", "--unsafe-fixes").stdout
    assert [changes.count(f"/annotations/{row}") for row in (7, 8, 9)] == [1, 0, 2]


def test_diff_of_a_file_that_no_fix_helps_names_the_command_and_fails(tmp_path):
    path = tmp_path / "a.json"
    path.write_text('{"images": [')
    result = run("validate", path, "--diff")
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr == f"No safe fix applies; to list the findings: bboxqa validate {path}\n"


def test_a_baseline_holds_from_any_folder_and_lets_new_findings_fail(export, tmp_path):
    run("validate", "export.json", "--write-baseline", "known", cwd=tmp_path)
    known = tmp_path / "known"
    for name, folder in ((export, "/"), (f"{tmp_path.name}/export.json", tmp_path.parent)):
        assert run("validate", name, "--baseline", known, cwd=folder).returncode == 0
    content = json.loads(export.read_bytes())
    content["annotations"].insert(0, {**content["annotations"][20], "id": 99, "bbox": "x"})
    export.write_text(json.dumps(content, indent=1))
    result = run("validate", export, "--baseline", known, "--output-format", "json")
    assert (result.returncode, {*found(result)}) == (1, {"S006"})


def test_settings_of_the_project_and_of_a_file(export, tmp_path):
    (tmp_path / "pyproject.toml").write_text('[tool.bboxqa.validate]\nselect = ["I003"]\n')
    result = run("validate", export, "--output-format", "json", cwd=tmp_path)
    assert set(found(result)) == {"I003"}
    (tmp_path / "my.toml").write_text('[validate]\nselect = ["B"]\nfail_on = "info"\n')
    result = run("validate", export, "--config", "my.toml", "--output-format", "json", cwd=tmp_path)
    assert set(found(result)) == {"B001", "B011"}
    (tmp_path / "pyproject.toml").write_text("[tool.bboxqa.validate]\nselekt = []\n")
    result = run("validate", export, cwd=tmp_path)
    assert (result.returncode, "'selekt'; did you mean 'select'?" in result.stderr) == (2, True)


def test_explain():
    page = run("explain", "b005").stdout
    assert page.startswith("B005")
    assert "x1, y1, x2, y2" in page
    listed = run("explain").stdout
    assert all(code in listed for code in ("F001", "S003", "Q003"))
    assert run("explain", "C").stdout.count("What it breaks") == sum(c[0] == "C" for c in RULES)
    wrong = run("explain", "B05")
    assert (wrong.returncode, "no rule begins with 'B05'" in wrong.stderr) == (2, True)


def test_files_are_never_read_from_outside_the_folder(tmp_path):
    secret = tmp_path / "secret.png"
    folder = tmp_path / "images"
    folder.mkdir()
    document = clean(0)
    secret.write_bytes(b"no image")
    document["images"][0]["file_name"] = "../secret.png"
    (tmp_path / "a.json").write_bytes(text(document))
    result = run("validate", tmp_path / "a.json", "--images", folder, "--output-format", "json")
    counts = found(result)
    # Had it been opened, M002 would say that it cannot be decoded.
    assert (counts["M005"], counts["M001"], counts.get("M002")) == (1, 1, None)
    [missing] = [each for each in json.loads(result.stdout)["findings"] if each["code"] == "M001"]
    assert missing["count"] == 8
