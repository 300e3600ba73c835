"""Images and categories of several files whose names differ, and categories that are left out."""

import json
import shlex

import numpy as np
import pytest
from support.cli import run
from support.datasets import annotation, document, image, write

import bboxqa
from bboxqa.core.errors import ConfigError, DatasetError, NothingToCompareError
from bboxqa.pipelines.agree import agree
from bboxqa.pipelines.read import read_coco

HASH = ".rf.0123456789abcdef0123456789abcdef"
COMPOSED, DECOMPOSED = "M\xfcnchen.jpg", "Mu\u0308nchen.jpg"


def of_images(tmp_path, *names):
    """Return files, each with images of some names and a box on each."""
    paths = [tmp_path / f"{who}.json" for who, _ in zip(("ann", "bob", "cid"), names, strict=False)]
    for path, own in zip(paths, names, strict=True):
        images = [image(number, name) for number, name in enumerate(own, 1)]
        write(path, document([annotation(n, n) for n in range(1, len(own) + 1)], images))
    return paths


def of_categories(tmp_path, **names):
    """Return files with a box of each category on each of six images."""
    for first, (who, own) in enumerate(names.items()):
        categories = [{"id": n, "name": name} for n, name in enumerate(own, 10 * first)]
        boxes = [
            annotation(8 * number + place, number, each["id"], bbox=[30 * place, 0, 9, 9])
            for number in range(1, 7)
            for place, each in enumerate(categories)
        ]
        content = document(boxes, [image(number) for number in range(1, 7)], categories)
        write(tmp_path / f"{who}.json", content)
    return [tmp_path / f"{who}.json" for who in names]


@pytest.mark.parametrize(
    ("by", "ann", "bob"),
    [
        ("name", ["train/a.jpg", "train/b.jpg"], ["b.jpg", "a.jpg"]),
        ("stem", [f"a_jpg{HASH}.jpg", "x/b.png"], ["a.jpg", "b.jpg"]),
    ],
)
def test_images_are_joined_as_asked(tmp_path, by, ann, bob):
    both = of_images(tmp_path, ann, bob)
    data = read_coco(both, join=by)
    assert len(data.image_names) == 2
    assert data.assigned.all()
    with pytest.raises(NothingToCompareError) as caught:
        read_coco(both)
    advice = f"Images are joined by file_name: --join {by} would join 2 more images, such as '"
    assert advice in caught.value.advice


@pytest.mark.parametrize(
    ("ann", "bob", "join", "names"),
    [
        # As the first file spells it, by which its picture is found.
        ([COMPOSED, "a.jpg"], ["a.jpg", DECOMPOSED], "path", (COMPOSED, "a.jpg")),
        ([DECOMPOSED, "x/a.jpg"], ["a.jpg", COMPOSED], "path", (DECOMPOSED, "a.jpg", "x/a.jpg")),
        ([f"x/{DECOMPOSED}", "a.jpg"], ["a.jpg", COMPOSED], "name", (DECOMPOSED, "a.jpg")),
        ([COMPOSED, DECOMPOSED], [COMPOSED, DECOMPOSED], "path", (DECOMPOSED, COMPOSED)),
        ([COMPOSED, "\xe9.jpg"], [COMPOSED, DECOMPOSED, "e\u0301.jpg"], "path",
         (DECOMPOSED, COMPOSED, "\xe9.jpg")),
        # The sign of Kelvin, whose normal form is the letter.
        (["K.jpg", "\u212a.jpg"], ["\u212a.jpg", "K.jpg"], "path", ("K.jpg", "\u212a.jpg")),
        ([COMPOSED, DECOMPOSED], ["a.jpg"], "none",
         (f"ann/{DECOMPOSED}", f"ann/{COMPOSED}", "bob/a.jpg")),
    ],
)  # fmt: skip
def test_names_of_both_unicode_forms_join(tmp_path, ann, bob, join, names):
    data = read_coco(of_images(tmp_path, ann, bob), join=join, min_annotators=1)
    assert data.image_names == names
    assert data.assigned.sum() == len(ann) + len(bob)


def test_ambiguous_names_are_refused_with_examples(tmp_path):
    ann = [f"{folder}/{n}.jpg" for folder in ("x", "y") for n in range(5)]
    with pytest.raises(DatasetError) as caught:
        read_coco(of_images(tmp_path, ann, ["0.jpg"]), join="name")
    lines = str(caught.value).splitlines()
    assert lines[0] == "5 problems:"
    assert "images 'x/0.jpg' and 'y/0.jpg' have one name, '0.jpg'" in lines[1]
    assert len([line for line in lines if "have one name" in line]) == 3
    assert lines[-1] == "Images cannot be joined by name; use --join path."


