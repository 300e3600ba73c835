"""Images of CVAT: who drew what, shapes, and what is wrong with them."""

import numpy as np
import pytest
from support.cvat_xml import box, document, head, image, project, shape, written
from support.tool_files import asked, translation_of

from bboxqa import read_coco, validate
from bboxqa.core.errors import DatasetError
from bboxqa.model.masks import compress_counts


def read(path, **more):
    return read_coco(path, min_annotators=1, **more)


def boxes(data):
    return data.annotations.bbox.tolist()


def records(path):
    """Return the annotations as COCO records, also those without a box."""
    from bboxqa.formats.cvat.reader import translate

    return translation_of(translate, path)[1]


def test_the_assignee_of_each_file_is_its_annotator(tmp_path):
    ann = written(tmp_path / "1.xml", head("ann"), image("a.jpg", box()), image("b.jpg", number=1))
    bob = written(tmp_path / "2.xml", head("bob", kind="job"), image("a.jpg", box(label="dog")))
    data = read_coco([ann, bob])
    assert asked(data) == {"a.jpg": ["ann", "bob"], "b.jpg": ["ann"]}
    assert boxes(data) == [[10, 10, 20, 30], [10, 10, 20, 30]]
    assert data.category_names == ("cat", "dog")
    assert data.attribution == "the assignee"


@pytest.mark.parametrize(
    ("meta", "name", "attribution"),
    [
        (head("bob@x.org"), "bob@x.org", "the assignee"),
        (head("", owner="Ann"), "(not named)", ""),
        ("", "(not named)", ""),
        (head(kind=""), "(not named)", ""),
    ],
)
def test_annotators_of_a_task_or_none(tmp_path, meta, name, attribution):
    data = read(written(tmp_path / "a.xml", meta, image("a.jpg", box())))
    assert data.annotator_names == (name,)
    assert data.attribution == attribution


def test_tasks_of_a_project_have_annotators_of_their_own(tmp_path):
    meta = project((1, "ann", ""), (2, "bob", ""), (3, "", ""))
    parts = [image("a.jpg", box(), task_id=n, subset="Train") for n in (1, 2)]
    path = written(tmp_path / "a.xml", meta, *parts, image("b.jpg", task_id=3, subset="Train"))
    data = read_coco(path)
    assert asked(data) == {"a.jpg": ["ann", "bob"], "b.jpg": ["(not named)"]}
    assert data.attribution == "the assignee"


def test_a_mask_is_relative_to_its_crop(tmp_path):
    # In a crop of 3 × 2: row 0 is "xx.", row 1 is ".x.".
    part = shape("mask", rle="0, 2, 2, 1, 1", left=5, top=7, width=3, height=2)
    (record,) = records(written(tmp_path / "a.xml", head("ann"), image("a.jpg", part)))
    assert record["bbox"] == [5, 7, 2, 2]
    # Column by column, of 80 rows: 5 · 80 + 7 = 407 outside, row 7 of column 5, 79 outside,
    # rows 7 and 8 of column 6, and the rest.
    runs = compress_counts(np.array([407, 1, 79, 2, 8000 - 489]), 80, 100)
    assert record["segmentation"] == {"size": [80, 100], "counts": runs.decode()}


def test_what_has_no_box_is_kept_and_counted(tmp_path):
    joints = shape("points", "nose", points="1,2", outside=0, occluded=1)
    joints += shape("points", "tail", points="3,4", outside=1, occluded=0)
    corners = {f"{axis}{c}{n}": 5 for n in "12" for c in ("tl", "bl", "tr", "br") for axis in "xy"}
    parts = (
        shape("points", points="1,2;3.5,4"),
        shape("polyline", points="1,2;3,4"),
        shape("skeleton", inside=joints),
        shape("cuboid", **corners),
        shape("tag"),
    )
    path = written(tmp_path / "a.xml", head("ann"), image("a.jpg", box(label="dog"), *parts))
    found = records(path)
    assert [each.get("keypoints") for each in found[1:]] == [
        [1, 2, 2, 3.5, 4, 2],
        None,
        [1, 2, 1, 3, 4, 0],
        None,
        None,
    ]
    data = read(path)
    assert data.notes[0] == (
        "1 point set, 1 polyline, 1 skeleton, 1 cuboid and 1 image label are not compared"
    )
    assert {each.code for each in validate(path).findings} == {"Q001"}


