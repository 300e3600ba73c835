"""COCO JSON: what is read however a file writes it, lists of results, and what is refused."""

import json
import os
import re
from pathlib import Path
from threading import Thread

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.cli import run
from support.datasets import annotation, document, image, two_annotators, write
from support.forks import forked
from support.masks import decode, encode

import bboxqa
from bboxqa.core.errors import DatasetError
from bboxqa.formats import scanner, source
from bboxqa.formats.dataset.reader import read_dataset
from bboxqa.formats.records import ReadSettings
from bboxqa.model.annotations import times_of
from bboxqa.model.masks import SegmentationKind

SQUARE = [10, 10, 30, 10, 30, 30, 10, 30]


def read(tmp_path, content, **more):
    return read_dataset(write(tmp_path / "export.json", content), ReadSettings(**more))


def pair(**more):
    """Return two equal annotations of two annotators."""
    return [annotation(n, rater=rater, **more) for n, rater in ((1, "ann"), (2, "bob"))]


def equal(one, other):
    for name in ("image_names", "category_names", "annotator_names"):
        assert getattr(one, name) == getattr(other, name)
    assert np.array_equal(one.assigned, other.assigned)
    assert np.array_equal(one.image_size, other.image_size)
    for name in ("id", "image", "annotator", "category", "bbox", "iscrowd"):
        assert np.array_equal(getattr(one.annotations, name), getattr(other.annotations, name))
    a, b = one.annotations.segmentation, other.annotations.segmentation
    assert (a is None) == (b is None)
    if a is not None:
        a, b = a.packed(), b.packed()
        for name in a.__slots__:
            assert np.array_equal(getattr(a, name), getattr(b, name))


def test_columns(tmp_path):
    images = [image(4, "b.jpg"), {"id": 2, "file_name": "a.jpg"}]
    records = [
        annotation(5, 4, 9, (1.5, 2, 3, 4), rater="bob", segmentation=[SQUARE, SQUARE[:6]]),
        annotation(6, 2, 3, (5, 6, 7, 8), rater="ann", iscrowd=1, segmentation=[]),
        annotation(7, 4, 3, (9, 9, 9, 9), rater="ann"),
    ]
    categories = [{"id": 9, "name": "dog"}, {"id": 3, "name": "cat"}]
    data = read(tmp_path, document(records, images, categories))
    assert data.image_names == ("a.jpg", "b.jpg")
    assert data.image_size.tolist() == [[0, 0], [100, 100]]
    assert data.category_names == ("cat", "dog")
    columns = data.annotations
    assert columns.id.tolist() == [6, 7, 5]
    assert columns.image.tolist() == [0, 1, 1]
    assert columns.annotator.tolist() == [0, 0, 1]
    assert columns.category.tolist() == [0, 0, 1]
    assert columns.bbox.tolist() == [[5, 6, 7, 8], [9, 9, 9, 9], [1.5, 2, 3, 4]]
    assert columns.iscrowd.tolist() == [True, False, False]
    outlines = columns.segmentation
    assert outlines.kind.tolist() == [
        SegmentationKind.NONE, SegmentationKind.NONE, SegmentationKind.POLYGON
    ]  # fmt: skip
    assert [ring.ravel().tolist() for ring in outlines.rings(2)] == [SQUARE, SQUARE[:6]]
    assert outlines.rings(0) == []


def test_the_source_is_named_measured_and_hashed(tmp_path):
    import hashlib

    path = write(tmp_path / "export.json", two_annotators())
    (source,) = read_dataset(path).sources
    assert source.name == str(path)
    assert source.size == path.stat().st_size
    assert source.blake2b == hashlib.blake2b(path.read_bytes()).hexdigest()


# What tools write differently.


def test_a_byte_order_mark(tmp_path):
    text = json.dumps(two_annotators()).encode()
    equal(read(tmp_path, b"\xef\xbb\xbf" + text), read(tmp_path, text))


@pytest.mark.parametrize("change", [str, float])
@pytest.mark.parametrize("where", ["images", "categories", "annotations", "references"])
def test_ids_as_text_or_float(change, where, tmp_path):
    content = document(pair())
    keys = ("image_id", "category_id") if where == "references" else ("id",)
    for record in content["annotations" if where == "references" else where]:
        for key in keys:
            record[key] = change(record[key])
    equal(read(tmp_path, content), read(tmp_path, document(pair())))


