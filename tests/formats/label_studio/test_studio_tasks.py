"""Tasks of Label Studio: who was asked, who drew, and what is left out."""

import json

import pytest
from support.studio import box, task, work, written
from support.tool_files import asked, drawn

from bboxqa import read_coco, reading, validate
from bboxqa.core.errors import DatasetError

BOX = box(1, 1, 9, 9)
ANN = {"id": 1, "email": "ann@x.org"}


def test_percent_of_the_image_become_pixels(tmp_path):
    path = written(tmp_path / "a.json", task(1, work(1, box(10, 20, 5, 50)), work(2)))
    # 10 % of 200, 20 % of 100, 5 % of 200 and 50 % of 100 pixels.
    assert drawn(read_coco(path)) == [("1.jpg", "1", "cat", 20, 20, 10, 50)]


def test_an_empty_annotation_was_asked_for_and_a_cancelled_one_is_not(tmp_path):
    path = written(
        tmp_path / "a.json",
        task(1, work(1, BOX), work(2), work(3, was_cancelled=True)),
        task(2, work(1), work(3, BOX)),
    )
    data = read_coco(path)
    assert asked(data) == {"1.jpg": ["1", "2"], "2.jpg": ["1", "3"]}
    assert "1 annotation left out: cancelled by the annotator" in data.notes


@pytest.mark.parametrize(
    ("who", "names"),
    [
        ((1, 2), ("1", "2")),
        ((2.0, "10"), ("2", "10")),
        ((ANN, {"id": 2, "email": "bo@x.org"}), ("ann@x.org", "bo@x.org")),
        ((ANN | {"email": ""}, {"first_name": "Bo", "last_name": "Li"}), ("1", "Bo Li")),
    ],
)
def test_annotators_are_numbers_or_objects(tmp_path, who, names):
    works = [work(each, BOX) for each in who]
    assert read_coco(written(tmp_path / "a.json", task(1, *works))).annotator_names == names


def test_predictions_are_one_more_annotator(tmp_path):
    model = {"model_version": "yolo", "result": [box(1, 1, 9, 9, score=0.5)]}
    path = written(tmp_path / "a.json", task(1, work(1), predictions=[model, 31]))
    data = read_coco(path)
    assert drawn(data) == [("1.jpg", "yolo", "cat", 2, 1, 18, 9)]
    assert data.annotator_names == ("1", "yolo")
    assert data.notes == (
        "yolo is a model and counts as an annotator: 1 prediction in the file",
        "1 prediction left out: a number instead of regions",
    )


def test_ground_truth_is_an_annotator_that_can_be_the_reference(tmp_path):
    path = written(tmp_path / "a.json", task(1, work(1, BOX), work(2, ground_truth=True)))
    data = read_coco(path)
    assert data.annotator_names == ("1", "ground truth")
    assert "reference='ground truth'" in data.notes[0]


def test_the_first_annotation_of_a_task_counts_and_sessions_keep_all(tmp_path):
    path = written(
        tmp_path / "a.json",
        task(1, work(1, BOX), work(2), work(1, box(50, 50, 9, 9))),
        task(2, work(1), work(2)),
    )
    assert len(read_coco(path).annotations) == 1
    repeats = read_coco(path, session_key="session").repeats
    assert repeats is not None
    assert len(repeats.sessions.annotations) == 2


def test_json_min_has_one_record_for_each_annotation(tmp_path):
    region = {"x": 10, "y": 20, "width": 5, "height": 50, "rotation": 0, "rectanglelabels": ["cat"]}
    region |= {"original_width": 200, "original_height": 100}
    shared = {"id": 4, "image": "/data/upload/1/0a1b2c3d-1.jpg", "lead_time": 3}
    path = tmp_path / "min.json"
    path.write_text(
        json.dumps(
            [
                shared | {"annotator": 1, "annotation_id": 1, "label": [region]},
                shared | {"annotator": 2, "annotation_id": 2},
            ]
        )
    )
    data = read_coco(path)
    assert drawn(data) == [("1.jpg", "1", "cat", 20, 20, 10, 50)]
    assert asked(data) == {"1.jpg": ["1", "2"]}


