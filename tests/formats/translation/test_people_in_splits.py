"""Folders of labels of several people inside of splits: train/ann, train/bob, val/ann, val/bob."""

import json
import os
import shlex
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from support.tool_files import asked, drawn, write

from bboxqa import agree, convert, read_coco, reading, validate
from bboxqa.batch.rows import Settings
from bboxqa.batch.run import run_batch
from bboxqa.core.errors import DatasetError
from bboxqa.core.remembered import results_kept
from bboxqa.formats.folders.people_notes import of_one
from bboxqa.formats.folders.source_folders import folders_in_parts, people_among
from bboxqa.formats.inputs import list_files
from bboxqa.formats.translation.choices import Choices

IMAGES = {"train": ("a", "b", "c"), "val": ("a", "d")}
PLACES = [
    "{split}/{who}",
    "labels/{split}/{who}",
    "{split}/labels/{who}",
    "{split}/{who}/labels",
    "{split}2017/{who}",
]


def corners(split, name, who):
    """Return the box of a person in an image of a split; no two images have the same."""
    x = 5 * "abcd".index(name) + 30 * (split == "val")
    return (x, 10, x + 20, 30) if who == "ann" else (x + 2, 10, x + 20, 34)


def yolo(name, box):
    x0, y0, x1, y1 = box
    return f"0 {(x0 + x1) / 200} {(y0 + y1) / 160} {(x1 - x0) / 100} {(y1 - y0) / 80}\n"


def dota(name, box):
    x0, y0, x1, y1 = box
    return f"{x0} {y0} {x1} {y0} {x1} {y1} {x0} {y1} cat 0\n"


def voc(name, box):
    keys = ("xmin", "ymin", "xmax", "ymax")
    sides = "".join(f"<{key}>{side}</{key}>" for key, side in zip(keys, box, strict=True))
    return (
        f"<annotation><filename>{name}.jpg</filename><size><width>100</width><height>80</height>"
        f"</size><object><name>cat</name><bndbox>{sides}</bndbox></object></annotation>"
    )


def labelme(name, box):
    shape = {"label": "cat", "points": [box[:2], box[2:]], "shape_type": "rectangle"}
    size = {"imageHeight": 80, "imageWidth": 100}
    return json.dumps(
        {"version": "5.2", "shapes": [shape], "imagePath": f"{name}.jpg", "imageData": None} | size
    )


FORMATS = {"yolo": (yolo, "txt"), "dota": (dota, "txt"), "voc": (voc, "xml"),
           "labelme": (labelme, "json")}  # fmt: skip


def made(folder, kind, place, people=("ann", "bob"), splits=("train", "val")):
    """Write labels of people in splits; return the folder."""
    label, end = FORMATS[kind]
    for split, who in product(splits, people):
        inside = place.format(split=split, who=who)
        texts = {
            f"{inside}/{name}.{end}": label(name, corners(split, name, who))
            for name in IMAGES[split]
        }
        write(folder, **texts)
    return folder


def picture(path, side=100, colour=0):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.full((80, side), colour, np.uint8)).save(path)


def rows(data):
    """Return the annotations by the names of images without suffixes."""
    return [(row[0].removesuffix(".jpg"), *row[1:]) for row in drawn(data)]


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("place", PLACES)
def test_people_in_splits_are_those_of_folders_with_splits(tmp_path, kind, place):
    with reading(image_size=(100, 80), voc_base=0):
        data = read_coco(made(tmp_path / "set", kind, place))
        truth = read_coco(made(tmp_path / "true", kind, "{who}/{split}"))
    expected = [
        (f"{split}/{name}", who, box[0])
        for split, names in IMAGES.items()
        for name, who in product(names, ("ann", "bob"))
        for box in [corners(split, name, who)]
    ]
    assert [(image, who, x) for image, who, _, x, *_ in rows(data)] == expected
    assert [row[1:] for row in rows(data)] == [row[1:] for row in rows(truth)]
    assert [*asked(data).values()] == [["ann", "bob"]] * 5
    assert data.annotator_names == ("ann", "bob")


