"""Tables of boxes: columns, forms of boxes, shares of the image, rows without a box."""

import json

import pytest
from support.tool_files import alone, asked, drawn, found, write

import bboxqa
from bboxqa import agree, read_coco, validate
from bboxqa.core.errors import ConfigError, DatasetError
from bboxqa.formats.registry import format_of

NOTE = "columns: image="
WITHIN = "expected a number within ±1,000,000,000"


def table(tmp_path, *rows, name="a.csv"):
    """Write a table, a header and rows; return its path."""
    return write(tmp_path, **{name: "\n".join(rows) + "\n"}) / name


@pytest.mark.parametrize(
    ("header", "row"),
    [
        ("image,annotator,category,x,y,width,height", "a.jpg,ann,cat,10,20,30,40"),
        ("filename,rater,class,xmin,ymin,xmax,ymax", "a.jpg,ann,cat,10,20,40,60"),
        (
            "filename,width,height,class,xmin,ymin,xmax,ymax,rater",
            "a.jpg,99,80,cat,10,20,40,60,ann",
        ),
        ("file\tworker\tlabel\tleft\ttop\tright\tbottom", "a.jpg\tann\tcat\t10\t20\t40\t60"),
        ("img;user;label;x_center;y_center;w;h", "a.jpg;ann;cat;25;40;30;40"),
        ("image_name,annotator,label_name,x1,y1,w,h", "a.jpg,ann,cat,10,20,30,40"),
        ("Image Id,Labeler,Category Name,X,Y,W,H", "a.jpg,ann,cat,10,20,30,40"),
    ],
)
def test_forms_of_boxes_are_told_from_the_names_of_columns(tmp_path, header, row):
    data = alone(table(tmp_path, header, row))
    assert drawn(data) == [("a.jpg", "ann", "cat", 10, 20, 30, 40)]
    assert [each for each in data.notes if NOTE in each]


def test_columns_of_other_names_are_said(tmp_path):
    path = table(tmp_path, "where,by,what,a,b,c,d", "a.jpg,ann,cat,10,20,30,40")
    assert format_of(path).name == "coco"
    chosen = {"image": "where", "annotator": "by", "category": "what"}
    with bboxqa.reading(columns=chosen | {"x": "a", "y": "b", "width": "c", "height": "d"}):
        assert drawn(alone(path)) == [("a.jpg", "ann", "cat", 10, 20, 30, 40)]
    with bboxqa.reading(columns=chosen | {"x1": "a", "y1": "b", "x2": "c", "y2": "d"}):
        assert drawn(alone(path)) == [("a.jpg", "ann", "cat", 10, 20, 20, 20)]
    with (
        bboxqa.reading(columns=chosen | {"x": "z"}),
        pytest.raises(DatasetError, match="has no column 'z'; the columns are where, by, what"),
    ):
        alone(path)
    with bboxqa.reading(columns=chosen), pytest.raises(DatasetError, match="no columns of boxes"):
        alone(path)
    with (
        pytest.raises(ConfigError, match="'picture' is not one of image"),
        bboxqa.reading(columns={"picture": "where"}),
    ):
        pass


HEADER = "image,size,image_width,image_height,bbox,label"


@pytest.mark.parametrize(
    ("boxes", "box"),
    [
        # The second box ends left of where it begins, so that it has a size.
        ((("a", "[10, 20, 30, 40]"), ("b", "[60, 20, 30, 40]")), [10, 20, 30, 40]),
        # 60 + 90 is beyond the width of 100.
        ((("a", "[10, 20, 30, 40]"), ("b", "60 20 90 40")), [10, 20, 20, 20]),
    ],
)
def test_a_column_of_boxes_is_told_from_the_numbers(tmp_path, boxes, box):
    rows = [f'{name}.jpg,9,100,80,"{text}",cat' for name, text in boxes]
    data = alone(table(tmp_path, HEADER, *rows))
    assert data.annotations.bbox[0].tolist() == box


def test_shares_need_the_size_of_the_image(tmp_path):
    header, row = "image,label,xmin,ymin,xmax,ymax", "a.jpg,cat,0.1,0.25,0.5,1"
    sized = table(tmp_path, f"{header},image_width,image_height", f"{row},200,100", name="b.csv")
    data = alone(sized)
    assert data.annotations.bbox.tolist() == [[20, 25, 80, 75]]
    assert data.notes[0].startswith("boxes are two corners in shares of the image; ")
    path = table(tmp_path, header, row)
    with pytest.raises(DatasetError, match="1 box in shares of images whose size is not known"):
        alone(path)
    with bboxqa.reading(image_size=(200, 100)):
        assert alone(path).annotations.bbox.tolist() == [[20, 25, 80, 75]]


