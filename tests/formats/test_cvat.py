"""CVAT: who drew what in images and videos, shapes, and what is wrong with them."""

from functools import partial
from zipfile import ZipFile

import pytest
from support.cvat_xml import box, document, head, image, project, shape, track, written
from support.tool_files import alone, asked, translation_of

from bboxqa import read_coco, validate
from bboxqa.core.errors import DatasetError
from bboxqa.formats.cvat.reader import translate

records = partial(translation_of, translate)


def test_the_assignee_of_each_file_is_its_annotator(tmp_path):
    ann = written(tmp_path / "1.xml", head("ann"), image("a.jpg", box()), image("b.jpg", number=1))
    bob = written(tmp_path / "2.xml", head("bob", kind="job"), image("a.jpg", box(label="dog")))
    data = read_coco([ann, bob])
    assert asked(data) == {"a.jpg": ["ann", "bob"], "b.jpg": ["ann"]}
    assert data.annotations.bbox.tolist() == [[10, 10, 20, 30]] * 2
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
    data = alone(written(tmp_path / "a.xml", meta, image("a.jpg", box())))
    assert data.annotator_names == (name,)
    assert data.attribution == attribution


def test_tasks_of_a_project_have_annotators_of_their_own(tmp_path):
    meta = project((1, "ann", ""), (2, "bob", ""), (3, "", ""))
    parts = [image("a.jpg", box(), task_id=n, subset="Train") for n in (1, 2)]
    path = written(tmp_path / "a.xml", meta, *parts, image("b.jpg", task_id=3, subset="Train"))
    data = read_coco(path)
    assert asked(data) == {"a.jpg": ["ann", "bob"], "b.jpg": ["(not named)"]}
    assert data.attribution == "the assignee"


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
    _, found = records(path)
    assert [each.get("keypoints") for each in found[1:]] == [
        [1, 2, 2, 3.5, 4, 2], None, [1, 2, 1, 3, 4, 0], None, None,
    ]  # fmt: skip
    assert alone(path).notes[0] == (
        "1 point set, 1 polyline, 1 skeleton, 1 cuboid and 1 image label are not compared"
    )
    assert {each.code for each in validate(path).findings} == {"Q001"}


def test_findings_stand_in_the_file(tmp_path):
    parts = box(), box(1, 1, 130, 40), box(label="bird", x=50, right=60), box(5, 50, 9, 60, None)
    path = written(tmp_path / "a.xml", head(), image("a.jpg", *parts))
    found = {each.code: each for each in validate(path).findings}
    lines = {code: each.spot.line for code, each in found.items() if each.spot.column == 1}
    assert lines.items() >= {"T040": 5, "B003": 16, "T041": 18, "T004": 20}.items()
    assert found["T041"].ids["annotation"] == "a.xml:18"
    assert found["B003"].excerpt.startswith('<box label="cat"')


@pytest.mark.parametrize(
    ("part", "code", "words"),
    [
        (box().replace("10.00", "left", 1), "T001", "box: xtl is 'left'; expected a number"),
        (box().replace("10.00", "nan", 1), "T001", "box: xtl is 'nan'; expected a number"),
        (box().replace("10.00", "1e9", 1), "T001", "is '1e9'; expected a number within ±1,000,000"),
        (box().replace("ytl", "top"), "T001", "box: ytl is missing; expected a number"),
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
        alone(path)
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
            "in an unknown",
        ),
    ],
)
def test_what_cannot_be_read_is_refused_by_name(tmp_path, text, words):
    path = tmp_path / "a.xml"
    path.write_text(text)
    for use in (alone, validate):
        with pytest.raises(DatasetError, match=words):
            use(path)


# Videos.


def video(first=0, last=3, size=4, more=""):
    return (
        f"<size>{size}</size><mode>interpolation</mode><start_frame>{first}</start_frame>"
        f"<stop_frame>{last}</stop_frame>{more}"
        "<original_size><width>100</width><height>80</height></original_size>"
    ).replace("<mode>annotation</mode>", "")


def frame(number, *args, outside=0, keyframe=1, **more):
    part = box(*args, **more, frame=number, outside=outside, keyframe=keyframe, label=None)
    return part.replace(' source="manual"', "")


def written_video(path, who, *tracks, kind="task", **more):
    meta = head(who, kind=kind, more=video(**more)).replace("<mode>annotation</mode>", "")
    return written(path, meta, *tracks)


