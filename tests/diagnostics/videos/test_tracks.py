"""IDF1 and identity switches against published figures, all assignments, and injected switches."""

import json
from itertools import permutations, product

import numpy as np
import pytest
from jsonschema import validate
from msgspec.structs import replace
from support.cli import run
from support.cvat_xml import head
from support.datasets import document_of
from support.matched import matched
from support.tool_files import write

import bboxqa
from bboxqa.diagnostics.over_time import track_switches, tracks
from bboxqa.model.units import CandidatePairs
from bboxqa.report.agreement_summary import diagnosis_schema

COLUMNS = ("annotator_1", "track", "annotator_2", "before", "after", "until", "since")


def film(*frames, video="film"):
    """Return a document of frames, {annotator: {track: left edge of a box of 20 px}} each."""
    rows = [
        (n, name, 1, (left, 10, 20, 20), {"track_id": track})
        for n, who in enumerate(frames, 1)
        for name, boxes in who.items()
        for track, left in boxes.items()
    ]
    names = [f"{video}/{n}.jpg" for n in range(1, len(frames) + 1)]
    content = document_of(rows, names, ("person",), size=(999, 99))
    for record, who in zip(content["images"], frames, strict=True):
        record["annotators"] = [*who]
    return content


def read(document):
    return bboxqa.read_coco(document, tracks=True, segmentation=False)


def rows_of(table, *columns):
    return [tuple(row[name] for name in columns) for row in table.records()]


def test_published_example_of_py_motmetrics():
    # The distances of its README: IDF1, IDP and IDR are 83.3 %, and 1 identity switch.
    frames = [
        ({"a": {1: 0, 2: 100}, "b": {1: 200, 2: 300, 3: 400}}, [[0.1, None, 0.3], [0.5, 0.2, 0.3]]),
        ({"a": {1: 0, 2: 100}, "b": {1: 200}}, [[0.2], [0.4]]),
        ({"a": {1: 0, 2: 100}, "b": {1: 200, 3: 400}}, [[0.6, 0.2], [0.1, 0.6]]),
    ]
    units = matched(read(film(*(boxes for boxes, _ in frames))))
    each = units.data.annotations
    pairs = []
    for image, (_, distances) in enumerate(frames):
        own, others = (
            np.flatnonzero((each.image == image) & (each.annotator == n)) for n in (0, 1)
        )
        pairs += [
            (left, right, 1 - distance)
            for left, row in zip(own, distances, strict=True)
            for right, distance in zip(others, row, strict=True)
            if distance is not None
        ]
    left, right, similarity = zip(*pairs, strict=True)
    near = CandidatePairs(np.array(left), np.array(right), np.array(similarity))
    units = replace(units, near=near, threshold=0.4)
    (row,) = tracks(units).records()
    assert row["idf1"] == pytest.approx(10 / 12, abs=1e-12)
    assert [row[name] for name in ("idtp", "idfn", "idfp")] == [5, 1, 1]
    assert (row["switches_1"], row["switches_2"]) == (1, 0)
    found = rows_of(track_switches(units), *COLUMNS)
    assert found == [("a", "2", "b", "2", "3", "film/1.jpg", "film/3.jpg")]


def test_idtp_is_the_largest_of_all_assignments():
    rng = np.random.default_rng(1)
    for n_tracks in [(4, 4), (3, 5), (5, 2), (1, 4)]:
        frames = [
            {
                name: {
                    track: float(rng.integers(0, 60)) for track in np.flatnonzero(drawn).tolist()
                }
                for name, drawn in zip("ab", (rng.random(n) < 0.9 for n in n_tracks), strict=True)
            }
            for _ in range(6)
        ]
        units = matched(read(film(*frames)), bootstrap=0)
        # Boxes of 20 px side by side have IoU 1/2 where they are 20/3 px apart.
        same = np.zeros((5, 5), int)
        for frame in frames:
            for one, other in product(frame["a"].items(), frame["b"].items()):
                same[one[0], other[0]] += abs(one[1] - other[1]) <= 20 / 3
        best = max(same[np.arange(5), order].sum() for order in permutations(range(5)))
        n_boxes = sum(len(boxes) for frame in frames for boxes in frame.values())
        (row,) = tracks(units).records()
        assert row["idtp"] == best
        assert row["idf1"] == pytest.approx(2 * best / n_boxes, abs=1e-12)


