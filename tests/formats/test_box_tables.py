"""Tables of boxes: columns, forms and units of boxes, objects, rows without a box, and frames."""

import json

import numpy as np
import pytest
from support.tool_files import alone, asked, drawn, found, write

import bboxqa
from bboxqa import read_coco
from bboxqa.core.errors import ConfigError, DatasetError
from bboxqa.formats.registry import format_of

PLAIN = "image,annotator,category,x,y,width,height"
CORNERS = "image,annotator,category,x1,y1,x2,y2,image_width,image_height"
COMMA = "expected a number without a comma, such as 0.5"
WITHIN = "expected a number within ±1,000,000,000"


def table(tmp_path, *rows, name="a.csv"):
    """Write a table, a header and rows; return its path."""
    return write(tmp_path, **{name: "\n".join(rows) + "\n"}) / name


def lines(tmp_path, *rows, name="a.jsonl"):
    """Write a table of JSON, a row in each line; return its path."""
    return table(tmp_path, *map(json.dumps, rows), name=name)


@pytest.mark.parametrize(
    ("header", "row"),
    [
        (PLAIN, "a.jpg,ann,cat,10,20,30,40"),
        ("filename,rater,class,xmin,ymin,xmax,ymax", "a.jpg,ann,cat,10,20,40,60"),
        ("filename,width,height,class,xmin,ymin,xmax,ymax,rater",
         "a.jpg,99,80,cat,10,20,40,60,ann"),
        ("file\tworker\tlabel\tleft\ttop\tright\tbottom", "a.jpg\tann\tcat\t10\t20\t40\t60"),
        ("img;user;label;x_center;y_center;w;h", "a.jpg;ann;cat;25;40;30;40"),
        ("image_name,annotator,label_name,x1,y1,w,h", "a.jpg,ann,cat,10,20,30,40"),
        ("Image Id,Labeler,Category Name,X,Y,W,H", "a.jpg,ann,cat,10,20,30,40"),
        (f"{PLAIN},note,note", "a.jpg,ann,cat,10,20,30,40,7,8"),
    ],
)  # fmt: skip
def test_forms_of_boxes_are_told_from_the_names_of_columns(tmp_path, header, row):
    data = alone(table(tmp_path, header, row))
    assert drawn(data) == [("a.jpg", "ann", "cat", 10, 20, 30, 40)]
    assert [each for each in data.notes if "columns: image=" in each]


def test_columns_of_other_names_are_said(tmp_path):
    path = table(tmp_path, "where,by,what,a,b,c,d", "a.jpg,ann,cat,10,20,30,40")
    assert format_of(path).name == "coco"
    chosen = {"image": "where", "annotator": "by", "category": "what"}
    sides = {"x": "a", "y": "b", "width": "c", "height": "d"}
    for more, box in ((sides, (30, 40)), ({"x1": "a", "y1": "b", "x2": "c", "y2": "d"}, (20, 20))):
        with bboxqa.reading(columns=chosen | more):
            assert drawn(alone(path)) == [("a.jpg", "ann", "cat", 10, 20, *box)]
    for more, words in (
        ({"x": "z"}, "has no column 'z'; the columns are where, by, what"),
        ({}, "no columns of boxes"),
    ):
        with bboxqa.reading(columns=chosen | more), pytest.raises(DatasetError, match=words):
            alone(path)
    with pytest.raises(ConfigError, match="columns: 'picture' is none of image, annotator"):
        bboxqa.reading(columns={"picture": "where"}).__enter__()


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
    path = table(tmp_path, "image,size,image_width,image_height,bbox,label", *rows)
    assert alone(path).annotations.bbox[0].tolist() == box


@pytest.mark.parametrize(("last", "is_size"), [("40,20", False), ("90,80", True)])
def test_width_and_height_beside_corners_are_those_of_all_boxes_or_of_images(
    tmp_path, last, is_size
):
    rows = "a,cat,60,0,90,20,30,20", f"b,cat,9,9,49,29,{last}"
    note = alone(table(tmp_path, "file,label,x1,y1,x2,y2,width,height", *rows)).notes[0]
    assert ("image_width=width,image_height=height" in note) == is_size


OPEN = "ImageID,Source,LabelName,Confidence,XMin,XMax,YMin,YMax,IsOccluded,IsGroupOf"


