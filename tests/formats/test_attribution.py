"""Who annotated what: by key, by repeated image records, by file."""

import numpy as np
import pytest
from support.datasets import annotation, document, image, write

from bboxqa.core.errors import DatasetError
from bboxqa.formats.dataset.reader import read_dataset
from bboxqa.formats.dataset.reading import Reading


def authors(data):
    """Return who drew each annotation, by its id."""
    names = [data.annotator_names[place] for place in data.annotations.annotator.tolist()]
    return dict(zip(data.annotations.id.tolist(), names, strict=True))


def asked(data):
    """Return who was asked about each image."""
    names = np.array(data.annotator_names)
    rows = zip(data.image_names, data.assigned, strict=True)
    return {image: names[row].tolist() for image, row in rows}


def keyed(key, *values, nested=False):
    records = []
    for number, value in enumerate(values, 1):
        more = {"attributes": {"annotator": value}} if nested else {key: value}
        records.append(annotation(number, **more))
    return records


def read(tmp_path, content, **more):
    return read_dataset(write(tmp_path / "export.json", content), Reading(**more))


KEYS = ["annotator", "annotator_id", "rater", "rater_id", "created_by", "attributes.annotator"]


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("outlines", [True, False])
def test_known_keys_on_annotations(key, outlines, tmp_path):
    records = keyed(key, "ann", "bob", nested="." in key)
    data = read(tmp_path, document(records), outlines=outlines)
    assert authors(data) == {1: "ann", 2: "bob"}
    assert asked(data) == {"1.jpg": ["ann", "bob"]}
    assert data.attribution == f"the key {key!r} on annotations"


@pytest.mark.parametrize("key", ["who", "meta.who", "meta.deep.who", "area", "id", "strange-key"])
def test_a_key_of_the_users_own(key, tmp_path):
    records = [annotation(n) for n in (1, 2)]
    for record, name in zip(records, ("ann", "bob"), strict=True):
        *parents, last = key.split(".")
        place = record
        for parent in parents:
            place = place.setdefault(parent, {})
        place[last] = record["id"] if key == "id" else name
    data = read(tmp_path, document(records), annotator_key=key)
    assert authors(data) == {1: "1", 2: "2"} if key == "id" else {1: "ann", 2: "bob"}


@pytest.mark.parametrize(
    ("values", "names"),
    [
        ((3, 20), ("3", "20")),
        ((3.0, 20.0), ("3", "20")),
        (("10", "9"), ("9", "10")),
        (("b", "a"), ("a", "b")),
        ((0, 1), ("0", "1")),
        ((True, False), ("false", "true")),
        (("Ærøskøbing", "日本"), ("Ærøskøbing", "日本")),
        (([1, 2], {"a": 1}), ("[1, 2]", '{"a": 1}')),
    ],
)
def test_names_of_any_kind(values, names, tmp_path):
    assert read(tmp_path, document(keyed("annotator", *values))).annotator_names == names


@pytest.mark.parametrize("key", ["rater_list", "annotators"])
@pytest.mark.parametrize(
    "value", [["ann", "bob", "cid"], {"ann": 1, "bob": ["s1", "s2"], "cid": None}]
)
def test_a_list_on_the_image_says_who_was_asked(key, value, tmp_path):
    images = [image(1, **{key: value}), image(2, **{key: ["ann", "cid"]}), image(3)]
    records = [*keyed("annotator", "ann", "bob"), annotation(3, image_id=3, annotator="ann")]
    data = read(tmp_path, document(records, images))
    assert asked(data) == {
        "1.jpg": ["ann", "bob", "cid"],
        "2.jpg": ["ann", "cid"],
        "3.jpg": ["ann"],
    }
    assert "1 image with fewer than two annotators left out" in data.notes


def test_without_a_list_whoever_drew_was_asked(tmp_path):
    records = [*keyed("rater", "ann", "bob"), annotation(9, image_id=2, rater="bob")]
    data = read(tmp_path, document(records, [image(1), image(2), image(3)]))
    assert asked(data) == {"1.jpg": ["ann", "bob"], "2.jpg": ["bob"], "3.jpg": []}
    assert (
        "2 images with fewer than two annotators left out, of which 1 without annotations or a "
        "list of annotators"
    ) in data.notes


def test_an_annotation_by_somebody_who_was_not_asked(tmp_path):
    content = document(keyed("rater", "ann", "bob", "cid"), [image(1, rater_list=["ann", "bob"])])
    with pytest.raises(DatasetError) as caught:
        read(tmp_path, content)
    where = f"{tmp_path}/export.json: annotation 3: is by 'cid'"
    why = "who is not in the list of annotators of its image; add the name there, or correct it"
    assert caught.value.problems == (f"{where}, {why}",)


def test_annotations_without_an_annotator_among_others(tmp_path):
    records = [*keyed("rater", "ann", "bob", None), annotation(4)]
    with pytest.raises(DatasetError) as caught:
        read(tmp_path, document(records))
    where = f"{tmp_path}/export.json"
    assert caught.value.problems == (
        f"{where}: 2 of 4 annotations do not name their annotator (ids 3, 4); the others do",
    )
    assert caught.value.advice == (
        "Annotators are named by the key 'rater' on annotations: name who drew these annotations "
        "there, or delete them."
    )


# Repeated image records.


def test_repeated_records_that_name_their_annotator(tmp_path):
    images = [
        image(1, "a.jpg", annotator="bob"),
        image(2, "a.jpg", annotator="ann"),
        image(3, "b.jpg", annotator="ann"),
        image(4, "b.jpg", annotator="cid"),
    ]
    records = [annotation(n, image_id=n) for n in (1, 2, 3)]
    data = read(tmp_path, document(records, images))
    assert data.image_names == ("a.jpg", "b.jpg")
    assert authors(data) == {1: "bob", 2: "ann", 3: "ann"}
    assert asked(data) == {"a.jpg": ["ann", "bob"], "b.jpg": ["ann", "cid"]}
    assert data.attribution == "repeated image records with one file_name"