MASK = {"size": [2, 2], "counts": [0, 4]}


@pytest.mark.parametrize("outlines", [True, False])
@pytest.mark.parametrize("is_tolerant", [True, False])
@pytest.mark.parametrize(
    ("outline", "is_crowd"),
    [(MASK, False), (MASK | {"counts": "04"}, False), ([[0, 0, 2, 0, 2, 2]], True), ([], True),
     (None, True), (..., True)],
)  # fmt: skip
def test_crowds_of_cvat_are_run_lengths(outline, is_crowd, is_tolerant, outlines, tmp_path):
    more = {} if outline is ... else {"segmentation": outline}
    marked = pair(iscrowd=1, attributes={"occluded": False}, **more)
    # A number that is not finite is read by the tolerant decoder only.
    text = json.dumps(document(marked, note="@")).replace('"@"', "NaN" if is_tolerant else "0")
    data = read(tmp_path, text, outlines=outlines)
    assert data.annotations.iscrowd.tolist() == [is_crowd] * 2
    noted = [note for note in data.notes if "taken as single objects: CVAT writes 1" in note]
    assert len(noted) == (not is_crowd)


# Masks.


def picture():
    result = np.zeros((100, 100), bool)
    result[10:30, 15:40] = True
    result[50:, 60:61] = True
    return result


def encoded(kind):
    rle = encode(picture())
    if kind == "compressed":
        return {"size": [100, 100], "counts": rle["counts"].decode()}
    column = picture().T.ravel()
    changes = np.flatnonzero(np.diff(column)) + 1
    runs = np.diff(np.concatenate([[0], changes, [column.size]]))
    return {"size": [100, 100], "counts": runs.tolist()}


def test_uncompressed_masks_are_as_compressed_ones(tmp_path):
    one, other = (
        read(tmp_path, document(pair(segmentation=encoded(kind))))
        for kind in ("compressed", "uncompressed")
    )
    equal(one, other)
    outlines = one.annotations.segmentation
    assert outlines.kind.tolist() == [SegmentationKind.RLE] * 2
    assert np.array_equal(decode(outlines.rle(1)), picture())


# Windows.


def shuffled(seed):
    rng = np.random.default_rng(seed)
    outlines = [[SQUARE], [SQUARE, SQUARE[:6]], [], encoded("compressed"), None]
    records = [
        annotation(
            n, int(rng.integers(1, 4)), bbox=rng.integers(0, 30, 4).tolist(),
            rater=f"r{rng.integers(3)}", segmentation=outlines[rng.integers(5)],
        )
        for n in range(40)
    ]  # fmt: skip
    return document(records, [image(n) for n in (1, 2, 3)])


@pytest.mark.parametrize("window", [1, 50, 400, 3000])
@pytest.mark.parametrize("indent", [None, 2])
def test_reading_by_windows_changes_nothing(window, indent, tmp_path, monkeypatch):
    text = json.dumps(shuffled(window), indent=indent)
    whole = read(tmp_path, text)
    monkeypatch.setattr(scanner, "WINDOW", window)
    equal(read(tmp_path, text), whole)


@pytest.mark.parametrize("is_first", [True, False])
@pytest.mark.parametrize("records", [[], [{}], None])
@pytest.mark.parametrize("key", ["images", "annotations", "categories"])
def test_a_list_that_is_there_twice_is_refused(key, records, is_first, tmp_path):
    """Only the last one would count: a second empty list says that somebody drew nothing."""
    content = document(pair())
    records = content[key] if records is None else records
    other = f'"{key}": {json.dumps(records)}'
    text = json.dumps(content)
    twice = f"{{{other}, {text[1:]}" if is_first else f"{text[:-1]}, {other}}}"
    with pytest.raises(DatasetError, match="each of them once"):
        read(tmp_path, twice)


def in_two_records(*drawn):
    """Return a document of an image with two records, and annotations (record, annotator, x)."""
    images = [image(number, "a.jpg") for number in (1, 2)]
    records = [
        annotation(place, image_id=number, bbox=(x, 1, 9, 9), rater=who)
        for place, (number, who, x) in enumerate(drawn, 1)
    ]
    return document(records, images)