def test_tasks_with_several_images_have_each_by_itself(tmp_path):
    sides = {"left": "l.jpg", "right": "r.jpg"}
    works = [work(who, box(who, 1, 9, 9, to_name="right")) for who in (1, 2)]
    of_left = [work(who, box(5, 1, 9, 9, to_name="left")) for who in (1, 3)]
    others = {"left": "l2.jpg", "right": "r2.jpg"}
    data = read_coco(
        written(tmp_path / "a.json", task(1, *works, data=sides), task(2, *of_left, data=others))
    )
    assert asked(data) == {
        "l.jpg": ["1", "2"], "r.jpg": ["1", "2"], "l2.jpg": ["1", "3"], "r2.jpg": ["1", "3"],
    }  # fmt: skip
    assert {name for name, *_ in drawn(data)} == {"r.jpg", "l2.jpg"}
    assert data.notes == ()


def test_a_tag_that_shows_one_of_several_images_is_refused(tmp_path):
    works = [work(who, box(who, 1, 9, 9, to_name="tag")) for who in (1, 2)]
    path = written(tmp_path / "a.json", task(1, *works, data={"left": "l.jpg", "right": "r.jpg"}))
    with pytest.raises(
        DatasetError,
        match=r'images under left, right: bboxqa\.reading\(columns=\{"image": "KEY"\}\) says',
    ):
        read_coco(path)
    with reading(columns={"image": "right"}):
        assert read_coco(path).image_names == ("r.jpg",)


LOGO = {"logo": "https://x.org/logo.png"}


def with_logo(number):
    """Return the data of a task: an image, the next image, and the logo of all tasks."""
    return {"image": f"{number}.jpg", "next": f"{number + 1}.jpg"} | LOGO


def test_images_that_nobody_drew_on_are_empty(tmp_path):
    path = written(
        tmp_path / "a.json",
        task(1, work(1, BOX), work(2), data=with_logo(1)),
        task(2, work(1), work(2), data=with_logo(2)),
        task(4, work(1), work(2), data={"image": "4.jpg"}),
    )
    data = read_coco(path)
    names = ["1.jpg", "2.jpg", "3.jpg", "4.jpg", "logo.png"]
    assert asked(data) == {name: ["1", "2"] for name in names}
    assert data.notes[0].startswith("nobody drew on the images under 'next', 'logo' in the data")
    with reading(columns={"image": "image"}):
        assert [*asked(read_coco(path))] == ["1.jpg", "2.jpg", "4.jpg"]


SIDES = {"left": "l1.jpg", "right": "r1.jpg"}


def test_tasks_without_images_are_refused(tmp_path):
    choice = {"type": "choices", "value": {"choices": ["yes"]}}
    texts = task(1, work(1, choice), data={"text": "a dog"})
    with pytest.raises(DatasetError, match="is Label Studio JSON without images"):
        validate(written(tmp_path / "a.json", texts))


def test_pages_of_a_list_are_images(tmp_path):
    pages = {"pages": ["1.png", "2.png"]}
    works = [work(who, box(who, 1, 9, 9, item_index=1)) for who in (1, 2)]
    data = read_coco(written(tmp_path / "a.json", task(1, *works, data=pages)))
    assert {name for name, *_ in drawn(data)} == {"2.png"}
    assert set(asked(data)) == {"1.png", "2.png"}


def test_a_region_without_a_size_takes_that_of_others_or_is_refused(tmp_path):
    bare = box(1, 1, 9, 9)
    del bare["original_width"]
    path = written(tmp_path / "a.json", task(1, work(1, bare), work(2, BOX)))
    assert len(read_coco(path).annotations) == 2
    path = written(tmp_path / "a.json", task(1, work(1, bare), work(2)))
    with pytest.raises(DatasetError) as caught:
        read_coco(path)
    assert "T002 error task 1, region" in caught.value.problems[0]
    assert "no original_width" in caught.value.problems[0]
    assert "give bboxqa.reading(image_size=(1920, 1080))" in caught.value.problems[0]
    assert "bboxqa validate" in caught.value.advice


def test_a_size_is_given_for_regions_without_one(tmp_path):
    bare = box(10, 10, 50, 50)
    del bare["original_width"]
    other = task(2, work(1, BOX), work(2, BOX))
    path = written(tmp_path / "a.json", task(1, work(1, bare), work(2, bare)), other)
    with reading(image_size=(400, 300)):
        data = read_coco(path)
    known = BOX["original_width"], BOX["original_height"]
    assert {*map(tuple, data.image_size.tolist())} == {(400, 300), known}
    assert data.annotations.bbox[data.annotations.image == 0].tolist() == [[40, 30, 200, 150]] * 2
    assert "1 image without original_width: 400 × 300 pixels, as given" in data.notes


