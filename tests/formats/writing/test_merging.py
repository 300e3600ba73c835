"""Data sets of several files in one: ids, names and annotators that are told."""

import json

import pytest
from support.cli import run
from support.datasets import annotation, document, image, write

import bboxqa
from bboxqa.core.errors import DatasetError


def coco(path, categories, images, annotator=None, first=1):
    """Write a data set with one annotation of the first category in each image."""
    who = {"annotator": annotator} if annotator else {}
    named = dict(enumerate(images, first))
    drawn = [annotation(n, n, min(categories), [n, 2, 9, 8], **who) for n in named]
    listed = [{"id": n, "name": name} for n, name in categories.items()]
    return write(path, document(drawn, [image(*each) for each in named.items()], listed))


def merged(tmp_path, *files, **more):
    """Return the notes on a merge, and the names of its images, categories and annotators."""
    made = bboxqa.convert(files, tmp_path / "out.json", to="coco", force=True, **more)
    found = json.loads((tmp_path / "out.json").read_text())
    names = {each["id"]: each["name"] for each in found["categories"]}
    images = {each["id"]: each["file_name"] for each in found["images"]}
    drawn = [
        (images[e["image_id"]], names[e["category_id"]], e.get("annotator"))
        for e in found["annotations"]
    ]
    return [note.replace(f"{tmp_path}/", "") for note in made.notes], sorted(drawn), names


def test_equal_names_are_one_category_and_ids_that_differ_are_told(tmp_path):
    ann = coco(tmp_path / "ann.json", {1: "cat", 2: "dog"}, ["a.jpg"], "ann")
    bob = coco(tmp_path / "bob.json", {1: "dog", 2: "cat"}, ["a.jpg"], "bob")
    notes, drawn, names = merged(tmp_path, ann, bob)
    new, moved = notes
    assert new == "new ids, since those of the files clash or differ: 1 annotation"
    assert moved == ("ids of categories differ: 'cat' is 2 in bob.json and 1 in the output, "
                     "'dog' is 1 in bob.json and 2 in the output")  # fmt: skip
    assert drawn == [("a.jpg", "cat", "ann"), ("a.jpg", "dog", "bob")]
    assert names == {1: "cat", 2: "dog"}


def test_different_categories_of_one_id_are_two_and_told_with_the_option(tmp_path):
    files = [
        coco(tmp_path / "a.json", {1: "cat"}, ["a.jpg"]),
        coco(tmp_path / "b.json", {1: "bird"}, ["b.jpg"], first=7),
    ]
    notes, drawn, names = merged(tmp_path, *files)
    assert """if they are one: category_map={"bird": "cat"}""" in notes[0]
    assert drawn == [("a.jpg", "cat", None), ("b.jpg", "bird", None)]
    assert len(names) == 2
    notes, drawn, names = merged(tmp_path, *files, category_map={"bird": "cat"})
    assert [drawn[1], names, notes] == [("b.jpg", "cat", None), {1: "cat"}, []]
    # What is measured is one list of categories.
    done = run("agree", "--attribution", "files", *files)
    assert "category 1 is 'bird'" in done.stderr


def test_annotations_of_nobody_beside_those_of_people_are_told(tmp_path):
    ann = coco(tmp_path / "a.json", {1: "cat"}, ["a.jpg"], "ann")
    other = coco(tmp_path / "b.json", {1: "cat"}, ["b.jpg"], first=5)
    notes, drawn, _ = merged(tmp_path, ann, other)
    assert notes == ["1 annotation of nobody: the files name no one there"]
    assert drawn == [("a.jpg", "cat", "ann"), ("b.jpg", "cat", None)]


@pytest.mark.parametrize("is_folder", [False, True])
def test_a_file_an_image_is_one_data_set_without_people(tmp_path, is_folder):
    folder = tmp_path / "parts"
    folder.mkdir()
    files = [coco(folder / f"im{n}.json", {1: "cat"}, [f"im{n}.jpg"]) for n in range(5)]
    notes, drawn, _ = merged(tmp_path, *([folder] if is_folder else files))
    assert drawn == [(f"im{n}.jpg", "cat", None) for n in range(5)]
    assert notes == [
        "new ids, since those of the files clash or differ: 4 annotations and 4 images"
    ]


def test_the_root_category_of_roboflow_is_kept_and_told(tmp_path):
    path = coco(tmp_path / "a.json", {1: "red cell"}, ["a.jpg"])
    content = json.loads(path.read_text())
    content["categories"][0]["supercategory"] = "cells"
    content["categories"].insert(0, {"id": 0, "name": "cells", "supercategory": "none"})
    path.write_text(json.dumps(content))
    notes, _, names = merged(tmp_path, path)
    left_out = """category_map={"cells": ""}"""
    assert notes == [f"kept: the root category 'cells'; to leave it out: {left_out}"]
    assert names == {0: "cells", 1: "red cell"}


def test_people_named_by_other_keys_in_each_file_are_all_named(tmp_path):
    ann = coco(tmp_path / "ann.json", {1: "cat"}, ["a.jpg"], "ann")
    bob = coco(tmp_path / "bob.json", {1: "cat"}, ["a.jpg"], "bob", first=4)
    bob.write_text(bob.read_text().replace('"annotator"', '"rater_id"'))
    notes, drawn, _ = merged(tmp_path, ann, bob)
    assert drawn == [("a.jpg", "cat", "ann"), ("a.jpg", "cat", "bob")]
    assert not any("nobody" in note for note in notes)
    # A file that names nobody is refused beside others that name several.
    nobody = coco(tmp_path / "c.json", {1: "cat"}, ["a.jpg"], first=8)
    with pytest.raises(DatasetError, match=r"c\.json: names nobody, while the key"):
        merged(
            tmp_path,
            *(coco(tmp_path / f"{n}.json", {1: "cat"}, ["a.jpg"], n) for n in "xy"),
            nobody,
        )