@pytest.mark.parametrize("second", [[3, 5], [3], [3, 6]], ids=["equal", "fewer", "others"])
def test_annotations_of_one_annotator_in_two_records_of_an_image_are_refused(second, tmp_path):
    drawn = [(1, "ann", 3), (1, "ann", 5), *((2, "ann", x) for x in second), (1, "bob", 3)]
    data = read(tmp_path, in_two_records(*drawn))
    assert len(data.annotations) == len(drawn)
    outcome = run("agree", tmp_path / "export.json", "--bootstrap", "0")
    assert (outcome.returncode, outcome.stdout) == (2, "")
    said = "several records of an image have annotations of image 'a.jpg' by 'ann'"
    assert data.notes == (f"{tmp_path}/export.json: {said}; all count",)
    assert f"{said}; expected those of an annotator of an image in one record" in outcome.stderr
    assert "--session-key KEY of annotations or images" in outcome.stderr
    outcome = run("convert", tmp_path / "export.json", tmp_path / "out.json", "--to", "coco")
    assert f"Note: {tmp_path}/export.json: {said}; all count\n" in outcome.stderr


@given(st.randoms(use_true_random=False))
def test_order_of_records_changes_nothing(tmp_path_factory, random):
    folder = tmp_path_factory.mktemp("order")
    content = shuffled(5)
    expected = read(folder, content)
    for part in ("images", "annotations"):
        random.shuffle(content[part])
    equal(read(folder, dict(sorted(content.items(), key=lambda _: random.random()))), expected)


def test_key_points_beside_boxes_are_counted_and_left_out(tmp_path):
    points = {"keypoints": [5, 5, 2, 9, 9, 2], "rater": "ann"}
    alone = [annotation(n, **points) for n in (7, 8)]
    for each in alone:
        del each["bbox"]
    joints = [{"id": 1, "name": "cat", "keypoints": ["nose", "tail"]}]
    path = write(tmp_path / "a.json", document([*pair(), *alone], categories=joints))
    data = read_dataset(path)
    assert data.annotations.id.tolist() == [1, 2]
    said = "2 annotations with key points and no box not compared; --similarity keypoints"
    assert any(said in note for note in data.notes)
    with_points = read_dataset(path, ReadSettings(keypoints=True))
    assert sorted(with_points.annotations.id.tolist()) == [1, 2, 7, 8]
    (problem,) = problems(tmp_path, document(alone, categories=joints))
    assert "annotations[0] (id 7) and 1 more: bbox is missing" in problem


@pytest.mark.parametrize("n_links", [1, 2])
def test_people_whose_folders_are_links_are_read(tmp_path, n_links):
    people = ("ann", "bob")
    for who in people:
        place = tmp_path / ("elsewhere" if who in people[:n_links] else "set") / who
        box = [10, 10, 20, 20 + (who == "bob")]
        write(place / "x.json", document([annotation(1, bbox=box)], [image(1)]))
    (tmp_path / "set").mkdir(exist_ok=True)
    for who in people[:n_links]:
        (tmp_path / "set" / who).symlink_to(tmp_path / "elsewhere" / who)
    assert read_dataset(tmp_path / "set").annotator_names == people


# What a user reads when a file would falsify the result.


def refused(path, **more):
    with pytest.raises(DatasetError) as caught:
        read_dataset(path, ReadSettings(**more))
    return caught.value


def problems(tmp_path, content, **more):
    """Return the problems of a document, without the name of the file."""
    path = write(tmp_path / "export.json", content)
    return [
        problem.replace(f"{path}: ", "").replace("export.json: ", "")
        for problem in refused(path, **more).problems
    ]


def test_no_such_file_and_an_empty_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    error = refused("none.json")
    assert error.problems == ("none.json: no such file",)
    assert f"Paths are relative to {tmp_path}." in str(error)
    error = refused(write(tmp_path / "a.json", ""))
    assert error.problems == (f"{tmp_path / 'a.json'}: the file is empty",)
    assert "Export it again." in str(error)


def test_truncated_at_every_place(tmp_path):
    text = json.dumps(document(pair(segmentation=[SQUARE]), [image(1, "ü.jpg")]))
    for stop in range(1, len(text)):
        (problem,) = problems(tmp_path, text[:stop], outlines=stop % 2)
        assert problem == "is not JSON in UTF-8"


