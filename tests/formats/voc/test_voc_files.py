"""XML of Pascal VOC: a file for each image, a folder for each annotator."""

from functools import partial

import numpy as np
import pytest
from PIL import Image
from support.tool_files import drawn, found, translation_of

from bboxqa import read_coco, reading, validate
from bboxqa.core.errors import DatasetError
from bboxqa.formats.voc.reader import translate


def thing(*corners, name="cat", more=""):
    """Return an object with xmin, ymin, xmax and ymax."""
    sides = zip(("xmin", "ymin", "xmax", "ymax"), corners, strict=True)
    box = "".join(f"<{side}>{value}</{side}>" for side, value in sides)
    return f"<object><name>{name}</name>{more}<bndbox>{box}</bndbox></object>\n"


def xml(*objects, name="a.jpg", size="<width>100</width><height>80</height>"):
    """Return a file, whose first object stands in line 4."""
    head = f"<annotation>\n<filename>{name}</filename>\n<size>{size}</size>\n"
    return f"{head}{''.join(objects)}</annotation>"


def written(folder, **files):
    """Write files, named with __ for / and without suffix; return the folder."""
    for name, text in files.items():
        path = folder / f"{name.replace('__', '/')}.xml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


translated = partial(translation_of, translate)


@pytest.mark.parametrize("n_bytes", [1, 9, 20, 31, 60, 120])
def test_a_file_that_is_cut_off_anywhere_is_refused(tmp_path, n_bytes):
    whole = xml(thing(11, 1, 30, 40))
    folder = written(tmp_path, a=whole, b=whole.replace("a.jpg", "b.jpg")[:n_bytes])
    found, _ = translated(folder)
    assert [each.code for each in found.defects] == ["T001"]
    assert "b.xml" in found.defects[0].message
    with pytest.raises(DatasetError, match=r"b\.xml"):
        read_coco(folder, min_annotators=1)


@pytest.mark.parametrize("stated", ["2", "x", "1.5"])
def test_a_first_pixel_that_is_neither_0_nor_1_is_refused(tmp_path, stated):
    text = xml(thing(11, 4, 30, 40)).replace("<size>", f"<first_pixel>{stated}</first_pixel><size>")
    folder = written(tmp_path / "ann", a=text)
    expected = f"first_pixel is '{stated}'; expected 0 or 1"
    found, _ = translated(folder)
    assert [(each.code, expected in each.message) for each in found.defects] == [("T001", True)]
    with pytest.raises(DatasetError, match="first_pixel is"):
        read_coco(folder, min_annotators=1)


OF_DATUMARO = "<source><annotation>Unknown</annotation><image>Unknown</image></source>"


@pytest.mark.parametrize(
    ("corners", "chosen", "source", "box", "words"),
    [
        # Columns 11 to 30 of 1, 2, … are 20 columns, the first at 10.
        ((11, 1, 30, 40), None, "", [10, 0, 20, 40], "counted from 1, as Pascal VOC defines; if "),
        ((11.5, 0, 30, 40), None, "", [10.5, -1, 19.5, 41], "counted from 1, as Pascal VOC defi"),
        ((11, 0, 30, 40), 1, "", [10, -1, 20, 41], "counted from 1, as given"),
        ((11, 1, 30, 40), 0, "", [11, 1, 19, 39], "edges counted from 0, as given"),
        ((11, 1, 30, 40), None, OF_DATUMARO, [11, 1, 19, 39], "from 0, as CVAT and datumaro wri"),
    ],
)
def test_the_number_of_the_first_pixel_is_said(tmp_path, corners, chosen, source, box, words):
    found, records = translated(written(tmp_path, a=xml(source, thing(*corners))), voc_base=chosen)
    assert records[0]["bbox"] == box
    assert words in found.notes[0]
    assert ("--voc-base" in found.notes[0]) == (chosen is None and not source)


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("a.jpg", "a.jpg"), ("day/a.jpg", "day/a.jpg"), ("C:\\users\\me\\a.jpg", "a.jpg"),
        ("/home/me/a.jpg", "a.jpg"), ("../../a.jpg", "a.jpg"), ("", "x"),
    ],
)  # fmt: skip
def test_the_path_on_the_computer_of_the_annotator_is_left_out(tmp_path, said, name):
    found, _ = translated(written(tmp_path, x=xml(name=said)))
    assert found.images[0]["file_name"] == name


def test_rotated_boxes_have_an_outline(tmp_path):
    rotation = (
        "<attributes><attribute><name>rotation</name><value>90</value></attribute></attributes>"
    )
    robot = (
        "<object><name>cat</name><robndbox><cx>50</cx><cy>40</cy><w>20</w><h>10</h>"
        "<angle>1.5707963267948966</angle></robndbox></object>"
    )
    written(tmp_path, a=xml(thing(40, 35, 60, 45, more=rotation), robot))
    _, records = translated(tmp_path, voc_base=0)
    # A box of 20 × 10 about 50, 40, on its side.
    for record in records:
        assert np.allclose(record["bbox"], [45, 30, 10, 20])
        assert record["attributes"]["rotation"] == pytest.approx(90)