@pytest.mark.parametrize("kind", FORMATS)
def test_people_in_a_single_split_have_their_names(tmp_path, kind):
    with reading(image_size=(100, 80)):
        data = read_coco(made(tmp_path, kind, "{split}/{who}", splits=["train"]))
    assert data.annotator_names == ("ann", "bob")
    assert len(data.image_names) == 3


@pytest.mark.parametrize(
    ("place", "pictures"),
    [
        ("{split}/{who}", "images/{split}"),
        ("{split}/{who}", "{split}/images"),
        ("labels/{split}/{who}", "images/{split}"),
        ("{split}/labels/{who}", "{split}/images"),
        ("{split}/{who}/labels", "images/{split}"),
    ],
)
def test_class_names_and_pictures_are_those_around_the_splits(tmp_path, place, pictures):
    made(tmp_path, "yolo", place)
    write(tmp_path, **{"data.yaml": "names: [cat]"})
    for split, names in IMAGES.items():
        for name in names:
            picture(tmp_path / pictures.format(split=split) / f"{name}.png")
    data = read_coco(tmp_path)
    assert data.category_names == ("cat",)
    assert drawn(data)[0] == ("train/a.png", "ann", "cat", 0, 10, 20, 20)
    assert (len(data.image_names), data.annotator_names) == (5, ("ann", "bob"))
    # Clips do not share pictures.
    assert not any("one annotator" in each for each in data.notes)


@pytest.mark.parametrize("is_of_one_size", [True, False])
@pytest.mark.parametrize(
    "place",
    [
        "images/{split}/{who}", "frames/{split}/{who}", "img/{split}/{who}", "{split}/{who}",
        "{split}/{who}/images", "{split}/{who}/frames",
    ],
)  # fmt: skip
def test_folders_of_images_in_splits_are_no_people(tmp_path, place, is_of_one_size):
    """Frames of clips have the same names: the folders have pictures of their own."""
    is_beside = place.endswith("/{split}/{who}")
    label_place = "labels/{split}/{who}" if is_beside else "{split}/{who}"
    made(tmp_path, "yolo", label_place, people=("clip1", "clip2"))
    for (split, names), who in product(IMAGES.items(), ("clip1", "clip2")):
        is_first = who == "clip1"
        for name in names:
            # Files of BMP have one size if the pictures have.
            file = tmp_path / place.format(split=split, who=who) / f"{name}.bmp"
            picture(file, 100 if is_of_one_size or is_first else 300, colour=9 * is_first)
    with reading(image_size=(100, 80)):
        data = read_coco(tmp_path, min_annotators=1)
        with pytest.raises(DatasetError, match="no annotator is named in the files"):
            read_coco(tmp_path)
    assert (len(data.annotations), len(data.annotator_names)) == (10, 1)


def test_people_may_have_the_same_pictures_each(tmp_path):
    made(tmp_path, "yolo", "{split}/{who}")
    for (split, names), who in product(IMAGES.items(), ("ann", "bob")):
        for name in names:
            # One picture was changed.
            is_other = (split, name, who) == ("train", "b", "bob")
            picture(tmp_path / split / who / f"{name}.bmp", colour=ord(name) + is_other)
    assert read_coco(tmp_path).annotator_names == ("ann", "bob")


def of_clips_told(data):
    """Return the notes that folders inside of splits were taken as those of people."""
    return [each for each in data.notes if "count as one annotator each" in each]


@pytest.mark.parametrize(
    "other",
    [
        "preview.png", "images/logo.png", "images/train/results.png", "labels/train/labels.jpg",
        "images/train/other/a.png",
    ],
)  # fmt: skip
@pytest.mark.parametrize("place", ["labels/{split}/{who}", "labels/{who}"])
def test_pictures_of_no_label_do_not_show_people(tmp_path, other, place):
    made(tmp_path / "p", "yolo", place, splits=["train"])
    for who in ("ann", "bob"):
        # Names of classes are no labels: labels.jpg is no picture of labels.txt.
        names = f"{place.format(split='train', who=who)}/labels.txt"
        write(tmp_path / "p", **{names: "cat\n"})
    picture(tmp_path / "p" / other)
    with reading(image_size=(100, 80)):
        data = read_coco(tmp_path / "p")
        assert (data.annotator_names, len(of_clips_told(data))) == (("ann", "bob"), 1)
    settings = Settings({"bootstrap": 0}, {}, choices=Choices(image_size=(100, 80)))
    (row,) = run_batch(tmp_path, tmp_path / "out", settings, jobs=1).rows
    assert "if they are clips, the figures compare different images" in row.message


