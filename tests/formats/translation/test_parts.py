"""Folders of formats with a file for each image: which are one person's."""

import shlex
import shutil
from itertools import product
from pathlib import Path

import pytest
from support.cli import run
from support.tool_files import asked, write

from bboxqa import convert, read_coco, reading
from bboxqa.core.errors import DatasetError
from bboxqa.formats.dataset.people.named_after import named_after
from bboxqa.formats.inputs import list_files


def labelme(name):
    """Return a file of LabelMe about an image."""
    shape = {"label": "cat", "points": [[1, 2], [30, 40]], "shape_type": "rectangle"}
    size = {"imageHeight": 80, "imageWidth": 100}
    return {"version": "5", "shapes": [shape], "imagePath": f"{name}.jpg", "imageData": None} | size


def voc(name):
    """Return a file of Pascal VOC about an image."""
    corners = "".join(f"<{key}>{x}</{key}>" for key, x in CORNERS.items())
    size = "<size><width>100</width><height>80</height></size>"
    return (
        f"<annotation><filename>{name}.jpg</filename>{size}"
        f"<object><name>cat</name><bndbox>{corners}</bndbox></object></annotation>"
    )


def darwin(name):
    """Return a file of V7 Darwin about an image."""
    slot = {"type": "image", "slot_name": "0", "width": 100, "height": 80}
    shape = {"name": "cat", "bounding_box": {"x": 1, "y": 2, "w": 3, "h": 4}}
    item = {"name": f"{name}.jpg", "path": "/", "slots": [slot]}
    return {"version": "2.0", "item": item, "annotations": [shape]}


CORNERS = {"xmin": 1, "ymin": 2, "xmax": 30, "ymax": 40}
FORMATS = [(labelme, ".json"), (voc, ".xml"), (darwin, ".json")]


@pytest.fixture(params=FORMATS, ids=lambda each: each[0].__name__)
def project(request, tmp_path):
    """Return a folder with ann/batch1/1 and 2, ann/batch2/3 and 4, and those of bob."""
    text, suffix = request.param
    for number in range(1, 5):
        for who in ("ann", "bob"):
            name = f"{who}/batch{(number + 1) // 2}/{number}{suffix}"
            write(tmp_path, **{name: text(str(number))})
    return tmp_path


def test_batches_of_a_person_are_one_source(project):
    data = read_coco(project)
    assert data.annotator_names == ("ann", "bob")
    assert (len(data.image_names), len(data.annotations)) == (4, 8)


def test_batches_are_one_source_where_people_are_given_one_by_one(project):
    assert read_coco([project / "ann", project / "bob"]).annotator_names == ("ann", "bob")
    named = read_coco({"x": project / "ann", "y": project / "bob"})
    assert (named.annotator_names, len(named.annotations)) == (("x", "y"), 8)


def test_files_of_one_image_are_no_people(project):
    files = sorted(path for path in project.rglob("*.*") if path.is_file())
    with pytest.raises(DatasetError, match="each file is about one image") as error:
        read_coco(files)
    named = f"bboxqa agree --annotator ann={project}/ann --annotator bob={project}/bob\n"
    assert f"\nIf ann, bob are the annotators: {named}" in str(error.value)
    assert len(read_coco(files, attribution="files").annotator_names) == 8
    # Two files of one image in one folder may be by two people.
    assert len(read_coco([files[0], files[4]]).annotator_names) == 2


def test_folders_of_files_of_one_image_are_named_in_a_refusal(tmp_path):
    for place, name in product(("day1/ann", "day1/bob", "day2/ann", "day2/eve"), "xy"):
        write(tmp_path, **{f"{place}/{place[:4]}{name}.json": labelme(f"{place[:4]}{name}")})
    with pytest.raises(DatasetError, match="each file is about one image") as error:
        read_coco(tmp_path)
    places = ["ann=day1/ann", "ann=day2/ann", "bob=day1/bob", "eve=day2/eve"]
    typed = " ".join(f"--annotator {each}" for each in places).replace("=", f"={tmp_path}/")
    assert f"\nIf ann, bob, eve are the annotators: bboxqa agree {typed}\n" in str(error.value)
    days = f"--annotator day1={tmp_path}/day1 --annotator day2={tmp_path}/day2"
    assert f"\nIf day1, day2 are the annotators: bboxqa agree {days}\n" in str(error.value)
    done = run("agree", *shlex.split(typed))
    assert "4 images, 3 annotators, 8 annotations" in done.stdout
    data = read_coco([tmp_path / "day1", tmp_path / "day2"])
    assert data.annotator_names == ("day1/ann", "day1/bob", "day2/ann", "day2/eve")
    assert any("in several folders (ann)" in each for each in data.notes)


@pytest.mark.parametrize("bob", ["../bob", "absolute"])
def test_folders_without_a_name_are_not_typed(tmp_path, monkeypatch, bob):
    for place in ("ann/1", "ann/2", "bob/1", "bob/2"):
        write(tmp_path, **{f"{place}.json": labelme(place[-1])})
    monkeypatch.chdir(tmp_path / "ann")
    others = tmp_path / "bob" if bob == "absolute" else Path(bob)
    with pytest.raises(DatasetError, match="Put the files of each person in one folder"):
        read_coco([*Path().glob("*.json"), *others.glob("*.json")])


def test_a_folder_is_not_named_beside_one_inside_of_it(tmp_path):
    for place in ("ann/1", "ann/2", "ann/more/1", "ann/more/2"):
        write(tmp_path, **{f"{place}.json": labelme(place[-1])})
    with pytest.raises(DatasetError, match="Put the files of each person in one folder"):
        read_coco(sorted(tmp_path.rglob("*.json")))