def test_objects_name_their_annotators_as_fiftyone_writes_them(tmp_path):
    people = [f"<annotator>{name}</annotator>" for name in ("ann", "R &amp; D", " ")]
    objects = [thing(10 * n, 10, 40, 40, more=more) for n, more in enumerate(people, start=1)]
    data = read_coco(written(tmp_path, Annotations__a=xml(*objects)), min_annotators=1)
    assert [each[1] for each in drawn(data)] == ["(not named)", "R & D", "ann"]
    assert data.attribution == "<annotator>"
    assert "1 object without annotator, here by '(not named)'" in " / ".join(data.notes)
    ((_, _, _, message),) = found(tmp_path, "T005")
    assert "an object does not name its annotator" in message


@pytest.mark.parametrize(
    ("text", "code", "line", "words"),
    [
        (xml(thing(30, 1, 10, 9)), "T030", 4, "xmin is greater than xmax"),
        (xml(thing("x", 1, 10, 9)), "T001", 4, "xmin is 'x'; expected a number"),
        (xml(thing("5e9", 1, 10, 9)), "T001", 4,
         "xmin is '5e9'; expected a number within ±1,000,000,000"),
        (xml(thing("inf", 1, 10, 9)), "T001", 4, "xmin is 'inf'; expected a number"),
        (xml("<object><name>cat</name></object>"), "T001", 4, "has no bndbox"),
        (xml(thing(1, 1, 9, 9, name="")), "T004", 4, "an object has no name"),
        (xml(thing(1, 1, 9, 9)).replace("</size>", ""), "T001", 5, "mismatched tag"),
    ],
)  # fmt: skip
def test_a_defect_is_found_where_it_stands(tmp_path, text, code, line, words):
    (finding,) = validate(written(tmp_path, a=text), select=["T"]).findings
    assert (finding.code, finding.spot.line) == (code, line)
    assert words in finding.message
    assert finding.file == f"{tmp_path}/a.xml"


def test_a_file_with_a_document_type_is_refused(tmp_path):
    bomb = '<!DOCTYPE a [<!ENTITY b "bbbbbbbb"><!ENTITY c "&b;&b;">]>\n'
    written(tmp_path, a=bomb + xml(thing(1, 1, 9, 9), name="&c;"))
    with pytest.raises(DatasetError, match="declares a document type"):
        read_coco(tmp_path, min_annotators=1)


def stating(base, *corners):
    return xml(f"<first_pixel>{base}</first_pixel>", thing(*corners))


@pytest.mark.parametrize("chosen", [None, 0, 1])
def test_files_that_state_the_first_pixel_are_read_as_they_state(tmp_path, chosen):
    written(tmp_path, a=stating(0, 2, 5, 30, 40), b=stating(1, 3, 6, 30, 40))
    written(tmp_path, c=xml(thing(3, 6, 31, 41), name="c.jpg"), d=xml(name="d.jpg"))
    found, records = translated(tmp_path, voc_base=chosen)
    other = [3, 6, 28, 35] if chosen == 0 else [2, 5, 29, 36]
    assert [each["bbox"] for each in records] == [[2, 5, 28, 35]] * 2 + [other]
    assert found.notes[0].startswith("corners are those of 1 of 3 files: edges counted from 0, as ")


def test_a_corner_that_repeats_one_of_the_other_axis_is_no_swap(tmp_path):
    wrong, edge = thing(30, 50, 60, 30), thing(90, 1, 1, 9)
    # Boxes in order may have equal numbers.
    written(tmp_path, a=xml(wrong, thing(40, 10, 70, 40), edge))
    defects = [
        (code, line, said)
        for code in ("T001", "T030")
        for _, line, _, said in found(tmp_path, code)
    ]
    assert [each[:2] for each in defects] == [("T001", 4), ("T030", 6)]
    assert defects[0][2] == "object 1: ymax repeats xmin, so that the corners are out of order"
    with pytest.raises(DatasetError, match="ymax repeats xmin"):
        read_coco(tmp_path, min_annotators=1)


def test_pictures_of_which_no_label_has_a_name_are_not_its_images(tmp_path):
    written(tmp_path, a=xml(thing(10, 20, 30, 40)))
    (tmp_path / "images").mkdir()
    for name in "pq":
        Image.new("L", (9, 9)).save(tmp_path / f"images/{name}.png")
    with reading(missing_txt="asked"):
        data = read_coco(tmp_path, min_annotators=1)
    assert data.image_names == ("a.jpg",)
    assert "2 pictures left out: no label file has the name of one" in data.notes
    assert (len(found(tmp_path, "T022")), found(tmp_path, "T023")) == (1, [])
