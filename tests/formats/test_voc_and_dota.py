"""XML of Pascal VOC and text labels of DOTA: a file for each image, a folder for each annotator."""

from functools import partial

import numpy as np
import pytest
from PIL import Image
from support.tool_files import alone, drawn, found, translation_of, write

from bboxqa import reading, validate
from bboxqa.core.errors import DatasetError
from bboxqa.formats.dota import translate as translate_dota
from bboxqa.formats.voc import translate

translated = partial(translation_of, translate)


def thing(*corners, name="cat", more=""):
    """Return an object with xmin, ymin, xmax and ymax."""
    sides = zip(("xmin", "ymin", "xmax", "ymax"), corners, strict=True)
    box = "".join(f"<{side}>{value}</{side}>" for side, value in sides)
    return f"<object><name>{name}</name>{more}<bndbox>{box}</bndbox></object>\n"


def xml(*objects, name="a.jpg"):
    """Return a file, whose first object stands in line 4."""
    size = "<size><width>100</width><height>80</height></size>"
    head = f"<annotation>\n<filename>{name}</filename>\n{size}\n"
    return f"{head}{''.join(objects)}</annotation>"


@pytest.mark.parametrize("n_bytes", [1, 9, 20, 31, 60, 120])
def test_a_file_that_is_cut_off_anywhere_is_refused(tmp_path, n_bytes):
    whole = xml(thing(11, 1, 30, 40))
    write(tmp_path, **{"a.xml": whole, "b.xml": whole.replace("a.jpg", "b.jpg")[:n_bytes]})
    Image.new("L", (9, 9)).save(tmp_path / "b.png")
    told = [(each.code, each.message[:5]) for each in translated(tmp_path)[0].defects]
    assert [each for each in told if each[0] != "T022"] == [("T001", "b.xml")]
    with pytest.raises(DatasetError, match=r"b\.xml"):
        alone(tmp_path)


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
    folder = write(tmp_path, **{"a.xml": xml(source, thing(*corners))})
    done, records = translated(folder, voc_base=chosen)
    assert records[0]["bbox"] == box
    assert words in done.notes[0]
    assert ("--voc-base" in done.notes[0]) == (chosen is None and not source)


@pytest.mark.parametrize("chosen", [None, 0, 1])
def test_files_that_state_the_first_pixel_are_read_as_they_state(tmp_path, chosen):
    stated = [xml(f"<first_pixel>{base}</first_pixel>", thing(base + 2, base + 5, 30, 40))
              for base in (0, 1)]  # fmt: skip
    write(tmp_path, **{f"{name}.xml": text for name, text in zip("ab", stated, strict=True)})
    others = {"c.xml": xml(thing(3, 6, 31, 41), name="c.jpg"), "d.xml": xml(name="d.jpg")}
    done, records = translated(write(tmp_path, **others), voc_base=chosen)
    other = [3, 6, 28, 35] if chosen == 0 else [2, 5, 29, 36]
    assert [each["bbox"] for each in records] == [[2, 5, 28, 35]] * 2 + [other]
    assert done.notes[0].startswith("corners of 1 of 3 files are edges counted from 0, as ")


def test_the_current_folder_is_read(tmp_path, monkeypatch):
    write(tmp_path, **{"a.xml": xml(thing(1, 2, 30, 40))})
    monkeypatch.chdir(tmp_path)
    assert len(alone(".").annotations) == 1
    assert found(".", "Q001")


def test_rotated_boxes_have_an_outline(tmp_path):
    rotation = (
        "<attributes><attribute><name>rotation</name><value>90</value></attribute></attributes>"
    )
    robot = (
        "<object><name>cat</name><robndbox><cx>50</cx><cy>40</cy><w>20</w><h>10</h>"
        "<angle>1.5707963267948966</angle></robndbox></object>"
    )
    write(tmp_path, **{"a.xml": xml(thing(40, 35, 60, 45, more=rotation), robot)})
    _, records = translated(tmp_path, voc_base=0)
    # A box of 20 × 10 about 50, 40, on its side.
    for record in records:
        assert np.allclose(record["bbox"], [45, 30, 10, 20])
        assert record["attributes"]["rotation"] == pytest.approx(90)


def test_objects_name_their_annotators_as_fiftyone_writes_them(tmp_path):
    people = [f"<annotator>{name}</annotator>" for name in ("ann", "R &amp; D", " ")]
    objects = [thing(10 * n, 10, 40, 40, more=more) for n, more in enumerate(people, start=1)]
    data = alone(write(tmp_path, **{"Annotations/a.xml": xml(*objects[:2])}))
    assert [each[1] for each in drawn(data)] == ["R & D", "ann"]
    assert data.attribution == "<annotator>"
    write(tmp_path, **{"Annotations/a.xml": xml(*objects)})
    ((_, line, _, message),) = found(tmp_path, "A001")
    assert (line, message.partition(" do not")[0]) == (6, "1 of 3 annotations")
    with pytest.raises(DatasetError, match="do not name their annotator"):
        alone(tmp_path)


FIRST = "first_pixel is '{}'; expected 0 or 1"


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
        *((xml(f"<first_pixel>{e}</first_pixel>"), "T001", None, FIRST.format(e))
          for e in ("2", "x", "1.5")),
    ],
)  # fmt: skip
def test_a_defect_is_found_where_it_stands(tmp_path, text, code, line, words):
    write(tmp_path, **{"a.xml": text})
    (finding,) = validate(tmp_path, select=["T"]).findings
    assert (finding.code, finding.file) == (code, f"{tmp_path}/a.xml")
    assert line in (None, finding.spot.line)
    assert words in finding.message
    if code == "T001":
        with pytest.raises(DatasetError, match="T001"):
            alone(tmp_path)


