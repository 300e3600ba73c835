"""Formats of other packages: found through entry points, and asked where COCO is not found."""

import sys
from dataclasses import replace

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

from bboxqa.core.errors import DatasetError
from bboxqa.formats.problems import file_of_records
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
            if not row["annotator"]:
                raise DatasetError([f"{path}: line {number + 1}: annotator is missing"])
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


def test_coco_is_read_without_asking_other_packages(site, tmp_path):
    add(site, "acme_unread", "raise SystemExit('imported')")
    path = write(tmp_path / "export.txt", two_annotators())
    assert len(bboxqa.read_coco(path).annotator_names) == 2
    assert "acme_unread" not in sys.modules


def test_a_folder_without_json(site, tmp_path):
    folder = tmp_path / "boxes"
    folder.mkdir()
    write(folder / "a.csv", TABLE)
    with pytest.raises(DatasetError, match=r"no file in this folder .*; a\.csv: is a table"):
        bboxqa.read_coco(folder)
    add(site, "acme_folder")
    assert len(bboxqa.read_coco(folder).annotations) == 2


def test_the_format_of_a_folder_is_found_once_in_a_reading(tmp_path, monkeypatch):
    asked = []
    yolo = registry.FORMATS["yolo"]
    counting = replace(
        yolo, recognises_folder=lambda each: asked.append(each) or yolo.recognises_folder(each)
    )
    monkeypatch.setitem(registry.FORMATS, "yolo", counting)
    folder = tmp_path / "labels"
    folder.mkdir()
    (folder / "a.txt").write_text("0 .5 .5 .2 .2\n")
    (tmp_path / "classes.txt").write_text("cat\n")
    with bboxqa.reading(image_size=(64, 48)):
        assert len(bboxqa.read_coco(tmp_path, min_annotators=1).annotations) == 1
        assert len(asked) == len({*asked})
        assert tmp_path in asked


def test_a_folder_that_changed_is_recognised_anew(tmp_path):
    assert registry.format_of(tmp_path) is COCO
    (tmp_path / "data.yaml").write_text("names: [cat]\n")
    (tmp_path / "labels").mkdir()
    (tmp_path / "labels" / "a.txt").write_text("0 .5 .5 .2 .2\n")
    assert registry.format_of(tmp_path) is registry.FORMATS["yolo"]


def test_validate_says_that_it_checks_coco_only(site, tmp_path):
    add(site, "acme_checked")
    path = write(tmp_path / "boxes.csv", TABLE)
    outcome = run("validate", path)
    assert outcome.returncode == 2
    assert f"{path}: is of the format acme-boxes, which is not checked" in outcome.stderr


def test_a_folder_without_a_file_that_is_recognised(site, tmp_path):
    folder = tmp_path / "boxes"
    folder.mkdir()
    write(folder / "people.csv", "name,age\nann,7\n")
    add(site, "acme_nothing")
    with pytest.raises(DatasetError, match=r"known format .*; people\.csv: is a table"):
        bboxqa.read_coco(folder)


def test_a_folder_with_files_of_several_formats(site, tmp_path):
    folder = tmp_path / "boxes"
    folder.mkdir()
    write(folder / "a.json", two_annotators())
    write(folder / "b.csv", TABLE)
    write(folder / "people.csv", "name,age\nann,7\n")
    add(site, "acme_mixed")
    alone = len(bboxqa.read_coco(folder / "a.json").annotations)
    with pytest.raises(DatasetError, match=r"several formats: COCO JSON .*, acme-boxes \(b\.csv\)"):
        bboxqa.read_coco(folder)
    with bboxqa.reading(from_format="acme-boxes"):
        assert len(bboxqa.read_coco(folder).annotations) == 2
    assert len(bboxqa.read_coco(folder, pattern="*.json").annotations) == alone


def test_a_folder_with_files_of_a_format_in_the_registry(monkeypatch, tmp_path):
    module = {}
    exec(FORMAT, module)  # noqa: S102 - the text of a package
    monkeypatch.setitem(registry.FORMATS, "acme-boxes", module["BOXES"])
    write(tmp_path / "a.csv", TABLE)
    assert len(bboxqa.read_coco(tmp_path).annotations) == 2


def test_what_the_reader_refuses_is_not_looked_at_by_rules(site, tmp_path):
    add(site, "acme_refusing")
    path = write(tmp_path / "boxes.csv", TABLE + "a.jpg,,cat,1,1,2,2\n")
    with pytest.raises(DatasetError) as caught:
        bboxqa.read_coco(path)
    assert caught.value.problems == (f"{path}: line 4: annotator is missing",)
    path = write(tmp_path / "boxes.csv", TABLE + "a.jpg,ann,cat,1,1,-2,2\n")
    with pytest.raises(DatasetError) as caught:
        bboxqa.read_coco(path)
    (problem,) = caught.value.problems
    assert "annotation 3: bbox width is -2; expected 0 or more" in problem


@pytest.mark.parametrize(
    ("coordinates", "problem"),
    [
        ("nan,1,2,2", "annotation 3: bbox is [NaN, 1.0, 2.0, 2.0]; expected 4 finite numbers"),
        ("1,1,2,NaN", "annotation 3: bbox is [1.0, 1.0, 2.0, NaN]; expected 4 finite numbers"),
    ],
)
def test_a_coordinate_that_is_not_a_number_is_refused(coordinates, problem, site, tmp_path):
    add(site, "acme_not_numbers")
    path = write(tmp_path / "boxes.csv", f"{TABLE}a.jpg,ann,cat,{coordinates}\n")
    with pytest.raises(DatasetError) as caught:
        bboxqa.read_coco(path)
    assert caught.value.problems == (f"{path}: {problem}: x, y, width, height",)


def test_an_outline_that_is_not_of_numbers_is_refused(site, tmp_path):
    given = '"segmentation": [[10.0, 10.0, 30.0, 10.0, 30.0, float("nan")]],'
    add(site, "acme_outlines", FORMAT.replace('"bbox": ', f'{given} "bbox": '))
    path = write(tmp_path / "boxes.csv", TABLE)
    with pytest.raises(DatasetError, match=r"annotation 2: segmentation is .*NaN"):
        bboxqa.read_coco(path, segmentation=True)


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


def test_built_in_formats_have_titles_for_messages():
    titles = [registry.title_of(each) for each in registry.FORMATS.values()]
    assert all(title and title.lower() != "coco-archive" for title in titles)
    assert [
        name for name, title in zip(registry.FORMATS, titles, strict=True) if name == title
    ] == []