def test_a_file_that_is_not_json_has_one_finding(tmp_path):
    path = written(tmp_path / "a.json", task(1, work(1, BOX)), task(2, work(2, BOX)))
    whole = path.read_bytes()
    for broken in (whole[:-30], whole.replace(b'"cat"', b'"c\xfft"', 1)):
        assert broken != whole
        path.write_bytes(broken)
        assert [finding.code for finding in validate(path).findings] == ["F001"]
        with pytest.raises(DatasetError, match="F001 error") as raised:
            read_coco(path)
        assert len(raised.value.problems) == 1


def test_unnamed_annotations_beside_named_ones_are_of_nobody_else(tmp_path):
    boxes = [box(1, 1, 20, 20)]
    named = [work(person, *boxes) for person in (1, 2)]
    path = written(tmp_path / "a.json", task(1, *named), task(2, named[0], work(None, *boxes)))
    with pytest.raises(DatasetError, match="does not name its annotator; the others do"):
        read_coco(path)
    data = read_coco(path, min_annotators=1)
    assert data.annotator_names == ("1", "2", "(not named)")
    assert [note for note in data.notes if "completed_by" in note] == [
        "1 annotation without completed_by, here by '(not named)'"
    ]


def test_a_file_that_names_nobody_is_one_finding(tmp_path):
    nobody = [task(number, work(None, box(1, 1, 20, 20))) for number in (1, 2, 3)]
    path = written(tmp_path / "a.json", *nobody)
    (finding,) = [each for each in validate(path).findings if each.code == "T005"]
    assert finding.message == "no annotation of the file says who completed it (3 annotations)"
    # An annotator without a name among others cannot be told from them.
    path = written(tmp_path / "b.json", *nobody, task(4, work(1, box(1, 1, 20, 20))))
    found = [each.message for each in validate(path).findings if each.code == "T005"]
    assert found == [
        f"task {number}: an annotation does not say who completed it" for number in (1, 2, 3)
    ]


def test_predictions_for_a_review_count_until_somebody_submitted_one(tmp_path):
    """Those of tasks that nobody reviewed yet are the annotations of people."""
    predictions = [
        {"model_version": name, "result": [box(x, 1, 9, 9)]} for name, x in (("ann", 1), ("bob", 2))
    ]
    kept = [box(5, 1, 9, 9, origin="prediction")]
    works = [[work({"id": 3, "email": "ann"}, *kept)], [work(3, was_cancelled=True)], []]
    tasks = [
        task(number, *each, predictions=predictions, data={"image": f"{number}.jpg"} | more)
        for number, each in enumerate(works, start=1)
        for more in [{"gain": 0.5, "bboxqa": "review"}]
    ]
    data = read_coco(written(tmp_path / "a.json", *tasks))
    assert [(name, who, x) for name, who, _, x, *_ in drawn(data)] == [
        ("1.jpg", "ann", 10), ("2.jpg", "ann", 2), ("2.jpg", "bob", 4),
        ("3.jpg", "ann", 2), ("3.jpg", "bob", 4),
    ]  # fmt: skip
    assert data.headlines == ()
    assert data.notes == (
        "1 annotation left out: cancelled by the annotator",
        "2 predictions left out: annotations as they were before the review",
        "1 image with fewer than two annotators left out",
    )


@pytest.mark.parametrize("sessions", ["", "session"])
def test_tasks_that_are_twice_in_a_file_with_their_ids_are_copies(tmp_path, sessions):
    given = task(1, work(1, BOX, id=7), work(2, id=8)), task(2, work(1, BOX, id=9), work(2, id=9))
    path = written(tmp_path / "a.json", *given, *given)
    data = read_coco(path, session_key=sessions or None) if sessions else read_coco(path)
    assert len(data.annotations) == 2
    assert "4 annotations left out: copies of others of their task, with the same ids" in data.notes
    messages = [each.message for each in validate(path).findings if each.code == "T007"]
    assert messages == [
        f"task {n}: is in the file twice (same annotation ids); counted once" for n in (1, 2)
    ]


def test_tasks_inside_another_object_are_refused(tmp_path):
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"tasks": [task(1, work(1, BOX), work(2))]}))
    with pytest.raises(DatasetError, match="none of the keys of a task; tasks inside of it are"):
        read_coco(path)
