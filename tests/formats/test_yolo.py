"""Label files of YOLO: a folder for each annotator."""

import shutil
from functools import partial

import numpy as np
import pytest
from support.cli import run
from support.tool_files import alone, drawn, exact_rows, found, translation_of

import bboxqa
from bboxqa import read_coco, reading, validate
from bboxqa.core.errors import DatasetError
from bboxqa.formats.yolo import translate

BOX = "0 0.5 0.5 0.2 0.25\n"
PICTURE = "P6\n100 80\n255\n"


def made(folder, **files):
    """Write files, named with __ for / and _ for a dot; return the folder."""
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


translated = partial(translation_of, translate)


def of_line(tmp_path, line, names="names: [cat, dog]\n"):
    """Return the annotation that a line of an image of 100 × 80 pixels gives, and the notes."""
    folder = made(tmp_path, data_yaml=names, labels__a_txt=line, images__a_ppm=PICTURE)
    found, records = translated(folder)
    return *records, found.notes


def two(folder, ann=BOX, bob=BOX, **more):
    """Write a folder with one of labels for each of two people, and shared pictures."""
    return made(folder, ann__a_txt=ann, bob__a_txt=bob, images__a_ppm=PICTURE, **more)


def test_pixels_are_refused_with_the_form_of_labels(tmp_path):
    folder = made(tmp_path / "pix", a_txt="0 305 200 1010 429\n", b_txt="1 15 20 110 49\n")
    with pytest.raises(DatasetError, match="no file in this folder is of a known format") as error:
        alone(folder)
    assert "in shares of the image, such as 0 0.5 0.5 0.2 0.1" in error.value.advice


def test_labels_beside_pictures_are_not_looked_for_where_others_are_in_a_folder(tmp_path):
    made(tmp_path, train__labels__a_txt=BOX, train__images__a_ppm=PICTURE, raw__b_ppm=PICTURE)
    assert [each[3] for each in found(tmp_path, "T023")] == ["raw/b.ppm: has no label file"]
    made(tmp_path, raw__b_txt=BOX)
    ((*_, message),) = found(tmp_path, "T023")
    assert message == "raw/b.ppm: has no label file"


@pytest.mark.parametrize(
    ("line", "box", "n_points", "rotation"),
    [
        # Corners (50, 20), (60, 30), (50, 40), (40, 30): a square on its corner.
        ("0 .5 .25 .6 .375 .5 .5 .4 .375", [40, 20, 20, 20], 4, 45),
        # Corners (40, 20), (60, 20), (60, 40), (40, 40): an upright rectangle.
        ("0 .4 .25 .6 .25 .6 .5 .4 .5", [40, 20, 20, 20], 4, 0),
        # No rectangle, though of four points.
        ("0 .1 .25 .6 .25 .9 .5 .4 .5", [10, 20, 80, 20], 4, None),
        ("0 .1 .25 .6 .25 .4 .5", [10, 20, 50, 20], 3, None),
    ],
)
def test_outlines_have_points_and_rectangles_of_four_a_rotation(
    tmp_path, line, box, n_points, rotation
):
    record, _ = of_line(tmp_path, line)
    assert np.allclose(record["bbox"], box)
    assert len(record["segmentation"][0]) == 2 * n_points
    assert record.get("attributes", {}).get("rotation") == rotation


@pytest.mark.parametrize("names", ["", "names: [cat]\n"])
@pytest.mark.parametrize(
    ("shape", "shown"),
    [
        ("many", "many"), ("[17, 4]", "[17, 4]"), ("\n- 17", "- 17"), ('"[1, 3]"', '"[1, 3]"'),
    ],
)  # fmt: skip
def test_a_shape_of_key_points_with_a_wrong_value_is_refused(tmp_path, names, shape, shown):
    two(tmp_path, ann__data_yaml=f"{names}kpt_shape: {shape}\nnc: 1\n")
    outcome = run("agree", tmp_path)
    line = names.count("\n") + 1 + shape.count("\n")
    assert outcome.returncode == 2
    assert (
        f"/data.yaml:{line}:1: T001 error data.yaml: kpt_shape is {shown}; "
        "expected [number of key points, 2 or 3], such as [17, 3]\n"
    ) in outcome.stderr


