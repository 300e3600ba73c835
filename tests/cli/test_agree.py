"""What a user of `bboxqa agree` reads, and what it writes."""

import json
from pathlib import Path

import jsonschema
import pytest
from support.cli import python, run, shell
from support.datasets import annotation, csv_rows, document, document_of, two_annotators, write

import bboxqa
from bboxqa import diagnostics
from bboxqa.cli.agree import TOOLS
from bboxqa.formats.registry import writer_names
from bboxqa.report.agreement_summary import diagnosis_schema, summary_schema


@pytest.fixture
def export(tmp_path: Path) -> Path:
    """Three images by two annotators: agreement, a missed object, a wrong category."""
    here, there = (0, 0, 10, 10), (50, 0, 10, 10)
    rows = [
        (1, "a", 1, here), (1, "b", 1, here),
        (2, "a", 1, here), (2, "a", 2, there), (2, "b", 2, there),
        (3, "a", 1, here), (3, "b", 2, here),
    ]  # fmt: skip
    content = document_of(rows, 3, ("cat", "dog"), annotators=["a", "b"])
    return write(tmp_path / "export.json", content)


def test_json_is_what_the_schema_says_and_holds_null_for_undefined(tmp_path):
    rows = [(place, who, 1, (0, 0, 10, 10)) for place in (1, 2) for who in "ab"]
    path = write(tmp_path / "same.json", document_of(rows, 2))
    done = run("agree", path, "--format", "json", "--iou", "0.5", "--iou", "0.9")
    found = json.loads(done.stdout, parse_constant=pytest.fail)
    jsonschema.validate(found, summary_schema())
    jsonschema.Draft202012Validator.check_schema(summary_schema())
    assert [part["iou_threshold"] for part in found["thresholds"]] == [0.5, 0.9]
    assert found["thresholds"][0]["alpha"] is None
    assert found["thresholds"][0]["status"].startswith("undefined: only one value occurs")
    assert found["thresholds"][0]["alpha_reason"] == found["thresholds"][0]["status"]
    assert found["thresholds"][0]["mean_image_alpha"] is None
    assert found["thresholds"][0]["existence"]["f1"] == 1.0
    assert found["thresholds"][0]["existence"]["interval"] == [1.0, 1.0]
    assert found["thresholds"][0]["class"]["alpha"] is None
    assert found["thresholds"][0]["place"]["n_pairs"] == 2


def test_out_writes_all_files_with_the_same_figures(export, tmp_path):
    out = tmp_path / "ein Ordner" / "größe"
    done = run("agree", export, "--out", out, "--iou", "0.5", "--iou", "0.75")
    assert done.returncode == 0
    assert f"Written: {out}" in done.stdout
    names = {path.name for path in out.iterdir()}
    tables = {"images", "annotators", "categories", "pairs", "units", "review"}
    documents = {"summary.json", "manifest.json", "details.json", "review.json"}
    assert names == {*documents, *(f"{name}.csv" for name in tables)}
    assert run("agree", export, "--out", tmp_path / "more", "--details").returncode == 0
    tables |= {"review_images", "sensitivity", "suggested_threshold"}
    tables |= set(diagnostics.names(bboxqa.read(export), "boxes"))
    more = {path.name for path in (tmp_path / "more").iterdir()}
    assert more == {*documents, *(f"{name}.csv" for name in tables)}
    diagnosis = json.loads((out / "details.json").read_text())["diagnosis"]
    jsonschema.validate(diagnosis, diagnosis_schema())
    jsonschema.Draft202012Validator.check_schema(diagnosis_schema())
    assert [row["name"] for row in diagnosis["annotators"]] == ["a", "b"]
    # Of the four objects of a, b drew all but one.
    assert diagnosis["annotators"][1]["miss_rate"]["value"] == 0.25
    (confusion,) = diagnosis["confusions"]
    assert (confusion["first"], confusion["second"], confusion["n"]) == ("cat", "dog", 1)
    table = diagnosis["tables"]["confusions"]
    row = dict(zip(table["columns"], table["rows"][0], strict=True))
    for name in ("gain", "share"):
        bounds = [row[f"{name}_low"], row[f"{name}_high"]]
        assert confusion[name] == row[name] is not None
        assert confusion[f"{name}_interval"] == (None if None in bounds else bounds)
    assert confusion["share_interval"] is not None
    assert [path.name for path in out.parent.iterdir()] == [out.name]
    summary = json.loads((out / "summary.json").read_text())
    jsonschema.validate(summary, summary_schema())
    rows = csv_rows(out / "units.csv")
    missed = [row for row in rows if row["state"] == "missing" and row["iou_threshold"] == "0.5"]
    assert [(row["image"], row["annotator"], row["annotation"]) for row in missed] == [
        ("2.jpg", "b", "")
    ]
    assert len(csv_rows(out / "images.csv")) == 6
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["settings"]["iou_threshold"] == [0.5, 0.75]
    assert manifest["inputs"][0]["name"] == str(export)
    assert len(manifest["inputs"][0]["blake2b"]) == 128
    assert "numpy" in manifest["versions"]


