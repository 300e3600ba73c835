"""Folders of formats with a file for each image: which are one person's."""

import pytest
from support.tool_files import write

from bboxqa import read_coco
from bboxqa.core.errors import DatasetError


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
    assert "--annotator ann=FOLDER --annotator bob=FOLDER" in str(error.value)
    assert len(read_coco(files, attribution="files").annotator_names) == 8
    # Two files of one image in one folder may be by two people.
    assert len(read_coco([files[0], files[4]]).annotator_names) == 2


def test_batches_whose_files_have_one_name_are_refused(tmp_path):
    for place in ("ann/batch1/1", "ann/batch1/2", "ann/batch2/1", "bob/batch1/1", "bob/batch2/1"):
        write(tmp_path, **{f"{place}.json": labelme(place[-1])})
    with pytest.raises(DatasetError, match="Put the files of each person in one folder"):
        read_coco(tmp_path)


def test_folders_with_several_tables_of_the_same_names_are_refused(tmp_path):
    header = "image,label,x,y,w,h"
    for who in ("ann", "bob"):
        for part in ("train", "test"):
            rows = f"{header}\n{part}.jpg,cat,1,2,30,40\n"
            write(tmp_path, **{f"{who}/{part}-bbox.csv": rows})
    with pytest.raises(
        DatasetError, match="several tables with the same names as in another"
    ) as error:
        read_coco(tmp_path)
    assert "(test-bbox.csv, train-bbox.csv)" in str(error.value)
    assert "--pattern test-bbox.csv" in str(error.value)
    one = read_coco(tmp_path, pattern="test-bbox.csv")
    assert (one.annotator_names, len(one.annotations)) == (("ann", "bob"), 2)
    assert len(read_coco(tmp_path, attribution="files").annotator_names) == 4


def test_folders_that_share_one_name_are_read(tmp_path):
    rows = "image,label,x,y,w,h\na.jpg,cat,1,2,30,40\n"
    for name in ("ann/first", "bob/first", "bob/second"):
        write(tmp_path, **{f"{name}.csv": rows})
    assert len(read_coco(tmp_path).annotator_names) == 3
