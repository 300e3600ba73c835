"""Pictures of data sets in the folders that tools give them, for validate, draw and pages."""

import json

import pytest
from support.datasets import annotation, document, image, write
from support.pictures import save

from bboxqa import draw, validate
from bboxqa.pipelines.pictures import pictures

# Sizes show which file was found where both splits have pictures of the same name.
SIZES = {"train": (60, 40), "valid": (64, 48)}
CODES = ["M001", "M002", "M003", "M007"]


def data_set(root, labels, images, names=("a.png", "b.png")):
    """Write YOLO labels and pictures to folders such as {split}/labels, and return both."""
    (root / "data.yaml").parent.mkdir(parents=True, exist_ok=True)
    (root / "data.yaml").write_text("names: [cat]\n")
    written = []
    for split, size in SIZES.items():
        for seed, name in enumerate(names):
            path = root / images.format(split=split) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            save(path, size=size, seed=10 * size[0] + seed)
            written.append(path)
            for person in ("ann", "bob") if "{person}" in labels else ("",):
                folder = root / labels.format(split=split, person=person)
                folder.mkdir(parents=True, exist_ok=True)
                label = (folder / name).with_suffix(".txt")
                label.write_text(f"0 0.5 0.5 0.{2 + seed} 0.25\n")
    return written


ONE = [
    ("{split}/labels", "{split}/images", ["."]),
    ("{split}/labels", "{split}/images", ["train/images", "valid/images"]),
    ("labels/{split}", "images/{split}", ["."]),
    ("labels/{split}", "images/{split}", ["images/train", "images/valid"]),
    ("{split}", "{split}", ["."]),
    ("{split}/labels", "{split}/img", ["."]),
]


@pytest.mark.parametrize(("labels", "images", "given"), ONE)
def test_validate_and_draw_find_the_pictures_that_gave_the_sizes(tmp_path, labels, images, given):
    """Pictures of both splits have the same names, and other sizes."""
    root = tmp_path / "set"
    written = data_set(root, labels, images)
    folders = [root / each for each in given]
    assert validate(root, images=folders, select=CODES).findings == ()
    names = [f"{split}/{name}.png" for split in SIZES for name in "ab"]
    drawn = [draw(root, name, images=folders) for name in names]
    assert [each.read[-1] for each in drawn] == written
    assert not any("blank canvas" in note for each in drawn for note in each.notes)


@pytest.mark.parametrize(
    ("labels", "images"), [("labels", "images"), ("obj_train_data", "obj_train_data")]
)
def test_pictures_of_a_set_without_splits_are_found_from_its_folder(tmp_path, labels, images):
    data_set(tmp_path / "set", labels, images)
    root = tmp_path / "set"
    for given in (root, tmp_path):
        assert validate(root, images=given, select=CODES).findings == ()
    assert draw(root, "b.png", images=root).read[-1] == root / images / "b.png"


def test_people_with_copies_of_the_pictures_have_no_findings(tmp_path):
    for person in ("ann", "bob"):
        data_set(tmp_path / "set" / person, "{split}/labels", "{split}/images")
    report = validate(tmp_path / "set", images=tmp_path / "set", select=CODES)
    assert (len(report.files), report.findings) == (2, ())
    drawn = draw(tmp_path / "set", "valid/b.png", images=tmp_path / "set")
    assert drawn.read[-1] == tmp_path / "set" / "ann" / "valid" / "images" / "b.png"


def test_pictures_in_a_folder_for_each_person_are_found(tmp_path):
    """In another folder are other pictures of the same names."""
    for size, person in ((60, "ann"), (64, "bob")):
        for folder in ("images", "labels"):
            (tmp_path / "set" / folder / person).mkdir(parents=True)
        save(tmp_path / "set" / "images" / person / "a.png", size=(size, 40), seed=size)
        (tmp_path / "set" / "labels" / person / "a.txt").write_text("0 0.5 0.5 0.2 0.25\n")
    (tmp_path / "set" / "data.yaml").write_text("names: [cat]\n")
    folders = [tmp_path / "set" / "labels" / each for each in ("ann", "bob")]
    report = validate(folders, images=tmp_path / "set", select=CODES)
    assert (len(report.files), report.findings) == (2, ())


def test_links_out_of_the_folder_are_not_followed(tmp_path):
    data_set(tmp_path / "other", "labels/{split}", "images/{split}")
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / "images").symlink_to(tmp_path / "other" / "images")
    (found,) = pictures(["train/a.png"], [tmp_path / "set"], 10)
    assert found.file == ""


def test_links_between_folders_end(tmp_path):
    folder = tmp_path / "images" / "train"
    folder.mkdir(parents=True)
    save(folder / "a.png")
    for number in range(40):
        (tmp_path / f"obj_{number}_data").symlink_to(tmp_path)
        (tmp_path / "images" / f"obj_{number}_data").symlink_to(tmp_path / "images")
    (found,) = pictures(["train/a.png"], [tmp_path], 10)
    assert found.file == str(folder / "a.png")


def test_names_in_coco_json_have_to_be_paths_below_the_folder(tmp_path):
    """Programs for training open these names as they are; a drawing shows the picture."""
    content = document([annotation(1, 1, 1)], [image(1, file_name="a.png")])
    write(tmp_path / "ann.json", content)
    (tmp_path / "images").mkdir()
    save(tmp_path / "images" / "a.png", size=(content["images"][0]["width"], 40))
    (found,) = validate(tmp_path / "ann.json", images=tmp_path, select=["M001"]).findings
    assert found.edits[0].value == "images/a.png"
    drawn = draw(tmp_path / "ann.json", "a.png", images=tmp_path)
    assert drawn.read[-1] == tmp_path / "images" / "a.png"


def test_draw_finds_pictures_beside_coco_json_of_each_split(tmp_path):
    """Exports of Roboflow have train/_annotations.coco.json beside the pictures."""
    for number, split in enumerate(SIZES, 1):
        (tmp_path / split).mkdir()
        save(tmp_path / split / f"{number}.png", size=SIZES[split])
        images = [image(number, file_name=f"{number}.png")]
        content = document([annotation(number, number, 1)], images)
        (tmp_path / split / "_annotations.coco.json").write_text(json.dumps(content))
    assert validate(tmp_path, images=tmp_path, select=["M001", "M007"]).findings == ()
    # Without valid, its image is one that no record names.
    (found,) = validate(tmp_path / "train", images=tmp_path, select=["M001", "M007"]).findings
    assert (found.code, found.found) == ("M007", ["valid/2.png"])
    drawn = draw(tmp_path, "2.png", images=tmp_path)
    assert drawn.read[-1] == tmp_path / "valid" / "2.png"