def test_an_id_is_a_track_of_one_video_only_and_intervals_draw_videos():
    boxes = {"a": {1: 0}, "b": {1: 0}}
    parts = [film(boxes, boxes, video=video) for video in ("x", "y", "z")]
    whole = parts[0]
    for number, part in enumerate(parts[1:], 1):
        for image in part["images"]:
            image["id"] += 10 * number
        for row in part["annotations"]:
            row |= {"id": row["id"] + 10 * number, "image_id": row["image_id"] + 10 * number}
        whole["images"] += part["images"]
        whole["annotations"] += part["annotations"]
    data = read(whole)
    assert data.tracks.videos == ("x", "y", "z")
    (row,) = tracks(matched(data, bootstrap=200)).records()
    assert (row["n_tracks_1"], row["idf1"], row["interval_over"]) == (3, 1, "videos")
    for image in whole["images"]:
        image["video_id"] = 5
    data = read(whole)
    assert data.tracks.videos == ("5",)
    (row,) = tracks(matched(data, bootstrap=200)).records()
    assert (row["n_tracks_1"], row["idf1_low"]) == (1, None)
    assert row["interval_over"] == "nothing: one object in one video"


def test_tracks_are_in_the_order_of_their_ids_and_not_of_hashes():
    ids = ["10", "b", "9", "a", "100", "c"]
    boxes = {name: 60 * place for place, name in enumerate(ids)}
    data = read(film({"a": boxes, "b": {"1": 0}}))
    assert data.tracks.names == ("a", "b", "c", "9", "10", "100", "1")


def test_frames_are_in_the_order_of_their_numbers():
    frames = [{"a": {1: 0}, "b": {7 if n < 9 else 8: 0}} for n in range(12)]
    (found,) = rows_of(track_switches(matched(read(film(*frames)))), "until", "since")
    assert found == ("film/9.jpg", "film/10.jpg")


def test_the_command_writes_tables_where_tracks_are_asked(tmp_path):
    frames = [{"a": {1: 0, 2: 60}, "b": {7 if n < 4 else 8: 0, 9: 60}} for n in range(8)]
    source, out = tmp_path / "film.json", tmp_path / "out"
    source.write_text(json.dumps(film(*frames)))
    done = run("agree", source, "--tracks", "--diagnose", "--out", out, "--bootstrap", 200)
    assert "Tracks at IoU 0.5" in done.stdout
    found = json.loads((out / "details.json").read_text())["diagnosis"]
    validate(found, diagnosis_schema())
    assert found["tables"]["track_switches"]["rows"][0][:5] == ["a", "1", "b", "7", "8"]
    assert (out / "tracks.csv").exists()
    run("agree", source, "--diagnose", "--out", out, "--bootstrap", 0, "--force")
    assert "tracks" not in json.loads((out / "details.json").read_text())["diagnosis"]["tables"]


def test_files_without_tracks_are_refused_where_they_are_asked():
    document = film({"a": {1: 0}, "b": {1: 0}})
    for row in document["annotations"]:
        del row["track_id"]
    with pytest.raises(bboxqa.DatasetError, match="none of 2 annotations is in a track") as refused:
        read(document)
    assert "track_id" in str(refused.value)
    assert "--columns track=NAME" in str(refused.value)


@pytest.mark.parametrize("similarity", ["bbox", "obb"])
def test_tracks_of_a_video_of_cvat_are_those_of_frames_where_it_is_inside(tmp_path, similarity):
    def video(second):
        rows = [(0, 0, 1), (0, 1, 0), (second, 2, 0), (second, 3, 1)]
        boxes = {
            track: "".join(
                f'<box frame="{frame}" keyframe="{key}" outside="0" occluded="0" '
                # Two people with equal boxes are refused.
                f'xtl="{10 + second}" ytl="10" '
                'xbr="30" ybr="30" z_order="0"></box>\n'
                for own, frame, key in rows
                if own == track
            )
            for track in {0, second}
        }
        gone = '<box frame="4" keyframe="1" outside="1" xtl="9" ytl="9" xbr="30" ybr="30"></box>'
        tracks = "".join(
            f'<track id="{track}" label="cat" source="manual">{text}{gone}</track>\n'
            for track, text in boxes.items()
        )
        size = "<size>6</size><original_size><width>99</width><height>99</height></original_size>"
        return f"<annotations>\n{head(more=size)}{tracks}</annotations>"

    source = write(tmp_path, **{"ann.xml": video(0), "bob.xml": video(1)})
    data = bboxqa.read_coco(source, attribution="files", tracks=True)
    result = bboxqa.agree(data, similarity=similarity, bootstrap=0)
    (row,) = result.diagnose().tables["tracks"].records()
    assert (row["n_boxes_1"], row["n_tracks_2"], row["idtp"], row["idf1"]) == (4, 2, 2, 0.5)
    found = rows_of(result.diagnose().tables["track_switches"], "until", "since")
    assert found == [("frame_000001", "frame_000002")]
