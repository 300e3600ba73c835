"""Videos of CVAT: tracks by frame."""

import json
from pathlib import Path
from zipfile import ZipFile

import pytest
from support.cvat_xml import box, head, project, shape, track, written

from bboxqa import convert, read_coco, validate
from bboxqa.core.errors import DatasetError
from bboxqa.formats.cvat import reader

SHARED = Path(__file__).parents[4] / "shared/data/formats/cvat"
needs_shared = pytest.mark.skipif(not SHARED.exists(), reason="no files of CVAT here")


def video(first=0, last=3, size=4, more=""):
    return (
        f"<size>{size}</size><mode>interpolation</mode><start_frame>{first}</start_frame>"
        f"<stop_frame>{last}</stop_frame>{more}"
        "<original_size><width>100</width><height>80</height></original_size>"
    ).replace("<mode>annotation</mode>", "")


def frame(number, *args, outside=0, keyframe=1, **more):
    part = box(*args, **more, frame=number, outside=outside, keyframe=keyframe, label=None)
    return part.replace(' source="manual"', "")


def read(path, **more):
    return read_coco(path, min_annotators=1, **more)


def written_video(path, who, *tracks, kind="task", **more):
    meta = head(who, kind=kind, more=video(**more)).replace("<mode>annotation</mode>", "")
    return written(path, meta, *tracks)


def test_tracks_are_boxes_in_frames_and_all_frames_were_asked_about(tmp_path):
    frames = frame(0), frame(1, 12, 10, 32, 40, keyframe=0), frame(2, outside=1)
    path = written_video(tmp_path / "a.xml", "ann", track(5, *frames, label="dog"))
    data = read(path)
    assert data.image_names == tuple(f"frame_00000{n}" for n in range(4))
    assert data.annotations.bbox.tolist() == [[10, 10, 20, 30], [12, 10, 20, 30]]
    assert data.annotations.shown_ids([0, 1]) == ["track 5, frame 0", "track 5, frame 1"]
    assert data.assigned.all()
    assert data.image_size.tolist() == [[100, 80]] * 4
    assert data.notes[0].startswith("the file does not name its video: frames are joined by number")


def test_people_who_drew_in_different_frames_are_compared_in_all(tmp_path):
    ann = written_video(tmp_path / "1.xml", "ann", track(0, frame(0)))
    bob = written_video(tmp_path / "2.xml", "bob", track(0, frame(3)))
    assert read_coco([ann, bob]).assigned.all()


def test_frames_begin_and_step_as_the_job_says(tmp_path):
    filtered = "<frame_filter>step=5</frame_filter>"
    path = written_video(
        tmp_path / "a.xml", "ann", track(0, frame(15)), first=10, last=22, size=3, more=filtered
    )
    assert read(path).image_names == ("frame_000010", "frame_000015", "frame_000020")


def test_videos_of_very_many_empty_frames_are_refused(tmp_path):
    path = written_video(tmp_path / "a.xml", "ann", track(0, frame(0)), size=10_000_000, last="")
    with pytest.raises(DatasetError) as found:
        read(path)
    assert str(found.value).split("a.xml: ")[1] == (
        "its videos have 10,000,000 frames and 1 shape; expected at most 250,000, or 50 for "
        "each shape\nIf that is right, export its jobs one by one. Otherwise correct <size> in "
        "<meta>."
    )


def test_frames_of_all_files_of_an_archive_are_counted(tmp_path):
    path = tmp_path / "a.zip"
    with ZipFile(path, "w") as archive:
        for name, who in (("job_1", "ann"), ("job_2", "bob")):
            one = written_video(tmp_path / "a.xml", who, track(0, frame(0)), size=150_000, last="")
            archive.write(one, f"{name}/annotations.xml")
    with pytest.raises(DatasetError, match="expected at most 125,000, or 50 for"):
        read(path)
    with pytest.raises(DatasetError, match="unpack the archive"):
        read(path)
    with ZipFile(path) as archive:
        archive.extractall(tmp_path / "folder")
    assert len(read(tmp_path / "folder").image_names) == 150_000


