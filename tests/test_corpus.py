"""Figures, findings and conversions of ordinary files, compared with those on record.

The record is `tests/data/corpus.json`. After a wanted change, which `CHANGELOG.md` names, it is
written again by ``BBOXQA_RECORD=1 python -m pytest tests/test_corpus.py``.
"""

import hashlib
import json
import os
from pathlib import Path

import pytest
from support.cli import run

HERE = Path(__file__).parent
RECORD = HERE / "data" / "corpus.json"
INPUTS = {
    "fruits": HERE.parent / "bboxqa" / "examples" / "data" / "fruits.json",
    "landscape": HERE.parent / "bboxqa" / "examples" / "data" / "landscape.json",
    "simulated": HERE / "data" / "simulated.json",
    "roboflow": HERE / "data" / "roboflow.json",
}
TARGETS = ("coco", "csv", "cvat", "dota", "label-studio", "labelme", "voc", "yolo")
OPTIONS = {
    "default": (),
    "polygons": ("--similarity", "polygon"),
    "thresholds": ("--iou", "0.5", "--iou", "0.75", "--category-lenient"),
    "ignored": ("--missing", "ignore"),
}
FIGURES = (
    "iou_threshold", "alpha", "status", "interval", "mean_image_alpha", "mean_image_interval",
    "observed_disagreement", "expected_disagreement", "n_units", "existence", "class", "place",
    "pairs",
)  # fmt: skip


def digest(path):
    """Return a digest of a file or a folder, with the names of its files."""
    files = sorted(each for each in path.rglob("*") if each.is_file()) or [path]
    found = hashlib.blake2b(digest_size=12)
    for file in files:
        found.update(str(file.relative_to(path)).encode() + b"\0" + file.read_bytes())
    return found.hexdigest()


def agreement(*arguments):
    """Return the exit code, and the figures of each threshold."""
    outcome = run("agree", *arguments, "--format", "json")
    if outcome.returncode == 2:
        return {"exit": 2}
    found = json.loads(outcome.stdout)
    counts = {key: found[key] for key in ("n_images", "n_annotators", "n_annotations", "n_crowd")}
    thresholds = [
        {key: rounded(each[key]) for key in FIGURES if key in each} for each in found["thresholds"]
    ]
    return {"exit": outcome.returncode, **counts, "thresholds": thresholds}


def rounded(value):
    """Round all numbers inside, whose last digits depend on the version of numpy."""
    if isinstance(value, dict):
        return {key: rounded(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [rounded(inner) for inner in value]
    return round(value, 9) if isinstance(value, float) else value


def findings(path):
    """Return the exit code, the number of findings by code, and a digest of their places."""
    outcome = run("validate", path, "--format", "json")
    found = json.loads(outcome.stdout)
    places = [[each[key] for key in ("code", "pointer", "line")] for each in found["findings"]]
    text = json.dumps(sorted(places, key=str)).encode()
    return {
        "exit": outcome.returncode,
        "counts": found["counts"],
        "places": hashlib.blake2b(text, digest_size=8).hexdigest(),
    }


def written(path, target, folder):
    """Return what `convert` writes, and what is then measured and found there."""
    suffix = {"csv": ".csv"}.get(target, "")
    out = folder / f"{path.stem}{suffix}"
    outcome = run("convert", path, out, "--to", target, "--lossy")
    if outcome.returncode:
        return {"exit": outcome.returncode}
    return {"bytes": digest(out), "agree": agreement(out), "counts": findings(out)["counts"]}


def on_record(name, found):
    """Compare with the record, or put into it."""
    record = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    if "BBOXQA_RECORD" in os.environ:
        record[name] = found
        RECORD.write_text(json.dumps(record, indent=1, sort_keys=True) + "\n")
    assert found == record[name]


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("name", INPUTS)
def test_figures(name, options):
    on_record(f"agree {name} {options}", agreement(INPUTS[name], *OPTIONS[options]))


@pytest.mark.parametrize("name", INPUTS)
def test_findings(name):
    on_record(f"validate {name}", findings(INPUTS[name]))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", INPUTS)
def test_conversions(name, target, tmp_path):
    on_record(f"convert {name} {target}", written(INPUTS[name], target, tmp_path))
