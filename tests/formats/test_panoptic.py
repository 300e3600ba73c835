"""Panoptic COCO: its segments as annotations, with annotators, ids and places."""

import json
import random

import pytest
from support.cli import run
from support.tool_files import exact_rows

import bboxqa

ABSENT = "…"
THINGS = [
    {"id": 1, "name": "cat", "isthing": 1},
    {"id": 2, "name": "dog", "isthing": 1},
    {"id": 3, "name": "sky", "isthing": 0},
    {"id": 0, "name": "grass", "isthing": 0},
]
IMAGES = [
    {"id": n, "file_name": f"{n}.jpg", "width": 640, "height": 480, "date_captured": "2020-01-01"}
    for n in range(5)
]


def segment(number, category, box, **more):
    area = box[2] * box[3]
    own = {"id": number, "category_id": category, "bbox": box, "area": area, "iscrowd": 0}
    return own | more


def record(image, segments, **more):
    return {"segments_info": segments, "file_name": f"{image}.png", "image_id": image, **more}


def document(annotations, **more):
    return {"images": IMAGES, "categories": THINGS, "annotations": annotations, **more}


def made(seed, *, n_images=5, unique=True):
    """Return records of all images, one of them without segments."""
    rng = random.Random(seed)
    records, number = [], 0
    for image in range(n_images):
        segments = []
        for place in range(0 if image == 3 else rng.randint(1, 9)):
            number += rng.randint(1, 1 << 20)
            box = [rng.randint(0, 500), rng.randint(0, 400), rng.randint(9, 99), rng.randint(9, 70)]
            own = number if unique else place
            crowd = int(rng.random() < 0.2)
            segments.append(segment(own, rng.choice(THINGS)["id"], box, iscrowd=crowd))
        records.append(record(image, segments))
    return records


def rows_of(data):
    """Return the annotations of a data set as sorted tuples."""
    crowd = data.annotations.iscrowd.tolist()
    return sorted((*row, is_crowd) for row, is_crowd in zip(exact_rows(data), crowd, strict=True))


def expected(records, annotator):
    """Return the same from the records, in plain Python."""
    names = {each["id"]: each["name"] for each in THINGS}
    files = {each["id"]: each["file_name"] for each in IMAGES}
    return sorted(
        (
            files[each["image_id"]],
            annotator,
            names[one["category_id"]],
            tuple(map(float, one["bbox"])),
            bool(one["iscrowd"]),
        )
        for each in records
        for one in each["segments_info"]
    )


def write(path, content):
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def of_two(tmp_path, first, second):
    return [
        write(tmp_path / "ann.json", document(first)),
        write(tmp_path / "bob.json", document(second)),
    ]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("unique", [True, False])
def test_segments_are_annotations(tmp_path, seed, unique):
    first, second = made(seed, unique=unique), made(seed + 100, unique=unique)
    data = bboxqa.read_coco(of_two(tmp_path, first, second))
    assert rows_of(data) == sorted(expected(first, "ann") + expected(second, "bob"))
    # An image without segments, and one without a record, were asked about.
    assert data.assigned.all()
    assert data.assigned.shape == (5, 2)


def test_annotators_are_named_on_records_or_segments(tmp_path):
    box = [1, 1, 9, 9]
    path = write(
        tmp_path / "all.json",
        document(
            [
                record(0, [segment(1, 1, box)], annotator_id=0),
                record(0, [segment(2, 1, box)], annotator_id=7),
                record(1, [segment(3, 1, box), segment(4, 1, box, annotator_id=7)], annotator_id=0),
                # Asked about the image, and drew nothing.
                record(2, [], annotator_id=0),
                record(2, [segment(5, 1, box)], annotator_id=7),
            ]
        ),
    )
    data = bboxqa.read_coco(path)
    assert data.annotator_names == ("0", "7")
    assert [row[:2] for row in rows_of(data)] == [
        ("0.jpg", "0"),
        ("0.jpg", "7"),
        ("1.jpg", "0"),
        ("1.jpg", "7"),
        ("2.jpg", "7"),
    ]
    assert data.assigned.tolist() == [[True, True]] * 3 + [[False, False]] * 2