def test_shares_need_the_size_of_the_image(tmp_path):
    header, row = "image,label,xmin,ymin,xmax,ymax", "a.jpg,cat,0.1,0.25,0.5,1"
    sized = table(tmp_path, f"{header},image_width,image_height", f"{row},200,100", name="b.csv")
    data = alone(sized)
    assert data.annotations.bbox.tolist() == [[20, 25, 80, 75]]
    assert data.notes[0].startswith("boxes are two corners in shares of the image; ")
    path = table(tmp_path, header, row)
    with pytest.raises(DatasetError, match="1 box in shares of images whose size is not known"):
        alone(path)
    # Open Images has names of classes beside its boxes.
    classes = "x-class-descriptions-boxable.csv"
    path = table(tmp_path / "open", OPEN, "a,xclick,/m/1,1,0.1,0.5,0.25,1,0,1")
    # Without a header, the first class may have its code as name.
    for first in ("LabelName,DisplayName", "dog,dog"):
        table(tmp_path / "open", first, "/m/1,Cat", name=classes)
        with bboxqa.reading(image_size=(200, 100)):
            assert drawn(alone(path)) == [("a", "(not named)", "Cat", 20, 25, 80, 75)]


def test_masks_of_open_images_do_not_repeat_the_boxes_beside_them(tmp_path):
    masks = "train-annotations-object-segmentation.csv"
    header = "MaskPath,ImageID,LabelName,BoxID,BoxXMin,BoxXMax,BoxYMin,BoxYMax,PredictedIoU,Clicks"
    table(tmp_path, header, "a_m1_0123.png,a,/m/1,0123,0.1,0.5,0.25,1,0.9,", name=masks)
    with bboxqa.reading(image_size=(200, 100)):
        assert len(alone(tmp_path).annotations) == 1
        table(
            tmp_path,
            OPEN,
            "a,xclick,/m/1,1,0.1,0.5,0.25,1,0,1",
            name="oidv6-train-annotations-bbox.csv",
        )
        data = alone(tmp_path)
    assert len(data.annotations) == 1
    assert data.notes[0].partition(" (")[2] == f"{masks})"


def of_corners(tmp_path, *boxes):
    """Write a table with boxes of corners, each in an image of 200 × 100; return its path."""
    rows = [f"{number}.jpg,ann,cat,{box},200,100" for number, box in enumerate(boxes)]
    return table(tmp_path, CORNERS, *rows)


SHARE, PIXELS = "0.1,0.2,0.5,0.9", "20,20,100,90"


@pytest.mark.parametrize("label", ["cat", '"cat"'])
def test_a_box_slightly_beyond_its_image_leaves_the_others_shares(tmp_path, label):
    path = of_corners(tmp_path, *[SHARE] * 4, "0.4,0.2,1.0096,0.9", SHARE)
    path.write_text(path.read_text("utf-8").replace(",cat,", f",{label},"), "utf-8")
    boxes = alone(path).annotations.bbox
    np.testing.assert_allclose(boxes[[0, 5]], [[20, 20, 80, 70]] * 2)
    np.testing.assert_allclose(boxes[4], [80, 20, 121.92, 70])
    ((_, line, _, message),) = found(path, "T003")
    assert line == 6
    assert message.endswith("line 6: x2 is 1.0096; expected 0 to 1, a share of the image")


def test_half_shares_and_half_pixels_are_refused_until_the_unit_is_said(tmp_path):
    path = of_corners(tmp_path, PIXELS, SHARE, SHARE, PIXELS)
    with pytest.raises(DatasetError, match="has boxes up to 2, such as in line 3") as caught:
        alone(path)
    assert "--box-format xyxy-shares or xyxy-pixels" in caught.value.advice
    with bboxqa.reading(box_format="xyxy-pixels"):
        assert alone(path).annotations.bbox[0].tolist() == [20, 20, 80, 70]
    with bboxqa.reading(box_format="xyxy-shares"), pytest.raises(DatasetError, match="in pixels"):
        alone(path)
    # Up to a tenth may be wrong.
    with pytest.raises(DatasetError, match="line 12: x2 is 100, which is in pixels"):
        alone(of_corners(tmp_path, *[SHARE] * 10, PIXELS))
    one = of_corners(tmp_path, "0,0,1,1")
    assert alone(one).annotations.bbox.tolist() == [[0, 0, 1, 1]]
    with bboxqa.reading(box_format="xyxy-shares"):
        assert alone(one).annotations.bbox.tolist() == [[0, 0, 200, 100]]
    with pytest.raises(ConfigError, match="expected one of 'xywh', 'xyxy'"):
        bboxqa.reading(box_format="xyxy-percent").__enter__()


