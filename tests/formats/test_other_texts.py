"""Text files without labels among those of YOLO and DOTA."""

import shutil

import pytest
from support.tool_files import write

import bboxqa
from bboxqa import DatasetError, read_coco, validate

LABELS = {"yolo": "0 .5 .5 .2 .25\n", "dota": "40 30 60 30 60 50 40 50 cat 0\n"}
LOG = "2024-01-01 12:00:03 started\nsaved 2 files\n"
ADVICE = "; if the file holds no labels, move it elsewhere"


def people(folder, kind, **more):
    """Write three labels of two people each, and further texts of each, by their stems."""
    for person in ("ann", "bob"):
        # Of two people, the last box differs.
        other = LABELS[kind].replace(".2 .25", ".2 .2").replace("40 50 cat", "40 51 cat")
        own = {"c": other} if person == "bob" else {}
        texts = {**dict.fromkeys("abc", LABELS[kind]), **own, **more}
        write(folder, **{f"{person}/{name}.txt": text for name, text in texts.items()})
    return folder


def read(folder):
    with bboxqa.reading(image_size=(100, 80)):
        return read_coco(sorted(folder.iterdir()))


@pytest.mark.parametrize("kind", LABELS)
@pytest.mark.parametrize("packed", [False, True])
def test_logs_and_lists_of_classes_are_no_labels(tmp_path, kind, packed):
    more = {"log": LOG, "export_log": LOG, "predefined_classes": "cat\ndog\n", "info": "by ann"}
    folder = people(tmp_path / "set", kind, **more)
    if packed:
        for person in ("ann", "bob"):
            shutil.make_archive(str(folder / person), "zip", folder / person)
            shutil.rmtree(folder / person)
    data = read(folder)
    assert data.annotator_names == ("ann", "bob")
    assert data.image_names == ("a", "b", "c")
    assert len(data.annotations) == 6
    with bboxqa.reading(image_size=(100, 80)):
        assert not [each for each in validate(folder).findings if each.severity == "error"]


@pytest.mark.parametrize("kind", LABELS)
def test_the_labels_of_an_image_that_is_called_log_are_read(tmp_path, kind):
    data = read(people(tmp_path, kind, log=LABELS[kind]))
    assert data.image_names == ("a", "b", "c", "log")


@pytest.mark.parametrize("kind", LABELS)
@pytest.mark.parametrize("text", [LOG, "12 images\n", "cat 0,5 0,5 0,1 0,1", "nan 1"])
def test_other_texts_are_errors_that_say_what_to_do(tmp_path, kind, text):
    with pytest.raises(DatasetError) as error:
        read(people(tmp_path, kind, im7=text))
    assert sum(each.count(ADVICE) for each in error.value.problems) == 2


def test_a_text_has_no_size_to_ask_for(tmp_path):
    """Without sizes of images, labels are told from other texts as well."""
    people(tmp_path, "yolo", progress="12 images\n")
    found = {(each.code, each.file.rpartition("/")[2]) for each in validate(tmp_path).findings}
    assert {code for code, file in found if file == "progress.txt"} == {"T001"}
    assert ("T002", "a.txt") in found