def test_panoptic_and_objects_are_measured_together(tmp_path):
    records = made(3)
    objects = [
        {**one, "id": n, "image_id": each["image_id"]}
        for n, (each, one) in enumerate(
            ((each, one) for each in records for one in each["segments_info"]), 1
        )
    ]
    write(tmp_path / "ann.json", document(records))
    write(tmp_path / "bob.json", document(objects))
    result = bboxqa.agree(
        bboxqa.read_coco([tmp_path / "ann.json", tmp_path / "bob.json"]), bootstrap=0
    )
    assert result.existence.f1 == 1
    assert result.place.mean_iou == 1


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"bbox": ABSENT}, ["bbox is missing", "4 finite numbers"]),
        ({"bbox": [1, 2, 3]}, ["segments_info[1] (id 4): bbox cannot be used", "4 finite numbers"]),
        ({"bbox": [1, 2, 3, "a"]}, ["bbox cannot be used", "4 finite numbers"]),
        ({"bbox": [1, 2, 1e300, 4]}, ["1e+300"]),
        ({"bbox": [1, 2, -3, 4]}, ["-3"]),
        ({"category_id": 17}, ["category_id of segment 4 is 17; expected the id of one of the"]),
        ({"category_id": None}, ["category_id"]),
        ({"id": ABSENT}, ["id of a segment is missing; expected a whole number"]),
        ({"id": 1 << 70}, ["id of segment 11805916"]),
        ({"iscrowd": 7}, ["iscrowd of segment 4 is 7; expected 0 or 1"]),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_what_is_wrong_in_a_segment_is_named(tmp_path, change, words):
    wrong = segment(4, 1, [1, 1, 9, 9]) | change
    wrong = {key: value for key, value in wrong.items() if value != ABSENT}
    records = [record(0, [segment(3, 1, [1, 1, 9, 9]), wrong])]
    of_two(tmp_path, records, made(1))
    done = run("agree", "ann.json", "bob.json", cwd=tmp_path)
    assert done.returncode == 2
    for word in ("ann.json", *words):
        assert word in done.stderr


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (record(99, [segment(1, 1, [1, 1, 9, 9])]), ["image_id is 99"]),
        (record([1], []), ["image_id is [1]"]),
        (record(0, None), ["segments_info is null; expected a list"]),
        (record(0, {"id": 1}), ["segments_info is {"]),
        (record(0, [7]), ["image 0: segment is 7; expected an object"]),
    ],
    ids=range(5),
)
def test_what_is_wrong_in_a_record_is_named(tmp_path, wrong, words):
    of_two(tmp_path, [*made(2), wrong], made(1))
    done = run("agree", "ann.json", "bob.json", cwd=tmp_path)
    assert done.returncode == 2
    for word in ("ann.json", *words):
        assert word in done.stderr


def test_segments_are_converted_with_all_that_a_target_holds(tmp_path):
    first = made(4, unique=False)
    paths = of_two(tmp_path, first, made(5))
    bboxqa.convert(paths, tmp_path / "coco.json", to="coco", attribution="files")
    before, after = (bboxqa.read_coco(each) for each in (paths, tmp_path / "coco.json"))
    assert rows_of(before) == rows_of(after)
    assert before.assigned.tolist() == after.assigned.tolist()
    whole = json.loads((tmp_path / "coco.json").read_text())
    assert {each["isthing"] for each in whole["categories"]} == {0, 1}
    areas = sorted(one["area"] for each in first for one in each["segments_info"])
    assert areas == sorted(
        each["area"] for each in whole["annotations"] if each["annotator"] == "ann"
    )
