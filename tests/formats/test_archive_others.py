"""Files of other formats in an archive, which are named where they are left out."""

import json
import shlex
import zipfile
from itertools import permutations
from pathlib import Path

import pytest
from support.cli import run
from support.datasets import annotation, document, image
from support.studio import box, task, work

import bboxqa
from bboxqa.formats.archive_contents import others_inside
from bboxqa.formats.inputs import list_files
from bboxqa.formats.registry import format_of

LABELS = {"label": {"labels": [{"name": "cat"}]}}
SLOT = {"type": "image", "slot_name": "0", "width": 100, "height": 80}
DRAWN = {"id": "1", "name": "cat", "slot_names": ["0"]}
SHAPE = {"label": "cat", "shape_type": "rectangle", "points": [[10, 10], [30, 30]]}
REGION = {
    "shape_attributes": {"name": "rect", "x": 10, "y": 10, "width": 20, "height": 20},
    "region_attributes": {"label": "cat"},
}
CVAT = (
    '<annotations><version>1.1</version><image id="0" name="a.jpg" width="100" height="80">'
    '<box label="cat" xtl="10" ytl="10" xbr="30" ybr="30"/></image></annotations>'
)
VOC = (
    "<annotation><filename>a.jpg</filename><size><width>100</width><height>80</height></size>"
    "<object><name>cat</name><bndbox><xmin>10</xmin><ymin>10</ymin><xmax>30</xmax><ymax>30</ymax>"
    "</bndbox></object></annotation>"
)
TABLE = "image,label,x,y,width,height\na.jpg,cat,10,10,20,20\n"
CONTENTS = {
    "coco.json": document([annotation(1)], [image(1)]),
    "studio.json": [task(1, work("ann", box(10, 10, 20, 20)))],
    "cvat.xml": CVAT,
    "via.json": {"a.jpg1": {"filename": "a.jpg", "size": 1, "regions": [REGION]}},
    "darwin.json": {
        "version": "2.0", "item": {"name": "a.jpg", "path": "/", "slots": [SLOT]},
        "annotations": [DRAWN | {"bounding_box": {"h": 20, "w": 20, "x": 10, "y": 10}}],
    },
    "datumaro.json": {
        "info": {}, "categories": LABELS,
        "items": [{
            "id": "a", "image": {"path": "a.jpg", "size": [80, 100]},
            "annotations": [{"id": 1, "type": "bbox", "label_id": 0, "bbox": [1, 1, 20, 20]}],
        }],
    },
    "labelme.json": {
        "version": "5.2", "imagePath": "a.jpg", "shapes": [SHAPE], "imageWidth": 100,
        "imageHeight": 80,
    },
    "table.csv": TABLE, "voc.xml": VOC, "yolo.txt": "0 .5 .5 .2 .25\n",
}  # fmt: skip


def zipped(path, contents):
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in contents.items():
            archive.writestr(name, content if isinstance(content, str) else json.dumps(content))
    return path


def left_out(path):
    """Return the notes of reading on files, which are those of validation as well."""
    with bboxqa.reading(image_size=(100, 80)):
        notes = [*bboxqa.read_coco(path, min_annotators=1).notes]
        found = [each for each in notes if "left out" in each]
        assert [each for each in bboxqa.validate(path).notes if "left out" in each] == found
    return found


@pytest.mark.parametrize("pair", [*permutations(CONTENTS, 2)], ids="+".join)
def test_one_note_names_the_file_that_is_left_out(tmp_path, pair):
    one, other = pair
    named = {f"ann/{one}": CONTENTS[one], f"bob/{other}": CONTENTS[other]}
    (note,) = left_out(zipped(tmp_path / "all.zip", named))
    known = ("1 file of other formats left out", "1 file left out: not", "1 JSON file left out")
    assert any(each in note for each in known)
    assert (f"ann/{one}" in note) != (f"bob/{other}" in note)


def test_what_the_note_says_to_type_reads_both(tmp_path):
    path = zipped(
        tmp_path / "all.zip",
        {"ann.xml": CVAT, "bob.xml": CVAT, "eve.json": document([annotation(1)], [image(1)])},
    )
    (note,) = left_out(path)
    typed = f"{path} {path}/eve.json"
    assert note == (
        f"{path} is read as CVAT: 1 file of other formats left out (eve.json); "
        f"to read such a file as well, name it: {typed}"
    )
    done = run("validate", *shlex.split(typed))
    assert f"{path}/eve.json" in done.output
    assert "left out" not in done.output


