"""What is read, however the file writes it."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.cli import run
from support.datasets import annotation, document, image, two_annotators, write
from support.masks import decode, encode
from support.reference import data_file

from bboxqa import convert
from bboxqa.core.errors import DatasetError
from bboxqa.formats import scanner
from bboxqa.formats.dataset.reader import Reading, read_dataset
from bboxqa.model.outlines import SegmentationKind

SQUARE = [10, 10, 30, 10, 30, 30, 10, 30]


def read(tmp_path, content, **more):
    return read_dataset(write(tmp_path / "export.json", content), Reading(**more))


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


def test_arrays_are_read_only(tmp_path):
    data = read(tmp_path, two_annotators())
    for array in (data.assigned, data.image_size, data.annotations.bbox, data.annotations.id):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0


def test_outlines_are_left_out_on_request(tmp_path):
    data = read(tmp_path, document(pair(segmentation=[SQUARE])), outlines=False)
    assert data.annotations.segmentation is None


def test_the_source_is_named_measured_and_hashed(tmp_path):
    import hashlib

    path = write(tmp_path / "export.json", two_annotators())
    (source,) = read_dataset(path).sources
    assert source.name == str(path)
    assert source.size == path.stat().st_size
    assert source.blake2b == hashlib.blake2b(path.read_bytes()).hexdigest()


@pytest.mark.parametrize("folder", ["with space", "Übung", "日本語", "a'b\"c"])
def test_unicode_and_spaces_in_paths(folder, tmp_path):
    path = write(tmp_path / folder / f"{folder}.json", two_annotators())
    assert len(read_dataset(path).annotations) == 2
    assert len(read_dataset(str(path)).annotations) == 2


# What tools write differently.


def test_a_byte_order_mark(tmp_path):
    text = json.dumps(two_annotators()).encode()
    equal(read(tmp_path, b"\xef\xbb\xbf" + text), read(tmp_path, text))


def as_text(value):
    return str(value)


@pytest.mark.parametrize("change", [as_text, float], ids=["text", "float"])
@pytest.mark.parametrize("where", ["images", "categories", "annotations", "references"])
def test_ids_as_text_or_float(change, where, tmp_path):
    content = document(pair())
    keys = ("image_id", "category_id") if where == "references" else ("id",)
    for record in content["annotations" if where == "references" else where]:
        for key in keys:
            record[key] = change(record[key])
    equal(read(tmp_path, content), read(tmp_path, document(pair())))


def test_large_and_negative_ids(tmp_path):
    records = [annotation(n, -5, rater=str(n)) for n in (2**62, -(2**62))]
    data = read(tmp_path, document(records, [image(-5)]))
    assert sorted(data.annotations.id.tolist()) == [-(2**62), 2**62]


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
    noted = [note for note in data.notes if "count as single objects: CVAT writes 1" in note]
    assert len(noted) == (not is_crowd)


def test_unknown_keys_are_skipped(tmp_path):
    more = {"area": 5.5, "extra": {"nested": [1, {"a": None}]}, "attributes": {"occluded": False}}
    content = document(
        pair(**more, keypoints=[1, 2], score=None),
        [image(1, license=1, flickr_url="x", date_captured=None)],
        [{"id": 1, "name": "cat", "supercategory": "animal", "keypoints": ["a"]}],
        info={"year": ""},
        licenses=[{}],
        more=None,
    )
    equal(read(tmp_path, content), read(tmp_path, document(pair())))


@pytest.mark.parametrize("value", [None, False, 0])
def test_ways_to_say_no_crowd(value, tmp_path):
    assert not read(tmp_path, document(pair(iscrowd=value))).annotations.iscrowd.any()


@pytest.mark.parametrize("value", [True, 1])
def test_ways_to_say_crowd(value, tmp_path):
    assert read(tmp_path, document(pair(iscrowd=value))).annotations.iscrowd.all()


@pytest.mark.parametrize("side", [None, 0, 100.0])
def test_image_sizes_of_any_kind(side, tmp_path):
    data = read(tmp_path, document(pair(), [{"id": 1, "width": side, "height": 100}]))
    assert data.image_size.tolist() == [[100, 100] if side == 100 else [0, 0]]


@pytest.mark.parametrize("side", [-1, 2e9])
def test_image_sizes_beyond_reason(side, tmp_path):
    with pytest.raises(
        DatasetError, match=r"image 1: width is .*; expected 0 or more, and at most"
    ):
        read(tmp_path, document(pair(), [{"id": 1, "width": side, "height": 100}]))


def test_the_careful_reader_reads_the_same(tmp_path):
    """An id written as 1.0 sends the whole file to the careful reader."""
    records = pair(segmentation=[SQUARE], iscrowd=None, attributes={"annotator": "x"})
    records += [annotation(3, rater="ann", segmentation=encoded("compressed"))]
    fast = read(tmp_path, document(records))
    careful = read(tmp_path, document(records, [image(1.0, "1.jpg")]))
    equal(fast, careful)


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


def test_masks_and_polygons_side_by_side(tmp_path):
    records = pair(segmentation=[SQUARE])
    records.insert(1, annotation(9, rater="ann", segmentation=encoded("compressed")))
    records.append(annotation(10, rater="bob"))
    outlines = read(tmp_path, document(records)).annotations.segmentation
    assert outlines.kind.tolist() == [1, 2, 1, 0]
    assert np.array_equal(decode(outlines.rle(1)), picture())
    assert outlines.rings(2)[0].ravel().tolist() == SQUARE


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


@pytest.mark.parametrize("window", [1, 50, 1 << 20])
def test_a_list_of_the_same_name_inside_another_record(window, tmp_path, monkeypatch):
    monkeypatch.setattr(scanner, "WINDOW", window)
    content = shuffled(4)
    plain = read(tmp_path, content)
    records = content["annotations"]
    for inner in ([], records[-1:], records[-3:], records[:2] + records):
        content["images"][0]["annotations"] = inner
        equal(read(tmp_path, content), plain)
        equal(read(tmp_path, dict(reversed(content.items()))), plain)


def test_problems_of_several_windows_are_told_in_order(tmp_path, monkeypatch):
    monkeypatch.setattr(scanner, "WINDOW", 100)
    content = shuffled(7)
    for place in (3, 30, 39):
        content["annotations"][place]["segmentation"] = [[1, 2, 3, 4, 5]]
    with pytest.raises(DatasetError) as caught:
        read(tmp_path, content)
    places = [problem.split("]")[0].split("[")[-1] for problem in caught.value.problems]
    assert places == ["3", "30", "39"]


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
    with pytest.raises(DatasetError) as caught:
        read(tmp_path, twice)
    said = f"{key} is in the file twice, and only the last one would count; expected it once"
    assert said in str(caught.value)


def in_two_records(*drawn, **sessions):
    """Return a document of an image with two records, and annotations (record, annotator, x)."""
    images = [
        image(number)
        | {"file_name": "a.jpg"}
        | ({"round": sessions[f"of_{number}"]} if sessions else {})
        for number in (1, 2)
    ]
    records = [
        annotation(place, image_id=number, bbox=(x, 1, 9, 9), rater=who)
        for place, (number, who, x) in enumerate(drawn, 1)
    ]
    return document(records, images)


def test_equal_annotations_in_two_records_of_an_image_count_once(tmp_path):
    drawn = [(1, "ann", 5), (1, "ann", 3), (2, "ann", 3), (2, "ann", 5)]
    drawn += [(1, "bob", 5), (2, "cid", 5), (2, "cid", 5)]
    data = read(tmp_path, in_two_records(*drawn))
    who = [data.annotator_names[each] for each in data.annotations.annotator]
    assert who == ["ann", "ann", "bob", "cid", "cid"]
    assert data.annotations.bbox[:, 0].tolist() == [3, 5, 5, 5, 5]
    assert sorted(data.annotations.id.tolist()) == [1, 2, 5, 6, 7]
    (note,) = data.notes
    assert note.startswith("2 annotations left out: 1 image is in the file several times, with the")


def test_equal_annotations_in_two_records_of_an_image_are_written_once(tmp_path):
    drawn = [(2, "ann", 3), (1, "ann", 3), (1, "bob", 5)]
    path = write(tmp_path / "export.json", in_two_records(*drawn))
    done = convert(path, tmp_path / "out.json", to="coco")
    assert any(note in done.notes for note in read_dataset(path).notes)
    data = read_dataset(tmp_path / "out.json")
    assert (data.annotator_names, data.annotations.id.tolist()) == (("ann", "bob"), [2, 3])
    # Different annotations all count, and none is left out.
    path = write(tmp_path / "export.json", in_two_records(*drawn, (2, "ann", 7)))
    convert(path, tmp_path / "all.json", to="coco")
    assert len(read_dataset(tmp_path / "all.json").annotations) == 4


@pytest.mark.parametrize("second", [[3], [3, 5, 7], [3, 6]], ids=["fewer", "more", "others"])
def test_different_annotations_in_two_records_of_an_image_are_all_read_with_a_note(
    second, tmp_path
):
    drawn = [(1, "ann", 3), (1, "ann", 5), *((2, "ann", x) for x in second), (1, "bob", 3)]
    data = read(tmp_path, in_two_records(*drawn))
    assert len(data.annotations) == len(drawn)
    (note,) = data.notes
    assert note.startswith("1 image is in the file several times, with different boxes by the same")
    outcome = run("agree", tmp_path / "export.json", "--bootstrap", "0")
    assert (outcome.returncode, outcome.stdout) == (2, "")
    said = "image 'a.jpg' is in the file several times, with different boxes by 'ann'; expected it"
    assert f"{said} once\n" in outcome.stderr
    assert '--session-key KEY, where KEY is one of image records: "session": 2\n' in outcome.stderr
    assert run("agree", tmp_path / "export.json", "--bootstrap", "0", "--no-checks").returncode == 0


def test_progress_grows_up_to_the_size_of_the_file(tmp_path, monkeypatch):
    monkeypatch.setattr(scanner, "WINDOW", 300)
    path, told = write(tmp_path / "export.json", shuffled(1)), []
    read_dataset(path, Reading(progress=lambda *step: told.append(step)))
    done = [step for _, step, _ in told]
    assert {stage for stage, *_ in told} == {"reading"}
    assert done == sorted(done)
    assert 0 < done[-1] <= told[-1][2] == path.stat().st_size


@given(st.randoms(use_true_random=False))
def test_order_of_records_changes_nothing(tmp_path_factory, random):
    folder = tmp_path_factory.mktemp("order")
    content = shuffled(5)
    expected = read(folder, content)
    for part in ("images", "annotations"):
        random.shuffle(content[part])
    equal(read(folder, dict(sorted(content.items(), key=lambda _: random.random()))), expected)


# Equal numbers, numbers that differ in their last bits only, and both zeros.
NEAR = (-1e6, -3.5, -0.0, 0.0, 5e-324, 3.5, 3.5 + 2**-50, 3.5 + 2**-20, 700.25, 1e6)
BOXES = st.tuples(
    *(st.sampled_from(NEAR) for _ in "xy"), *(st.sampled_from((0, 1, 2)) for _ in "wh")
)


@given(
    st.lists(st.tuples(st.integers(1, 9), st.sampled_from("abc"), st.integers(1, 3), BOXES)),
    st.integers(0, 400),
)
def test_order_by_image_annotator_box_category_and_id(tmp_path_factory, rows, n_more):
    drawn = [
        annotation(-number, at, category, box, annotator=who)
        for number, (at, who, category, box) in enumerate(rows)
    ]
    images = [image(n, f"{n:03}.jpg") for n in range(1, 10 + n_more)]
    content = document(drawn, images, [{"id": n, "name": f"kind {n}"} for n in (1, 2, 3)])
    found = read(tmp_path_factory.mktemp("order"), content, min_annotators=1).annotations
    keys = [
        (at, who, tuple(each + 0.0 for each in box), category, -number)
        for number, (at, who, category, box) in enumerate(rows)
    ]
    assert found.id.tolist() == [key[-1] for key in sorted(keys)]


# Real exports.


def test_lvis():
    data = read_dataset(data_file("lvis_double_100.json"))
    assert data.annotator_names == ("r1", "r2")
    assert (len(data.image_names), len(data.category_names), len(data.annotations)) == (
        100, 1203, 1287
    )  # fmt: skip
    assert data.assigned.all()


def test_key_points_beside_boxes_are_counted_and_left_out(tmp_path):
    points = {"keypoints": [5, 5, 2, 9, 9, 2]}
    shared = {"image_id": 1, "category_id": 1, "iscrowd": 0}
    boxes = [{"id": i, **shared, "bbox": [1, 1, 9, 9], "annotator": "ab"[i]} for i in range(2)]
    alone = [{"id": i, **shared, **points, "annotator": "a"} for i in (7, 8)]
    document = {
        "images": [{"id": 1, "file_name": "a.jpg", "width": 90, "height": 90}],
        "annotations": [boxes[0], *alone, boxes[1]],
        "categories": [{"id": 1, "name": "cat", "keypoints": ["nose", "tail"]}],
    }
    path = tmp_path / "a.json"
    path.write_text(json.dumps(document))
    data = read_dataset(path)
    assert data.annotations.id.tolist() == [0, 1]
    said = "2 annotations with key points and no box are not compared; --similarity keypoints"
    assert any(said in note for note in data.notes)
    with_points = read_dataset(path, Reading(keypoints=True))
    assert sorted(with_points.annotations.id.tolist()) == [0, 1, 7, 8]
    path.write_text(json.dumps({**document, "annotations": alone}))
    with pytest.raises(DatasetError) as caught:
        read_dataset(path)
    assert len(caught.value.problems) == 2


def test_json_of_a_folder_without_annotations_is_named_and_left_out(tmp_path):
    for who in "ab":
        box = [10, 10, 20, 20 + (who == "b")]
        write(tmp_path / f"{who}.json", document([annotation(1, bbox=box)], [image(1)]))
    (tmp_path / "config.json").write_text('{"name": "street", "labels": [{"id": 3}]}')
    (tmp_path / "list.json").write_text("[1, 2]")
    category = {"supercategory": "a", "color": [0, 9, 9], "isthing": 1, "id": 1, "name": "cat"}
    (tmp_path / "names.json").write_text(json.dumps([category, category], indent=1))
    data = read_dataset(tmp_path)
    assert data.annotator_names == ("a", "b")
    (note,) = [each for each in data.notes if "left out" in each]
    assert note.startswith("3 files left out: no annotations in a known format (")
    # Which one holds the annotations of a person is not to be guessed.
    for content in (
        "{}",
        "",
        '[{"image_id": 1, "bbox": [1, 1, 5, 5]}]',
        '{"images": {}}',
        '[{"name": "a.jpg", "boxes": [[1, 1, 5, 5]]}]',
    ):
        (tmp_path / "list.json").write_text(content)
        with pytest.raises(DatasetError):
            read_dataset(tmp_path)
    (tmp_path / "list.json").write_text("[1, 2]")
    with pytest.raises(DatasetError):
        read_dataset([tmp_path / name for name in ("a.json", "b.json", "config.json")])


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


@pytest.mark.parametrize("target", ["ann", ".", ".."])
def test_links_to_what_is_read_anyway_are_not_followed(tmp_path, target):
    for who in ("ann", "bob"):
        box = [10, 10, 20, 20 + (who == "bob")]
        boxes = document([annotation(1, bbox=box)], [image(1)])
        write(tmp_path / "set" / who / "x.json", boxes)
    (tmp_path / "set/again").symlink_to(target)
    assert read_dataset(tmp_path / "set").annotator_names == ("ann", "bob")