def test_findings_stand_in_the_file(tmp_path):
    parts = box(), box(1, 1, 130, 40), box(label="bird", x=50, right=60), box(5, 50, 9, 60, None)
    path = written(tmp_path / "a.xml", head(), image("a.jpg", *parts))
    found = {each.code: each for each in validate(path).findings}
    lines = {code: (each.spot.line, each.spot.column) for code, each in found.items()}
    assert lines["T040"] == (5, 1)
    assert lines["B003"] == (16, 1)
    assert lines["T041"] == (18, 1)
    assert lines["T004"] == (20, 1)
    assert found["T041"].ids["annotation"] == "a.xml:18"
    assert found["B003"].excerpt.startswith('<box label="cat"')
    assert found["T040"].message == "task 7: has no assignee"


@pytest.mark.parametrize(
    ("part", "code", "words"),
    [
        (box().replace("10.00", "left", 1), "T001", "box: xtl is 'left'; expected a number"),
        (box().replace("10.00", "nan", 1), "T001", "box: xtl is 'nan'; expected a number"),
        (
            box().replace("10.00", "1e9", 1),
            "T001",
            "xtl is '1e9'; expected a number within ±1,000,000,000",
        ),
        (box().replace("ytl", "top"), "T001", "box: has no ytl; expected a number"),
        (shape("polygon", points="1,2;3"), "T001", "points are '1,2;3'; expected x,y;x,y"),
        (shape("mask", rle="1,2", left=1, top=1, width=2, height=2), "T008", "of 3 pixels"),
        (shape("mask", rle="0,4", left=99, top=1, width=2, height=2), "T008", "beyond the image"),
        (shape("mask", rle="-1,5", left=1, top=1, width=2, height=2), "T008", "below zero"),
        (shape("mask", rle="a", left=1, top=1, width=2, height=2), "T008", "whole numbers"),
    ],
)
def test_a_broken_shape_is_refused_with_its_place(tmp_path, part, code, words):
    path = written(tmp_path / "a.xml", head("ann"), image("a.jpg", box(), part))
    with pytest.raises(DatasetError) as caught:
        read(path)
    (problem,) = caught.value.problems
    assert problem.startswith(f"{path}:16:1: {code} error ")
    assert words in problem


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('<!DOCTYPE a [<!ENTITY e SYSTEM "x">]><annotations><meta/></annotations>', "DOCTYPE"),
        (document(head("ann"), image("a.jpg", box()))[:-30], r"a\.xml:1[0-9]:\d+: is XML that"),
        (document(head("ann")), "is CVAT XML without images"),
        ("<annotations><meta>" + "<a>" * 200, "100 deep"),
        (
            '<?xml version="1.0" encoding="none"?><annotations><meta/></annotations>',
            "in an unknown encoding",
        ),
    ],
)
def test_what_cannot_be_read_is_refused_by_name(tmp_path, text, words):
    path = tmp_path / "a.xml"
    path.write_text(text)
    for use in (read, validate):
        with pytest.raises(DatasetError, match=words):
            use(path)


def test_an_attribute_may_name_the_annotator(tmp_path):
    drawn = [
        box(x, inside=f'<attribute name="annotator">{who}</attribute>')
        for x, who in ((10, "ann"), (11, "bob"))
    ]
    data = read(written(tmp_path / "a.xml", head(), image("a.jpg", *drawn)))
    assert data.annotator_names == ("ann", "bob")
