"""Folders that hold annotations in several formats, of several people."""

import json
import shlex
import shutil
from itertools import product

import pytest
from support.tool_files import drawn, write

import bboxqa
from bboxqa import DatasetError, convert, read_coco, validate

CATEGORIES = [{"id": 1, "name": "cat"}]
IMAGES = [{"id": k, "file_name": f"{name}.jpg", "width": 100, "height": 80} for k, name in
          ((1, "a"), (2, "b"))]  # fmt: skip
BOX = "0 .5 .5 .2 .25\n"


def coco(x=40, **more):
    """Return COCO JSON with a box in each image."""
    boxes = [
        {"id": k, "image_id": k, "category_id": 1, "bbox": [x, 30, 20, 20], **more} for k in (1, 2)
    ]
    return {"images": IMAGES, "annotations": boxes, "categories": CATEGORIES}


def yolo(folder):
    """Return the names and texts of a folder of YOLO with a box in each image."""
    texts = {f"{folder}/labels/{name}.txt": BOX for name in "ab"}
    return {f"{folder}/data.yaml": "names: [cat]", **texts}


def labelme(folder):
    """Return the names and texts of a folder of LabelMe with a box in each image."""
    points = [[40, 30], [60, 50]]
    shapes = [{"label": "cat", "shape_type": "rectangle", "points": points}]
    sides = {"imageWidth": 100, "imageHeight": 80}
    return {
        f"{folder}/{name}.json": {
            "version": "5.2", "imagePath": f"{name}.jpg", "shapes": shapes, **sides,
        }
        for name in "ab"
    }  # fmt: skip


FOLDERS = {"yolo": yolo, "labelme": labelme}


def read(path):
    with bboxqa.reading(image_size=(100, 80)):
        return read_coco(path, join="stem")


def notes_of(path):
    """Return the notes of reading, and of validation, which has the same."""
    with bboxqa.reading(image_size=(100, 80)):
        left = [each for each in read(path).notes if "left out" in each]
        assert [each for each in validate(path).notes if "left out" in each] == left
    return left


@pytest.mark.parametrize("of_two", FOLDERS)
@pytest.mark.parametrize("place", ["eve/export.json", "eve/annotations/export.json"])
def test_a_folder_beside_those_of_labels_is_of_an_annotator(tmp_path, of_two, place):
    folders = FOLDERS[of_two]("ann") | FOLDERS[of_two]("bob")
    write(tmp_path, **folders, **{place: coco(41), "eve/settings.json": {"a": 1}})
    data = read(tmp_path)
    assert data.annotator_names == ("ann", "bob", "eve")
    boxes = [(name, who, x) for name, who, _, x, *_ in drawn(data)]
    assert boxes == [
        (name, who, x) for name in ("a", "b") for who, x in (("ann", 40), ("bob", 40), ("eve", 41))
    ]
    assert notes_of(tmp_path) == [
        "1 file left out: no annotations in a known format (settings.json)"
    ]


def test_annotators_beside_one_folder_of_labels_keep_their_names(tmp_path):
    write(tmp_path, **labelme("eve"), **{"ann/export.json": coco(), "bob/export.json": coco()})
    assert read(tmp_path).annotator_names == ("ann", "bob", "eve")


def test_files_of_one_folder_beside_labels_are_of_one_annotator_each(tmp_path):
    write(tmp_path, **yolo("ann"), **{"more/bob.json": coco(), "more/eve.json": coco()})
    assert read(tmp_path).annotator_names == ("ann", "bob", "eve")