def test_tracks_are_boxes_in_frames_and_all_frames_were_asked_about(tmp_path):
    frames = frame(0), frame(1, 12, 10, 32, 40, keyframe=0), frame(2, outside=1)
    path = written_video(tmp_path / "a.xml", "ann", track(5, *frames, label="dog"))
    data = alone(path)
    assert data.image_names == tuple(f"frame_00000{n}" for n in range(4))
    assert data.annotations.bbox.tolist() == [[10, 10, 20, 30], [12, 10, 20, 30]]
    assert data.annotations.shown_ids([0, 1]) == ["track 5, frame 0", "track 5, frame 1"]
    assert data.assigned.all()
    assert data.image_size.tolist() == [[100, 80]] * 4
    assert data.notes[0].startswith(
        "the file does not name its video: frames of all files are joined by number"
    )


def test_frames_begin_and_step_as_the_job_says(tmp_path):
    filtered = "<frame_filter>step=5</frame_filter>"
    path = written_video(
        tmp_path / "a.xml", "ann", track(0, frame(15)), first=10, last=22, size=3, more=filtered
    )
    assert alone(path).image_names == ("frame_000010", "frame_000015", "frame_000020")


def test_videos_of_very_many_empty_frames_are_refused(tmp_path):
    path = written_video(tmp_path / "a.xml", "ann", track(0, frame(0)), size=10_000_000, last="")
    with pytest.raises(
        DatasetError, match="have 10,000,000 frames and 1 shape; expected at most 2"
    ):
        alone(path)


def test_frames_of_all_files_of_an_archive_are_counted(tmp_path, monkeypatch):
    monkeypatch.setattr("bboxqa.formats.cvat.reader._MOST_FRAMES", 2500)
    path = tmp_path / "a.zip"
    with ZipFile(path, "w") as archive:
        for name, who in (("job_1", "ann"), ("job_2", "bob")):
            one = written_video(tmp_path / "a.xml", who, track(0, frame(0)), size=1500, last="")
            archive.write(one, f"{name}/annotations.xml")
    with pytest.raises(DatasetError, match=r"at most 1,250 frames[\s\S]*unpack an archive"):
        alone(path)
    with ZipFile(path) as archive:
        archive.extractall(tmp_path / "folder")
    assert len(alone(tmp_path / "folder").image_names) == 1500


def test_videos_of_a_project_have_frames_of_their_own(tmp_path):
    one, two = (video(more=f"<source>{name}.mp4</source>") for name in "ab")
    meta = project((1, "ann", one), (2, "bob", two))
    tracks = [track(n, frame(1), task_id=n) for n in (1, 2)]
    data = alone(written(tmp_path / "a.xml", meta, *tracks))
    assert len(data.image_names) == 8
    row = data.image_names.index("b.mp4/frame_000001")
    assert data.assigned[row].tolist() == [False, True]


def test_skeletons_without_a_joint_of_their_label_are_findings(tmp_path):
    more = "<label><name>nose</name><parent>cat</parent></label>"
    labels = head("ann").replace("</labels>", f"{more}{more.replace('nose', 'tail')}</labels>")
    nose = shape("points", "nose", points="1,2", outside=0, occluded=0)
    path = written(tmp_path / "a.xml", labels, image("a.jpg", shape("skeleton", inside=nose)))
    (found,) = (each for each in validate(path).findings if each.code == "K001")
    assert "skeleton has 1 point; its label 'cat' has 2" in found.message


def test_skeletons_with_most_joints_left_out_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("bboxqa.formats.translation.collector.most_joints", lambda n: n)
    labels = head("ann").replace("</labels>", "<label><name>tail</name><parent>cat</parent></label>"
                                 "</labels>")  # fmt: skip
    nose = shape("points", "nose", points="1,2", outside=0, occluded=0)
    path = written(tmp_path / "a.xml", labels, image("a.jpg", shape("skeleton", inside=nose)))
    with pytest.raises(DatasetError, match="its label has 2 key points, most of which annotations"):
        read_coco(path, min_annotators=1, keypoints=True)


def test_skeletons_of_videos_are_counted(tmp_path):
    skeletons = "".join(shape("skeleton", None, frame=at, outside=0) for at in (0, 1, 2))
    nose = '<track id="0" label="nose"><points frame="0" points="1,2" outside="0"/></track>'
    path = written_video(tmp_path / "a.xml", "ann", track(3, skeletons, nose), track(4, frame(1)))
    data = alone(path)
    assert len(data.annotations) == 1
    assert any("'CVAT for images 1.1' has them" in note for note in data.notes)
