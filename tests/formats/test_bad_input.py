"""What a user reads when a file would falsify the result."""

import json
import os
from pathlib import Path
from threading import Thread

import pytest
from support.datasets import annotation, document, image, two_annotators, write
from support.forks import forked

from bboxqa import validate
from bboxqa.core.errors import DatasetError
from bboxqa.formats import opening
from bboxqa.formats.dataset.reader import Reading, read_dataset

SQUARE = [10, 10, 30, 10, 30, 30, 10, 30]


def refused(path, **more):
    with pytest.raises(DatasetError) as caught:
        read_dataset(path, Reading(**more))
    return caught.value


def problems(tmp_path, content, **more):
    """Return the problems of a document, without the name of the file."""
    path = write(tmp_path / "export.json", content)
    return [
        problem.replace(f"{path}: ", "").replace("export.json: ", "")
        for problem in refused(path, **more).problems
    ]


def pair(**more):
    return [annotation(n, rater=rater, **more) for n, rater in ((1, "ann"), (2, "bob"))]


# Files.


def test_no_such_file(tmp_path, monkeypatch):
    assert refused(tmp_path / "none.json").problems == (f"{tmp_path / 'none.json'}: no such file",)
    monkeypatch.chdir(tmp_path)
    error = refused("none.json")
    assert error.problems == ("none.json: no such file",)
    assert f"Paths are relative to {tmp_path}." in str(error)


def test_a_folder_in_place_of_a_file(tmp_path):
    error = refused({"ann": tmp_path, "bob": tmp_path / "bob.json"})
    assert error.problems == (f"{tmp_path}: is an empty folder",)


def test_an_empty_file(tmp_path):
    error = refused(write(tmp_path / "a.json", ""))
    assert error.problems == (f"{tmp_path / 'a.json'}: the file is empty",)
    assert "Export it again." in str(error)


@pytest.mark.parametrize("outlines", [True, False])
def test_truncated_at_every_place(outlines, tmp_path):
    text = json.dumps(document(pair(segmentation=[SQUARE]), [image(1, "ü.jpg")]))
    for stop in range(1, len(text)):
        (problem,) = problems(tmp_path, text[:stop], outlines=outlines)
        assert problem.startswith("not JSON at byte ")


def test_the_offset_of_an_error(tmp_path):
    text = json.dumps(document(pair(), [image(1, "üü.jpg")]), ensure_ascii=False)
    place = text.index('"annotations"')
    broken = text[:place] + "@" + text[place:]
    offset = len(broken[:place].encode())
    (problem,) = problems(tmp_path, broken)
    assert problem.startswith(f"not JSON at byte {offset}: ")


def test_what_follows_the_document(tmp_path):
    text = json.dumps(two_annotators())
    assert problems(tmp_path, text + " {}") == [f"not JSON at byte {len(text) + 1}: extra data"]


@pytest.mark.parametrize("end", [",}", ',"a":"\t"}'])
def test_json_that_only_a_lenient_reader_takes(end, tmp_path):
    text = json.dumps(two_annotators())
    (problem,) = problems(tmp_path, text[:-1] + end)
    assert problem.startswith("not JSON at byte ")


def test_not_utf_8(tmp_path):
    text = json.dumps(document(pair(), [image(1, "ü.jpg")]), ensure_ascii=False).encode("latin-1")
    place = text.index(b"\xfc")
    assert problems(tmp_path, text) == [f"byte {place} is not UTF-8"]


@pytest.mark.parametrize("mark", [b"\xff\xfe", b"\xfe\xff"])
def test_utf_16_is_named(tmp_path, mark):
    text = mark + '{"images": []}'.encode("utf-16-le" if mark[0] == 0xFF else "utf-16-be")
    assert problems(tmp_path, text) == ["is UTF-16; expected UTF-8"]


@pytest.mark.parametrize(
    ("text", "found"), [("[]", "a list"), ("7", "7"), ('"x"', '"x"'), ("null", "null")]
)
def test_another_top_level(text, found, tmp_path):
    assert problems(tmp_path, text) == [f"the top level is {found}; expected an object"]


def test_missing_lists(tmp_path):
    assert problems(tmp_path, {"info": {}}) == [
        f"{key} is missing; expected a list" for key in ("images", "annotations", "categories")
    ]
    assert problems(tmp_path, two_annotators() | {"images": {}, "annotations": None}) == [
        "images is a dict; expected a list",
        "annotations is a NoneType; expected a list",
    ]