def test_labels_that_need_a_file_that_cannot_be_read_are_not_listed(tmp_path):
    two(tmp_path, ann__data_yaml="names: [a\nkpt_shape: [1, 3]\n")
    (tmp_path / "ann/a.txt").write_text("0 .5 .5 .2 .2 .5 .5 2\n1 .5 .5 .2 .2\n")
    outcome = run("agree", tmp_path)
    assert outcome.returncode == 2
    assert "data.yaml: is YAML that cannot be read" in outcome.stderr
    assert "the line seems" not in outcome.stderr
    assert "T020" not in {each.code for each in validate(tmp_path / "ann").findings}


def test_a_number_behind_the_box_is_a_confidence(tmp_path):
    record, notes = of_line(tmp_path, "0 .5 .5 .2 .25 0.75")
    assert record["score"] == 0.75
    assert notes == ["1 label with a further number, taken as the confidence of a model"]


@pytest.mark.parametrize(
    ("missing", "n_asked", "taken"),
    [
        (None, 1, "not asked about; if nothing was found there: --missing-txt asked"),
        ("not-asked", 1, "not asked about, as --missing-txt says"),
        ("asked", 2, "asked about, with nothing found, as --missing-txt says"),
    ],
)
def test_a_picture_without_labels_is_asked_for_or_not(tmp_path, missing, n_asked, taken):
    two(tmp_path, ann__b_txt=BOX, images__b_ppm=PICTURE, classes_txt="cat")
    with bboxqa.reading(missing_txt=missing):
        data = read_coco(tmp_path)
    assert data.assigned.sum(0).tolist() == [2, n_asked]
    (note,) = (each for each in data.notes if "without a label file" in each)
    assert note.endswith(f"1 image without a label file: taken as {taken}")


@pytest.mark.parametrize(
    ("line", "code", "words"),
    [
        ("2 .5 .5 .2 .2", "T020", "class 2 has no name; the last class with a name is 1"),
        ("0 .5 .5 .2", "T001", "the line has 3 numbers after the class"),
        ("0 .5", "T001", "has 1 number after the class"),
        ("0 .5 .5 .2 x", "T001", "has a value that is no number"),
        ("0.5 .5 .5 .2 .2", "T001", "the class is 0.5"),
        ("-1 .5 .5 .2 .2", "T001", "the class is -1"),
        ("0 .5 .5 .2 nan", "T001", "has a value that is no number"),
        ("0 320 .5 .2 .2", "T001", "a coordinate is 320, which is in pixels; expected 0 to 1,"),
        ("0 .1 .1 .2 .2 1.2 .3", "T003", "a coordinate is 1.2;"),
    ],
)
@pytest.mark.parametrize("blank", ["", "\n"])
def test_a_broken_line_is_found_where_it_stands(tmp_path, line, code, words, blank):
    text = f"{BOX}{blank}{line}\n"
    made(tmp_path, data_yaml="names: [cat, dog]", labels__a_txt=text, images__a_ppm=PICTURE)
    (finding,) = validate(tmp_path, select=["T"]).findings
    assert finding.code == code
    assert words in finding.message
    # The place comes once.
    assert "a.txt" not in finding.message
    assert finding.file == f"{tmp_path}/labels/a.txt"
    assert (finding.spot.line, finding.excerpt) == (2 + len(blank), line)


def line_by_line(folder):
    """Return image, category and box of each annotation that is read for rules."""
    found, records = translated(folder, image_size=(1919, 1079))
    images = {image["id"]: image["file_name"] for image in found.images}
    names = {category["id"]: category["name"] for category in found.categories}
    return sorted(
        (images[each["image_id"]], names[each["category_id"]], tuple(each["bbox"]))
        for each in records
    )