def test_batches_whose_files_have_one_name_are_refused(tmp_path):
    for place in ("ann/batch1/1", "ann/batch1/2", "ann/batch2/1", "bob/batch1/1", "bob/batch2/1"):
        write(tmp_path, **{f"{place}.json": labelme(place[-1])})
    with pytest.raises(DatasetError, match="If ann, bob are the annotators: ") as error:
        read_coco(tmp_path)
    typed = error.value.advice.partition("bboxqa agree ")[2].partition("\n")[0]
    done = run("agree", *shlex.split(typed))
    # Only one of them has the second image of the first batch.
    assert "2 images, 2 annotators, 4 annotations" in done.stdout


def table(*images, x=1):
    """Return a table with a box in each image."""
    return "\n".join(["image,label,x,y,w,h", *(f"{each},cat,{x},2,30,40" for each in images), ""])


def coco(*images, x=1):
    """Return a file of COCO JSON with a box in each image."""
    numbered = [*enumerate(images, start=1)]
    size = {"width": 100, "height": 80}
    return {
        "images": [{"id": n, "file_name": each, **size} for n, each in numbered],
        "annotations": [
            {"id": n, "image_id": n, "category_id": 1, "bbox": [x, 2, 30, 40]} for n, _ in numbered
        ],
        "categories": [{"id": 1, "name": "cat"}],
    }


@pytest.mark.parametrize(("text", "suffix"), [(table, "csv"), (coco, "json")])
def test_folders_with_files_of_the_same_names_are_people(tmp_path, text, suffix):
    for x, who in enumerate(("ann", "bob")):
        for part in ("street", "park"):
            place = f"{who}/annotations/{part}.{suffix}"
            write(tmp_path, **{place: text(f"{part}.jpg", f"{part}2.jpg", x=x)})
    data = read_coco(tmp_path)
    assert (data.annotator_names, data.attribution) == (("ann", "bob"), "one folder per annotator")
    assert (len(data.annotations), data.assigned.sum(1).tolist()) == (8, [2] * 4)
    assert len(read_coco(tmp_path, attribution="files").annotator_names) == 4


LAYOUTS = (
    "{who}/{split}.json", "{who}/annotations/instances_{split}2017.json", "{split}/{who}.json",
    "{who}/{split}/_annotations.coco.json", "{split}/{who}/labels.json", "{who}_{split}.json",
    "{split}_{who}.json", "instances_{split}_{who}.json", "{split}/{who}/{split}.json",
)  # fmt: skip


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("is_named_once", [True, False])
def test_splits_are_no_people(tmp_path, layout, is_named_once):
    for x, who in enumerate(("ann", "bob")):
        for split in ("train", "val"):
            names = [f"{split if is_named_once else ''}{number}.jpg" for number in range(3)]
            place = layout.format(who=who, split=split)
            write(tmp_path, **{place: coco(*names, x=(10 if split == "val" else 1) + x)})
    data = read_coco(tmp_path)
    assert (data.annotator_names, len(data.annotations)) == (("ann", "bob"), 12)
    assert data.attribution == "names of files and folders without splits (train, val)"
    # A train/0.jpg and a val/0.jpg are two pictures.
    assert (len(data.image_names), data.assigned.sum(1).tolist()) == (6, [2] * 6)
    assert data.image_names[0] == ("train0.jpg" if is_named_once else "train/0.jpg")
    called = [note for note in data.notes if "another split has images of the same names" in note]
    assert len(called) == (0 if is_named_once else 2)
    convert(tmp_path, tmp_path / "out/all.json", to="coco")
    assert read_coco(tmp_path / "out/all.json").image_names == data.image_names


@pytest.mark.parametrize("layout", ["{split}.json", "{split}/_annotations.coco.json"])
def test_splits_without_people_are_one_data_set(tmp_path, layout):
    for split in ("train", "valid", "test"):
        write(tmp_path, **{layout.format(split=split): coco("0.jpg", x=len(split))})
    with pytest.raises(DatasetError, match="no annotator is named in the files") as error:
        read_coco(tmp_path)
    assert "named as splits of one data set (test, train, val)" in error.value.advice
    assert len(read_coco(tmp_path, attribution="files").annotator_names) == 3
    whole = read_coco(tmp_path, min_annotators=1)
    assert (len(whole.image_names), len(whole.annotator_names)) == (3, 1)


@pytest.mark.parametrize(
    ("files", "people"),
    [
        (("ann.json", "val.json"), ("ann", "val")),
        (("ann_train.json", "bob_val.json"), ("ann_train", "bob_val")),
        (("ann_val.json", "bob_val.json"), ("ann_val", "bob_val")),
    ],
)
def test_names_like_splits_may_be_people(tmp_path, files, people):
    for x, name in enumerate(files):
        write(tmp_path, **{name: coco("0.jpg", x=x)})
    assert read_coco(tmp_path).annotator_names == people


def test_splits_that_name_nobody_are_no_people(tmp_path):
    for x, who in enumerate(("ann", "bob")):
        for split in ("train", "val"):
            rows = table(f"{split}.jpg", x=x).replace("image,", "annotator,image,", 1)
            write(tmp_path, **{f"{who}/{split}.csv": rows.replace("\n", "\n,").rstrip(",")})
    assert read_coco(tmp_path).annotator_names == ("ann", "bob")


def test_files_that_name_annotators_may_have_any_names(tmp_path):
    for number, place in enumerate(("train", "val", "ann_train", "more")):
        content = coco(f"{number}.jpg", f"{number}.jpg")
        content["images"].pop()
        for who, each in zip(("ann", "bob"), content["annotations"], strict=True):
            each |= {"image_id": 1, "annotator": who}
        write(tmp_path, **{f"{place}.json": content})
    data = read_coco(tmp_path)
    assert (data.annotator_names, data.assigned.sum(1).tolist()) == (("ann", "bob"), [2] * 4)