@pytest.mark.parametrize("of_two", FOLDERS)
def test_folders_of_labels_beside_coco_are_left_out_and_named(tmp_path, of_two):
    folders = FOLDERS[of_two]("ann") | FOLDERS[of_two]("bob")
    write(tmp_path, **folders, **{"all.json": coco()})
    note = (
        f"{tmp_path}: COCO JSON is read, and labels beside it are left out; to read the labels in "
        "2 folders (ann, bob), name each folder"
    )
    with pytest.raises(DatasetError, match="no annotator is named") as refused:
        read(tmp_path)
    assert refused.value.advice.splitlines()[-1] == note
    both = {**coco(), "images": [{**each, "annotators": ["x", "y"]} for each in IMAGES]}
    both["annotations"] = [{**each, "annotator": "x"} for each in both["annotations"]]
    write(tmp_path, **{"all.json": both})
    assert read(tmp_path).annotator_names == ("x", "y")
    assert notes_of(tmp_path) == [note]
    # What the note says can be typed.
    named = read([tmp_path / "ann", tmp_path / "bob"])
    assert named.annotator_names == ("ann", "bob")


@pytest.mark.parametrize("n_images", [1, 2])
@pytest.mark.parametrize("place", ["bob", "day1/bob"])
def test_labels_of_a_person_beside_coco_are_left_out_however_few(tmp_path, place, n_images):
    labels = dict([*labelme(place).items()][:n_images])
    write(tmp_path, **labels, **{"ann.json": coco(), "eve.json": coco(41)})
    assert read(tmp_path).annotator_names == ("ann", "eve")
    assert notes_of(tmp_path) == [
        (
            f"{tmp_path}: COCO JSON is read, and labels beside it are left out; to read the labels "
            "in 1 folder (bob), name each folder"
        )
    ]
    named = read([tmp_path / "ann.json", tmp_path / place])
    assert named.annotator_names == ("ann", "bob")


@pytest.mark.parametrize("n_coco", [1, 2, 3])
@pytest.mark.parametrize("place", [".", "labels"])
def test_labels_in_the_folder_of_coco_are_left_out_and_named(tmp_path, place, n_coco):
    files = {f"{name}.json": coco(40 + k) for k, name in enumerate(("ann", "bob", "eve")[:n_coco])}
    write(tmp_path, **labelme(place), **files)
    note = (
        f"{tmp_path}: COCO JSON is read, and labels beside it are left out; to read the labels, "
        "move the COCO JSON elsewhere"
    )
    assert [each for each in validate(tmp_path).notes if "left out" in each] == [note]
    if n_coco > 1:
        assert read(tmp_path).annotator_names == ("ann", "bob", "eve")[:n_coco]
        assert notes_of(tmp_path) == [note]


@pytest.mark.parametrize("name", ["bob.json", "bob.xml"])
def test_one_file_of_labels_in_the_folder_of_coco_may_be_by_a_person(tmp_path, name):
    (_, labels), _ = labelme("bob").items()
    voc = (
        "<annotation><filename>a.jpg</filename><object><name>cat</name><bndbox><xmin>40</xmin>"
        "<ymin>30</ymin><xmax>60</xmax><ymax>50</ymax></bndbox></object></annotation>"
    )
    write(tmp_path, **{"ann.json": coco(), name: voc if name == "bob.xml" else labels})
    assert read(tmp_path).annotator_names == ("ann", "bob")
    with bboxqa.reading(image_size=(100, 80)):
        assert not any("left out" in each for each in validate(tmp_path).notes)


@pytest.mark.parametrize("place", ["bob", "bob/annotations"])
@pytest.mark.parametrize("of_two", FOLDERS)
def test_coco_inside_of_labels_is_read_in_their_place(tmp_path, of_two, place):
    folders = FOLDERS[of_two]("ann") | FOLDERS[of_two]("bob")
    write(tmp_path, **folders, **{f"{place}/export.json": coco(41)})
    data = read(tmp_path)
    assert data.annotator_names == ("ann", "bob")
    assert [x for *_, x, _, _, _ in drawn(data)] == [40, 41] * 2
    assert notes_of(tmp_path) == [
        (
            f"{tmp_path}/bob: COCO JSON is read, and labels beside it are left out; to read the "
            "labels, move the COCO JSON elsewhere"
        )
    ]