def test_videos_of_a_project_have_frames_of_their_own(tmp_path):
    one, two = (video(more=f"<source>{name}.mp4</source>") for name in "ab")
    meta = project((1, "ann", one), (2, "bob", two))
    tracks = [track(n, frame(1), task_id=n) for n in (1, 2)]
    data = read(written(tmp_path / "a.xml", meta, *tracks))
    assert len(data.image_names) == 8
    row = data.image_names.index("b.mp4/frame_000001")
    assert data.assigned[row].tolist() == [False, True]


def test_findings_name_track_and_frame(tmp_path):
    path = written_video(tmp_path / "a.xml", "ann", track(3, frame(0), frame(1, 90, 1, 120, 9)))
    found = next(each for each in validate(path).findings if each.code == "B003")
    assert found.ids["annotation"] == "track 3, frame 1"


@needs_shared
def test_a_real_export_of_a_video_has_all_frames_and_the_boxes_inside():
    data = read(SHARED / "video_job/usa-hitting.xml")
    assert (len(data.image_names), len(data.annotations)) == (910, 498)


def joint(number, label, *points):
    """Return the track of a joint, of (frame, x, y, outside)."""
    frames = "".join(
        f'<points frame="{at}" outside="{outside}" occluded="0" points="{x},{y}"></points>\n'
        for at, x, y, outside in points
    )
    return f'<track id="{number}" label="{label}" source="manual">{frames}</track>\n'


def test_very_many_points_of_few_written_joints_are_refused_once(tmp_path, monkeypatch):
    # 9,000 skeletons and 6,000 joints in 1 MB took 12 GB.
    monkeypatch.setattr(reader, "_MOST_POINTS", 5000)
    skeletons = "".join(shape("skeleton", None, frame=at, outside=0) for at in range(100))
    joints = (joint(0, f"j{number}", (0, 10, 20, 0)) for number in range(60))
    drawn = track(3, skeletons, *joints)
    path = written_video(tmp_path / "a.xml", "ann", drawn, size=100, last="")
    (found,) = (each for each in validate(path).findings if each.code == "T001")
    assert found.message == (
        "track: would bring the skeletons to 5,100 points, of which 51 are written; "
        "expected at most 5,000"
    )


def test_joints_of_skeletons_have_tracks_of_their_own(tmp_path):
    skeletons = "".join(shape("skeleton", None, frame=at, outside=0) for at in (0, 1, 2))
    # The tail is out of sight from frame 1 on, and not written again; the paw begins in frame 1.
    joints = (
        joint(0, "nose", (0, 10, 20, 0), (1, 11, 20, 0), (2, 12, 20, 0)),
        joint(1, "tail", (0, 40, 60, 0), (1, 40, 60, 1)),
        joint(2, "paw", (1, 5, 6, 0), (2, 6, 6, 0)),
    )
    boxes = track(4, frame(1), label="dog")
    path = written_video(tmp_path / "a.xml", "ann", track(3, skeletons, *joints), boxes)
    out = tmp_path / "a.json"
    convert(path, out, to="coco", lossy=True)
    found = json.loads(out.read_bytes())
    assert len(found["annotations"]) == 4
    names = {each["id"]: each["file_name"] for each in found["images"]}
    points = {
        names[each["image_id"]]: each["keypoints"]
        for each in found["annotations"]
        if "keypoints" in each
    }
    assert points == {
        "frame_000000": [10, 20, 2, 40, 60, 2, 5, 6, 0],
        "frame_000001": [11, 20, 2, 40, 60, 0, 5, 6, 2],
        "frame_000002": [12, 20, 2, 40, 60, 0, 6, 6, 2],
    }
    assert len(read(path).annotations) == 1