@pytest.mark.parametrize(
    ("places", "names"),
    [
        (("ann/annotations/x.json", "bob/annotations/x.json"), ("ann", "bob")),
        (("ann/annotations/x.json", "bob/x.json"), ("ann", "bob")),
        (("ann/annotations/x.json", "ann/x.json"), ("ann", "annotations")),
    ],
)
def test_a_folder_of_annotations_names_nobody(tmp_path, places, names):
    for x, place in enumerate(places):
        write(tmp_path, **{place: coco("0.jpg", x=x)})
    found = read_coco(tmp_path).annotator_names
    assert tuple(name.removeprefix(f"{tmp_path.name}/") for name in found) == names


def test_splits_may_be_named_by_relative_and_absolute_paths(tmp_path, monkeypatch):
    for x, name in enumerate(("ann/train", "ann/val", "bob/train", "bob/val")):
        write(tmp_path, **{f"{name}.json": coco(f"{name[4:]}.jpg", x=x)})
    monkeypatch.chdir(tmp_path / "ann")
    files = ["train.json", tmp_path / "ann/val.json", "../bob/train.json", "../bob/val.json"]
    assert read_coco(files).annotator_names == ("ann", "bob")


@pytest.mark.parametrize("is_same", [True, False])
def test_splits_may_be_by_different_people(tmp_path, is_same):
    images = {"train": "x.jpg", "val": "x.jpg" if is_same else "y.jpg"}
    for x, place in enumerate(("train/ann", "train/bob", "val/dan", "val/eve")):
        write(tmp_path, **{f"{place}.json": coco(images[place.split("/")[0]], x=x)})
    data = read_coco(tmp_path)
    assert data.annotator_names == ("ann", "bob", "dan", "eve")
    names = ("train/x.jpg", "val/x.jpg") if is_same else ("x.jpg", "y.jpg")
    assert asked(data) == {names[0]: ["ann", "bob"], names[1]: ["dan", "eve"]}


def test_folders_of_days_are_no_people(tmp_path):
    for day in ("day1", "day2"):
        for who in ("ann", "bob"):
            write(tmp_path, **{f"{day}/{who}.json": coco(f"{day}.jpg")})
    data = read_coco(tmp_path)
    assert data.annotator_names == ("ann", "bob")
    assert data.attribution == "files of one name per annotator"
    assert data.assigned.sum(1).tolist() == [2, 2]


def of_two_days(folder):
    """Write files of ann on two days, with another person on each; return the folder."""
    for day, other in (("day1", "bob"), ("day2", "eve")):
        for x, who in enumerate(("ann", other)):
            write(folder, **{f"{day}/{who}.json": coco(f"{day}.jpg", x=x)})
    return folder


def test_one_name_in_folders_of_days_may_be_one_person(tmp_path):
    data = read_coco(of_two_days(tmp_path))
    assert data.annotator_names == ("day1/ann", "day1/bob", "day2/ann", "day2/eve")
    places = ("day1/ann", "day2/ann", "day1/bob", "day2/eve")
    files = [(place[5:], tmp_path / f"{place}.json") for place in places]
    options = [f"--annotator {name}={path}" for name, path in files]
    assert data.notes[-1] == (
        "files of one name in several folders (ann) count as annotators of their own; if one "
        f"person made them: bboxqa agree {' '.join(options)}"
    )
    # What the note advises.
    source = {}
    for name, path in files:
        source.setdefault(name, []).append(path)
    named = read_coco(source)
    assert named.annotator_names == ("ann", "bob", "eve")
    assert asked(named) == {"day1.jpg": ["ann", "bob"], "day2.jpg": ["ann", "eve"]}
    assert not any("in several folders" in each for each in named.notes)


def test_one_name_is_not_said_with_pseudonyms(tmp_path):
    key = tmp_path / "key.json"
    data = read_coco(of_two_days(tmp_path / "in"), pseudonyms=key)
    (note,) = (each for each in data.notes if "in several folders" in each)
    assert note.endswith("bboxqa agree --annotator NAME=FILE --annotator NAME=FILE …")
    assert "ann" not in note.replace("annotator", "")


@pytest.mark.parametrize(
    "images",
    [
        # Both have the image x: they are not one person's, or two versions.
        {"day1/ann": "x", "day1/bob": "x", "day2/ann": "x", "day2/eve": "x"},
        {"day1/ann": "x", "day1/bob": "x", "day2/eve": "y", "day2/dan": "y"},
    ],
)
def test_one_name_in_several_folders_is_no_person_otherwise(tmp_path, images):
    for x, (place, names) in enumerate(images.items()):
        write(tmp_path, **{f"{place}.json": coco(*names, x=x)})
    assert not any("in several folders" in each for each in read_coco(tmp_path).notes)


def test_files_are_people_where_no_folder_has_two(tmp_path):
    for place in ("a/1", "b/1"):
        write(tmp_path, **{f"{place}.json": coco("x", x=int(place == "a/1"))})
    data = read_coco(tmp_path)
    assert (data.annotator_names, data.attribution) == (("a", "b"), "one file per annotator")
    assert data.notes == ()


@pytest.mark.parametrize(
    ("images", "taken"),
    [
        # Each pass may be by one person, or by two.
        (
            {"pass1/ann": "a", "pass1/bob": "b", "pass2/cid": "a", "pass2/dan": "b"},
            "files of one folder count as one annotator's (pass1, pass2), ",
        ),
        # Or each person may have made both passes.
        (
            {"pass1/ann": "a", "pass1/bob": "b", "pass2/ann": "a", "pass2/bob": "b"},
            "files of one folder count as one annotator's (pass1, pass2), ",
        ),
        (
            {"day1/ann": "a", "day1/bob": "a", "day2/ann": "b", "day2/bob": "b"},
            "files of one name count as one annotator's (ann, bob), ",
        ),
        (
            {"ann/1": "a", "ann/2": "b", "bob/3": "b", "bob/4": "c"},
            "files of one folder count as one annotator's (ann, bob), ",
        ),
    ],
)
def test_a_note_says_how_images_tell_who_made_files(tmp_path, images, taken):
    for x, (place, each) in enumerate(images.items()):
        write(tmp_path, **{f"{place}.json": coco(each, x=x)})
    data = read_coco(tmp_path)
    assert len(data.annotator_names) == 2
    paths = [str(tmp_path / f"{place}.json") for place in images]
    options = " ".join(f"--annotator NAME={path}" for path in paths)
    assert (
        f"{taken}since they are about different images; if each is by another annotator: bboxqa "
        f"agree --attribution files {' '.join(paths)}; otherwise: bboxqa agree {options}"
    ) in data.notes
    # What the note advises.
    apart = read_coco(paths, attribution="files")
    assert len(apart.annotator_names) == 4
    named = read_coco({f"p{n}": tmp_path / f"{place}.json" for n, place in enumerate(images)})
    assert named.annotator_names == ("p0", "p1", "p2", "p3")
    assert not any("count as one annotator's" in each for each in (*apart.notes, *named.notes))