def test_files_beside_folders_of_labels_are_left_out_and_named(tmp_path):
    write(tmp_path, **yolo("ann"), **yolo("bob"))
    write(tmp_path, **{"eve.csv": "image,x,y,width,height\na,40,30,20,20\n", "t.csv": "a,b\n1,2\n"})
    assert read(tmp_path).annotator_names == ("ann", "bob")
    assert notes_of(tmp_path) == [
        "1 file left out: no annotations in a known format (t.csv)",
        (
            f"{tmp_path}: folders are read, and 1 file of annotations left out (eve.csv); to read "
            "both, name each"
        ),
    ]
    named = read([tmp_path / "ann", tmp_path / "bob", tmp_path / "eve.csv"])
    assert named.annotator_names == ("ann", "bob", "eve")


def test_annotations_of_a_format_that_is_not_read_are_named_beside_labels(tmp_path):
    box = {"label": "cat", "coordinates": {"x": 50, "y": 40, "width": 20, "height": 20}}
    write(tmp_path, **yolo("ann"), **yolo("bob"))
    write(tmp_path, **{"bob/all.json": [{"image": "a.jpg", "annotations": [box]}]})
    assert notes_of(tmp_path) == [
        (
            f"{tmp_path}/bob is read as YOLO: 1 file of other formats left out (all.json); to read "
            "such a file, name it"
        )
    ]
    with pytest.raises(DatasetError, match="is JSON of CreateML"):
        read(tmp_path / "bob/all.json")


@pytest.mark.parametrize("of_two", FOLDERS)
@pytest.mark.parametrize(
    ("below", "typed"), [(".", "FOLDER"), ("all", "FOLDER/all"), ("x/set", "FOLDER/x/set")]
)
def test_an_archive_of_several_people_is_told(tmp_path, of_two, below, typed):
    write(tmp_path / "in" / below, **FOLDERS[of_two]("ann"), **FOLDERS[of_two]("bob"))
    path = shutil.make_archive(str(tmp_path / "all"), "zip", tmp_path / "in")
    note = (
        f"{path}: folders with labels of the same images (ann, bob) do not count as annotators; if "
        f"each is by another, unpack the archive into a folder of its own: bboxqa agree {typed}"
    )
    with bboxqa.reading(image_size=(100, 80)):
        assert note in validate(path).notes
        assert note in read_coco(path, min_annotators=1).notes
        with pytest.raises(DatasetError) as refused:
            read_coco(path)
    assert refused.value.advice.splitlines()[-1] == note
    # What the note advises works.
    shutil.unpack_archive(path, tmp_path / "FOLDER")
    assert read(tmp_path / typed).annotator_names == ("ann", "bob")
    # Splits are no people.
    write(tmp_path / "one", **FOLDERS[of_two]("train"), **FOLDERS[of_two]("val"))
    split = shutil.make_archive(str(tmp_path / "one"), "zip", tmp_path / "one")
    with bboxqa.reading(image_size=(100, 80)):
        assert not any("one annotator" in each for each in validate(split).notes)


def test_a_conversion_loses_nobody(tmp_path):
    write(tmp_path / "in", **labelme("ann"), **{"bob/export.json": coco(41)})
    convert(tmp_path / "in", tmp_path / "out.json", to="coco")
    written = json.loads((tmp_path / "out.json").read_text())
    who = sorted(each["annotator"] for each in written["annotations"])
    assert who == ["ann", "ann", "bob", "bob"]


@pytest.mark.parametrize(
    "place", ["{split}/{who}", "{who}/{split}", "labels/{split}/{who}", "{split}/labels/{who}"]
)
def test_an_archive_of_people_in_splits_is_told(tmp_path, place):
    for split, who in product(("train", "val"), ("ann", "bob")):
        text = {f"{place.format(split=split, who=who)}/of_{split}.txt": BOX}
        write(tmp_path / "in", **text)
    path = shutil.make_archive(str(tmp_path / "all"), "zip", tmp_path / "in")
    with bboxqa.reading(image_size=(100, 80)), pytest.raises(DatasetError) as refused:
        read_coco(path)
    assert "(ann, bob)" in refused.value.advice
    assert refused.value.advice.endswith("into a folder of its own: bboxqa agree FOLDER")
    shutil.unpack_archive(path, tmp_path / "FOLDER")
    assert read(tmp_path / "FOLDER").annotator_names == ("ann", "bob")