@pytest.mark.parametrize(
    "extra",
    [
        "", "1 .1 .1 .2 .2 .9", "0 .1 .1 .2 .2 .3 .3", "7 .5 .5 .1 .1", "0 0.5 0.5 0.2 0.2 ",
        "0\t.5 .5 .2 .2", "0 5e-1 .5 .2 1e-3", "0 1 1 .2 1", "0  .5 .5 .2 .2",
        "\n\n0.0 0.12345678901234567 .5 .2 .2",
    ],
)  # fmt: skip
def test_many_files_at_once_are_read_as_line_by_line(tmp_path, extra):
    random = np.random.default_rng(1)
    for number in range(4):
        rows = random.uniform(0.001, 0.9, (number * 3, 4)).round(6)
        lines = [f"{n % 2} {' '.join(map(str, row))}" for n, row in enumerate(rows.tolist())]
        text = "\n".join([*lines[:4], *([extra] if number == 2 else []), *lines[4:]])
        made(tmp_path, **{f"{'abcd'[number]}_txt": text})
    made(tmp_path, classes_txt="cat\ndog")
    with bboxqa.reading(image_size=(1919, 1079)):
        at_once = exact_rows(alone(tmp_path))
    assert sorted((image, *rest) for image, _, *rest in at_once) == line_by_line(tmp_path)


@pytest.mark.parametrize("file", ["classes.txt", "obj.names", "_darknet.labels"])
def test_files_of_class_names(tmp_path, file):
    made(tmp_path, a_txt="1 0.5 0.5 0.2 0.1", a_ppm=PICTURE)
    (tmp_path / file).write_text("cat\ndog\n")
    assert validate(tmp_path, select=["T020"]).findings == ()
    assert [each[2] for each in drawn(alone(tmp_path))] == ["dog"]


@pytest.mark.parametrize(
    ("names", "problem"),
    [
        ("nc: 1\nnames: [cat",
         "T001 error data.yaml: is YAML that cannot be read: expected ',' or ']'"),
        ("names: " + "[" * 1_000, "is YAML that cannot be read"),
        ("names: [[cat]]", "the names of classes are not texts"),
        ("names: cat #" + "x" * 1_000_000, "has more than 1,000,000 characters"),
    ], ids=["open", "deep", "nested", "long"],
)  # fmt: skip
def test_names_that_cannot_be_read_are_told(tmp_path, names, problem):
    two(tmp_path, data_yaml=names)
    with pytest.raises(DatasetError) as caught:
        read_coco(tmp_path)
    assert any(problem in each for each in caught.value.problems)


def of_two_data_sets(folder, of_bob):
    names = {"ann__data_yaml": "names: [cat, dog]", "bob__data_yaml": of_bob}
    return made(folder, ann__labels__a_txt=BOX, bob__labels__a_txt=BOX, **names)


@pytest.mark.parametrize("inside", ["", "root/"])
def test_class_names_may_differ_between_folders_also_in_an_archive(tmp_path, inside):
    of_two_data_sets(tmp_path / "in" / inside, "names: [dog, cat]")
    archive = shutil.make_archive(str(tmp_path / "all"), "zip", tmp_path / "in")
    for source in (archive, tmp_path / "in"):
        with reading(image_size=(100, 80)):
            data = read_coco(source)
        assert data.annotator_names == ("ann", "bob")
        assert data.category_names == ("cat", "dog")
        assert len(set(data.annotations.category.tolist())) == 2


def test_class_names_that_differ_in_one_data_set_are_refused(tmp_path):
    of_two_data_sets(tmp_path / "in/train", "names: [dog, cat]")
    archive = shutil.make_archive(str(tmp_path / "all"), "zip", tmp_path / "in")
    with reading(image_size=(100, 80)), pytest.raises(DatasetError) as caught:
        validate(archive)
    problem = f"{archive}: train/ann/data.yaml and train/bob/data.yaml have different classes; "
    assert caught.value.problems[0].startswith(problem)
    assert "If they are of two people, name the folder of each" in caught.value.advice
    # A shorter list is a part of the longer one, and that of a training does not count.
    made(tmp_path / "in", train__bob__data_yaml="names: [cat]", runs__args_yaml="names: [x, y, z]")
    with reading(image_size=(100, 80)):
        assert alone(tmp_path / "in").category_names == ("cat", "dog")
    made(tmp_path / "in/train", bob__data_yaml="names: [a", bob__classes_txt="cat")
    ((file, *_),) = found(tmp_path / "in", "T001")
    assert file.endswith("train/bob/data.yaml")