def test_rows_without_a_box_are_of_annotators_who_drew_nothing(tmp_path):
    rows = ["a.jpg,ann,cat,1,2,3,4", "a.jpg,bob,,,,,", "b.jpg,ann,,,,,", "c.jpg,,,,,,"]
    path = table(tmp_path, "image,annotator,category,x,y,width,height", *rows)
    assert asked(read_coco(path)) == {"a.jpg": ["ann", "bob"], "b.jpg": ["ann"], "c.jpg": []}
    assert read_coco(path).attribution == "the column 'annotator'"
    path = table(tmp_path, "image,annotator,category,x,y,width,height", rows[0])
    assert asked(alone(path)) == {"a.jpg": ["ann"]}


PEOPLE = "image,annotator,category,x,y,width,height"


def test_a_row_without_an_annotator_among_others_is_refused(tmp_path):
    rows = ["a.jpg,ann,cat,1,2,3,4", "a.jpg,,cat,1,2,3,4", "a.jpg,bob,cat,1,2,3,4"]
    path = table(tmp_path, PEOPLE, *rows)
    with pytest.raises(DatasetError) as caught:
        read_coco(path)
    (problem,) = caught.value.problems
    assert problem == f"{path}: annotation a.csv:3: does not name its annotator; the others do"
    assert caught.value.advice == (
        "Annotators are named by the column 'annotator': name who drew these annotations there, or "
        "delete them."
    )
    ((file, line, _, message),) = found(path, "A001")
    assert (file, line) == (str(path), 3)
    assert message.startswith('1 of 3 annotations do not name their annotator under "annotator"')
    assert not found(path, "T005")


def test_a_column_that_is_there_twice_is_refused(tmp_path):
    """Only the last one would count."""
    path = table(tmp_path, f"{PEOPLE},x", "a.jpg,ann,cat,1,2,30,40,7", "a.jpg,bob,cat,1,2,30,40,7")
    with pytest.raises(DatasetError) as caught:
        read_coco(path)
    assert caught.value.problems == (f"{path}: line 1: has several columns 'x'; expected one",)
    with pytest.raises(DatasetError, match="line 1: has several columns 'x'; expected one"):
        bboxqa.validate(path)
    path = table(tmp_path, f"{PEOPLE},note,note", "a.jpg,ann,cat,1,2,30,40,7,8")
    assert drawn(alone(path)) == [("a.jpg", "ann", "cat", 1, 2, 30, 40)]


@pytest.mark.parametrize(
    ("row", "code", "words"),
    [
        ("a.jpg,ann,cat,1,2,3,wide", "T001", "line 4: height is 'wide'; expected a number"),
        ("a.jpg,ann,cat,1,2,3", "T001", "line 4: has 6 cells, and the first line 7"),
        ("a.jpg", "T001", "line 4: has 1 cell, and the first line 7"),
        (",ann,cat,1,2,3,4", "T001", "line 4: does not name its image"),
        ("a.jpg,ann,,1,2,3,4", "T004", "line 4: has no category"),
        ("a.jpg,ann,cat,1,nan,3,4", "T001", "line 4: y is 'nan'; expected a number"),
        ("a.jpg,ann,cat,1,2,inf,4", "T001", "line 4: width is 'inf'; expected a number"),
        ("a.jpg,ann,cat,-1e308,2,1e308,4", "T001", f"line 4: x is '-1e308'; {WITHIN}"),
        ("a.jpg,ann,cat,1,2,3,1000000000", "T001", f"line 4: height is '1000000000'; {WITHIN}"),
        (
            'a.jpg,ann,cat,"10,5",2,3,4',
            "T001",
            "line 4: x is '10,5'; expected a number without a comma, such as 0.5",
        ),
    ],
)
def test_findings_name_the_line(tmp_path, row, code, words):
    header = "image,annotator,category,x,y,width,height"
    # A cell of two lines stands before it.
    path = table(tmp_path, header, 'a.jpg,ann,"c\nat",1,2,3,4', row)
    ((file, line, pointer, message),) = found(path, code)
    assert (file, line, pointer, message) == (str(path), 4, "", words)


def test_json_lines_and_objects_of_an_image(tmp_path):
    rows = [
        {
            "image": "a.jpg",
            "objects": {"bbox": [[60, 20, 30, 40], [1, 2, 3, 4]], "category": [3, 4]},
        },
        {"image": {"path": "b.jpg"}, "objects": [{"box": [1, 2, 3, 4], "label": "cat"}]},
        {"image": "c.jpg", "objects": {"bbox": [], "category": []}},
    ]
    data = alone(table(tmp_path, *map(json.dumps, rows), name="a.jsonl"))
    assert drawn(data) == [
        ("a.jpg", "(not named)", "3", 60, 20, 30, 40),
        ("a.jpg", "(not named)", "4", 1, 2, 3, 4),
        ("b.jpg", "(not named)", "cat", 1, 2, 3, 4),
    ]
    assert data.image_names == ("a.jpg", "b.jpg", "c.jpg")


