"""Sizes of images that the user gives: one for all, or one for each."""

import json

import pytest
from PIL import Image
from support.cli import run
from support.tool_files import drawn, write

from bboxqa import ConfigError, DatasetError, read_coco, reading
from bboxqa.formats.size_files import sizes_of

HALF = "0 0.5 0.5 0.5 0.5\n"
IN_PIXELS = [("train/a", "labels", "cat", 20, 15, 40, 30), ("val/a", "labels", "cat", 5, 5, 10, 10)]
NAMES = {"train/a.jpg": (80, 60), "val/a.jpg": (20, 20)}


@pytest.fixture
def labels(tmp_path):
    labels = {f"ann/labels/{name[:-4]}.txt": HALF for name in NAMES}
    return write(tmp_path, **{"ann/classes.txt": "cat\n", **labels}) / "ann"


def boxes(data):
    return [(image, *box) for image, _, _, *box in drawn(data)]


EXPECTED = [(name, *box) for name, _, _, *box in IN_PIXELS]


def coco(sizes):
    pairs = enumerate(sizes.items(), 1)
    images = [{"id": n, "file_name": name, "width": w, "height": h} for n, (name, (w, h)) in pairs]
    return {"images": images, "annotations": [], "categories": []}


SIZE_FILES = {
    "sizes.csv": "image,width,height\ntrain/a.jpg,80,60\nval/a,20,20\nval/b,7,\n",
    "boxes.csv": (
        "file,x,y,width,height,image_width,image_height\n"
        "train/a.jpg,1,1,9,9,80,60\nset/val/a.png,1,1,9,9,20,20\n"
    ),
    "sizes.jsonl": '{"name": 1, "Image": "train\\\\a", "w": 80, "h": 60}\n'
    '{"name": 2, "Image": "val/a", "w": 20, "h": 20}\n',
    "coco.json": coco(NAMES),
    "images.json": {"images": coco(NAMES)["images"]},
}


@pytest.mark.parametrize("name", SIZE_FILES)
def test_a_file_says_the_size_of_each_image(labels, tmp_path, name):
    write(tmp_path, **{name: SIZE_FILES[name]})
    with reading(image_size=tmp_path / name):
        assert boxes(read_coco(labels, min_annotators=1)) == EXPECTED


@pytest.mark.parametrize("around", ["scans/{}", "scans/{split}/images/{last}"])
def test_pictures_say_the_size_of_each_image(labels, tmp_path, around):
    for name, size in NAMES.items():
        split, _, last = name.partition("/")
        picture = tmp_path / around.format(name, split=split, last=last)
        picture.parent.mkdir(parents=True, exist_ok=True)
        Image.new("L", size).save(picture)
    write(tmp_path, **{"scans/Thumbs.db": "x", "scans/classes.txt": "cat\n"})
    with reading(image_size=tmp_path / "scans"):
        assert boxes(read_coco(labels, min_annotators=1)) == EXPECTED


def test_the_advice_of_convert_is_followed(tmp_path):
    for who, x in (("ann", 20), ("bob", 30)):
        box = {"id": 1, "image_id": 1, "category_id": 1, "bbox": [x, 15, 40, 30]}
        content = coco(NAMES) | {"annotations": [box], "categories": [{"id": 1, "name": "cat"}]}
        write(tmp_path, **{f"given/{who}.json": content})
    options = ("--to", "yolo", "--lossy", "--attribution", "files")
    both = run("convert", "given", "out", *options, cwd=tmp_path)
    assert "read it with --image-size FILE, such as the input" in both.stderr
    done = run("convert", "out", "again.json", "--to", "coco", "--image-size", "given",
               "--missing-txt", "asked", "--attribution", "files", cwd=tmp_path)  # fmt: skip
    assert done.returncode == 0, done.stderr
    again = json.loads((tmp_path / "again.json").read_bytes())
    assert [found["bbox"] for found in again["annotations"]] == [[20, 15, 40, 30], [30, 15, 40, 30]]
    images = {each["file_name"]: (each["width"], each["height"]) for each in again["images"]}
    assert images == NAMES


def test_an_image_of_two_sizes_in_a_folder_is_refused(tmp_path):
    write(tmp_path, **{"sizes/a.json": coco({"a": (1, 2)}), "sizes/b.json": coco({"a": (1, 3)})})
    with pytest.raises(DatasetError, match="sizes: image a: is 1 × 3, but 1 × 2 earlier in the f"):
        sizes_of(tmp_path / "sizes")


def test_sizes_are_given_in_python(labels):
    with reading(image_size=NAMES):
        assert boxes(read_coco(labels, min_annotators=1)) == EXPECTED
    with pytest.raises(ConfigError, match=r"image_size is \(0, 3\)"), reading(image_size=(0, 3)):
        pass
    with pytest.raises(ConfigError, match="image_size is 'a'"), reading(image_size={"b": "a"}):
        pass


@pytest.mark.parametrize(
    ("name", "content", "found"),
    [
        ("a.csv", "image,width\na,1\n", "has no column of height; they are image, width"),
        ("a.csv", "image,width,height\na,1,-2\n", "image a: height is -2"),
        ("a.csv", "image,width,height\na,1,2\na,1,3\n", "image a: is 1 × 3, but 1 × 2 earlier in"),
        ("a.csv", "image,x,y,width,height\na,1,2,3,4\n", "has no column of width and height"),
        ("a.csv", "image,width,height\na,,\n", "has no image sizes"),
        ("a.json", '{"annotations": []}', "has no image sizes"),
    ],
)
def test_a_file_without_sizes_is_refused(tmp_path, name, content, found):
    write(tmp_path, **{name: content})
    with pytest.raises(DatasetError, match=found):
        sizes_of(tmp_path / name)


def test_the_command_takes_a_file(labels, tmp_path):
    write(tmp_path, **{"sizes.json": coco(NAMES)})
    done = run("convert", labels, tmp_path / "out.json", "--to", "coco", "--image-size",
               tmp_path / "sizes.json")  # fmt: skip
    assert done.returncode == 0
    images = json.loads((tmp_path / "out.json").read_bytes())["images"]
    assert [(each["width"], each["height"]) for each in images] == [*NAMES.values()]
    done = run("agree", labels, "--image-size", tmp_path / "no.json")
    assert done.returncode == 2
    assert "a file that has the size of each image" in done.stderr