def test_rows_without_a_box_are_of_annotators_who_drew_nothing(tmp_path):
    rows = ["a.jpg,ann,cat,1,2,3,4", "a.jpg,bob,,,,,", "b.jpg,ann,,,,,", "c.jpg,,,,,,"]
    data = read_coco(table(tmp_path, PLAIN, *rows))
    assert asked(data) == {"a.jpg": ["ann", "bob"], "b.jpg": ["ann"], "c.jpg": []}
    assert data.attribution == "the column 'annotator'"


def test_a_row_without_an_annotator_among_others_is_refused(tmp_path):
    rows = ["a.jpg,ann,cat,1,2,3,4", "a.jpg,,cat,1,2,3,4", "a.jpg,bob,cat,1,2,3,4"]
    path = table(tmp_path, PLAIN, *rows)
    said = r"1 of 3 annotations do not name their annotator \(such as a\.csv:3\)"
    with pytest.raises(DatasetError, match=said):
        read_coco(path)
    ((file, line, _, message),) = found(path, "A001")
    assert (file, line) == (str(path), 3)
    assert message.startswith('1 of 3 annotations do not name their annotator under "annotator"')
    assert not found(path, "T005")


# Only the last of two columns would count. A cell of two lines stands before the fourth.
DEFECTS = [
    ("a.jpg,ann,cat,1,2,3,wide", "T001", f"height is 'wide'; {WITHIN}"),
    ("a.jpg,ann,cat,1,2,3", "T001", "has 6 cells, and the first line 7"),
    ("a.jpg", "T001", "has 1 cell, and the first line 7"),
    (",ann,cat,1,2,3,4", "T001", "does not name its image"),
    ("a.jpg,ann,,1,2,3,4", "T004", "has no category"),
    ("a.jpg,ann,cat,1,nan,3,4", "T001", f"y is 'nan'; {WITHIN}"),
    ("a.jpg,ann,cat,1,2,inf,4", "T001", f"width is 'inf'; {WITHIN}"),
    ("a.jpg,ann,cat,-1e308,2,1e308,4", "T001", f"x is '-1e308'; {WITHIN}"),
    ("a.jpg,ann,cat,1,2,3,1000000000", "T001", f"height is '1000000000'; {WITHIN}"),
    ('a.jpg,ann,cat,"10,5",2,3,4', "T001", f"x is '10,5'; {COMMA}"),
]  # fmt: skip


@pytest.mark.parametrize(("row", "code", "words"), DEFECTS)
def test_findings_name_the_line(tmp_path, row, code, words):
    path = table(tmp_path, PLAIN, 'a.jpg,ann,"c\nat",1,2,3,4', row)
    assert found(path, code) == [(str(path), 4, "", f"line 4: {words}")]


def test_json_lines_and_objects_of_an_image(tmp_path):
    path = lines(
        tmp_path,
        {"image": "a.jpg", "objects": {"bbox": [[60, 20, 30, 40], [1, 2, 3, 4]],
                                       "category": [3, 4]}},
        {"image": {"path": "b.jpg"}, "objects": [{"bbox": [1, 2, 3, 4], "category": "cat"}]},
        {"image": "c.jpg", "objects": {"bbox": [], "category": []}},
    )  # fmt: skip
    data = alone(path)
    assert drawn(data) == [
        ("a.jpg", "(not named)", "3", 60, 20, 30, 40),
        ("a.jpg", "(not named)", "4", 1, 2, 3, 4),
        ("b.jpg", "(not named)", "cat", 1, 2, 3, 4),
    ]
    assert data.image_names == ("a.jpg", "b.jpg", "c.jpg")