TEXT = json.dumps(two_annotators())
LISTS = "expected an object with the lists images and annotations and categories, each of them"
NO_JSON = "is not JSON in UTF-8"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        *((content, LISTS) for content in (
            "[]", "7", "null", {"info": {}}, two_annotators() | {"images": {}},
            two_annotators() | {"annotations": None},
        )),
        *((content, NO_JSON) for content in (
            b"\xff\xfe" + TEXT.encode("utf-16-le"), b"\xfe\xff" + TEXT.encode("utf-16-be"),
            TEXT.replace("1.jpg", "ü.jpg").encode("latin-1"),
            b"\xef\xbb\xbf" + TEXT.replace("1.jpg", "ü.jpg").encode("latin-1"),
            TEXT + " {}", "@" + TEXT, TEXT[:-1] + ",}", TEXT[:-1] + ',"a":"\t"}', "[" * 100_000,
        )),
        (document([]), "no annotations; nothing to measure"),
    ], ids=range(16),
)  # fmt: skip
def test_problems_of_files(content, expected, tmp_path):
    (found,) = problems(tmp_path, content)
    assert found.startswith(expected)


BOX = "annotations[0] (id 1): bbox is missing or cannot be used; expected 4 finite numbers"
UNUSABLE = "[0] has a value that cannot be used"
WRONG = {
    ("annotations", "image_id"): [(77, "annotation 1: image_id is 77; expected the id of an")],
    ("annotations", "category_id"): [(77, "annotation 1: category_id is 77; expected the id of")],
    ("annotations", "bbox"): [
        *((box, BOX) for box in ([1, 2, 3], [1, 2, 3, 4, 5], None, "x", {}, [1, "2", 3, 4])),
        *((box, BOX) for box in ([1, 2, 3, True], [5, 5, float("nan"), 5], [5, -1e400, 5, 5])),
        ([5, 5, -1, 5], "annotation 1: bbox is [5.0, 5.0, -1.0, 5.0]; expected sides of 0 or more"),
        ([5, 5, 5, -0.5], "annotation 1: bbox is [5.0, 5.0, 5.0, -0.5]; expected sides of 0 or"),
        ([5, 5, 2e9, 5], "annotation 1: bbox is [5.0, 5.0, 2000000000.0, 5.0]; expected sides of"),
        (..., "bbox is missing or"),
    ],
    ("annotations", "id"): [
        (value, "id is missing or") for value in ("", " ", 7.5, None, True, [7], {}, 2**70, ...)
    ],
    ("annotations", "iscrowd"): [(value, "iscrowd is missing or") for value in (5, "no")],
    ("images", "file_name"): [(7, UNUSABLE)],
    ("images", "width"): [
        ("9", UNUSABLE), ("\ud800", UNUSABLE), (-1, "image 1: size is -1 × "),
        *((float(number), f"size is {number}") for number in ("nan", "inf", "-inf")),
    ],
    ("images", "rater_list"): [("ann", UNUSABLE)],
    ("categories", "name"): [(7, UNUSABLE)],
}  # fmt: skip


@pytest.mark.parametrize(("listed", "key"), WRONG)
def test_problems_of_records(listed, key, tmp_path):
    for value, expected in WRONG[listed, key]:
        content = document(pair())
        record = content[listed][0] | {key: value}
        content[listed][0] = {name: each for name, each in record.items() if each is not ...}
        found = problems(tmp_path, content)
        assert any(expected in problem for problem in found), found


@pytest.mark.parametrize("key", ["images", "categories", "annotations"])
def test_duplicate_ids_and_records_that_are_no_objects(key, tmp_path):
    content = document(pair())
    content[key].append(content[key][0] | ({"name": "dog"} if key == "categories" else {}))
    assert problems(tmp_path, content) == [f"{key}: id 1 occurs more than once; expected once"]
    content[key][-1] = 7
    (problem,) = problems(tmp_path, content)
    assert problem.startswith(f"{key}[{len(content[key]) - 1}]")