def test_labels_of_one_image_are_to_be_unpacked(tmp_path):
    labels = {f"labels/{name}.txt": "0 .5 .5 .2 .25\n" for name in "abcde"}
    path = zipped(tmp_path / "all.zip", {"coco.json": CONTENTS["coco.json"], **labels})
    (note,) = left_out(zipped(path, {"ann.json": CONTENTS["studio.json"], **labels}))
    assert note == (
        f"{path} is read as Label Studio: 5 files of other formats left out (labels/a.txt, "
        "labels/b.txt, labels/c.txt and 2 more); to read these, unpack it, and name the files and "
        "folders"
    )


def test_annotations_that_no_format_reads_are_named(tmp_path):
    create = [
        {"image": "a.jpg", "annotations": [{"label": "cat", "coordinates": {"x": 1, "y": 2}}]}
    ]
    path = zipped(tmp_path / "all.zip", {"ann.xml": CVAT, "bob.json": create})
    (note,) = left_out(path)
    assert "1 file of other formats left out (bob.json)" in note


@pytest.mark.parametrize("own", CONTENTS)
def test_files_that_tools_add_are_not_named(tmp_path, own):
    beside = {
        "data.yaml": "names: [cat]", "obj.names": "cat\n", "README.txt": "0 .5 .5 .2 .25\n",
        "ImageSets/Main/train.txt": "a\n", "labelmap.txt": "# label:color_rgb\ncat:1,2,3::\n",
        "meta.txt": "a", "class-descriptions-boxable.csv": "/m/1,Cat\n", "images/a.jpg": "x",
        "classes.csv": "name,number\ncat,1\n",
    }  # fmt: skip
    if "darwin" not in own and "labelme" not in own:
        beside["dataset_meta.json"] = {"label_colors": {"cat": [1, 2, 3]}}
    path = zipped(tmp_path / "all.zip", {f"labels/{own}": CONTENTS[own], **beside})
    assert not [each for each in left_out(path) if "formats left out" in each]


def test_names_are_not_said_where_people_have_pseudonyms(tmp_path):
    path = zipped(tmp_path / "all.zip", {"x.xml": CVAT, "bob.json": CONTENTS["coco.json"]})
    done = run("validate", path, "--pseudonyms", tmp_path / "key.json")
    assert "1 file of other formats left out; to read such a file as well, name it" in done.output
    assert "bob" not in done.output


@pytest.mark.parametrize(
    "typed",
    [
        "convert {} {}/ann.csv --to csv",
        "plan {} --target-width .5",
        "draw {} --image a --out {}/a.png",
    ],
    ids=["convert", "plan", "draw"],
)
def test_other_commands_name_them_too(tmp_path, typed):
    head = "<version>1.1</version><meta><job><assignee>ann</assignee></job></meta>"
    by_ann = CVAT.replace("<version>1.1</version>", head)
    by_bob = by_ann.replace("ann</assignee>", "bob</assignee>")
    inside = {"1.xml": by_ann, "2.xml": by_bob, "eve.json": CONTENTS["coco.json"]}
    path = zipped(tmp_path / "all.zip", inside)
    typed = typed.format(path, tmp_path).split()
    note = f"{path} is read as CVAT: 1 file of other formats left out"
    done = run(*typed)
    assert done.stderr.count(f"ote: {note} (eve.json); ") == 1
    hidden = run(*typed, "--pseudonyms", tmp_path / "key.json", *["--force"] * (typed[0] != "plan"))
    assert hidden.stderr.count(f"ote: {note}; ") == 1
    assert "eve" not in hidden.output


def test_an_image_that_is_not_found_may_be_in_one_of_them(tmp_path):
    other = document([annotation(1)], [image(1, "b.jpg")])
    path = zipped(tmp_path / "all.zip", {"ann.xml": CVAT, "bob.json": other})
    done = run("draw", path, "--image", "b.jpg", "--out", tmp_path / "b.png")
    assert done.returncode == 2
    assert f"to read such a file as well, name it: {path} {path}/bob.json" in done.output