@pytest.mark.parametrize(
    ("objects", "words"),
    [
        # As data frames write it, with names of classes of Python in between.
        ("{'bbox': array([[1, 2, 3, 4]])}", "objects is \"{'bbox': array([[1, 2, 3, 4]])}\""),
        (7, "objects is 7; expected a list"),
        (
            {"bbox": [[1, 2, 3, 4]] * 2, "category": [1]},
            "2 boxes in 'bbox' and [1] in 'category'; expected a list with as many values",
        ),
        (
            {"Boxes": [[1, 2, 3, 4]], "iscrowd": [1, 0]},
            "1 box in 'Boxes' and [1, 0] in 'iscrowd'; expected a list with as many",
        ),
        ({"bbox": [], "category": [1, 2]}, "has 0 boxes in 'bbox' and [1, 2] in 'category'"),
        ({"bbox": [[1, 2, 3, 4]], "labels": []}, "has 1 box in 'bbox' and [] in 'labels'"),
        ({"polygons": [[1, 2]], "category": [1]}, "has 'polygons', 'category', but no boxes"),
        (
            {"bbox": [[1, 2, 3, 4]], "category": "c"},
            "has 1 box in 'bbox' and c in 'category'; expected a list",
        ),
        (
            {"bbox": [[1, 2, 3, 4]], "boxes": [[1, 2, 9, 9]]},
            "has different boxes in 'bbox', 'boxes'",
        ),
    ],
)
def test_objects_that_cannot_be_read_are_refused(tmp_path, objects, words):
    good = {"file_name": "a.jpg", "objects": {"bbox": [[60, 20, 30, 40]], "category": [1]}}
    rows = [good, {"file_name": "b.jpg", "objects": objects}]
    path = table(tmp_path, *map(json.dumps, rows), name="a.jsonl")
    ((_, line, _, message),) = found(path, "T001")
    assert (line, words in message) == (2, True)
    with pytest.raises(DatasetError, match="line 2: objects"):
        alone(path)


def test_parquet_is_read(tmp_path):
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "a.parquet"
    columns = {"image": ["a.jpg"] * 2, "rater": ["ann", "bob"], "label": ["cat", "cat"]}
    columns |= {"bbox": [[60.0, 20.0, 30.0, 40.0], [60.0, 20.0, 0.0, 40.0]]}
    parquet.write_table(pa.table(columns), path)
    data = read_coco(path)
    assert drawn(data)[0] == ("a.jpg", "ann", "cat", 60, 20, 30, 40)
    (empty,) = [each for each in bboxqa.validate(path).findings if each.code == "B001"]
    assert (empty.file, empty.ids["annotation"]) == (str(path), "row 2")
    assert empty.excerpt == ""


def test_data_sets_of_hugging_face_have_names_of_classes_and_pictures(tmp_path):
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    classes = {"_type": "ClassLabel", "names": ["cat", "dog"]}
    features = {"objects": {"feature": {"category": classes, "bbox": {}}, "_type": "Sequence"}}
    objects = [{"bbox": [[60, 2, 3, 4]], "category": [1]}, {"bbox": [], "category": []}]
    pictures = [{"bytes": b"x" * 99, "path": f"{name}.jpg"} for name in "ab"]
    whole = pa.table({"image": pictures, "objects": objects, "image_id": [1, 2]})
    kept = {"huggingface": json.dumps({"info": {"features": features}})}
    parquet.write_table(whole.replace_schema_metadata(kept), tmp_path / "a.parquet")
    data = alone(tmp_path / "a.parquet")
    assert drawn(data) == [("a.jpg", "(not named)", "dog", 60, 2, 3, 4)]
    assert data.image_names == ("a.jpg", "b.jpg")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('image,x,y,width,height\na.jpg,1,2,3,"4', "cannot be split into cells"),
        ("image,x,y,width,height\n", "has no rows"),
        ("image,x,y,width,height\na,1,2,3\n", "line 2 has 4 cells, and the first line 5"),
        ("image,bbox\na,[1,2,3,4]\n", "line 2 has 5 cells, and the first line 2"),
        ('{"image": "a", "bbox": [1, 2, 3, 4]}\n{"image"', "line 2: is not a JSON object"),
    ],
)
def test_tables_that_cannot_be_read_are_refused(tmp_path, text, words):
    path = write(tmp_path, **{"a.jsonl" if text[0] == "{" else "a.csv": text})
    with pytest.raises(DatasetError, match=words):
        alone(next(path.iterdir()))


OPEN = "ImageID,Source,LabelName,Confidence,XMin,XMax,YMin,YMax,IsOccluded,IsGroupOf"