@pytest.mark.parametrize(
    "outline",
    [
        [[1, 2, 3]], [SQUARE, [1]], [[0, 0, 3e9, 0, 3, 3]], {"size": [100, 100], "counts": [5, 6]},
        {"size": [100, 100], "counts": [10_005, -5]}, {"size": [100, 100], "counts": "é"},
        {"size": [0, 100], "counts": []}, {"size": [10**6, 10**6], "counts": "0"},
    ],
)  # fmt: skip
def test_outlines_that_are_not_sound(outline, tmp_path):
    content = document([*pair(segmentation=outline)[:1], annotation(2, rater="bob")])
    (problem,) = problems(tmp_path, content)
    assert re.match(r"annotations\[0\] \(id 1\): segmentation is m|a polygon has a", problem)
    assert (
        len(read_dataset(tmp_path / "export.json", ReadSettings(outlines=False)).annotations) == 2
    )


@pytest.mark.parametrize(
    ("other", "problem"),
    [
        ({"categories": [{"id": 1, "name": "dog"}]},
         "category 1 is 'dog'; in ann.json it is 'cat', and neither file has both names"),
        ({"images": [image(1) | {"width": 50}]},
         "image '1.jpg' is 50 × 100; another record of it says 100 × 100"),
    ],
)  # fmt: skip
def test_what_contradicts_between_files(other, problem, tmp_path):
    ann = document([annotation(1)])
    files = {"ann": ann, "bob": ann | other}
    paths = [write(tmp_path / f"{name}.json", content) for name, content in files.items()]
    (found,) = refused(paths).problems
    assert found.replace(f"{tmp_path}/", "") == f"bob.json: {problem}"


def test_resized_images_are_one_problem_with_a_way_on(tmp_path):
    boxes = [annotation(number, number) for number in range(1, 31)]
    for name, side in (("ann", 100), ("bob", 50)):
        images = [image(number, width=side, height=side) for number in range(1, 31)]
        write(tmp_path / f"{name}.json", document(boxes, images))
    found = refused([tmp_path / "ann.json", tmp_path / "bob.json"])
    says = "image '1.jpg' and 29 more is 50 × 50; another record of it says 100 × 100"
    assert found.problems == (f"{tmp_path}/bob.json: {says}",)
    assert f"bboxqa validate {tmp_path}/bob.json --images DIR" in found.advice


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="has no such device")
@pytest.mark.parametrize("command", ["validate", "agree", "stats", "segments"])
def test_a_device_without_end_is_refused(command):
    result = forked(command, "/dev/zero", *["/dev/urandom"] * (command == "segments"))
    assert result.returncode == 2
    assert "/dev/zero: is a pipe or a device" in result.stderr
    assert "Write it to a file first." in result.stderr


def test_a_pipe_is_read_up_to_a_limit(tmp_path, monkeypatch):
    monkeypatch.setattr(source, "_MOST_STREAMED", 1000)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for size, refused in ((1000, False), (1001, True)):
        writer = Thread(target=pipe.write_bytes, args=(b" " * size,))
        writer.start()
        if refused:
            with pytest.raises(DatasetError, match="is a pipe or a device of more than"):
                source.read_whole(pipe)
        else:
            assert len(source.read_whole(pipe)) == size
        writer.join()


@pytest.mark.parametrize("kind", ["images", "categories", "annotators"])
def test_names_that_differ_only_in_escapes_are_not_joined(kind, tmp_path):
    content = two_annotators()
    odd, plain = "a\u200b", "a\\u200b"
    if kind == "annotators":
        for record, rater in zip(content["annotations"], (odd, plain), strict=False):
            record["rater"] = rater
    else:
        key = "file_name" if kind == "images" else "name"
        content[kind] = [{**content[kind][0], "id": n + 1, key: (odd, plain)[n]} for n in (0, 1)]
    (problem,) = problems(tmp_path, content)
    assert problem.endswith(" differ only in escaped characters; rename one of them")
    assert all(repr(name) in problem for name in (odd, plain))


# Ids that are text, such as "im_1": linked by equality, and shown as the file has them.
PLACES = [[10, 10, 20, 20], [60, 60, 20, 20], [30, 60, 20, 20]]
PREFIX = {"images": "im_", "categories": "cat_", "annotations": "an_"}


