"""Annotators and categories that are numbers, which data frames write in two ways."""

import itertools

import pytest

import bboxqa
from bboxqa import read_coco
from bboxqa.core.errors import DatasetError

HEADER = "image,annotator,category,x,y,width,height"


def table(path, people, images=("a.jpg",), note=""):
    """Write a row for each image and person, with a note in the last cell; return the path."""
    pairs = itertools.product(images, people)
    rows = [f"{image},{person},cat,10,10,50,50,{note}" for image, person in pairs]
    path.write_text("\n".join([f"{HEADER},note", *rows]) + "\n")
    return path


@pytest.mark.parametrize("note", ["", '"a ""quoted"" word"'])
def test_numbers_of_two_tables_are_the_same_people(tmp_path, note):
    table(tmp_path / "one.csv", ["1", "2", "30"], ["a.jpg"], note)
    table(tmp_path / "two.csv", ["1.0", "2.0", "30.0"], ["b.jpg"], note)
    data = read_coco(tmp_path)
    assert data.annotator_names == ("1", "2", "30")
    assert data.assigned.all()


@pytest.mark.parametrize("note", ["", '"a ""quoted"" word"'])
def test_numbers_of_two_tables_are_the_same_categories(tmp_path, note):
    for who, number in (("ann", "3"), ("bob", "3.0")):
        rows = [f"{HEADER},note", f"a.jpg,{who},{number},10,10,50,50,{note}", ""]
        (tmp_path / f"{who}.csv").write_text("\n".join(rows))
    data = read_coco(tmp_path)
    assert (data.annotator_names, data.category_names) == (("ann", "bob"), ("3",))


@pytest.mark.parametrize("key", ["annotator", "category"])
def test_a_name_that_csv_would_change_is_a_loss(tmp_path, key):
    lines = f'{{{{"image": "a.jpg", "{key}": "{{}}", "x": 1, "y": 1, "width": 9, "height": 9}}}}\n'
    source, out = tmp_path / "a.jsonl", tmp_path / "out.csv"
    source.write_text("".join(map(lines.format, ("1", "1.0"))))
    with pytest.raises(DatasetError, match=r"'1\.0'.*read as '1'"):
        bboxqa.convert(source, out, to="csv")
    assert not out.exists()
    whole = bboxqa.convert(source, tmp_path / "out.parquet", to="parquet")
    assert not any(key in each.what for each in whole.losses)
    data = read_coco(tmp_path / "out.parquet", min_annotators=1)
    assert getattr(data, f"{key}_names") == ("1", "1.0")