@pytest.mark.parametrize("place", ["labels/{split}/{who}", "{split}/{who}", "all/{who}"])
def test_people_in_an_archive_with_deeper_folders_are_named(tmp_path, monkeypatch, place):
    for split, who, day in product(("train", "val"), ("ann", "bob b"), ("day1", "day2")):
        folder = place.format(split=split, who=who)
        write(tmp_path / "in", **{f"{folder}/{day}/{split}_{day}.txt": BOX})
    path = shutil.make_archive(str(tmp_path / "all"), "zip", tmp_path / "in")
    with bboxqa.reading(image_size=(100, 80)):
        with pytest.raises(DatasetError) as refused:
            read_coco(path)
        shutil.unpack_archive(path, tmp_path / "FOLDER")
        monkeypatch.chdir(tmp_path)
        words = shlex.split(refused.value.advice.partition("of its own: bboxqa agree ")[2])
        named = {}
        for word in words[1::2]:
            name, _, folder = word.partition("=")
            named.setdefault(name, []).append(folder)
        data = read_coco(named)
        hidden = read_coco(path, min_annotators=1, pseudonyms=tmp_path / "key.json").notes
    assert words[::2] == ["--annotator"] * len(words[1::2])
    assert (data.annotator_names, len(data.annotations)) == (("ann", "bob b"), 8)
    assert not any(name in note for note in hidden for name in ("bob b", "/ann"))


@pytest.mark.parametrize(("sides", "n_notes"), [((9, 9), 1), ((9, 12), 0)])
def test_clips_in_an_archive_are_no_people_if_their_pictures_differ(tmp_path, sides, n_notes):
    for clip, side in zip(("clip1", "clip2"), sides, strict=True):
        write(tmp_path / "in", **{f"labels/{clip}/1.txt": BOX, f"images/{clip}/1.jpg": b"x" * side})
    path = shutil.make_archive(str(tmp_path / "all"), "zip", tmp_path / "in")
    with bboxqa.reading(image_size=(100, 80)):
        notes = [each for each in validate(path).notes if "do not count as annotators" in each]
    assert len(notes) == n_notes


@pytest.mark.parametrize("n_of_each", [(2, 2), (1, 3), (3, 1)])
def test_labels_of_yolo_and_dota_in_an_archive_are_refused(tmp_path, n_of_each):
    line = "40 30 60 30 60 50 40 50 cat 0"
    for who, text, n in zip(("ann", "bob"), (BOX, line), n_of_each, strict=True):
        write(tmp_path / "in", **{f"{who}/labels/{k}.txt": text for k in range(n)})
    write(tmp_path / "in", **{"ann/data.yaml": "names: [cat]"})
    path = shutil.make_archive(str(tmp_path / "all"), "zip", tmp_path / "in")
    with pytest.raises(DatasetError) as refused:
        read_coco(path)
    assert str(refused.value) == (
        f"{path}: holds labels of YOLO (ann/labels/0.txt) and of DOTA (bob/labels/0.txt); "
        "expected one format in an archive\n"
        "Unpack it into a folder of its own, and name the folder."
    )
    assert read(tmp_path / "in").annotator_names == ("ann", "bob")


def test_labels_of_yolo_and_dota_in_one_folder_are_refused(tmp_path):
    write(tmp_path / "in", **{"a.txt": BOX, "b.txt": "40 30 60 30 60 50 40 50 cat 0"})
    path = shutil.make_archive(str(tmp_path / "all"), "zip", tmp_path / "in")
    held = "holds labels of YOLO (a.txt) and of DOTA (b.txt); expected one format in"
    todo = "the files of each format into a folder of their own, and name each folder."
    for source, refusal in (
        (path, f"{path}: {held} an archive\nUnpack it. Put {todo}"),
        (tmp_path / "in", f"{tmp_path / 'in'}: {held} a folder\nPut {todo}"),
    ):
        with pytest.raises(DatasetError) as refused:
            read_coco(source)
        assert str(refused.value) == refusal
