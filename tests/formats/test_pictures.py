"""Sizes of images: what files, the user and pictures say, and where annotations stand."""

import numpy as np
import pytest
from PIL import Image
from support.tool_files import SUFFIXES, alone, drawn, found, text_of, write

from bboxqa import ConfigError, DatasetError, read_coco, reading
from bboxqa.formats.size_files import sizes_of

NAMES = {"train/a.jpg": (80, 60), "val/a.jpg": (20, 20)}
LABELS = ("yolo", "dota", "voc", "labelme")


def labels(folder, form, names, shift=0):
    """Write a label file for each name, in the form of a tool, and return the folder."""
    suffix = SUFFIXES.get(form, "json")
    texts = {name: text_of(form, f"{name}.png", (40 + shift, 30, 20, 20)) for name in names}
    return write(folder, **{f"{name}.{suffix}": text for name, text in texts.items()})


def picture(path, size=(100, 80)):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("L", size).save(path)


# What files of tools say.


VIDEO = (
    "<annotations><version>1.1</version><meta><task><size>1</size><mode>interpolation</mode>\n"
    "<original_size><width>100</width><height>80</height></original_size></task></meta>"
    '<track id="0" label="cat"><box frame="0" xtl="1" ytl="1" xbr="9" ybr="9" outside="0"/>'
    "</track></annotations>"
)
SIZED = "image,annotator,category,x1,y1,x2,y2,width,height"
WITH_SIZES = {f"{form}.{SUFFIXES.get(form, 'json')}": text_of(form)
              for form in ("cvat", "labelme", "voc", "datumaro")}  # fmt: skip
WITH_SIZES |= {"a.xml": VIDEO, "a.csv": f"{SIZED}\na.jpg,ann,cat,1,1,9,9,100,80\n"}


@pytest.mark.parametrize("name", WITH_SIZES)
def test_a_size_that_no_image_has_is_found_where_it_stands(tmp_path, name):
    path = tmp_path / name
    path.write_text(WITH_SIZES[name])
    assert not found(path, "T001")
    path.write_text(WITH_SIZES[name].replace("100", "-100"))
    ((*_, message),) = found(path, "T001")
    assert "the width is -100; expected a number of pixels, 1 or more" in message
    with pytest.raises(DatasetError, match="the width is -100"):
        alone(path)


@pytest.mark.parametrize("form", ["voc", "labelme"])
@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("a.jpg", "a.jpg"), ("day/a.jpg", "day/a.jpg"), ("C:\\users\\me\\a.jpg", "a.jpg"),
        ("/home/me/a.jpg", "a.jpg"), ("../../a.jpg", "a.jpg"), ("..\\in\\a.jpg", "a.jpg"),
        ("", "x"),
    ],
)  # fmt: skip
def test_the_path_on_the_computer_of_the_annotator_is_left_out(tmp_path, form, said, name):
    write(tmp_path, **{f"x.{SUFFIXES.get(form, 'json')}": text_of(form, said)})
    assert alone(tmp_path).image_names == (name,)


# What the user says: one size for all, or one for each.


@pytest.fixture
def sizeless(tmp_path):
    half = {f"ann/labels/{name[:-4]}.txt": "0 0.5 0.5 0.5 0.5\n" for name in NAMES}
    return write(tmp_path, **{"ann/classes.txt": "cat\n", **half}) / "ann"


def in_pixels(folder, sizes):
    """Return image, category and box of each annotation, read with the sizes of images."""
    with reading(image_size=sizes):
        return [(image, *rest) for image, _, *rest in drawn(alone(folder))]


EXPECTED = [("train/a", "cat", 20, 15, 40, 30), ("val/a", "cat", 5, 5, 10, 10)]


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
def test_a_file_says_the_size_of_each_image(sizeless, tmp_path, name):
    write(tmp_path, **{name: SIZE_FILES[name]})
    assert in_pixels(sizeless, tmp_path / name) == EXPECTED