ONE, LENGTHS = [[1, 2, 3, 4]], "expected lists of one length"
STUDIO = {"original_width": 1000, "original_height": 1000, "rectanglelabels": ["cat"]}
OBJECTS = [
    # As data frames write it, with names of classes of Python in between.
    ("{'bbox': array([[1, 2, 3, 4]])}", "objects is \"{'bbox': array([[1, 2, 3, 4]])}\""),
    (7, "objects is 7; expected a list"),
    ({"bbox": ONE * 2, "category": [1]}, LENGTHS),
    ({"bbox": [], "category": [1, 2]}, LENGTHS),
    ({"polygons": [[1, 2]], "category": [1]}, "has 'category', but no box; expected four numbers"),
    ({"bbox": ONE, "category": "c"}, f"objects has bbox, category; {LENGTHS}"),
    ([{"label": "cat", "left": 9, "top": 1}], "has 'label', 'left', 'top', but no box"),
    ({"bbox": ONE, "boxes": [[5, 6, 7, 8]]}, "object 1: has different boxes in 'bbox', 'boxes'"),
]


@pytest.mark.parametrize(("objects", "words"), OBJECTS)
def test_objects_that_cannot_be_read_are_refused(tmp_path, objects, words):
    good = {"file_name": "a.jpg", "objects": {"bbox": [[60, 20, 30, 40]], "category": [1]}}
    path = lines(tmp_path, good, {"file_name": "b.jpg", "objects": objects})
    ((_, line, _, message),) = found(path, "T001")
    assert (line, words in message) == (2, True)
    with pytest.raises(DatasetError, match="line 2"):
        alone(path)


def test_objects_may_name_their_categories_and_annotators_differently(tmp_path):
    box = {"bbox": [60, 20, 30, 40]}
    objects = [
        [{**box, "category": None, "label": "cat", "annotator": "ann"}],
        [{"box": box["bbox"], "category": "dog", "worker": "bob"}],
        {"bbox": [box["bbox"]], "category": None, "labels": ["owl"], "annotators": ["cid"]},
    ]
    data = alone(lines(tmp_path, *({"image": "a.jpg", "objects": each} for each in objects)))
    people = {"ann": "cat", "bob": "dog", "cid": "owl"}
    assert drawn(data) == [("a.jpg", *each, 60, 20, 30, 40) for each in people.items()]


def parquet_file(path, columns, **metadata):
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pa.table(columns).replace_schema_metadata(metadata), path)
    return path


def test_data_sets_of_hugging_face_have_names_of_classes_and_pictures(tmp_path):
    classes = {"_type": "ClassLabel", "names": ["cat", "dog"]}
    features = {"objects": {"feature": {"category": classes, "bbox": {}}, "_type": "Sequence"}}
    objects = [{"bbox": [[60, 2, 3, 4]], "category": [1]}, {"bbox": [], "category": []}]
    pictures = [{"bytes": b"x" * 99, "path": f"{name}.jpg"} for name in "ab"]
    columns = {"image": pictures, "objects": objects, "image_id": [1, 2]}
    kept = json.dumps({"info": {"features": features}})
    data = alone(parquet_file(tmp_path / "a.parquet", columns, huggingface=kept))
    assert drawn(data) == [("a.jpg", "(not named)", "dog", 60, 2, 3, 4)]
    assert data.image_names == ("a.jpg", "b.jpg")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('image,x,y,width,height\na.jpg,1,2,3,"4', "cannot be split into cells"),
        ("image,x,y,width,height\n", "has no rows"),
        ("image,x,y,width,height\na,1,2,3\n", "line 2: has 4 cells, and the first line 5"),
        ("image,bbox\na,[1,2,3,4]\n", "line 2: has 5 cells, and the first line 2"),
        (f"{PLAIN},x\na.jpg,ann,cat,1,2,30,40,7", "has several columns 'x'; expected one"),
        ('{"image": "a", "bbox": [1, 2, 3, 4]}\n{"image"', "line 2: is not a JSON object"),
    ],
)
def test_tables_that_cannot_be_read_are_refused(tmp_path, text, words):
    path = write(tmp_path, **{"a.jsonl" if text[0] == "{" else "a.csv": text})
    with pytest.raises(DatasetError, match=words):
        alone(next(path.iterdir()))