@pytest.mark.parametrize(
    ("label", "shared"),
    [
        ("train/{}/a", "train/a.JPG"), ("{}/a", "a.png"), ("{}/train/a", "train/a.png"),
        ("train/{}/\u00e9", "train/e\u0301.png"), ("train/{}/e\u0301", "train/\u00e9.png"),
    ],
)  # fmt: skip
def test_one_picture_of_a_label_shows_that_people_share_pictures(tmp_path, label, shared):
    for who in ("ann", "bob"):
        write(tmp_path, **{f"labels/{label.format(who)}.txt": "0 .5 .5 .2 .2\n"})
    picture(tmp_path / "images" / shared)
    data = read_coco(tmp_path)
    assert (data.annotator_names, len(data.image_names)) == (("ann", "bob"), 1)
    assert not of_clips_told(data)


@pytest.mark.parametrize("shared", ["im00", "im29"])
def test_a_picture_of_any_label_shows_that_people_share_pictures(tmp_path, shared):
    names = [f"im{number:02d}" for number in range(30)]
    for who, own in (("ann", "aaa"), ("bob", "bbb"), ("eve", "zzz")):
        write(tmp_path, **{f"labels/{who}/{name}.txt": "" for name in [own, *names]})
        write(tmp_path, **{f"labels/{who}/im15.txt": "0 .5 .5 .2 .2\n"})
    picture(tmp_path / "images" / f"{shared}.png")
    with reading(image_size=(100, 80)):
        data = read_coco(tmp_path)
    assert data.annotator_names == ("ann", "bob", "eve")
    assert not of_clips_told(data)


@pytest.mark.parametrize(("splits", "n_notes"), [(["train"], 1), (["train", "val"], 0)])
def test_people_share_pictures_if_they_do_so_in_each_split(tmp_path, splits, n_notes):
    made(tmp_path, "yolo", "labels/{split}/{who}")
    for split in splits:
        picture(tmp_path / "images" / split / "a.png")
    with reading(image_size=(100, 80)):
        data = read_coco(tmp_path)
    assert (data.annotator_names, len(of_clips_told(data))) == (("ann", "bob"), n_notes)


DRAWINGS = ["pics/{split}/{who}", "set/frames/{split}/{who}", "photos/{who}", "set/images/{who}"]


@pytest.mark.parametrize("place", DRAWINGS)
def test_people_who_share_pictures_may_have_folders_of_pictures_each(tmp_path, place):
    made(tmp_path / "set", "yolo", "labels/{split}/{who}")
    for (split, names), who in product(IMAGES.items(), ("ann", "bob")):
        for name in names:
            drawing = tmp_path / place.format(split=split, who=who) / f"{name}.png"
            picture(drawing, 300, colour=ord(who[0]))
            picture(tmp_path / "set/images" / split / f"{name}.png")
    data = read_coco(tmp_path / "set")
    assert (data.annotator_names, len(data.image_names)) == (("ann", "bob"), 5)
    assert not of_clips_told(data)


@pytest.mark.parametrize("place", DRAWINGS)
@pytest.mark.parametrize("name", ["a", "portrait"])
def test_folders_of_pictures_tell_clips_by_the_pictures_of_their_labels(tmp_path, place, name):
    made(tmp_path / "set", "yolo", "labels/{split}/{who}")
    for split, who in product(IMAGES, ("ann", "bob")):
        picture(tmp_path / place.format(split=split, who=who) / f"{name}.png", colour=ord(who[0]))
    with reading(image_size=(100, 80)):
        data = read_coco(tmp_path / "set", min_annotators=1)
    are_clips = name == "a"
    assert len(data.annotator_names) == (1 if are_clips else 2)
    assert len(of_clips_told(data)) == (not are_clips)