@pytest.mark.parametrize("around", ["scans/{}", "scans/{split}/images/{last}"])
def test_pictures_say_the_size_of_each_image(sizeless, tmp_path, around):
    for name, size in NAMES.items():
        split, _, last = name.partition("/")
        picture(tmp_path / around.format(name, split=split, last=last), size)
    write(tmp_path, **{"scans/Thumbs.db": "x", "scans/classes.txt": "cat\n"})
    assert in_pixels(sizeless, tmp_path / "scans") == EXPECTED


def test_sizes_are_given_in_python(sizeless):
    assert in_pixels(sizeless, NAMES) == EXPECTED
    for given, words in (((0, 3), r"image_size is \(0, 3\)"), ({"b": "a"}, "image_size is 'a'")):
        with pytest.raises(ConfigError, match=words):
            reading(image_size=given).__enter__()


TWICE = {"sizes/a.json": coco({"a": (1, 2)}), "sizes/b.json": coco({"a": (1, 3)})}


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({"a.csv": "image,width,height\na,1,-2\n"}, "image a: height is -2"),
        ({"a.csv": "image,width,height\na,1,2\na,1,3\n"}, "image a: is 1 × 3, but 1 × 2 earlier"),
        ({"a.csv": "image,x,y,width,height\na,1,2,3,4\n"}, "has no column of width and height"),
        ({"a.csv": "image,width,height\na,,\n"}, "has no image sizes"),
        (TWICE, "sizes: image a: is 1 × 3, but 1 × 2 earlier"),
    ],
)
def test_a_file_without_sizes_is_refused(tmp_path, files, words):
    write(tmp_path, **files)
    (path,) = tmp_path.iterdir()
    with pytest.raises(DatasetError, match=words):
        sizes_of(path)


# Pictures beside the folders of labels.


@pytest.mark.parametrize(("label", "shown"), [("b", "b"), ("\u00e9", "e\u0301")])
@pytest.mark.parametrize("form", LABELS)
def test_pictures_in_the_folder_around_are_images_if_one_has_a_label(tmp_path, form, label, shown):
    labels(tmp_path / "set", form, ["a", label])
    for name in ("c", shown):
        picture(tmp_path / f"{name}.png")
    with reading(image_size=(100, 80), missing_txt="asked"):
        data = alone(tmp_path / "set")
    assert len(data.image_names) == 3
    assert "c.png" in data.image_names


@pytest.mark.parametrize("name", ["images", "image", "imgs", "Frames", "photos"])
@pytest.mark.parametrize("place", ["valid/{}", "{}/valid", "{}"])
def test_pictures_are_found_in_folders_of_usual_names(tmp_path, name, place):
    split = "valid/" if "valid" in place else ""
    labels(tmp_path / "set" / split / "labels", "yolo", "ab")
    for each in "ab":
        picture(tmp_path / "set" / place.format(name) / f"{each}.png")
    data = alone(tmp_path / "set")
    assert data.image_names == (f"{split}a.png", f"{split}b.png")
    assert data.image_size.tolist() == [[100, 80]] * 2


# Annotations without ids of their own are shown by where they stand.


def shown(path, **more):
    with reading(image_size=(100, 80)):
        of = read_coco(path, min_annotators=1, **more).annotations
    return sorted(of.shown_ids(np.arange(len(of))))


YOLO = {"data.yaml": "names: [cat, dog]\n", "labels/a.txt": "0 .2 .2 .1 .1\n\n1 .5 .5 .1 .1\n"}


@pytest.mark.parametrize(
    ("files", "places"),
    [
        (YOLO, ["labels/a.txt:1", "labels/a.txt:3"]),
        ({"Annotations/a.xml": text_of("voc")}, ["Annotations/a.xml:4"]),
        ({"a.json": text_of("labelme")}, ["a.json#/shapes/0"]),
        ({"labelTxt/a.txt": f"gsd:0.1\n{text_of('dota')}"}, ["labelTxt/a.txt:2"]),
    ],
)
def test_places_are_files_with_lines_or_pointers(tmp_path, files, places):
    write(tmp_path / "ann", **files)
    assert shown(tmp_path / "ann") == places
    write(tmp_path, **{"bob.json": text_of("coco")})
    both = [tmp_path / "ann", tmp_path / "bob.json"]
    assert shown(both, join="stem", attribution="files") == sorted(["1", *places])
