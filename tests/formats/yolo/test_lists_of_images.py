"""Lists of images of YOLO, such as train.txt, beside labels or in the folders of splits."""

import pytest

import bboxqa
from bboxqa import read_coco

BOX = "0 0.5 0.5 0.2 0.25\n"
NAMES = {"train": "abc", "val": "ad"}


def two_people_with_splits(folder, line):
    """Write splits with a list each, in which the last image has no label file."""
    for person in ("ann", "bob"):
        for split, names in NAMES.items():
            labels = folder / person / split / "labels"
            labels.mkdir(parents=True)
            labels.with_name("data.yaml").write_text("names: [cat]\n")
            for name in names[:-1]:
                (labels / f"{name}.txt").write_text(BOX)
            listed = "".join(line.format(split=split, name=name) for name in names)
            labels.with_name("train.txt").write_text(listed)
    return folder


@pytest.mark.parametrize(
    "line",
    [
        "./images/{name}.jpg\n",
        "images/{name}.jpg\r\n",
        "{name}.jpg\n",
        ".\\images\\{name}.jpg\n",
        "./{split}/images/{name}.jpg\n",
        "../{split}/images/{name}.jpg\n",
        "/home/me/{split}/images/{name}.jpg\n",
        "C:\\me\\{split}\\images\\{name}.jpg\n",
    ],
)
def test_a_list_in_the_folder_of_a_split_names_the_images_of_the_split(tmp_path, line):
    folder = two_people_with_splits(tmp_path, line)
    with bboxqa.reading(image_size=(100, 80), missing_txt="asked"):
        data = read_coco(folder)
    names = ["train/a.jpg", "train/b.jpg", "train/c.jpg", "val/a.jpg", "val/d.jpg"]
    assert sorted(data.image_names) == names
    assert data.assigned.all()
    (note,) = [each for each in data.notes if "without a label file" in each]
    assert note.startswith("each of ")
    assert "2 images without a label file" in note
    with bboxqa.reading(image_size=(100, 80)):
        assert sorted(read_coco(folder).image_names) == ["train/a.jpg", "train/b.jpg", "val/a.jpg"]