def test_out_is_not_overwritten_without_force(export, tmp_path):
    out = tmp_path / "out"
    assert run("agree", export, "--out", out).returncode == 0
    before = (out / "summary.json").read_bytes()
    again = run("agree", export, "--out", out, "--iou", "0.9")
    assert again.returncode == 2
    assert again.stderr.strip() == (
        f"Error: {out}: is not empty; name another folder, or add --force"
    )
    assert (out / "summary.json").read_bytes() == before
    assert run("agree", export, "--out", out, "--iou", "0.9", "--force").returncode == 0
    assert (out / "summary.json").read_bytes() != before


def test_force_removes_the_files_of_an_earlier_result_and_nothing_else(export, tmp_path):
    out = tmp_path / "out"
    run("agree", export, "--out", out, "--details")
    (out / "mine.csv").write_text("a,b\n")
    (out / "offsets.csv").write_text("edited\n")
    run("agree", export, "--out", out, "--force")
    run("agree", export, "--out", tmp_path / "new")
    new = {path.name for path in (tmp_path / "new").iterdir()}
    assert {path.name for path in out.iterdir()} == new | {"mine.csv", "offsets.csv"}


@pytest.mark.parametrize("command", ["agree", "validate"])
def test_results_and_what_was_sent_back_are_not_measured(command, export, tmp_path):
    out, sent = tmp_path / "out", tmp_path / "sent"
    done = run("agree", export, "--out", out, "--send-back", sent, "--to", "coco")
    assert " did not draw is only in sent.csv: send it with the file\n" in done.stderr
    for name in ("review.json", "summary.json", "details.json", "units.csv"):
        done = run(command, out / name)
        assert done.returncode == 2
        assert "is a part of a result of bboxqa" in done.stderr
        assert done.stderr.endswith(f"For a page of it: bboxqa report {out}\n")
    for path in (sent, sent / "sent.json", sent / "sent.csv"):
        done = run(command, path)
        assert done.returncode == 2
        assert done.stderr.endswith(f": bboxqa accept ORIGINAL {sent} -o NEW.json\n")
    (sent / "new.json").write_bytes(export.read_bytes())
    for name in ("sent.json", "sent.csv"):
        (tmp_path / name).write_bytes(export.read_bytes())
    assert run(command, tmp_path / "sent.json").returncode < 2
    assert run(command, sent / "new.json").returncode < 2
    files = [sent / name for name in json.loads((sent / "sent.json").read_text())["files"].values()]
    assert run(command, *files).returncode == (2 if command == "agree" else 0)


def test_the_last_line_names_what_was_not_asked_for_and_the_tool_of_the_files(export, tmp_path):
    assert {*TOOLS} <= {*writer_names()}
    run("convert", export, tmp_path / "tasks.json", "--to", "label-studio")
    last = [
        run("agree", *words).stdout.splitlines()[-1]
        for words in ([export], [tmp_path / "tasks.json"])
    ]
    assert "--send-back DIR --to cvat" in last[0]
    assert "--send-back DIR --to label-studio" in last[1]
    page = tmp_path / "page.html"
    told = run("agree", tmp_path / "tasks.json", "--report", page).stdout
    assert "--report" not in told.replace(f"Written: {page}", "")
    assert 'whole">--to</span> label-studio' in page.read_text()
    assert "--details" not in run("agree", export, "--details").stdout.split("More tables")[0]