def of_clips(folder, kind, place, clips=(("clip1", "clip2"), ("clip1", "clip2"))):
    """Write labels of frames of clips, of which those of a split have the same names."""
    for split, names in zip(IMAGES, clips, strict=True):
        made(folder, kind, place, names, [split])
    return folder


def typed(note, command="bboxqa agree "):
    """Return the words that a note says to type."""
    return shlex.split(note.partition(command)[2])


def test_people_with_clips_in_a_folder_of_labels_can_be_named(tmp_path):
    for person in ("ann", "bob"):
        made(tmp_path / "labels" / person, "yolo", "{who}", ("day1",), ["train"])
    with reading(image_size=(100, 80)):
        with pytest.raises(DatasetError, match="no annotator is named") as error:
            read_coco(tmp_path)
        words = typed(error.value.advice.splitlines()[-1])
        assert words[::2] == ["--annotator"] * 2
        named = dict(each.split("=") for each in words[1::2])
        assert read_coco(named).annotator_names == ("ann", "bob")


INSIDE = ["{split}/{who}", "labels/{split}/{who}", "{split}/labels/{who}", "{split}2017/{who}"]
OTHER_CLIPS = (("clip1", "clip2"), ("clip3", "clip4"))


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("place", [*INSIDE, "labels/{who}"])
@pytest.mark.parametrize("clips", [(("clip1", "clip2"), ("clip1", "clip2")), OTHER_CLIPS])
def test_people_above_splits_have_clips_inside(tmp_path, kind, place, clips):
    for person in ("ann", "bob"):
        of_clips(tmp_path / person, kind, place, clips)
    paths = [tmp_path / "ann", tmp_path / "bob"]
    n_images = 10 if "split" in place or clips is OTHER_CLIPS else 8
    with reading(image_size=(100, 80), voc_base=0):
        read = [read_coco(each) for each in (tmp_path, paths, {"ann": paths[0], "bob": paths[1]})]
        for data in read:
            assert (data.annotator_names, len(data.image_names)) == (("ann", "bob"), n_images)
            assert rows(data) == rows(read[0])
        (note,) = [each for each in read[0].notes if "read as one annotator" in each]
        assert note.startswith(f"{paths[0]}: folders with labels of images of the same names (")
        assert ") are read as one annotator, and so in 1 other folder; if each is by" in note
        assert {*read_coco(typed(note)).annotator_names} == {
            name for each in clips for name in each
        }
        assert not any("as one annotator" in each for each in read[2].notes)


@pytest.mark.parametrize("kind", FORMATS)
def test_a_folder_of_a_named_person_may_be_around_the_data_set(tmp_path, kind):
    paths = [tmp_path / person for person in ("ann", "bob")]
    for path in paths:
        of_clips(path / "export", kind, "labels/{split}/{who}")
    with reading(image_size=(100, 80)):
        for source in (paths, {"ann": paths[0], "bob": paths[1]}):
            data = read_coco(source)
            assert (data.annotator_names, len(data.image_names)) == (("ann", "bob"), 10)