# One file per annotator.


def files(tmp_path, **contents):
    return [write(tmp_path / f"{name}.json", content) for name, content in contents.items()]


ONE = document([annotation(1)])
OTHER = document([annotation(1, bbox=[1, 1, 5, 5])])


def test_images_join_by_name_and_categories_by_name(tmp_path):
    ann = document(
        [annotation(1, 1, 1), annotation(2, 2, 2)],
        [image(1, "a.jpg"), image(2, "b.jpg")],
        [{"id": 1, "name": "cat"}, {"id": 2, "name": "dog"}],
    )
    bob = document(
        [annotation(1, 8, 2), annotation(2, 9, 1)],
        [image(8, "a.jpg"), image(9, "b.jpg")],
        [{"id": 1, "name": "dog"}, {"id": 2, "name": "cat"}],
    )
    data = read_dataset(files(tmp_path, ann=ann, bob=bob))
    assert data.image_names == ("a.jpg", "b.jpg")
    assert data.category_names == ("cat", "dog")
    assert data.annotations.image.tolist() == [0, 0, 1, 1]
    assert data.annotations.category.tolist() == [0, 0, 1, 1]
    assert data.annotations.annotator.tolist() == [0, 1, 0, 1]


def test_an_image_in_one_file_only_was_not_given_to_the_other(tmp_path):
    more = document([annotation(1)], [image(1), image(2)])
    data = read_dataset(files(tmp_path, ann=ONE, bob=more))
    assert asked(data) == {"1.jpg": ["ann", "bob"], "2.jpg": ["bob"]}


def test_a_pattern_chooses_files_of_a_folder(tmp_path):
    files(tmp_path, ann_v1=ONE, ann_v2=ONE, bob_v2=OTHER)
    assert read_dataset(tmp_path, Reading(pattern="*_v2.json")).annotator_names == (
        "ann_v2",
        "bob_v2",
    )
    with pytest.raises(DatasetError, match=r"no file that matches '\*_v3.json' is of a"):
        read_dataset(tmp_path, Reading(pattern="*_v3.json"))


def test_a_file_twice(tmp_path):
    path, other = files(tmp_path, ann=ONE, bob=ONE)
    with pytest.raises(DatasetError) as caught:
        read_dataset([path, other, path])
    assert str(caught.value) == f"a file is given twice: {path}"


# Fewer than two annotators.


WAYS = ("a key on annotations", "an image record for each", "or a file or folder for each: ")


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (document([annotation(1), annotation(2)]), "no annotator is named in the files"),
        (document(keyed("rater", "ann", "ann")), "one annotator only, 'ann', by the key 'rater'"),
        (
            document([annotation(1)], [image(1, annotator="ann")]),
            "no annotator is named in the files",
        ),
    ],
)
def test_one_annotator_is_told_the_three_ways(content, problem, tmp_path):
    with pytest.raises(DatasetError) as caught:
        read(tmp_path, content)
    text = str(caught.value)
    assert f"export.json: {problem}" in text
    for way in WAYS:
        assert way in text
    assert "--annotator NAME=1.json --annotator NAME=2.json" in text


def test_files_whose_images_have_no_name(tmp_path):
    nameless = document([annotation(1)], [{"id": 1, "width": 9, "height": 9}])
    with pytest.raises(DatasetError, match="image 1 has no file_name; expected one, since images"):
        read_dataset(files(tmp_path, ann=nameless, bob=nameless))


def test_two_versions_of_one_file_are_refused(tmp_path):
    before = document(keyed("rater", "ann", "bob"))
    after = document([*keyed("rater", "ann", "bob"), annotation(3, rater="ann")])
    paths = files(tmp_path, before=before, after=after)
    with pytest.raises(DatasetError) as caught:
        read_dataset(paths)
    assert str(caught.value) == (
        f"{paths[0]} and {paths[1]}: both have annotations of image '1.jpg' by 'ann' (the key "
        "'rater' on annotations), and 1 more such case; expected the annotations of one annotator "
        "of an image in one file\n"
        f"Two versions of one data set are compared with: bboxqa compare {paths[0]} {paths[1]}\n"
        "If annotators annotated the images again and each file is a session: --session-key file\n"
        "If each file is by another person: --attribution files"
    )


XML = """<annotations><version>1.1</version><meta><job><id>1</id><assignee><username>ann</username>
</assignee></job></meta><image id="0" name="a.jpg" width="9" height="9">
<box label="cat" xtl="1" ytl="1" xbr="3" ybr="3"></box></image></annotations>"""


def test_a_format_names_its_own_ways(tmp_path):
    (tmp_path / "1.xml").write_text(XML)
    with pytest.raises(DatasetError) as caught:
        read_dataset(tmp_path / "1.xml")
    assert str(caught.value).splitlines()[1:] == [
        "Agreement needs at least two annotators, named by the assignee in the export,",
        "or a file or folder for each: --annotator NAME=1.xml --annotator NAME=2.xml",
    ]
    (tmp_path / "ann").mkdir()
    (tmp_path / "ann/a.json").write_text(
        '{"version": "5.2", "shapes": [{"label": "cat", "points": [[1, 1], [3, 3]],'
        ' "shape_type": "rectangle"}], "imagePath": "a.jpg"}'
    )
    with pytest.raises(DatasetError, match=r"annotator=NAME.,\nor a file or folder for each: --a"):
        read_dataset(tmp_path / "ann")