def test_nested_too_deep(tmp_path):
    assert "lists nested too deep" in problems(tmp_path, "[" * 100_000)[0]


def test_no_annotations(tmp_path):
    images = [image(1, "a.jpg", annotator="x"), image(2, "a.jpg", annotator="y")]
    for content in (document([]), document([], images)):
        assert problems(tmp_path, content) == ["no annotations; nothing to measure"]


def test_problems_of_all_files_at_once(tmp_path):
    paths = [write(tmp_path / name, "") for name in ("a.json", "b.json")]
    assert len(refused(paths).problems) == 2


# Records.


def orphan(key):
    return document([*pair(), annotation(3, rater="ann") | {key: 77}])


def test_orphan_references(tmp_path):
    assert problems(tmp_path, orphan("image_id")) == [
        "annotation 3: image_id is 77; expected the id of an image"
    ]
    assert problems(tmp_path, orphan("category_id")) == [
        "annotation 3: category_id is 77; expected the id of a category"
    ]


@pytest.mark.parametrize("key", ["images", "categories", "annotations"])
def test_duplicate_ids(key, tmp_path):
    content = document(pair())
    content[key].append(content[key][0] | ({"name": "dog"} if key == "categories" else {}))
    assert problems(tmp_path, content) == [f"{key}: id 1 occurs more than once; expected once"]


@pytest.mark.parametrize("bad", ["NaN", "Infinity", "-Infinity", "1e400", "-1e400", '"5"', "null",
                                 "true", "[5]"])  # fmt: skip
@pytest.mark.parametrize("place", range(4))
def test_bbox_that_is_not_four_finite_numbers(bad, place, tmp_path):
    bbox = ["5"] * 4
    bbox[place] = bad
    text = json.dumps(document([*pair(), annotation(3, rater="ann", bbox="@")]))
    text = text.replace('["@"]', f"[{', '.join(bbox)}]")
    (problem,) = problems(tmp_path, text)
    assert problem.startswith("annotations[2] (id 3): bbox is [")
    assert problem.endswith("; expected 4 finite numbers: x, y, width, height")


@pytest.mark.parametrize("bbox", [[], [1, 2, 3], [1, 2, 3, 4, 5], None, "x", 5, {}])
def test_bbox_of_another_shape(bbox, tmp_path):
    records = [*pair(), annotation(3, rater="ann") | {"bbox": bbox}]
    assert problems(tmp_path, document(records)) == [
        (
            f"annotations[2] (id 3): bbox is {json.dumps(bbox)}; "
            "expected 4 finite numbers: x, y, width, height"
        )
    ]


@pytest.mark.parametrize("key", ["id", "image_id", "category_id", "bbox"])
def test_missing_keys(key, tmp_path):
    content = document(pair())
    del content["annotations"][1][key]
    (problem,) = problems(tmp_path, content)
    label = "annotations[1]" if key == "id" else "annotations[1] (id 2)"
    assert problem.startswith(f"{label}: {key} is missing; expected ")


@pytest.mark.parametrize(("place", "side"), [(2, "width"), (3, "height")])
@pytest.mark.parametrize("bad", [-1, -0.5, 2e9])
def test_sizes_below_0_or_beyond_reason(place, side, bad, tmp_path):
    bbox = [5, 5, 5, 5]
    bbox[place] = bad
    content = document([*pair(), annotation(3, rater="ann", bbox=bbox)])
    assert problems(tmp_path, content) == [
        f"annotation 3: bbox {side} is {bad:g}; expected 0 or more, and at most 1e+09 px"
    ]


@pytest.mark.parametrize("value", ["", " ", 7.5, None, True, [7], {}, 2**70])
@pytest.mark.parametrize("key", ["id", "image_id", "category_id"])
def test_values_that_are_no_ids(key, value, tmp_path):
    records = [*pair(), annotation(3, rater="ann") | {key: value}]
    (problem,) = problems(tmp_path, document(records))
    assert f"{key} is " in problem
    assert problem.endswith("; expected a whole number, or text")


@pytest.mark.parametrize("key", ["images", "categories", "annotations"])
@pytest.mark.parametrize("record", [None, 7, "x", []])
def test_records_that_are_no_objects(key, record, tmp_path):
    content = document(pair())
    content[key].append(record)
    (problem,) = problems(tmp_path, content)
    assert f"{key}[{len(content[key]) - 1}]: the record is {json.dumps(record)}" in problem
    assert problem.endswith("; expected an object")