@pytest.mark.parametrize("pictures", ["images/train", "{}/images/train"])
def test_pictures_of_clips_may_be_beside_people(tmp_path, pictures):
    for person, clip in product(("ann", "bob"), ("clip1", "clip2")):
        made(tmp_path / person, "yolo", "labels/{split}/{who}", [clip], ["train"])
        for name in IMAGES["train"]:
            frame = tmp_path / pictures.format(person) / clip / f"{name}.png"
            picture(frame, colour=9 * (clip == "clip1"))
    data = read_coco(tmp_path)
    assert (data.annotator_names, len(data.image_names)) == (("ann", "bob"), 6)
    assert not any("one annotator" in each for each in data.notes)
    assert len(list_files([tmp_path / "ann"])) == 1


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("place", INSIDE)
def test_folders_in_splits_that_may_be_clips_are_told(tmp_path, kind, place):
    path = made(tmp_path / "a set", kind, place)
    with reading(image_size=(100, 80), voc_base=0):
        data = read_coco(path)
        convert(path, tmp_path / "all.json", to="coco")
        (note,) = [each for each in data.notes if "one annotator" in each]
        assert note in validate(path).notes
        folders = ", ".join(place.format(split="train", who=who) for who in ("ann", "bob"))
        assert note == (
            f"{path}: folders with labels of images of the same names ({folders}) count as one "
            "annotator each; if they are clips or other parts of one annotator's work, name that "
            f"annotator in convert, or beside others in agree: --annotator 'NAME={path}'"
        )
        (option,) = typed(note, "--annotator ")
        name, _, folder = option.partition("=")
        convert({name: folder}, tmp_path / "one.json", to="coco")
        whole = read_coco(tmp_path / "one.json", min_annotators=1)
        other = made(tmp_path / "other", kind, place)
        others = agree(read_coco({name: folder, "OTHER": other}), bootstrap=0)
    assert data.annotator_names == read_coco(tmp_path / "all.json").annotator_names
    assert (whole.annotator_names, len(whole.image_names)) == (("NAME",), 10)
    assert others.existence.f1 == 1


def test_a_note_on_folders_in_splits_looks_at_each_once(tmp_path, monkeypatch):
    path = made(tmp_path, "yolo", "{split}/{who}")
    listed, real = [], os.scandir
    monkeypatch.setattr(os, "scandir", lambda folder: listed.append(folder) or real(folder))
    with results_kept():
        assert people_among(folders_in_parts(path))
        assert listed
        listed.clear()
        assert of_one([path])
    assert not listed


@pytest.mark.parametrize("people", [["ann", "bob"], [""]])
def test_notes_on_folders_in_splits_hide_names(tmp_path, people):
    key, path = tmp_path / "key.json", tmp_path / "set"
    for person in people:
        of_clips(path / person, "labelme", "{split}/{who}")
    (note,) = [each for each in read_coco(path, pseudonyms=key).notes if "one annotator" in each]
    assert not any(name in note for name in ("ann,", "bob", "clip1", "clip2"))
    end = "agree FOLDER FOLDER …" if len(people) > 1 else "agree: --annotator NAME=FOLDER"
    assert note.endswith(end)


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("place", INSIDE)
def test_splits_without_a_folder_in_common_do_not_say_who_drew_what(tmp_path, kind, place):
    path = of_clips(tmp_path / "set", kind, place, OTHER_CLIPS)
    with reading(image_size=(100, 80), voc_base=0):
        with pytest.raises(DatasetError, match="no annotator is named in the files") as error:
            read_coco(path)
        (advice,) = [each for each in error.value.advice.split("\n") if "read as one" in each]
        assert advice in validate(path).notes
        data = read_coco(path, min_annotators=1)
        people = read_coco(typed(advice))
    assert (len(data.annotator_names), len(data.image_names)) == (1, 10)
    assert (len(people.annotator_names), len(people.image_names)) == (4, 5)


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("place", INSIDE)
@pytest.mark.parametrize("others", [["ann"], ["ann", "cid"]])
def test_some_people_may_have_only_one_of_the_splits(tmp_path, kind, place, others):
    made(tmp_path, kind, place, splits=["train"])
    made(tmp_path, kind, place, others, ["val"])
    with reading(image_size=(100, 80)):
        data = read_coco(tmp_path)
    assert data.annotator_names == tuple(sorted({"ann", "bob", *others}))
    assert [*asked(data).values()] == [["ann", "bob"]] * 3 + [others] * 2


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize(
    "splits", [("train", "val"), ("train2017", "val2017"), ("Training", "test")]
)
def test_splits_of_nobody_are_one_source_whatever_they_are_called(tmp_path, kind, splits):
    label, end = FORMATS[kind]
    for split in splits:
        write(tmp_path, **{f"{split}/a.{end}": label("a", (10, 10, 20, 20))})
    with reading(image_size=(100, 80)):
        data = read_coco(tmp_path, min_annotators=1)
    assert list_files([tmp_path]) == [tmp_path]
    assert {each.removesuffix(".jpg") for each in data.image_names} == {f"{s}/a" for s in splits}