def test_a_list_of_rows_reads_as_the_same_rows_in_lines(tmp_path):
    rows = [
        {"image": f"{n}.jpg", "annotator": who, "label": "cat", "x": n, "y": 2 + shift,
         "width": 9, "height": 8}
        for n in range(3) for shift, who in enumerate(("ann", "bob"))
    ]  # fmt: skip
    of_lines, whole = "\n".join(map(json.dumps, rows)), json.dumps(rows, indent=1)
    texts = {"a.jsonl": of_lines, "b.json": json.dumps(rows), "c.json": whole, "d.json": of_lines}
    write(tmp_path, **texts, **{"e.json": whole.encode("utf-16")})
    figures = [drawn(read_coco(path)) for path in sorted(tmp_path.iterdir())]
    assert len(figures) == 5
    assert all(each == figures[0] for each in figures)


@pytest.mark.parametrize("key", ["boxes", "annotations"])
def test_a_list_of_rows_is_refused_as_the_same_rows_in_lines(tmp_path, key):
    rows = [{"image": f"{n}.jpg", key: [[1, 2, 3, 4], [5, 6, 7, 8]]} for n in range(2)]
    of_lines, whole = "\n".join(map(json.dumps, rows)), json.dumps(rows)
    write(tmp_path, **{"a.json": whole, "b.json": of_lines, "c.jsonl": of_lines})
    for path in sorted(tmp_path.iterdir()):
        with pytest.raises(DatasetError, match=f"is a table with the columns image, {key}; "):
            read_coco(path)
        # As its advice says.
        with bboxqa.reading(columns={"image": "image", "objects": key}, box_format="xyxy"):
            data = alone(path)
        assert data.annotations.bbox[:2].tolist() == [[1, 2, 2, 2], [5, 6, 2, 2]]


def test_a_row_of_a_list_is_found_at_its_line(tmp_path):
    box = '{"image": "a.jpg", "x": %s, "y": 2,\n  "width": 3, "height": 4}'
    path = write(tmp_path, **{"a.json": f"[\n {box % 1},\n {box % '[]'}\n]\n"}) / "a.json"
    assert [line for _, line, *_ in found(path, "T001")] == [4]


RESULT = '{"image_id": 1, "category_id": 2, "bbox": [1, 2, 3, 4]'


@pytest.mark.parametrize(
    ("text", "name"),
    [(f'[{RESULT}, "annotator": "ann"}}]', "table"), (f"[{RESULT}}}]", "coco"), ("[]", "coco"),
     ("[7]", "coco"), ('[{"a": ', "coco")],
)  # fmt: skip
def test_a_list_is_a_table_where_it_has_rows_of_people(tmp_path, text, name):
    assert format_of(write(tmp_path, **{"a.json": text}) / "a.json").name == name


def quoted(objects):
    """Return objects as a cell of csv."""
    return '"{}"'.format(json.dumps(objects).replace('"', '""'))


@pytest.mark.parametrize(
    "named",
    [
        {"left": 40, "top": 50, "width": 100, "height": 80},
        {"x": 40, "y": 50, "w": 100, "h": 80},
        {"topX": 40, "topY": 50, "bottomX": 140, "bottomY": 130},
        {"xMin": 40, "yMin": 50, "xMax": 140, "yMax": 130},
        {"left": "40", "top": "50", "right": "140", "bottom": "130"},
        {"xCenter": 90, "yCenter": 90, "width": 100, "height": 80},
        # Label Studio writes percentages.
        {"x": 4, "y": 5, "width": 10, "height": 8, "rotation": 0, **STUDIO},
    ],
)
@pytest.mark.parametrize("column", ["rad_id", "Coder", "labelled_by"])
def test_objects_whose_numbers_have_names(tmp_path, named, column):
    rows = [f"a.jpg,{who},{quoted([{'label': 'cat', **named}])}" for who in ("R8", "R9")]
    with bboxqa.reading(columns={"objects": "drawn"}):
        data = alone(table(tmp_path, f"image,{column},drawn", *rows))
    assert drawn(data) == [("a.jpg", who, "cat", 40, 50, 100, 80) for who in ("R8", "R9")]