def test_open_images_has_shares_and_names_beside_it(tmp_path):
    path = table(tmp_path, OPEN, "a,xclick,/m/1,1,0.1,0.5,0.25,1,0,1")
    table(tmp_path, "LabelName,DisplayName", "/m/1,Cat", name="x-class-descriptions-boxable.csv")
    with bboxqa.reading(image_size=(200, 100)):
        data = alone(path)
    assert drawn(data) == [("a", "(not named)", "Cat", 20, 25, 80, 75)]


def test_a_list_of_rows_reads_as_the_same_rows_in_lines(tmp_path):
    keys = ("image", "annotator", "label", "x", "y", "width", "height")
    rows = [
        dict(zip(keys, (f"{n}.jpg", who, "cat", n, 2 + shift, 9, 8), strict=True))
        for n in range(3)
        for shift, who in enumerate(("ann", "bob"))
    ]
    lines, whole = "\n".join(map(json.dumps, rows)), json.dumps(rows, indent=1)
    texts = {"a.jsonl": lines, "b.json": json.dumps(rows), "c.json": whole, "d.json": lines}
    (tmp_path / "e.json").write_text(whole, "utf-16")
    figures = []
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    for name in (*texts, "e.json"):
        result = agree(read_coco(tmp_path / name))
        figures.append((result.existence.f1, str(result), drawn(alone(tmp_path / name))))
    assert all(each == figures[0] for each in figures)


def test_a_row_of_a_list_is_found_at_its_line(tmp_path):
    path = tmp_path / "a.json"
    box = '{"image": "a.jpg", "x": %s, "y": 2,\n  "width": 3, "height": 4}'
    path.write_text(f"[\n {box % 1},\n {box % '[]'}\n]\n")
    found = [(each.code, each.spot.line) for each in validate(path, select=["T001"]).findings]
    assert found == [("T001", 4)]


def test_a_list_with_keys_of_coco_is_a_table_where_it_names_people(tmp_path):
    path = tmp_path / "a.json"
    rows = [{"image_id": 1, "category_id": 2, "bbox": [1, 2, 3, 4], "annotator": "ann"}]
    path.write_text(json.dumps(rows))
    assert format_of(path).name == "table"


@pytest.mark.parametrize(
    "text", ['[{"image_id": 1, "category_id": 2, "bbox": [1, 2, 3, 4]}]', "[]", "[7]", '[{"a": ']
)
def test_lists_of_other_records_are_no_rows(tmp_path, text):
    path = tmp_path / "a.json"
    path.write_text(text)
    assert format_of(path).name == "coco"


@pytest.mark.parametrize(
    "named",
    [
        {"left": 40, "top": 50, "width": 100, "height": 80},
        {"x": 40, "y": 50, "w": 100, "h": 80},
        {"topX": 40, "topY": 50, "bottomX": 140, "bottomY": 130},
        {"xMin": 40, "yMin": 50, "xMax": 140, "yMax": 130},
        {"left": "40", "top": "50", "right": "140", "bottom": "130"},
        {"xCenter": 90, "yCenter": 90, "width": 100, "height": 80},
    ],
)
def test_objects_whose_numbers_have_names(tmp_path, named):
    objects = json.dumps([{"label": "cat", **named}]).replace('"', '""')
    rows = [f'a.jpg,{who},"{objects}"' for who in ("R8", "R9")]
    with bboxqa.reading(columns={"objects": "drawn"}):
        data = alone(table(tmp_path, "image,rad_id,drawn", *rows))
    assert drawn(data) == [("a.jpg", who, "cat", 40, 50, 100, 80) for who in ("R8", "R9")]


def test_regions_in_csv_of_label_studio_are_percentages_turned_about_a_corner(tmp_path):
    value = {"x": 10, "y": 20, "width": 30, "height": 40, "rectanglelabels": ["cat"]}
    value |= {"original_width": 640, "original_height": 480}
    cells = [json.dumps([{**value, "rotation": degrees}]) for degrees in (0, 90)]
    rows = ['a.jpg,ann,"{}"'.format(each.replace('"', '""')) for each in cells]
    with bboxqa.reading(columns={"objects": "label"}):
        data = alone(table(tmp_path, "image,annotator,label", *rows))
    turned, first = drawn(data)
    assert first == ("a.jpg", "ann", "cat", 64, 96, 192, 192)
    assert turned == pytest.approx(("a.jpg", "ann", "cat", -128, 96, 192, 192))


def test_a_named_number_that_is_none_is_a_defect(tmp_path):
    path = tmp_path / "a.jsonl"
    objects = [{"label": "cat", "left": "wide", "top": 1, "width": 2, "height": 3}]
    path.write_text(json.dumps({"image": "a.jpg", "objects": objects}) + "\n")
    with pytest.raises(DatasetError, match="line 1, object 1: left is 'wide'"):
        bboxqa.read_coco(path, min_annotators=1)