def test_splits_of_which_one_is_of_nobody_are_one_source(tmp_path):
    made(tmp_path, "labelme", "{split}/{who}", splits=["train"])
    made(tmp_path, "labelme", "{split}", people=["nobody"], splits=["val"])
    with pytest.raises(DatasetError, match="no annotator is named in the files"):
        read_coco(tmp_path)


def test_people_in_splits_are_validated_and_converted(tmp_path):
    made(tmp_path / "set", "voc", "{split}/{who}")
    assert len(validate(tmp_path / "set").files) == 4
    convert(tmp_path / "set", tmp_path / "all.json", to="coco")
    assert drawn(read_coco(tmp_path / "all.json")) == drawn(read_coco(tmp_path / "set"))


@pytest.mark.parametrize("name", ["labels", "test"])
def test_many_folders_inside_of_each_other_are_refused(tmp_path, monkeypatch, name):
    root = tmp_path / name
    root.mkdir()
    monkeypatch.chdir(root)
    for _ in range(560):
        os.mkdir(name)  # noqa: PTH102 - the path is too long for one name
        os.chdir(name)
    write(Path(), **{"a.txt": "0 .5 .5 .1 .1"})
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DatasetError, match="in this folder is of a known format"):
        read_coco(name)


def test_projects_of_people_in_splits_are_told_where_they_share_no_image(tmp_path):
    made(tmp_path / "p", "labelme", "{split}/{who}", splits=["train"])
    made(tmp_path / "q", "labelme", "{split}/{who}", splits=["val"])
    for path in (tmp_path / "p").rglob("a.json"):
        path.unlink()
    with pytest.raises(DatasetError, match="no image has two of them") as error:
        read_coco(tmp_path)
    assert read_coco(typed(error.value.advice)).annotator_names == ("ann", "bob")


def test_batch_measures_and_notes_what_agree_does(tmp_path):
    root = tmp_path / "root"
    made(root / "p", "labelme", "{split}/{who}")
    for person in ("cid", "dan"):
        of_clips(root / "q" / person, "labelme", "{split}/{who}")
    found = run_batch(root, tmp_path / "out", Settings({"bootstrap": 0}, {}), jobs=1).rows
    # Whether folders in splits are clips or people is not known: the notes tell.
    names = ["p", "q/cid", "q/dan"]
    taken = "folders inside of splits or of labels count as annotators; if they are clips, "
    beside = (
        "this project and those beside it may be by one person each: run bboxqa agree on the "
        "folder q"
    )
    ends = ("the figures compare different images", beside, beside)
    assert [each.message.rpartition("; folders")[2] for each in found] == [
        f"{taken}{end}".removeprefix("folders") for end in ends
    ]
    table = (tmp_path / "out/projects.csv").read_text()
    assert table.count(taken) == (tmp_path / "out/index.html").read_text().count(taken) == 3
    assert [(each.project, each.status, each.n_images) for each in found] == [
        (name, "measured", 5) for name in names
    ]
    for name in names:
        folder = tmp_path / "out/projects" / name.replace("/", "%2F")
        summary = json.loads((folder / "summary.json").read_bytes())
        data = read_coco(root / name)
        notes = [
            [n for n in each if "one annotator" in n] for each in (summary["notes"], data.notes)
        ]
        assert len(notes[0]) == 1
        assert notes[0] == notes[1]


def test_batch_does_not_doubt_people_who_share_pictures(tmp_path):
    for project in ("p", "client/q"):
        made(tmp_path / "root" / project, "yolo", "labels/{split}/{who}")
        for split, names in IMAGES.items():
            for name in names:
                picture(tmp_path / "root" / project / "images" / split / f"{name}.png")
    found = run_batch(tmp_path / "root", tmp_path / "out", Settings({"bootstrap": 0}, {})).rows
    assert [each.annotators for each in found] == [("ann", "bob")] * 2
    assert not any("clips" in each.message for each in found)