# Tables in memory: lists of dicts, and frames of libraries that need not be installed.
ROWS = [
    {"file": "a.jpg", "who": "ann", "label": "cat", "x": 1, "y": 2, "width": 3, "height": 4},
    {"file": "a.jpg", "who": "bob", "label": "cat", "x": 1.5, "y": 2, "width": 3, "height": 4},
    {"file": "b.jpg", "who": "bob"},
]
MADE = {
    "list": lambda _: ROWS,
    "tuple": lambda _: tuple(ROWS),
    "numpy": lambda np: [{k: np.float32(v) if k == "x" else v for k, v in e.items()} for e in ROWS],
    "pandas": lambda pandas: pandas.DataFrame(ROWS),
    "polars": lambda polars: polars.DataFrame(ROWS),
    "pyarrow": lambda pyarrow: pyarrow.Table.from_pylist(ROWS),
}


@pytest.mark.parametrize("library", MADE)
def test_a_table_in_memory_is_read(library):
    module = None if library in ("list", "tuple") else pytest.importorskip(library)
    with bboxqa.reading(columns={"annotator": "who"}):
        data = read_coco(MADE[library](module))
    assert drawn(data) == [
        ("a.jpg", "ann", "cat", 1, 2, 3, 4), ("a.jpg", "bob", "cat", 1.5, 2, 3, 4),
    ]  # fmt: skip
    assert asked(data) == {"a.jpg": ["ann", "bob"], "b.jpg": ["bob"]}
    assert [source.name for source in data.sources] == ["table"]


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([{"image": "a.jpg", "x": 1}], "the table has no columns of boxes"),
        ([{"image": "\udc00", "bbox": [1, 2, 3, 4]}], "the table holds a value that JSON cannot"),
        ([{"image": "a.jpg", "bbox": [1, 2, 3]}], "line 1: bbox is [1, 2, 3]; expected four"),
    ],
)
def test_problems_name_the_table(rows, words):
    with pytest.raises(DatasetError) as caught:
        read_coco(rows, min_annotators=1)
    (problem,) = caught.value.problems
    assert problem.removeprefix("table:1:1: T001 error ").startswith(words)


def test_other_values_are_no_table():
    with pytest.raises(TypeError, match="source is of type int; expected one or several paths"):
        read_coco([1])


# Annotators and categories that are numbers, which data frames write in two ways.


@pytest.mark.parametrize("note", ["", '"a ""quoted"" word"'])
@pytest.mark.parametrize("key", ["annotator", "category"])
def test_numbers_of_two_tables_are_the_same_names(tmp_path, note, key):
    for name, numbers in (("a", ("1", "30")), ("b", ("1.0", "30.0"))):
        # People share the images of a table, or an image of both.
        parts = [(name, n, "cat") if key == "annotator" else ("a", name, n) for n in numbers]
        rows = [f"{image}.jpg,{who},{what},10,10,50,50,{note}" for image, who, what in parts]
        table(tmp_path, f"{PLAIN},note", *rows, name=f"{name}.csv")
    data = read_coco(tmp_path)
    assert getattr(data, f"{key}_names") == ("1", "30")
    assert len(data.annotations) == 4


def test_converted_rows_have_the_box_before_the_category(tmp_path):
    text = "image,annotator,label,x,y,width,height\na.jpg,ann,cat,1,2,30,40\n"
    (tmp_path / "a.csv").write_text(text, "utf-8")
    bboxqa.convert(tmp_path / "a.csv", tmp_path / "a.json", to="coco")
    (record,) = json.loads((tmp_path / "a.json").read_bytes())["annotations"]
    assert [*record].index("bbox") < [*record].index("category_id")


@pytest.mark.parametrize("key", ["annotator", "category"])
def test_a_name_that_csv_would_change_is_a_loss(tmp_path, key):
    row = {"image": "a.jpg", "x": 1, "y": 1, "width": 9, "height": 9}
    source, out = lines(tmp_path, row | {key: "1"}, row | {key: "1.0"}), tmp_path / "out.csv"
    with pytest.raises(DatasetError, match=r"'1\.0'.*read as '1'"):
        bboxqa.convert(source, out, to="csv")
    assert not out.exists()
    whole = bboxqa.convert(source, tmp_path / "out.parquet", to="parquet")
    assert not any(key in each.what for each in whole.losses)
    data = alone(tmp_path / "out.parquet")
    assert getattr(data, f"{key}_names") == ("1", "1.0")