def test_a_note_on_people_in_folders_has_pseudonyms(tmp_path):
    for x, place in enumerate(("first/anna", "first/bert", "again/carl", "again/dora")):
        write(tmp_path, **{f"in/{place}.json": coco("ab"[x % 2], x=x)})
    data = read_coco(tmp_path / "in", pseudonyms=tmp_path / "key.json")
    (note,) = (each for each in data.notes if "count as one annotator's" in each)
    assert f"({', '.join(data.annotator_names)}), since" in note
    assert note.endswith(
        "bboxqa agree --attribution files FILE FILE …; otherwise: bboxqa agree "
        "--annotator NAME=FILE --annotator NAME=FILE …"
    )


def test_no_note_says_that_files_of_a_split_are_by_several_people(tmp_path):
    for x, place in enumerate(("train/ann", "train/bob", "val/eve")):
        write(tmp_path, **{f"{place}.json": coco("x", x=x)})
    assert not any("of one folder" in each for each in read_coco(tmp_path).notes)


def drawn(*images, x=0, y=0):
    """Return a file of COCO JSON with another box in each image."""
    content = coco(*images, x=1 + x)
    for each in content["annotations"]:
        each["bbox"][1] += each["id"] + y
    return content


@pytest.mark.parametrize("n_copied", [19, 20, 25, 26])
@pytest.mark.parametrize("other", ["ann/2", "bob/3", "all"])
def test_a_warning_tells_of_files_with_the_same_boxes(tmp_path, other, n_copied):
    """Both people may have kept the proposals of a machine, in a folder as elsewhere."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    files = {"ann/1": letters, other: letters, "bob/4": letters[:n_copied]}
    for x, (place, images) in enumerate(files.items()):
        write(tmp_path, **{f"{place}.json": drawn(*images, x=min(x, 1), y=5 * (place == "ann/1"))})
    data = read_coco(tmp_path)
    assert len(data.annotator_names) == 3
    same = f"have the same {n_copied} annotations on the {n_copied} images that both have: "
    found = [each for each in data.headlines if same in each]
    assert [each.endswith("copies or splits of one data set?") for each in found] == (
        [True] if n_copied >= 20 else []
    )


def test_folders_are_refused_where_it_is_not_sure_who_drew_what(tmp_path):
    # As in two rounds: two files of a folder share images, and so do two of one name.
    for x, place in enumerate(("pre/ann", "pre/bob", "post/ann", "post/bob")):
        write(tmp_path, **{f"{place}.json": coco("x", "y", x=x)})
    with pytest.raises(DatasetError) as error:
        read_coco(tmp_path)
    assert str(error.value) == (
        f"{tmp_path}/post: has several files with the same names as in another folder (ann.json, "
        "bob.json), which do not say who drew what; expected one file of each person\n"
        "If each folder is by one person, read one file of each, such as: --pattern ann.json\n"
        "If the folders have parts of one person's work each, such as clips:\n"
        f"bboxqa agree --annotator post={tmp_path}/post --annotator pre={tmp_path}/pre\n"
        "If each folder is a session, name the files of each person, those of the first session "
        f"first:\nbboxqa agree --annotator ann={tmp_path}/post/ann.json "
        f"--annotator ann={tmp_path}/pre/ann.json --annotator bob={tmp_path}/post/bob.json "
        f"--annotator bob={tmp_path}/pre/bob.json --session-key file\n"
        "If the folders are two versions of one data set: "
        f"bboxqa compare {tmp_path}/post {tmp_path}/pre\n"
        "If each file is by another person: --attribution files"
    )
    assert len(read_coco(tmp_path, attribution="files").annotator_names) == 4
    write(tmp_path, **{"last/ann.json": coco("x", "y"), "last/bob.json": coco("x", "y")})
    with pytest.raises(DatasetError) as error:
        read_coco(tmp_path)
    assert f"--annotator bob={tmp_path}/last/bob.json … --session-key file" in error.value.advice
    assert "bboxqa compare" not in error.value.advice


@pytest.mark.parametrize(
    ("places", "names"),
    [
        ("ann/train ann/val bob/all cid/all", ("ann", "bob", "cid")),
        ("batch1/ann/a batch2/ann/a batch1/bob/a batch2/bob/a", ("ann", "bob")),
        ("in/ann/train in/ann/val out/bob/train out/bob/val out/cid", ("ann", "bob", "cid")),
        (
            "in/ann/train in/ann/val out/bob/train out/bob/val out/cid/all",
            ("in/ann", "out/bob", "out/cid/all"),
        ),
        ("in/ann/train in/ann/val out/bob/train out/bob/val", ("in/ann", "out/bob")),
    ],
)
def test_people_in_folders_have_the_shortest_name_that_tells_them_apart(tmp_path, places, names):
    for place in places.split():
        images = {"train": "x", "val": "y", "batch1": "x", "batch2": "y"}
        found = [image for part, image in images.items() if part in place.split("/")]
        write(tmp_path, **{f"{place}.json": coco(*(found or ["x", "y"]))})
    assert read_coco(tmp_path).annotator_names == names
    # The key has the same names before the images of files are known.
    parts, _ = named_after([tmp_path / f"{place}.json" for place in places.split()])
    assert {*names} <= set().union(*parts)


def test_files_of_a_person_who_is_named_may_be_sessions(tmp_path):
    rounds = ("pre", "post")
    for x, place in enumerate(("pre/ann", "pre/bob", "post/ann", "post/bob"), start=10):
        write(tmp_path, **{f"{place}.json": coco("x", "y" if x < 13 else "z", x=x)})
    source = {who: [tmp_path / each / f"{who}.json" for each in rounds] for who in ("ann", "bob")}
    data = read_coco(source, session_key="file")
    # Bob annotated y and z once each.
    cells = zip(data.annotations.image, data.annotations.annotator, strict=True)
    names = [f"{data.image_names[image]}{data.annotator_names[who]}" for image, who in cells]
    left = dict(zip(names, data.annotations.bbox[:, 0].tolist(), strict=True))
    assert left == {"xann": 10, "xbob": 11, "yann": 10, "ybob": 11, "zbob": 13}
    assert data.repeats.sessions.image_names == ("x", "x", "y")
    assert sorted(data.repeats.sessions.annotations.bbox[:, 0].tolist()) == [10, 10, 11, 12, 12, 13]
    source["ann"].reverse()
    data = read_coco(source, session_key="file")
    is_ann = data.annotations.annotator == 0
    assert {*data.annotations.bbox[is_ann, 0].tolist()} == {12}


@pytest.mark.parametrize(
    ("files", "people"),
    [
        # Eve has a file for all splits; bob has one more part than ann.
        ({"ann/train": "x", "ann/val": "y", "bob/train": "x", "eve": "xy"}, ("ann", "bob", "eve")),
        ({"train/ann_train": "x", "val/ann_val": "y", "train/bob_train": "x"}, ("ann", "bob")),
        ({"ann/1": "x", "ann/2": "y", "bob/1": "x", "bob/2": "y", "bob/3": "z"}, ("ann", "bob")),
        # Each person has another split of the same pictures.
        (
            {"ann/train": "xy", "ann/val": "z", "bob/train": "xz", "bob/val": "y"},
            ("ann", "bob"),
        ),
    ],
)
def test_parts_may_be_uneven(tmp_path, files, people):
    for x, (place, images) in enumerate(files.items()):
        write(tmp_path, **{f"{place}.json": coco(*images, x=x)})
    data = read_coco(tmp_path)
    assert data.annotator_names == people
    assert set(data.image_names) <= {"x", "y", "z"}


@pytest.mark.parametrize(
    ("files", "beside"),
    [
        # Eve's image may be any of two pictures.
        (("ann/train", "ann/val", "bob/train", "bob/val", "eve"), "beside {}/eve.json, which is"),
        (("train", "val", "bob"), "beside {}/bob.json, which is none"),
        (("train", "val", "ann_train"), "and not all splits name their annotators"),
        (("ann/train", "ann/val", "ann/all", "bob/train"), "beside {}/ann/all.json, which is none"),
    ],
)
def test_splits_are_refused_where_it_is_not_sure_who_made_which(tmp_path, files, beside):
    for x, name in enumerate(files):
        write(tmp_path, **{f"{name}.json": coco("x", x=x)})
    with pytest.raises(DatasetError, match="named as a split of a data set") as error:
        read_coco(tmp_path)
    assert beside.format(tmp_path) in str(error.value)
    assert "--annotator NAME=FOLDER --annotator NAME=FILE" in error.value.advice
    assert len(read_coco(tmp_path, attribution="files").annotator_names) == len(files)


@pytest.mark.parametrize(
    "files",
    [
        # Parts of a person are in splits, or beside these.
        {"train_1": "a", "train_2": "b", "val_1": "c"},
        {"train_street": "a", "train_park": "b", "val_street": "c", "val_park": "d"},
        {"split_train": "a", "split_val": "b", "dev": "c"},
        {"train": "a", "val": "b", "dev": "c"},
        {"train": "a", "val": "b", "train/more": "c"},
        # Images of two splits have one name.
        {"train_1": "a", "train_2": "b", "val_1": "a", "val_2": "b"},
    ],
)
def test_parts_of_a_person_in_splits_are_no_people(tmp_path, files):
    for x, who in enumerate(("ann", "bob")):
        for n, (place, images) in enumerate(files.items()):
            write(tmp_path, **{f"{who}/{place}.json": coco(*images, x=10 * n + x)})
    data = read_coco(tmp_path)
    assert (data.annotator_names, data.attribution) == (("ann", "bob"), "one folder per annotator")
    n_images = sum(map(len, files.values()))
    assert (len(data.annotations), data.assigned.sum(1).tolist()) == (2 * n_images, [2] * n_images)


@pytest.mark.parametrize(
    "files",
    [
        # Files of a folder are about the same images.
        {"train_1": "ab", "train_2": "ab", "val_1": "c"},
        {"train": "a", "val": "b", "train/more": "b"},
    ],
)
def test_parts_in_splits_are_refused_where_it_is_not_sure(tmp_path, files):
    for x, who in enumerate(("ann", "bob")):
        for place, images in files.items():
            write(tmp_path, **{f"{who}/{place}.json": coco(*images, x=x)})
    with pytest.raises(DatasetError, match="which may be by one person or by several") as error:
        read_coco(tmp_path)
    assert "--annotator NAME=FOLDER --annotator NAME=FILE" in error.value.advice


def test_days_in_splits_are_no_people(tmp_path):
    for split in ("train", "val"):
        for day in ("day1", "day2"):
            for x, who in enumerate(("ann", "bob")):
                place = f"{split}/{day}/{who}.json"
                write(tmp_path, **{place: coco(f"{split}{day}.jpg", x=x)})
    data = read_coco(tmp_path)
    assert data.annotator_names == ("ann", "bob")
    assert data.attribution == "files of one name per annotator"
    assert data.assigned.sum(1).tolist() == [2] * 4


@pytest.mark.parametrize(
    "files",
    [
        {"ann/1": "a", "ann/2": "b", "bob/3": "b", "bob/4": "a"},
        {"ann/1": "a", "ann/2": "b", "bob/1": "ab", "bob/3": "c"},
        {"ann/x/1": "a", "ann/y/2": "b", "bob/3": "b", "bob/4": "a"},
    ],
)
@pytest.mark.parametrize("is_packed", [True, False])
def test_folders_with_files_of_other_names_are_people(tmp_path, files, is_packed):
    for x, (place, images) in enumerate(files.items()):
        write(tmp_path, **{f"in/{place}.json": coco(*images, x=x)})
    source = tmp_path / "in"
    if is_packed:
        for who in ("ann", "bob"):
            shutil.make_archive(str(tmp_path / f"packed/{who}"), "zip", source / who)
        source = tmp_path / "packed"
    data = read_coco(source)
    assert (data.annotator_names, data.attribution) == (("ann", "bob"), "one folder per annotator")
    assert data.assigned.sum(1).tolist()[:2] == [2, 2]


@pytest.mark.parametrize(
    "files",
    [
        # Of one person, or of two beside somebody who looked at all.
        {"ann/1": "a", "ann/2": "b", "bob/all": "ab"},
        {"ann/1": "a", "ann/2": "b", "bob": "ab"},
        # In the other folder are several people.
        {"ann/1": "a", "ann/2": "b", "team/bob": "ab", "team/eve": "ab"},
        # Names or folders may be people.
        {"ann/1": "a", "ann/2": "b", "bob/1": "b", "bob/3": "a"},
        {"ann/1": "a", "ann/2": "b", "bob/1": "b", "bob/2": "a"},
        # Others looked at a part of the images only.
        {"ann/1": "a", "ann/2": "b", "bob/1": "a"},
        {"ann/1": "a", "ann/2": "b", "bob/3": "a", "bob/4": "b", "cid": "a"},
        {"ann/1": "a", "ann/2": "b", "bob/1": "a", "bob/2": "b", "2": "b"},
    ],
)
def test_files_of_a_folder_are_refused_where_they_may_be_parts(tmp_path, files):
    for x, (place, images) in enumerate(files.items()):
        write(tmp_path, **{f"{place}.json": coco(*images, x=x)})
    with pytest.raises(DatasetError) as error:
        read_coco(tmp_path)
    assert str(error.value) == (
        f"{tmp_path}/ann: has several files about different images (1.json, 2.json), which may be "
        "by one person or by several; expected one file of each person\n"
        "Name the files of each annotator: --annotator NAME=FOLDER --annotator NAME=FILE\n"
        "If each file is by one annotator nevertheless: --attribution files"
    )
    assert len(read_coco(tmp_path, attribution="files").annotator_names) == len(files)


def test_a_file_of_the_same_name_is_beside_a_folder(tmp_path):
    for place, images in {"ann": "a", "ann/2": "b", "bob": "ab"}.items():
        write(tmp_path, **{f"{place}.json": coco(*images)})
    with pytest.raises(DatasetError) as error:
        read_coco(tmp_path)
    assert str(error.value).startswith(
        f"{tmp_path}: has several files about different images (ann/2.json, ann.json), which may"
    )


def test_parts_of_a_split_that_are_copies_may_be_by_several(tmp_path):
    for place, images in {"train/ann": "xyz", "train/bob": "xy", "val/eve": "v"}.items():
        write(tmp_path, **{f"{place}.json": drawn(*images)})
    assert read_coco(tmp_path).annotator_names == ("ann", "bob", "eve")


def test_equal_splits_of_two_people_are_no_copies(tmp_path):
    for x, who in enumerate(("ann", "bob")):
        write(tmp_path, **{f"{who}/train.json": coco("a.jpg"), f"{who}/val.json": coco("b", x=x)})
    data = read_coco(tmp_path)
    assert (data.annotator_names, len(data.annotations)) == (("ann", "bob"), 4)


@pytest.mark.parametrize(
    ("files", "people", "n_left"),
    [
        (("ann/train", "ann/val", "bob/train", "bob/val"), ("ann", "bob"), 0),
        # No person has two splits.
        (("ann_train", "bob_train", "eve_val"), ("ann_train", "bob_train", "eve_val"), 0),
        (("train/ann", "train/bob", "val/eve"), ("ann", "bob", "eve"), 0),
        # Each person has copies of each split.
        (
            (
                "ann/train/coco", "ann/annotations/train", "ann/annotations/val",
                "bob/train/_annotations.coco", "bob/annotations/train", "bob/annotations/val",
            ),
            ("ann", "bob"), 2,
        ),
    ],
)  # fmt: skip
def test_people_who_agree_in_all_are_no_copies(tmp_path, files, people, n_left):
    for place in files:
        write(tmp_path, **{f"{place}.json": coco("0.jpg" if "train" in place else "1.jpg")})
    data = read_coco(tmp_path)
    assert (data.annotator_names, len(data.annotations)) == (people, len(files) - n_left)
    left = [note for note in data.notes if "the second is left out" in note]
    assert len(left) == n_left
    assert all(note.count(f"{tmp_path}/ann/") in (0, 2) for note in left)


@pytest.mark.parametrize(
    ("files", "n_notes"),
    [
        ({"ann/train": "x", "bob/val": "xy"}, 1),
        ({"ann_train": "x", "bob_train": "x", "eve_val": "x"}, 1),
        ({"ann_train": "x", "bob_train": "x"}, 0),
        ({"ann_train": "x", "bob_train": "x", "eve_val": "y"}, 0),
        ({"ann": "x", "val": "x"}, 0),
    ],
)
def test_images_that_files_of_several_splits_share_are_noted(tmp_path, files, n_notes):
    for x, (place, images) in enumerate(files.items()):
        write(tmp_path, **{f"{place}.json": coco(*images, x=x)})
    data = read_coco([tmp_path / f"{place}.json" for place in files])
    assert len(data.annotator_names) == len(files)
    notes = [note for note in data.notes if note.startswith("files are named as several splits")]
    assert len(notes) == n_notes
    assert all("(train, val), and images of the same names in them count as" in n for n in notes)


def test_results_of_a_model_do_not_say_which_split_they_mean(tmp_path):
    for x, place in enumerate(("ann/train", "ann/val", "bob/train", "bob/val")):
        write(tmp_path, **{f"data/{place}.json": coco("0.jpg", x=x)})
    result = {"image_id": 1, "category_id": 1, "bbox": [1, 2, 30, 40], "score": 0.9}
    write(tmp_path, **{"model.json": [result]})
    with pytest.raises(DatasetError, match="splits have images of the same names") as error:
        read_coco(tmp_path / "data", predictions=tmp_path / "model.json")
    assert error.value.advice == "Measure one split at a time, with its results."


def test_image_records_of_one_named_person_are_not_by_several(tmp_path):
    records = coco("x", "x")
    for each in records["annotations"]:
        each["annotator"] = "ann"
    write(tmp_path, **{"one.json": records})
    with pytest.raises(DatasetError, match="one annotator only, 'ann'"):
        read_coco(tmp_path / "one.json")


def test_folders_of_labels_are_read_of_each_folder_as_advised(tmp_path):
    labels = {"ann": "0 .2 .2 .1 .1\n", "bob": "0 .7 .7 .1 .1\n"}
    for time, who in product(("pre", "post"), labels):
        folder = tmp_path / time / who
        folder.mkdir(parents=True)
        for name in ("x", "y"):
            (folder / f"{name}.txt").write_text(labels[who])
    with reading(image_size=(100, 100)):
        with pytest.raises(DatasetError, match=r"which do not say who drew what") as error:
            read_coco([tmp_path / "pre", tmp_path / "post"])
        assert "--pattern" not in error.value.advice
        advised = (
            f"one folder of each, such as: bboxqa agree {tmp_path}/pre/ann {tmp_path}/post/ann"
        )
        assert advised in error.value.advice
        data = read_coco([tmp_path / "pre/ann", tmp_path / "post/ann"])
    assert (len(data.annotator_names), len(data.annotations)) == (2, 4)


@pytest.fixture
def labels(tmp_path):
    for who, x in (("ann", 0.2), ("bob", 0.7)):
        folder = tmp_path / who / "labels"
        folder.mkdir(parents=True)
        for name in ("x", "y"):
            (folder / f"{name}.txt").write_text(f"0 {x} .5 .1 .1\n")
    return tmp_path


@pytest.mark.parametrize("folder", ["dan", "dan/labels", "dan/labels/train"])
@pytest.mark.parametrize("pictures", [True, False])
def test_a_person_without_labels_is_told(labels, folder, pictures):
    (labels / folder).mkdir(parents=True)
    (labels / "__pycache__").mkdir()
    for shared in ("images", "photos"):
        (labels / shared).mkdir()
        (labels / shared / "x.jpg").write_bytes(b"")
    if pictures and folder != "dan":
        (labels / "dan/images").mkdir()
        (labels / "dan/images/x.jpg").write_bytes(b"")
    with reading(image_size=(100, 100)):
        data = read_coco(labels)
    assert data.annotator_names == ("ann", "bob")
    (note,) = (each for each in data.notes if "without labels" in each)
    assert note == (
        "1 folder without labels left out (dan): if an annotator found nothing there, each image "
        "needs an empty label file"
    )


@pytest.mark.parametrize("pattern", ["x*", "ann*", "**/x*"])
def test_a_pattern_does_not_choose_among_labels(labels, pattern):
    with reading(image_size=(100, 100)):
        with pytest.raises(DatasetError) as error:
            read_coco(labels, pattern=pattern)
        for kind in ("*.t*", "*", "**/*.txt", "**/*"):
            assert len(read_coco(labels, pattern=kind).annotations) == 4
    assert str(error.value) == (
        f"{labels}: '{pattern}' chooses among files, but all labels in a folder are read "
        f"({labels}/ann, {labels}/bob)\nName the folders to read, without --pattern."
    )


def test_a_pattern_leaves_out_labels_of_which_none_matches(labels):
    write(labels, **{f"{who}.json": coco("x", "y", x=x) for x, who in enumerate(("cid", "dan"))})
    for pattern in ("*.json", "*an.json", "**/*.json"):
        found = list_files([labels], pattern)
        assert found == [
            labels / f"{who}.json" for who in ("cid", "dan") if pattern[1] != "a" or who == "dan"
        ]
    assert read_coco(labels, pattern="*.json").annotator_names == ("cid", "dan")
    with pytest.raises(DatasetError, match=r"that matches '[*]\.xml' in this folder"):
        list_files([labels], "*.xml")


def test_files_about_different_images_are_no_people(tmp_path):
    for number, place in enumerate(("a/1", "a/2", "b/1", "b/2")):
        write(tmp_path, **{f"{place}.json": coco(f"{number}.jpg")})
    with pytest.raises(DatasetError, match="no image has two of them"):
        read_coco(tmp_path)


def test_folders_with_tables_of_the_same_images_are_refused(tmp_path):
    for who in ("ann", "bob"):
        for part in ("bbox", "segmentation"):
            write(tmp_path, **{f"{who}/{part}.csv": table("a.jpg")})
    with pytest.raises(
        DatasetError, match="several files with the same names as in another"
    ) as error:
        read_coco(tmp_path)
    assert "(bbox.csv, segmentation.csv)" in str(error.value)
    assert "--pattern bbox.csv" in str(error.value)
    one = read_coco(tmp_path, pattern="bbox.csv")
    assert (one.annotator_names, len(one.annotations)) == (("ann", "bob"), 2)
    assert len(read_coco(tmp_path, attribution="files").annotator_names) == 4


def test_masks_of_open_images_are_no_second_annotations(tmp_path):
    masks = "MaskPath,ImageID,LabelName,BoxID,BoxXMin,BoxXMax,BoxYMin,BoxYMax\n"
    boxes = "ImageID,Source,LabelName,Confidence,XMin,XMax,YMin,YMax\n"
    for x, who in enumerate(("ann", "bob"), start=1):
        for part in ("train", "test"):
            place = f"{who}/{part}-annotations"
            corners = f"0.{x},0.9,0.1,0.9\n"
            write(tmp_path, **{f"{place}-bbox.csv": f"{boxes}{part},xclick,/m/0,1,{corners}"})
            row = f"a.png,{part},/m/0,7,{corners}"
            write(tmp_path, **{f"{place}-object-segmentation.csv": masks + row})
    with reading(image_size=(640, 480)):
        data = read_coco(tmp_path)
        only = "test-annotations-object-segmentation.csv"
        alone = read_coco({who: tmp_path / who / only for who in ("ann", "bob")})
    assert (data.annotator_names, len(data.annotations)) == (("ann", "bob"), 4)
    assert data.notes[0].startswith("4 tables left out: masks of objects whose boxes are in")
    assert len(alone.annotations) == 2


def test_a_named_folder_may_have_several_files(tmp_path):
    write(tmp_path, **{"ann/1.json": coco("x"), "ann/2.json": coco("y")})
    write(tmp_path, **{"bob/all.json": coco("x", "y"), "bob/settings.json": {"theme": "dark"}})
    source = {"Ann": tmp_path / "ann", "Bob": tmp_path / "bob"}
    data = read_coco(source)
    assert (data.annotator_names, data.assigned.sum(1).tolist()) == (("Ann", "Bob"), [2, 2])
    assert data.attribution == "one folder per annotator"
    assert any("1 JSON file left out: no annotations" in note for note in data.notes)
    write(tmp_path, **{"ann/2.json": coco("x", "y")})
    with pytest.raises(DatasetError) as error:
        read_coco(source)
    assert str(error.value) == (
        f"annotator 'Ann': image 'x' is in {tmp_path}/ann/1.json and in {tmp_path}/ann/2.json; "
        "expected one file, or files about different images\n"
        "Name one file of each person: --annotator NAME=FILE\n"
        "If the person annotated the images again and each file is a session: --session-key file\n"
        f"1 JSON file left out: no annotations ({tmp_path}/bob/settings.json)"
    )


def test_splits_in_a_named_folder_tell_images_apart(tmp_path):
    for x, who in enumerate(("ann", "bob")):
        for split in ("train", "val"):
            write(tmp_path, **{f"{who}/{split}.json": coco("0.jpg", x=x + len(split))})
    data = read_coco({"Ann": tmp_path / "ann", "Bob": tmp_path / "bob"})
    assert (data.annotator_names, data.image_names) == (
        ("Ann", "Bob"), ("train/0.jpg", "val/0.jpg"),
    )  # fmt: skip


def test_splits_of_open_images_are_one_data_set(tmp_path):
    header = "ImageID,Source,LabelName,Confidence,XMin,XMax,YMin,YMax"
    for split in ("oidv6-train", "validation"):
        rows = f"{header}\n{split},xclick,/m/0,1,0.1,0.2,0.1,0.2\n"
        write(tmp_path, **{f"{split}-annotations-bbox.csv": rows})
    with reading(image_size=(640, 480)):
        with pytest.raises(DatasetError, match="splits of one data set"):
            read_coco(tmp_path)
        assert len(read_coco(tmp_path, min_annotators=1).annotator_names) == 1


def test_folders_that_share_one_name_are_read(tmp_path):
    rows = "image,label,x,y,w,h\na.jpg,cat,1,2,30,40\n"
    for name in ("ann/first", "bob/first", "bob/second"):
        write(tmp_path, **{f"{name}.csv": rows})
    assert len(read_coco(tmp_path).annotator_names) == 3


def clips(folder, *names, people=("ann", "bob")):
    """Write labels of a frame in folders for clips, in those of people."""
    for x, (who, clip) in enumerate(product(people, names)):
        write(folder, **{f"{who}/{clip}/0001.txt": f"0 .5 .5 .{x + 2} .2\n"})
    return folder


def test_clips_in_folders_of_people_are_read_as_the_error_says(tmp_path):
    clips(tmp_path, "clip1", "clip2")
    with pytest.raises(DatasetError, match="which is too deep to find them") as error:
        read_coco(tmp_path)
    typed = error.value.advice.rpartition("bboxqa agree ")[2]
    done = run("agree", *shlex.split(typed), "--image-size", "100x80")
    assert "2 images, 2 annotators, 4 annotations" in done.stdout
    assert "images are called clip1/…, since another folder has images of the same" in done.stdout
    with reading(image_size=(100, 80)):
        data = read_coco({who: tmp_path / who for who in ("ann", "bob")})
    assert data.image_names == ("clip1/0001", "clip2/0001")
    each = data.annotations
    sides = zip(each.image, each.annotator, each.bbox[:, 2].round().tolist(), strict=True)
    assert sorted(sides) == [(0, 0, 20), (0, 1, 40), (1, 0, 30), (1, 1, 50)]


def test_folders_of_one_person_that_share_images_are_refused_where_others_have_none(tmp_path):
    clips(clips(tmp_path, "one", "two"), "three", people=["bob"])
    with (
        reading(image_size=(100, 80)),
        pytest.raises(DatasetError, match=r"annotator 'ann': image '0001' is in .*/one and in "),
    ):
        read_coco({"ann": tmp_path / "ann", "bob": tmp_path / "bob/three"})