@pytest.mark.parametrize("own", ["coco.json", "cvat.xml", "yolo.txt"])
def test_archives_inside_of_an_archive_are_named(tmp_path, own):
    inner = zipped(tmp_path / "bob.zip", {"bob.json": CONTENTS["coco.json"]})
    path = zipped(tmp_path / "all.zip", {own: CONTENTS[own], "empty.zip": ""})
    assert not [each for each in left_out(path) if "inside left out" in each]
    with zipfile.ZipFile(path, "a") as archive:
        archive.write(inner, "jobs/bob.zip")
    note = f"{path}: 1 archive inside left out"
    (found,) = [each for each in left_out(path) if "inside left out" in each]
    assert found == f"{note} (jobs/bob.zip); to read annotations in such an archive, unpack it"
    hidden = run("validate", path, "--pseudonyms", tmp_path / "key.json")
    assert (hidden.stderr + hidden.stdout).count(f"{note}; to read") == 1
    assert "bob" not in hidden.output


COCO_PLACES = (("ann.json", "bob.json"), ("annotations/ann.json", "annotations/bob.json"))


@pytest.mark.parametrize("top", ["", "export/"])
@pytest.mark.parametrize("places", COCO_PLACES)
@pytest.mark.parametrize("label", ["yolo.txt", "voc.xml", "labelme.json"])
def test_coco_beside_labels_is_read_as_in_a_folder(tmp_path, label, places, top):
    end = label.partition(".")[2]
    labels = {f"{top}labels/{name}.{end}": CONTENTS[label] for name in "ab"}
    inside = {**{f"{top}{place}": CONTENTS["coco.json"] for place in places}, **labels}
    path = zipped(tmp_path / "all.zip", inside)
    data = bboxqa.read_coco(path)
    assert data.annotator_names == ("ann", "bob")
    (note,) = left_out(path)
    assert f"2 files of other formats left out ({top}labels/a.{end}, {top}labels/b.{end})" in note
    folder = tmp_path / "folder"
    with zipfile.ZipFile(path) as archive:
        archive.extractall(folder)
    assert bboxqa.read_coco(folder).annotator_names == ("ann", "bob")


def test_labels_in_other_folders_than_coco_are_read(tmp_path):
    inside = {"ann/a.txt": CONTENTS["yolo.txt"], "eve/coco.json": CONTENTS["coco.json"]}
    path = zipped(tmp_path / "all.zip", inside)
    (note,) = left_out(path)
    assert "left out (eve/coco.json)" in note


def test_what_is_left_out_is_said_where_labels_cannot_be_read(tmp_path):
    inside = {"ann/a.txt": CONTENTS["yolo.txt"], "eve/coco.json": CONTENTS["coco.json"]}
    path = zipped(tmp_path / "all.zip", inside)
    done = run("agree", path)
    assert "the size of its image is not known" in done.stderr
    assert "1 file of other formats left out (eve/coco.json)" in done.stderr


def test_files_of_an_archive_are_looked_up_a_few_times_only(tmp_path, monkeypatch):
    inside = {f"{number}.json": {"number": number} for number in range(50)}
    path = zipped(tmp_path / "all.zip", {"ann.json": CONTENTS["coco.json"], **inside})
    asked = []
    stat = Path.stat
    monkeypatch.setattr(Path, "stat", lambda self, **kw: [asked.append(self), stat(self, **kw)][1])
    files = list_files([path])
    assert others_inside(files) == []
    assert 0 < len(asked) < 60 * len(inside)


def test_an_archive_that_is_replaced_is_asked_again(tmp_path):
    names = ("ann.xml", "bob.xml")
    path = zipped(tmp_path / "all.zip", dict.fromkeys(names, CVAT))
    parts = [path / name for name in names]
    assert [format_of(part).name for part in parts] == ["cvat", "cvat"]
    zipped(path, dict.fromkeys(names, VOC))
    assert [format_of(part).name for part in parts] == ["voc", "voc"]
    path.unlink()
    assert [format_of(part).name for part in parts] == ["coco", "coco"]
    parts[0].parent.mkdir()
    parts[0].write_text(CVAT)
    assert format_of(parts[0]).name == "cvat"


@pytest.mark.parametrize("suffix", ["xml", "XML"])
def test_coco_is_read_beside_labels_in_an_archive_in_any_case(tmp_path, suffix):
    inside = {"coco.json": CONTENTS["coco.json"], f"Annotations/a.{suffix}": VOC}
    data = bboxqa.read_coco(zipped(tmp_path / "all.zip", inside), min_annotators=1)
    (note,) = data.notes
    assert note.startswith(
        f"{tmp_path}/all.zip is read as COCO JSON: 1 file of other formats left out "
        f"(Annotations/a.{suffix})"
    )
