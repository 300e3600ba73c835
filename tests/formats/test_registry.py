"""Formats of other packages: found through entry points, and asked where COCO is not found."""

import pytest
from support.cli import run
from support.datasets import two_annotators, write
from support.plugins import install

import bboxqa
from bboxqa.core.errors import ConfigError, DatasetError
from bboxqa.formats import registry
from bboxqa.formats.coco.reader import COCO

FORMAT = """
import csv

from bboxqa.formats.document import file_of_records
from bboxqa.formats.records import Category, Image
from bboxqa.formats.format import Format
from bboxqa.model.annotations import Source

HEADER = "photo,annotator,category,x,y,width,height"


def recognises(path):
    with path.open() as file:
        return file.readline().strip() == HEADER


def read(path, options):
    images, categories, records = {}, {}, []
    with path.open() as file:
        for number, row in enumerate(csv.DictReader(file), 1):
            records.append(
                {
                    "id": number,
                    "image_id": images.setdefault(row["photo"], len(images)),
                    "category_id": categories.setdefault(row["category"], len(categories)),
                    "bbox": [float(row[key]) for key in ("x", "y", "width", "height")],
                    "annotator": row["annotator"],
                }
            )
    return file_of_records(
        Source(str(path), path.stat().st_size, None),
        [Image(number, name) for name, number in images.items()],
        [Category(number, name) for name, number in categories.items()],
        records,
        options,
    )


BOXES = Format("acme-boxes", (".csv",), recognises, read)
"""
TABLE = """\
photo,annotator,category,x,y,width,height
a.jpg,ann,cat,10,10,20,20
a.jpg,bob,cat,10,12,20,20
"""


@pytest.fixture
def site(tmp_path, monkeypatch):
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(folder)
    return folder


def add(site, module, text=FORMAT):
    entry = {"bboxqa.formats": f"acme-boxes = {module}:BOXES"}
    install(site, "acme-boxes", entry, {module: text})


def test_a_file_is_read_by_the_format_that_recognises_it(site, tmp_path):
    add(site, "acme_boxes")
    assert registry.names()[-1] == "acme-boxes"
    data = bboxqa.read_coco(write(tmp_path / "boxes.csv", TABLE))
    assert data.annotator_names == ("ann", "bob")
    assert data.annotations.bbox.tolist() == [[10, 10, 20, 20], [10, 12, 20, 20]]
    assert data.category_names == ("cat",)
    outcome = run("agree", tmp_path / "boxes.csv", "--format", "json")
    assert outcome.returncode == 0, outcome.stderr
    assert '"n_units": 1' in outcome.stdout


def test_a_folder_with_files_of_several_formats(site, tmp_path):
    folder = tmp_path / "boxes"
    folder.mkdir()
    write(folder / "a.json", two_annotators())
    write(folder / "b.csv", TABLE)
    write(folder / "people.csv", "name,age\nann,7\n")
    add(site, "acme_mixed")
    alone = len(bboxqa.read_coco(folder / "a.json").annotations)
    with pytest.raises(DatasetError, match=r"several formats: coco .*, acme-boxes \(b\.csv\)"):
        bboxqa.read_coco(folder)
    with bboxqa.reading(from_format="acme-boxes"):
        assert len(bboxqa.read_coco(folder).annotations) == 2
    assert len(bboxqa.read_coco(folder, pattern="*.json").annotations) == alone


@pytest.mark.parametrize("coordinates", ["nan,1,2,2", "1,1,2,NaN"])
def test_a_coordinate_that_is_not_a_number_is_refused(coordinates, site, tmp_path):
    add(site, "acme_not_numbers")
    path = write(tmp_path / "boxes.csv", f"{TABLE}a.jpg,ann,cat,{coordinates}\n")
    with pytest.raises(DatasetError, match=r"annotations\[2\] \(id 3\): bbox cannot be used"):
        bboxqa.read_coco(path)


def test_a_file_that_nobody_recognises_is_taken_for_coco(site, tmp_path):
    add(site, "acme_other")
    path = write(tmp_path / "other.txt", "a,b\n1,2\n")
    assert registry.format_of(path) is COCO
    with pytest.raises(DatasetError, match="F001 error"):
        bboxqa.read_coco(path)


@pytest.mark.parametrize(
    ("module", "text", "message"),
    [
        ("acme_broken", "import nothing_of_that_name", "package acme-boxes: entry point acme-"),
        ("acme_text", "BOXES = 'csv'", "format 'acme-boxes' of another package has type str"),
    ],
)
def test_a_broken_one_is_named(module, text, message, site, tmp_path):
    add(site, module, text)
    path = write(tmp_path / "boxes.csv", TABLE)
    with pytest.raises(ConfigError, match=message) as caught:
        bboxqa.read_coco(path)
    assert "\n" not in str(caught.value)


def test_one_with_the_name_of_a_built_in_one_is_refused(site, tmp_path):
    entry = {"bboxqa.formats": "coco = acme_coco:BOXES"}
    install(site, "acme-boxes", entry, {"acme_coco": FORMAT})
    path = write(tmp_path / "export.json", two_annotators())
    assert len(bboxqa.read_coco(path).annotator_names) == 2
    message = "'coco' is built in, and package acme-boxes offers another of this name"
    with pytest.raises(ConfigError, match=message):
        bboxqa.read_coco(write(tmp_path / "boxes.csv", TABLE))