def test_few_joined_images_are_a_headline_with_what_helps(tmp_path):
    ann, bob = ["a.jpg", "x/b.jpg", "x/c.jpg"], ["a.jpg", "b.jpg", "c.jpg"]
    both = of_images(tmp_path, ann, bob)
    headline = (
        "only 1 image of 5 joined: --join name would join 2 more images, such as "
        "'x/b.jpg' = 'b.jpg', 'x/c.jpg' = 'c.jpg'"
    )
    assert read_coco(both).headlines == (headline,)
    assert read_coco(both, join="name").headlines == ()
    lines = run("agree", *both).stdout.splitlines()
    assert lines.index(f"Warning: {headline}") < lines.index("")
    assert not any(line.startswith(" Note: only 1 image") for line in lines)


def test_names_that_differ_by_case_are_a_headline_with_the_options_that_join_them(tmp_path):
    both = of_categories(tmp_path, ann=["cat", "dog"], bob=["Cat", "dog "])
    data = read_coco(both)
    (headline,) = data.headlines
    assert headline.startswith("categories 'Cat' and 'cat', 'dog' and 'dog ' differ only by case")
    assert headline.endswith("; to join them: --map cat=Cat --map 'dog =dog'")
    assert agree(data, bootstrap=0).alpha < 0.2
    mapped = read_coco(both, category_map={"cat": "Cat", "dog ": "dog"})
    assert (mapped.category_names, mapped.headlines) == (("Cat", "dog"), ())
    assert agree(mapped, bootstrap=0).alpha == 1


@pytest.mark.parametrize(
    "names",
    [["cat", "CAT", "cat"], ["cat ", "CAT", "cat"], ["cat", "feline pet"]],
)  # fmt: skip
def test_the_options_that_join_renamed_categories_lead_to_the_first_name(names, tmp_path):
    paths = [tmp_path / f"{place}.json" for place in range(len(names))]
    for path, name in zip(paths, names, strict=True):
        write(path, document([annotation(1)], [image(1)], [{"id": 1, "name": name}]))
    with pytest.raises(DatasetError) as caught:
        read_coco(paths)
    options = shlex.split(caught.value.advice.partition(": ")[2])
    assert options[::2] == ["--map"] * (len({*names}) - 1)
    assert {each.partition("=")[2] for each in options[1::2]} == {names[0]}
    assert run("agree", *paths, *options, "--bootstrap", "0").returncode == 0


def test_an_unknown_category_is_named_with_the_nearest(tmp_path):
    both = of_categories(tmp_path, ann=["cat"], bob=["cat"])
    with pytest.raises(ConfigError, match="--map names 'catt', which is not a category; did you"):
        read_coco(both, category_map={"catt": "dog"})
    found = read_coco(both, category_map={"Cat": "cat"})
    assert found.category_names == ("cat",)
    assert found.notes[-1] == "--map Cat=cat: no category is called 'Cat'"
    found = read_coco(both, category_map={"Cat": ""})
    assert found.headlines == ("--map Cat=: no category is called 'Cat'; did you mean 'cat'?",)


# Categories that a map leaves out.
CATEGORIES = [{"id": n, "name": name} for n, name in enumerate(("car", "shadow", "tree"))]


@pytest.fixture
def path(tmp_path):
    random = np.random.default_rng(3)
    places = [(n, who, x) for n in range(1, 9) for who in ("ann", "bob", "eve") for x in range(5)]
    drawn = [(*each, int(random.integers(0, 3))) for each in places if random.random() < 0.8]
    # On image 9, bob drew nothing but a shadow.
    drawn += [(9, "ann", 0, 0), (9, "bob", 2, 1)]
    records = [
        annotation(number, image_id, category, bbox=[20 * x, 0, 9, 9], annotator=who)
        for number, (image_id, who, x, category) in enumerate(drawn)
    ]
    return write(tmp_path / "all.json", document(records, [*map(image, range(1, 10))], CATEGORIES))


def without(path, name):
    """Return a file without a category, that lists who annotated each image in the other one."""
    content = json.loads(path.read_text())
    for each in content["images"]:
        own = {a["annotator"] for a in content["annotations"] if a["image_id"] == each["id"]}
        each["annotators"] = sorted(own)
    (gone,) = (each["id"] for each in content["categories"] if each["name"] == name)
    for key, column in (("categories", "id"), ("annotations", "category_id")):
        content[key] = [each for each in content[key] if each[column] != gone]
    return write(path.with_name("without.json"), content)


def test_leaving_out_equals_a_file_without_the_category_by_the_same_annotators(path):
    found = read_coco(path, category_map={"shadow": ""})
    expected = read_coco(without(path, "shadow"))
    assert found.category_names == expected.category_names == ("car", "tree")
    assert np.array_equal(found.assigned, expected.assigned)
    assert found.assigned[found.image_names.index("9.jpg")].tolist() == [True, True, False]
    for name in ("id", "image", "annotator", "category", "bbox"):
        assert np.array_equal(getattr(found.annotations, name), getattr(expected.annotations, name))
    assert agree(found, bootstrap=0).alpha == agree(expected, bootstrap=0).alpha
    done = bboxqa.convert(path, path.parent / "out", to="cvat", category_map={"shadow": ""})
    assert done.n_annotations == len(expected.annotations)
    assert "annotations of 'shadow' left out, as --map says" in " ".join(done.notes)
    with pytest.raises(
        DatasetError, match="leaves out the categories of all annotations: 'car', '"
    ):
        read_coco(path, category_map=dict.fromkeys(("car", "tree", "shadow"), ""))


