"""Videos of CVAT: tracks by frame."""

from zipfile import ZipFile

import pytest
from support.cvat_xml import box, head, project, shape, track, written

from bboxqa import read_coco
from bboxqa.core.errors import DatasetError


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
    expected = "its videos have 10,000,000 frames and 1 shape; expected at most 250,000 frames\n"
    assert str(found.value).split("a.xml: ")[1].startswith(expected)


def test_frames_of_all_files_of_an_archive_are_counted(tmp_path):
    path = tmp_path / "a.zip"
    with ZipFile(path, "w") as archive:
        for name, who in (("job_1", "ann"), ("job_2", "bob")):
            one = written_video(tmp_path / "a.xml", who, track(0, frame(0)), size=150_000, last="")
            archive.write(one, f"{name}/annotations.xml")
    with pytest.raises(DatasetError, match="expected at most 125,000 frames"):
        read(path)
    with pytest.raises(DatasetError, match="unpack an archive"):
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


def test_skeletons_of_videos_are_counted(tmp_path):
    skeletons = "".join(shape("skeleton", None, frame=at, outside=0) for at in (0, 1, 2))
    nose = '<track id="0" label="nose"><points frame="0" points="1,2" outside="0"/></track>'
    path = written_video(tmp_path / "a.xml", "ann", track(3, skeletons, nose), track(4, frame(1)))
    data = read(path)
    assert len(data.annotations) == 1
    assert any("'CVAT for images 1.1' has them" in note for note in data.notes)
