"""What a project says of itself in bboxqa.toml: the settings, and what its files lack."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from support.datasets import annotation, document, write

from bboxqa.batch.run import run_batch
from bboxqa.batch.settings import Settings
from bboxqa.formats.choices import choices_of
from bboxqa.model.settings import READING_KEYS, AgreeSettings, ValidateSettings

PLAIN = Settings({"bootstrap": 0, "checks": False}, {})
DOCS = Path(__file__).parents[2] / "docs/batch.md"


def yolo(root, name, toml):
    """Write a project of two annotators who share a square box, without the sizes of images."""
    for who, side in {"ann": 0.1, "bob": 0.11}.items():
        write(root / name / who / "classes.txt", "cat\n")
        write(root / name / who / "labels/a.txt", f"0 0.5 0.5 0.2 0.4\n0 0.2 0.2 0.1 {side}\n")
    write(root / name / "bboxqa.toml", toml)


def batch(root, settings=PLAIN):
    return {row.project: row for row in run_batch(root, root.parent / "out", settings).rows}


def test_the_tables_of_keys_are_complete():
    text = DOCS.read_text("utf-8")
    tables = re.split(r"^\| key", text, flags=re.MULTILINE)[1:]
    rows = [re.findall(r"^\| (`[^|]*) \|", table, flags=re.MULTILINE) for table in tables]
    keys = [[key for row in table for key in re.findall(r"`(\w+)`", row)] for table in rows]
    assert [sorted(each) for each in keys] == [
        sorted(AgreeSettings.__struct_fields__),
        sorted(READING_KEYS),
        sorted(ValidateSettings.__struct_fields__),
    ]


@pytest.mark.parametrize("sizes", ["100x50", "sizes.csv"])
def test_projects_of_several_sizes_run_in_one_batch(tmp_path, sizes):
    root = tmp_path / "root"
    yolo(root, "small", f'[reading]\nimage_size = "{sizes}"\n')
    yolo(root, "large", '[reading]\nimage_size = "1920x1080"\n')
    yolo(root, "unknown", "bootstrap = 0\n")
    write(root / "small/sizes.csv", "image,width,height\na.jpg,100,50\n")
    rows = batch(root)
    assert {name: row.status for name, row in rows.items()} == {
        "small": "measured", "large": "measured", "unknown": "failed",
    }  # fmt: skip
    assert "size" in rows["unknown"].message
    # An option replaces what a project says, as with other settings.
    given = Settings(PLAIN.agree, {}, choices=choices_of({"image_size": (64, 64)}))
    assert batch(root, given)["unknown"].status == "measured"


def test_projects_are_merged_where_their_settings_or_those_of_the_run_say_so(tmp_path):
    root = tmp_path / "root"
    sizes = '[reading]\nimage_size = "100x50"\n'
    yolo(root, "own", "consensus = true\n" + sizes)
    yolo(root, "other", sizes)
    yolo(root, "not", "consensus = false\n" + sizes)
    rows = batch(root)
    assert {row.status for row in rows.values()} == {"measured"}
    made = {path.parent.name for path in tmp_path.rglob("out/**/merged.json")}
    assert made == {"own"}
    batch(root, Settings(PLAIN.agree, {}, stages={"consensus": True}))
    made = {path.parent.name for path in tmp_path.rglob("out/**/merged.json")}
    assert made == {"own", "other"}
    folder = tmp_path / "out/projects/own"
    merged = json.loads((folder / "merged.json").read_text())["annotations"]
    assert [each["votes"] for each in merged] == [2, 2]
    assert (folder / "dropped.csv").read_text().startswith("image,annotator,id,")


def test_masks_are_read_where_a_project_says_what_their_values_are(tmp_path):
    for name in ("said", "unsaid"):
        for who, left in (("ann", 10), ("bob", 15)):
            pixels = np.zeros((40, 60), np.uint8)
            pixels[5:25, left : left + 20] = 7
            (tmp_path / "root" / name / who).mkdir(parents=True)
            Image.fromarray(pixels).save(tmp_path / "root" / name / who / "a.png")
    write(tmp_path / "root/said/bboxqa.toml", '[reading]\nmask = "instances"\n')
    rows = batch(tmp_path / "root")
    assert [*rows] == ["said"]
    assert (rows["said"].status, rows["said"].n_annotations) == ("measured", 2)
    # Masks are compared as such: 15 of 25 columns.
    summary = json.loads((tmp_path / "out/projects/said/summary.json").read_text())
    assert summary["similarity"] == "mask"
    assert rows["said"].mean_iou == pytest.approx(15 / 25)


@pytest.mark.parametrize(
    ("toml", "words"),
    [
        ('[reading]\nimage_size = "../b/sizes.csv"\n',
         "image_size is '../b/sizes.csv', which leads"),
        ('[reading]\nimage_size = "gone.csv"\n', "gone.csv: no such file"),
        ("[reading]\nimage_size = 7\n", "[reading]: image_size is 7; expected width and height"),
        ("[reading]\nvoc_base = 2\n", "[reading]: voc_base is 2; expected 0 or 1"),
        ("[reading]\nvoc_base = true\n", "[reading]: voc_base is True; expected 0 or 1"),
        ('[reading]\ncolumns = "x"\n', "[reading]: columns is 'x'; expected such as"),
        ('[reading]\nsize = "1x1"\n', "[reading]: unknown setting 'size'"),
        ("reading = 1\n", "reading is 1; expected a table of settings"),
        ('fail_on = "error"\n', "fail_on belongs into the table [validate]"),
        ("voc_base = 0\n", "voc_base belongs into the table [reading]"),
        ("consensus = 1\n", "consensus is 1; expected true or false"),
        ("map = {}\n", "unknown setting 'map'; did you mean 'category_map'?"),
        ('filter = "x*"\n', "no file matches filter 'x*'"),
    ],
)  # fmt: skip
def test_wrong_settings_fail_their_project_only(tmp_path, toml, words):
    root = tmp_path / "root"
    part = document([annotation(1, annotator="ann"), annotation(2, annotator="bob")])
    write(root / "a/y.json", part)
    write(root / "a/bboxqa.toml", toml)
    write(root / "b/y.json", part)
    write(root / "b/sizes.csv", "image,width,height\na,100,50\n")
    rows = batch(root)
    assert (rows["a"].status, rows["b"].status) == ("failed", "measured")
    assert words in rows["a"].message