def test_labels_behind_logs_are_found(tmp_path):
    logs = {f"labels__a{number}_txt": "epoch 1 loss 0.1\n" for number in range(9)}
    made(tmp_path, **logs, **{f"labels__b{number}_txt": BOX for number in range(16)})
    assert len(found(tmp_path, "T001")) == 9


def test_labels_without_sizes_are_checked_as_far_as_they_need_none(tmp_path):
    lines = "0 .5 .5 .1 .1\n7 .5 .5 .1 .1\n0 .5 .5 .1\n0 1.5 .5 .1 .1\n0 .5 .5 -.1 .1\n"
    folder = made(tmp_path, data_yaml="names: [cat, dog]\n", labels__a_txt=lines)
    found = [(each.code, each.spot.line) for each in validate(folder, select=["T"]).findings]
    assert found == [("T001", 3), ("T002", 1), ("T003", 4), ("T020", 2)]


def test_sizes_by_name_are_those_of_images_with_points_in_their_names(tmp_path):
    folder = made(tmp_path, data_yaml="names: [cat]\n", labels__a_txt=BOX)
    (folder / "labels/a.txt").rename(folder / "labels/a_jpg.rf.0a1b.txt")
    with reading(image_size={"a_jpg.rf.0a1b.jpg": (200, 100)}):
        data = read_coco(folder, min_annotators=1)
    assert data.image_size.tolist() == [[200, 100]]


@pytest.mark.parametrize(
    ("paths", "missing"),
    [
        ("train: images\nval: images", []), ("train: ./images\nval: [images, other]", [3]),
        ("path: ..\ntrain: images\nval: train.txt", [4]),
        ("train: labels\nval: C:\\\\sets\\\\x", []), ("train:\nval: images/*", []),
        (f"train: {'x' * 999}\nval: [a, {{}}, 7]", [2, 3, 3]),
    ],
)  # fmt: skip
def test_paths_of_data_yaml_that_name_nothing(tmp_path, paths, missing):
    yaml = f"names: [cat]\n{paths}\n"
    folder = made(tmp_path / "a", data_yaml=yaml, labels__a_txt=BOX, images__a_ppm=PICTURE)
    found = [each for each in validate(folder).findings if each.code == "T025"]
    assert [each.spot.line for each in found] == missing


def test_a_finding_for_each_file_and_cause(tmp_path):
    lines = {"a": "0 410 300 20 20\n", "b": "0 99 9 9 9\n", "c": "0 0,5 0,5 0,2 0,2\n",
             "d": "0 1\n"}  # fmt: skip
    folder = made(tmp_path / "set", **{f"labels__{name}_txt": BOX for name in "0123456789"})
    for name, line in lines.items():
        made(folder, **{f"labels__{name}_txt": 9 * line, f"images__{name}_ppm": PICTURE})
    found = validate(folder, select=["T001"])
    assert sorted((each.file[-5:], each.count, each.spot.line) for each in found.findings) == [
        (f"{name}.txt", 9, 1) for name in lines
    ]
    shown = [line for line in found.render("text").splitlines() if ".txt:" in line]
    # One of each cause, which come before the second file in pixels.
    assert [line.partition("labels/")[2][0] for line in shown] == ["a", "c", "d"]
    assert "in pixels" in shown[0]
    assert "has commas; expected points and spaces" in shown[1]


def test_names_keep_the_form_of_their_letters(tmp_path):
    """macOS decomposes them in names of files, while a list of images may compose them."""
    name = "e\u0301"
    folder = made(tmp_path, data_yaml="names: [cat]\n", train_txt="images/\xe9.ppm\n",
                  **{f"labels__{name}_txt": BOX, f"images__{name}_ppm": PICTURE})  # fmt: skip
    data = alone(folder)
    assert data.image_names == (f"{name}.ppm",)
    bboxqa.convert(folder, tmp_path / "back", to="yolo", lossy=True)
    (label,) = (tmp_path / "back" / "labels").rglob("*.txt")
    assert label.name.startswith(name)