def test_people_and_files_are_chosen_by_options(tmp_path):
    folder = tmp_path / "mit Leerzeichen"
    ann, bob = (
        write(folder / f"{name}.json", document([annotation(1, bbox=(x, 0, 10, 10))]))
        for name, x in (("ann", 0), ("bob", 1))
    )
    done = run("agree", "--annotator", f"x={ann}", "--annotator", f"y={bob}")
    assert "1 image, 2 annotations, 2 annotators, one file each: " in done.stdout
    done = run("agree", folder, "--filter", "ann*")
    assert (done.returncode, "ann.json: no annotator is named" in done.stderr) == (2, True)


def test_names_from_a_file_are_text_and_not_markup(tmp_path):
    rows = [(1, "[bold]a[/]", 1, (0, 0, 10, 10)), (1, "[/nope]", 2, (40, 0, 10, 10))]
    content = document_of(rows, categories=("[red]cat", "<b>dog</b>"))
    path = write(tmp_path / "markup.json", content)
    done = run("agree", path, "--details")
    assert done.returncode == 0
    assert "[red]cat" in done.stdout
    assert done.stdout.splitlines()[0].endswith(": [/nope], [bold]a[/]")


def test_ctrl_c_leaves_nothing_behind(tmp_path):
    script = (
        "import sys, bboxqa.pipelines.agree as agree\n"
        "def interrupted(*_, **__): raise KeyboardInterrupt\n"
        "agree.read_for = interrupted\n"
        "from bboxqa.cli import main\n"
        f"sys.argv = ['bboxqa', 'agree', 'x.json', '--out', {str(tmp_path / 'out')!r}]\n"
        "main()\n"
    )
    done = python(script)
    assert (done.returncode, done.stderr.strip()) == (130, "Interrupted; nothing was written.")
    assert list(tmp_path.iterdir()) == []


def test_a_closed_pipe_is_no_error(export):
    # More than a pipe holds, so that the reader is gone before all is written.
    rows = [(1 + i % 3, "ab"[i % 2], i, (20 * (i // 100), 0, 10, 10)) for i in range(1, 5001)]
    write(export, document_of(rows, 3, [f"category {i}" for i in range(1, 5001)]))
    done = shell(f"$BBOXQA agree {export} --bootstrap 0 --format json | head -n 1")
    assert done.stdout.strip() == "{"
    assert done.stderr == ""


def test_quiet_prints_figures_and_the_verdict_only(tmp_path):
    path = write(tmp_path / "a.json", two_annotators())
    whole, quiet = (run("agree", path, "--min-alpha", 1, *more) for more in ([], ["-q"]))
    assert quiet.returncode == whole.returncode
    lines = quiet.stdout.splitlines()
    assert set(lines) <= set(whole.stdout.splitlines())
    assert lines[0] == "Accepted: alpha is at least 1"
    assert lines[-1].startswith(" Alpha of 2 annotators")
    for command in (["agree", path], ["compare", path, path]):
        refused = run(*command, "-q", "--format", "json")
        assert refused.returncode == 2
        assert "--quiet is about text; leave out --format" in refused.stderr


def test_the_answer_is_the_same_with_a_folder_and_tables_are_details(export, tmp_path):
    plain = run("agree", export).stdout
    assert "Annotators at IoU 0.5" not in plain
    written = run("agree", export, "--out", tmp_path / "out").stdout
    assert written == f"{plain}Written: {tmp_path / 'out'}\n"
    full = run("agree", export, "--details").stdout
    assert "Annotators at IoU 0.5" in full
    assert {"Sensitivity", "Suggested threshold"} <= {*full.splitlines()}
    assert run("agree", export, "--diagnose").stdout == full


def test_a_range_of_thresholds_is_each_of_cocos(export):
    told = run("agree", export, "--iou", "0.5:0.95").stdout.splitlines()
    assert any(line.startswith("Threshold 0.5: Agreement is ") for line in told)
    assert "At IoU 0.5:" in told
    ranged = run("agree", export, "--iou", "0.5:0.95", "--format", "json")
    assert ranged.stdout == run("agree", export, "--config", "coco-bbox", "--format", "json").stdout
    found = [each["iou_threshold"] for each in json.loads(ranged.stdout)["thresholds"]]
    assert found == [0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95]
    for wrong in ("0.5:0.97", "0.9:0.5", "0:1e9", "x", "0.5:0.6:0.7"):
        refused = run("agree", export, "--iou", wrong)
        assert refused.returncode == 2
        assert f"--iou is '{wrong}'; expected a number such as 0.5" in refused.stderr