def numbered():
    """Return two annotators, who name one object of the second image differently."""
    places = [(1, 0, 1, 1), (1, 1, 2, 2), (2, 0, 1, 1), (2, 1, 1, 2), (2, 2, 2, None)]
    records = []
    for image_id, box, *named in places:
        for who, category in zip(("ann", "bob"), named, strict=True):
            if category is not None:
                number = len(records) + 1
                records.append(annotation(number, image_id, category, bbox=PLACES[box], rater=who))
    names = [{"id": 1, "name": "cat"}, {"id": 2, "name": "dog"}]
    return document(records, [image(1, "a.jpg"), image(2, "b.jpg")], names)


def as_text(content):
    """Return the same with text in place of numbers."""
    found = json.loads(json.dumps(content))
    for key, prefix in PREFIX.items():
        for record in found[key]:
            record["id"] = f"{prefix}{record['id']}"
    for record in found["annotations"]:
        record["image_id"] = f"im_{record['image_id']}"
        record["category_id"] = f"cat_{record['category_id']}"
    return found


def test_results_of_text_ids_are_those_of_numbers():
    numbers, text = (bboxqa.agree(e, bootstrap=0) for e in (numbered(), as_text(numbered())))
    for name in ("images", "categories", "pairs"):
        assert repr(getattr(text, name).records()) == repr(getattr(numbers, name).records())
    # Numbers of units follow ids.
    rows = [[row | {"unit": 0} for row in result.units.records()] for result in (numbers, text)]
    for row in rows[0]:
        row["annotation"] = f"an_{row['annotation']}" if row["annotation"] else ""
    assert sorted(map(repr, rows[0])) == sorted(map(repr, rows[1]))
    annotations = [result.diagnose().review["annotations"] for result in (numbers, text)]
    assert [re.sub(r"(ann|bob): (\d+)", r"\1: an_\2", each) for each in annotations[0]] == [
        *annotations[1]
    ]


# When annotations were made, and in which session of work.


def at(*times):
    """Return a document of one annotation per time, by two annotators in turns."""
    made = [{} if time is None else {"made": {"at": time}} for time in times]
    return document([annotation(n, annotator="ab"[n % 2], **e) for n, e in enumerate(made, 1)])


@pytest.mark.parametrize(
    "value",
    [
        "2026-01-31T08:15:00Z", "2026-01-31 09:15:00+01:00", "2026-01-31 08:15:00",
        "20260131T08:15:00", 1769847300, 1769847300.0, 1769847300000, "1769847300",
    ],
)  # fmt: skip
def test_times_of_all_kinds_are_read(value):
    data = bboxqa.read_coco(at(value, value), time_key="made.at")
    assert data.annotations.times.seconds.tolist() == [1769847300, 1769847300]


@pytest.mark.parametrize(
    "value", ["today", "2026-01-31", 12, "2026-13-31 08:15:00", True, [2026], 1e300]
)
def test_what_is_no_time_is_named(value):
    source = at("2026-01-31T08:15:00", value)
    with pytest.raises(
        DatasetError, match=r"document: annotation 2: made\.at is .*expected a time"
    ):
        bboxqa.read_coco(source, time_key="made.at")


def test_annotations_without_a_time_are_in_no_session():
    times = bboxqa.read_coco(at(1769847300, None), time_key="made.at").annotations.times
    # The second annotation, by a, comes first.
    assert times.session.tolist() == [-1, 0]
    assert np.isnan(times.elapsed[0])


def test_sessions_are_those_of_each_annotator_one_by_one():
    rng = np.random.default_rng(7)
    annotator = rng.integers(0, 3, 60).astype(np.int32)
    seconds = np.where(rng.random(60) < 0.1, np.nan, rng.integers(0, 40_000, 60).astype(float))
    found = times_of(seconds, annotator)
    for who in range(3):
        rows = [n for n in np.argsort(seconds).tolist() if annotator[n] == who]
        session, begun, before = -1, None, None
        for row in rows:
            time = seconds[row]
            if np.isnan(time):
                assert found.session[row] == -1
                continue
            if before is None or time - before > 1800:
                session, begun, step = session + 1, time, np.nan
            else:
                step = time - before
            before = time
            assert (found.session[row], found.elapsed[row]) == (session, time - begun)
            assert found.step[row] == pytest.approx(step, nan_ok=True)