@pytest.mark.parametrize(
    ("named", "images"),
    [
        ({"1": "2", "2": "2", "3": "c"}, {"1", "2", "c"}),
        ({"1": "2", "2": "3", "3": "3"}, {"1", "2", "3"}),
        ({"1": "a", "2": "a", "3": "2"}, {"a", "2", "3"}),
    ],
)
def test_files_that_name_one_image_are_as_many_images(tmp_path, named, images):
    write(tmp_path, **{f"{own}.xml": xml(thing(1, 1, 9, 9), name=f"{name}.jpg")
                       for own, name in named.items()})  # fmt: skip
    data = alone(tmp_path)
    assert {*data.image_names} == {f"{name}.jpg" for name in images}
    assert sorted(data.annotations.image) == [0, 1, 2]
    assert found(tmp_path, "T031")


@pytest.mark.parametrize("empty", ["<annotation />", "<annotation>\n</annotation>\n"])
def test_a_file_without_content_is_an_image_without_objects(tmp_path, empty):
    write(tmp_path, **{"a.xml": xml(thing(1, 1, 9, 9)), "b.xml": empty})
    assert alone(tmp_path).image_names == ("a.jpg", "b")
    assert not found(tmp_path, "T012")


def test_a_file_with_a_document_type_is_refused(tmp_path):
    bomb = '<!DOCTYPE a [<!ENTITY b "bbbbbbbb"><!ENTITY c "&b;&b;">]>\n'
    write(tmp_path, **{"a.xml": bomb + xml(thing(1, 1, 9, 9), name="&c;")})
    with pytest.raises(DatasetError, match="declares a document type"):
        alone(tmp_path)


def test_an_image_may_have_pictures_of_two_kinds_of_one_size(tmp_path):
    tool = '[{"image": "a.jpg", "annotations": [{"coordinates": {}}]}]'
    write(tmp_path, **{"Annotations/a.xml": xml(thing(1, 2, 3, 4)), "Annotations/a.json": tool,
                       "YOLOLabels/a.txt": "0 .5 .5 .5 .5\n"})  # fmt: skip
    (tmp_path / "JPEGImages").mkdir()
    for size, counted in ((9, {"T012"}), (8, {"T002", "T012", "T022"})):
        Image.new("L", (size, 9)).save(tmp_path / "JPEGImages/a.jfif")
        Image.new("L", (9, 9)).save(tmp_path / "JPEGImages/a.jpg")
        both = validate(tmp_path)
        assert [each.kind for each in both.files] == ["YOLO labels", "Pascal VOC XML"]
        assert {"T002", "T012", "T022", "T023"} & {*both.counts} == counted
    with pytest.raises(DatasetError, match=r"several formats: yolo .*, voc") as raised:
        alone(tmp_path)
    assert "NAME=" not in str(raised.value)


def test_pictures_of_which_no_label_has_a_name_are_not_its_images(tmp_path):
    write(tmp_path, **{"a.xml": xml(thing(10, 20, 30, 40))})
    for name in ("p.png", "thumbs/a.jpg"):
        (tmp_path / f"images/{name}").parent.mkdir(parents=True)
        Image.new("L", (9, 9)).save(tmp_path / f"images/{name}")
    with reading(missing_txt="asked"):
        data = alone(tmp_path)
    assert data.image_names == ("a.jpg",)
    assert "2 pictures left out: no label file has the path of one" in data.notes
    assert (len(found(tmp_path, "T022")), found(tmp_path, "T023")) == (1, [])


# DOTA.
PLANE = "10 10 30 10 30 20 10 20 plane 0\n"
HEADER = "imagesource:GoogleEarth\ngsd:0.146343590398\n"


def of_lines(tmp_path, text):
    """Return the translation of a file of an image of 100 × 80 pixels, and its annotations."""
    picture = b"P6\n100 80\n255\n"
    write(tmp_path, **{"labelTxt/a.txt": text, "images/a.ppm": picture})
    return translation_of(translate_dota, tmp_path)


def test_header_lines_are_skipped_and_corners_kept(tmp_path):
    done, (record,) = of_lines(tmp_path, HEADER + "20 10 30 20 20 30 10 20 small-vehicle 1\r\n")
    assert done.categories[0]["name"] == "small-vehicle"
    # A square on its corner, around (20, 20).
    assert record["bbox"] == [10, 10, 20, 20]
    assert record["segmentation"] == [[20, 10, 30, 20, 20, 30, 10, 20]]
    assert record["attributes"] == {"rotation": 45, "difficult": 1}
    assert "1 object marked difficult: compared like the others" in done.notes
    assert (done.images[0]["width"], done.images[0]["height"]) == (100, 80)


@pytest.mark.parametrize(
    "line", ["1 1 5 1 5 3 1 3", "1 1 5 1 5 3 1 x plane 0", "nan 1 5 1 5 3 1 3 plane 0"]
)
def test_lines_that_are_no_labels_are_errors_at_their_place(tmp_path, line):
    write(tmp_path, **{"a.txt": HEADER + PLANE + line})
    assert [each[:2] for each in found(tmp_path, "T001")] == [(str(tmp_path / "a.txt"), 4)]
    with pytest.raises(DatasetError) as refused:
        alone(tmp_path)
    # The place comes once.
    (problem,) = refused.value.problems
    assert problem.startswith(f"{tmp_path}/a.txt:4:1: T001 error {line!r} ")