@pytest.mark.parametrize(
    ("key", "change", "expected"),
    [
        ("images", {"file_name": 7}, "file_name is 7; expected text"),
        ("images", {"width": "9"}, 'width is "9"; expected a number of pixels'),
        ("images", {"rater_list": "ann"}, 'rater_list is "ann"; expected a list of annotators'),
        ("categories", {"name": 7}, "name is 7; expected text"),
        ("annotations", {"iscrowd": 5}, "iscrowd is 5; expected 0 or 1"),
        ("annotations", {"iscrowd": "no"}, 'iscrowd is "no"; expected 0 or 1'),
    ],
)
def test_values_of_a_wrong_kind(key, change, expected, tmp_path):
    content = document(pair())
    content[key][0] |= change
    assert f"{key}[0] (id 1): {expected}" in problems(tmp_path, content)


def test_everything_at_once(tmp_path):
    records = [
        *pair(),
        annotation(3, image_id=9, rater="ann"),
        annotation(4, category_id=9, rater="ann"),
        annotation(4, rater="ann", bbox=[0, 0, -1, 5]),
        annotation(5),
    ]
    assert len(problems(tmp_path, document(records))) == 5


def test_many_problems_are_all_kept_and_some_are_shown(tmp_path):
    records = pair() + [annotation(n, image_id=9, rater="ann") for n in range(3, 103)]
    error = refused(write(tmp_path / "a.json", document(records)))
    assert len(error.problems) == 100
    text = str(error)
    assert text.startswith("100 problems:")
    assert "… and 80 more" in text
    assert len(text.splitlines()) == 22


# Outlines.


@pytest.mark.parametrize(
    ("outline", "expected"),
    [
        ([[1, 2, 3]], "a polygon has 3 numbers; expected pairs of x and y"),
        (
            [SQUARE, [1]],
            "a polygon has 1 numbers; expected pairs of x and y",
        ),
        (
            [[0, 0, 3e9, 0, 3, 3]],
            "a polygon has a point more than 1e+09 px from 0",
        ),
        (
            {"size": [100, 100], "counts": [5, 6]},
            "the run lengths of the mask add up to 11; expected 100 × 100 = 10000",
        ),
        (
            {"size": [100, 100], "counts": [10_005, -5]},
            "the mask cannot be read: counts has a run of -5; expected 0 or more",
        ),
        (
            {"size": [100, 100], "counts": "é"},
            (
                "the mask cannot be read: counts is not valid: a character outside "
                "of '0' to 'o'; pycocotools may silently read another mask"
            ),
        ),
        (
            {"size": [0, 100], "counts": []},
            (
                "the mask cannot be read: size is [0, 100]; expected "
                "[height, width] of whole numbers above 0"
            ),
        ),
        (
            {"size": [10**6, 10**6], "counts": "0"},
            (
                "the mask cannot be read: size is [1000000, 1000000]; expected "
                "fewer than 2,147,483,648 pixels"
            ),
        ),
    ],
)
def test_outlines_that_are_not_sound(outline, expected, tmp_path):
    content = document([*pair(segmentation=outline)[:1], annotation(2, rater="bob")])
    (problem,) = problems(tmp_path, content)
    assert problem.partition(": ")[2] == expected
    assert len(read_dataset(tmp_path / "export.json", Reading(outlines=False)).annotations) == 2


@pytest.mark.parametrize(
    ("size", "counts"),
    [
        ([10, 10], [2**62, 2**62, 2**62, 2**62, 100]),  # 100 in numbers of 64 bits
        ([10, 10], [2**64 + 100]),
        ([2**31, 1], [2**31]),
        ([2**63, 2**63], [100]),
        ([-10, -10], [100]),
    ],
)
def test_masks_beyond_reason(size, counts, tmp_path):
    content = document(pair(segmentation={"size": size, "counts": counts})[:1])
    (problem,) = problems(tmp_path, content)
    assert "mask" in problem