# Data sets of several files in one: ids, names and annotators that are told.


def coco(path, categories, images, annotator=None, first=1):
    """Write a data set with one annotation of the first category in each image."""
    who = {"annotator": annotator} if annotator else {}
    named = dict(enumerate(images, first))
    drawn = [annotation(n, n, min(categories), [n, 2, 9, 8], **who) for n in named]
    listed = [{"id": n, "name": name} for n, name in categories.items()]
    return write(path, document(drawn, [image(*each) for each in named.items()], listed))


def merged(tmp_path, *files, **more):
    """Return the notes on a merge, its annotations by names, and its categories."""
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
    assert "ids of categories differ: 'cat' is 2 in bob.json and 1 in the output, 'dog'" in moved
    assert drawn == [("a.jpg", "cat", "ann"), ("a.jpg", "dog", "bob")]
    assert names == {1: "cat", 2: "dog"}


def test_different_categories_of_one_id_are_two_and_told_with_the_option(tmp_path):
    files = [
        coco(tmp_path / "a.json", {1: "cat"}, ["a.jpg"]),
        coco(tmp_path / "b.json", {1: "bird"}, ["b.jpg"], first=7),
    ]
    notes, drawn, names = merged(tmp_path, *files)
    assert "if they are one: --map bird=cat" in notes[0]
    assert drawn == [("a.jpg", "cat", None), ("b.jpg", "bird", None)]
    assert len(names) == 2
    notes, drawn, names = merged(tmp_path, *files, category_map={"bird": "cat"})
    assert [drawn[1], names, notes] == [("b.jpg", "cat", None), {1: "cat"}, []]
    # What is measured is one list of categories.
    with pytest.raises(DatasetError, match="category 1 is 'bird'"):
        read_coco(files, attribution="files")


def test_keys_of_images_that_differ_between_records_are_told(tmp_path):
    records = [{**image(n, "a.jpg"), "annotator": who, "date": n} for n, who in enumerate("ab", 1)]
    content = document([annotation(n, n) for n in (1, 2)], records)
    notes, drawn, _ = merged(tmp_path, write(tmp_path / "a.json", content))
    assert notes == [
        "left out: date of 1 further image record, in which records of an image differ"
    ]
    assert [each[2] for each in drawn] == ["a", "b"]


def test_what_converting_adds_to_key_points_without_a_box_is_told(tmp_path):
    shape = '<points label="cat" points="1,2;30,40"></points>'
    source = tmp_path / "a.xml"
    source.write_text(
        f'<annotations><image id="0" name="a.jpg" width="50" height="50">{shape}</image>'
        "</annotations>"
    )
    (note,) = merged(tmp_path, source)[0][-1:]
    assert note.endswith(
        "1 annotation of key points without a box got one around their points in COCO"
    )


def test_annotations_of_nobody_beside_those_of_people_are_told(tmp_path):
    ann = coco(tmp_path / "a.json", {1: "cat"}, ["a.jpg"], "ann")
    other = coco(tmp_path / "b.json", {1: "cat"}, ["b.jpg"], first=5)
    notes, drawn, _ = merged(tmp_path, ann, other)
    assert notes == ["1 annotation of nobody: the files name no one there"]
    assert drawn == [("a.jpg", "cat", "ann"), ("b.jpg", "cat", None)]


@pytest.mark.parametrize("is_folder", [False, True])
def test_a_file_an_image_is_one_data_set_without_people(tmp_path, is_folder):
    files = [coco(tmp_path / f"in/{n}.json", {1: "cat"}, [f"im{n}.jpg"]) for n in range(5)]
    notes, drawn, _ = merged(tmp_path, *([tmp_path / "in"] if is_folder else files))
    assert drawn == [(f"im{n}.jpg", "cat", None) for n in range(5)]
    assert notes == [
        "new ids, since those of the files clash or differ: 4 annotations and 4 images"
    ]


def test_the_root_category_of_roboflow_is_kept_and_told(tmp_path):
    content = document([annotation(1, 1, 1)], [image(1, "a.jpg")])
    content["categories"] = [
        {"id": 0, "name": "cells", "supercategory": "none"},
        {"id": 1, "name": "red cell", "supercategory": "cells"},
    ]
    notes, _, names = merged(tmp_path, write(tmp_path / "a.json", content))
    assert notes == ["kept: the root category 'cells'; to leave it out: --map cells="]
    assert names == {0: "cells", 1: "red cell"}
