"""VIA: json and csv of one annotation, its shapes, and what its users call a label."""

import json
from pathlib import Path

import pytest
from support.tool_files import alone, drawn, found, write

from bboxqa import agree, read_coco
from bboxqa.core.errors import DatasetError
from bboxqa.formats.registry import format_of

SHARED = Path(__file__).parents[4] / "shared/data/formats/via/shapes"
needs_shared = pytest.mark.skipif(not SHARED.exists(), reason="no files of VIA here")
HEADER = (
    "filename,file_size,file_attributes,region_count,region_id,region_shape_attributes,"
    "region_attributes\n"
)


def region(name="rect", said=None, **shape):
    """Return a region."""
    return {
        "shape_attributes": {"name": name, **shape},
        "region_attributes": {"label": "cat"} if said is None else said,
    }


BOX = region(x=10, y=20, width=30, height=40)


def images(*regions, name="a.jpg", **more):
    """Return the entry of an image."""
    entry = {"filename": name, "size": 9, "regions": list(regions), "file_attributes": {}} | more
    return {f"{name}9": entry}


def only(tmp_path, *regions):
    """Return the data set of one image with some regions."""
    return alone(write(tmp_path, **{"a.json": images(*regions)}) / "a.json")


@pytest.mark.parametrize(
    ("given", "box"),
    [
        (BOX, [10, 20, 30, 40]),
        (region("circle", cx=50, cy=40, r=8), [42, 32, 16, 16]),
        (region("ellipse", cx=50, cy=40, rx=8, ry=2), [42, 38, 16, 4]),
        # A quarter turn: width and height change places.
        (region("ellipse", cx=50, cy=40, rx=8, ry=2, theta=1.5707963267948966), [48, 32, 4, 16]),
        (region("polygon", all_points_x=[1, 9, 5], all_points_y=[2, 2, 7]), [1, 2, 8, 5]),
    ],
)
def test_shapes_are_boxes(tmp_path, given, box):
    assert only(tmp_path, given).annotations.bbox.round(6).tolist() == [box]


def test_regions_are_a_list_or_an_object(tmp_path):
    old = images(BOX)
    old["a.jpg9"]["regions"] = {"0": BOX, "1": region(x=90, y=1, width=2, height="wide")}
    path = write(tmp_path, **{"a.json": json.dumps(old, indent=1)}) / "a.json"
    ((_, line, pointer, message),) = found(path, "T001")
    assert pointer == "/a.jpg9/regions/1"
    assert message == "a.jpg, region 2: height is 'wide'; expected a number"
    assert path.read_text().splitlines()[line - 1] == '   "1": {'
    old["a.jpg9"]["regions"].pop("1")
    write(tmp_path, **{"a.json": old})
    assert drawn(alone(path)) == [("a.jpg", "(not named)", "cat", 10, 20, 30, 40)]


def test_projects_are_read(tmp_path):
    project = {"_via_settings": {"ui": {}}, "_via_img_metadata": images(BOX), "_via_attributes": {}}
    path = write(tmp_path, **{"a.json": project}) / "a.json"
    assert format_of(path).name == "via"
    assert alone(path).annotations.bbox.tolist() == [[10, 20, 30, 40]]


def test_annotators_may_be_an_attribute(tmp_path):
    said = [{"label": "cat", "annotator": who} for who in ("ann", "bob")]
    regions = [BOX | {"region_attributes": each} for each in said]
    path = write(tmp_path, **{"a.json": images(*regions)}) / "a.json"
    data = read_coco(path)
    assert data.annotator_names == ("ann", "bob")
    assert data.category_names == ("cat",)
    assert data.notes == ()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"shape_attributes": {}}, "shape_attributes are missing; expected the name of a shape"),
        (region(x=1, y=2, width=3), "height is missing; expected a number"),
        (
            region("polygon", all_points_x=[1], all_points_y=[]),
            "all_points_x and all_points_y are not two lists of equal length",
        ),
        (region("polygon", all_points_x=["a"], all_points_y=[1]), "a coordinate is 'a'; expected"),
    ],
)
def test_what_cannot_be_read_stops_a_measurement(tmp_path, given, words):
    with pytest.raises(DatasetError, match="region 1: ") as caught:
        only(tmp_path, given)
    assert words in caught.value.problems[0]


ROW = 'a.jpg,9,"{}",2,0,"{""name"":""rect"",""x"":10,""y"":20,""width"":30,""height"":40}",'


@pytest.mark.parametrize("mark", ["", "#", "\ufeff"])
def test_csv_has_a_row_for_each_region(tmp_path, mark):
    rows = [ROW + '"{""label"":""cat""}"', 'b.jpg,9,"{}",0,0,"{}","{}"']
    path = write(tmp_path, **{"a.csv": mark + HEADER + "\n".join(rows) + "\n"}) / "a.csv"
    data = alone(path)
    assert drawn(data) == [("a.jpg", "(not named)", "cat", 10, 20, 30, 40)]
    assert data.image_names == ("a.jpg", "b.jpg")


def test_findings_in_csv_name_the_line(tmp_path):
    rows = [ROW + '"{""label"":""c\nat""}"', 'a.jpg,9,"{}",2,1,"{rect","{""label"":""cat""}"']
    path = write(tmp_path, **{"a.csv": HEADER + "\n".join(rows)}) / "a.csv"
    ((file, line, pointer, message),) = found(path, "T001")
    # The label of the first row goes on in the third line.
    assert (file, line, pointer) == (str(path), 4, "")
    assert message == ("a.jpg, region 2: shape_attributes are {rect; expected the name of a shape")


def test_files_that_cannot_be_read_are_refused(tmp_path):
    write(tmp_path, **{"cut.csv": HEADER + 'a.jpg,9,"{}', "cut.json": json.dumps(images(BOX))[:-9]})
    with pytest.raises(DatasetError, match=r"line 2: cannot be split into cells"):
        alone(tmp_path / "cut.csv")
    with pytest.raises(DatasetError, match="F001 error the file ends at byte 181"):
        alone(tmp_path / "cut.json")
    write(tmp_path, **{"none.csv": HEADER})
    with pytest.raises(DatasetError, match="is VIA csv without images"):
        alone(tmp_path / "none.csv")


@needs_shared
def test_json_and_csv_of_one_annotation_agree(tmp_path):
    both = read_coco([SHARED / "via_region_data.json", SHARED / "via_region_data.csv"])
    # 17 boxes of one image are in the json twice.
    assert len(both.annotations) == 40 + 23
    ((_, _, _, message),) = found(SHARED / "via_region_data.json", "D001")
    assert message.startswith("17 of 40 annotations are equal to an earlier one")
    content = json.loads((SHARED / "via_region_data.json").read_text())
    regions = content["strawberry.jpg211988"]["regions"]
    content["strawberry.jpg211988"]["regions"] = regions[:17]
    path = write(tmp_path, **{"a.json": content}) / "a.json"
    result = agree(read_coco([path, SHARED / "via_region_data.csv"]))
    assert result.alpha == 1