@pytest.mark.parametrize(
    "outline",
    [
        [[1, "2"]],
        [[1, None]],
        [1, 2, 3, 4],
        "x",
        7,
        [[[1, 2], [3, 4]]],
        {"size": [100, 100]},
        {"counts": [10_000]},
        {"size": [100], "counts": [10_000]},
        {"size": [100.5, 100], "counts": [10_000]},
        {"size": [100, 100], "counts": 7},
        {"size": [100, 100], "counts": [1.5]},
    ],
)
def test_outlines_of_another_shape(outline, tmp_path):
    (problem,) = problems(tmp_path, document(pair(segmentation=outline)[:1]))
    said = "the mask cannot be read: " if isinstance(outline, dict) else "segmentation is "
    assert problem.startswith(f"annotations[0] (id 1): {said}")
    if isinstance(outline, dict):
        return
    assert "expected a list of rings [x, y, x, y, ...] of finite numbers, or size and" in problem


@pytest.mark.parametrize("number", ["NaN", "Infinity", "1e999"])
def test_polygons_that_are_not_finite(number, tmp_path):
    text = json.dumps(document(pair(segmentation=[[0, 0, 5, 0, 5, "@"]])))
    found = problems(tmp_path, text.replace('"@"', number))
    assert len(found) == 2
    assert "of finite numbers" in found[0]


# Several files.


def test_categories_that_contradict_between_files(tmp_path):
    ann = document([annotation(1)], categories=[{"id": 1, "name": "cat"}])
    bob = document([annotation(1)], categories=[{"id": 1, "name": "dog"}])
    paths = [write(tmp_path / f"{n}.json", d) for n, d in (("ann", ann), ("bob", bob))]
    ann_is = f"in {paths[0]} it is 'cat'"
    assert refused(paths).problems == (
        f"{paths[1]}: category 1 is 'dog'; {ann_is}, and neither file has both names",
    )


def test_image_sizes_that_contradict_between_files(tmp_path):
    ann = document([annotation(1)])
    bob = document([annotation(1)], [image(1) | {"width": 50}])
    paths = [write(tmp_path / f"{n}.json", d) for n, d in (("ann", ann), ("bob", bob))]
    assert refused(paths).problems == (
        f"{paths[1]}: image '1.jpg' is 50 × 100; another record of it says 100 × 100",
    )


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="has no such device")
@pytest.mark.parametrize("command", ["validate", "agree", "stats", "segments"])
def test_a_device_without_end_is_refused(command):
    result = forked(command, "/dev/zero", *["/dev/zero"] * (command == "segments"))
    assert result.returncode == 2
    assert "/dev/zero: is a pipe or a device" in result.stderr
    assert "Write it to a file first." in result.stderr


def test_a_pipe_is_read_up_to_a_limit(tmp_path, monkeypatch):
    monkeypatch.setattr(opening, "_MOST_STREAMED", 1000)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for size, refused in ((1000, False), (1001, True)):
        writer = Thread(target=pipe.write_bytes, args=(b" " * size,))
        writer.start()
        if refused:
            with pytest.raises(DatasetError, match="is a pipe or a device of more than"):
                opening.read_whole(pipe)
        else:
            assert len(opening.read_whole(pipe)) == size
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
    pair_of_names = " and ".join(
        sorted(map(repr, (odd, plain))) if kind == "annotators" else map(repr, (odd, plain))
    )
    assert problems(tmp_path, content) == [
        f"{kind} {pair_of_names} differ only in escaped characters; rename one of them"
    ]


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity"])
@pytest.mark.parametrize(
    "text",
    [
        """[{"id": 1, "data": {"image": "a.jpg"}, "annotations": [{"completed_by": 1, "result": [
            {"type": "rectanglelabels", "value": {"x": NUMBER}}]}]}]""",
        """{"version": "5", "flags": {}, "imagePath": "a.jpg", "imageHeight": 9, "imageWidth": 9,
            "shapes": [{"label": "cat", "shape_type": "rectangle", "points": [[NUMBER, 1]]}]}""",
    ],
)
def test_numbers_that_json_does_not_have_are_named_with_their_place(tmp_path, text, number):
    path = tmp_path / "a.json"
    path.write_text(text.replace("NUMBER", number), "ascii")
    (finding,) = [each for each in validate(path).findings if each.code == "F001"]
    place = text.index("NUMBER")
    assert finding.message == (
        f"not JSON at byte {place:,}: the number {number}, which JSON does not have; "
        "the rest of the file is not read"
    )
    assert (finding.spot.line, finding.spot.column) == (2, place - text.index("\n"))
