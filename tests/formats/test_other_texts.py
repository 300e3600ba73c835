"""Text files without labels among those of YOLO and DOTA."""

import shutil

import pytest
from PIL import Image
from support.tool_files import write

import bboxqa
from bboxqa import DatasetError, read_coco, validate

LABELS = {"yolo": "0 .5 .5 .2 .25\n", "dota": "40 30 60 30 60 50 40 50 cat 0\n"}
LOG = "2024-01-01 12:00:03 started\nsaved 2 files\n"
ADVICE = "; if the file holds no labels, move it elsewhere"


def people(folder, kind, **more):
    """Write three labels of two people each, and further texts of each, by their stems."""
    for person in ("ann", "bob"):
        texts = {**dict.fromkeys("abc", LABELS[kind]), **more}
        write(folder, **{f"{person}/{name}.txt": text for name, text in texts.items()})
    return folder


def read(folder):
    with bboxqa.reading(image_size=(100, 80)):
        return read_coco(folder)


@pytest.mark.parametrize("kind", LABELS)
@pytest.mark.parametrize("packed", [False, True])
def test_texts_that_are_surely_no_labels_are_left_out_and_named(tmp_path, kind, packed):
    folder = people(tmp_path / "set", kind, log=LOG, predefined_classes="cat\ndog\n")
    if packed:
        for person in ("ann", "bob"):
            shutil.make_archive(str(folder / person), "zip", folder / person)
            shutil.rmtree(folder / person)
    data = read(folder)
    assert data.annotator_names == ("ann", "bob")
    assert data.image_names == ("a", "b", "c")
    assert len(data.annotations) == 6
    (note,) = [each for each in data.notes if "text file" in each]
    assert note.endswith("2 text files without labels left out: log.txt, predefined_classes.txt")
    with bboxqa.reading(image_size=(100, 80)):
        assert not [each for each in validate(folder).findings if each.severity == "error"]


@pytest.mark.parametrize("kind", LABELS)
@pytest.mark.parametrize(
    "text",
    ["12 images\n", "cat 0.5 0.5 0.1 0.1\n", "cat 0,5 0,5 0,1 0,1", "log\n1 2 3 4 5\n", "nan 1"],
)
def test_what_may_be_a_damaged_label_stays_an_error_and_says_what_to_do(tmp_path, kind, text):
    with pytest.raises(DatasetError) as error:
        read(people(tmp_path, kind, log=text))
    assert sum(each.count(ADVICE) for each in error.value.problems) == 2


@pytest.mark.parametrize("kind", LABELS)
def test_the_label_file_of_a_picture_stays_an_error(tmp_path, kind):
    people(tmp_path, kind, log=LOG)
    (tmp_path / "images").mkdir()
    for name in ("a", "b", "c", "log"):
        Image.new("L", (100, 80)).save(tmp_path / "images" / f"{name}.jpg")
    with pytest.raises(DatasetError, match=r"ann/log\.txt:1:1: T001"):
        read(tmp_path)


def test_the_label_file_of_a_listed_image_stays_an_error(tmp_path):
    people(tmp_path, "yolo", log=LOG, train="images/a.jpg\nimages/log.jpg\n")
    with pytest.raises(DatasetError, match=r"ann/log\.txt:1:1: T001"):
        read(tmp_path)


@pytest.mark.parametrize("kind", LABELS)
def test_the_label_file_of_an_image_that_others_label_stays_an_error(tmp_path, kind):
    people(tmp_path, kind, log=LOG)
    (tmp_path / "bob/log.txt").write_text(LABELS[kind])
    with pytest.raises(DatasetError) as error:
        read(tmp_path)
    assert {each.partition(": ")[0] for each in error.value.problems} <= {
        f"{tmp_path}/ann/log.txt:{line}:1" for line in (1, 2)
    }


@pytest.mark.parametrize("kind", LABELS)
def test_a_text_in_a_folder_without_labels_stays_an_error(tmp_path, kind):
    people(tmp_path, kind)
    write(tmp_path, **{"ann/notebook/log.txt": LOG})
    with pytest.raises(DatasetError, match=r"ann/notebook/log\.txt:1:1: T001"):
        read(tmp_path)


def test_a_text_has_no_size_to_ask_for(tmp_path):
    """Without sizes of images, labels are told from other texts as well."""
    people(tmp_path, "yolo", log="12 images\n")
    found = {(each.code, each.file.rpartition("/")[2]) for each in validate(tmp_path).findings}
    assert {code for code, file in found if file == "log.txt"} == {"T001"}
    assert ("T002", "a.txt") in found
