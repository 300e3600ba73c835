"""Label Studio: who was asked and drew, regions in pixels, masks, images, and what is refused."""

import base64
import io
import json

import numpy as np
import pytest
from PIL import Image
from support.cli import run
from support.masks import decode, drawn_spans
from support.studio import box, result, task, work, written
from support.tool_files import alone, asked, drawn, found

from bboxqa import read_coco, reading, validate
from bboxqa.core.errors import DatasetError
from bboxqa.formats.label_studio.tasks import brush_mask, image_names, images_of, regions_of
from bboxqa.formats.translation.shapes import MaskProblemError

BOX = box(1, 1, 9, 9)
ANN = {"id": 1, "email": "ann@x.org"}


def of_tasks(tmp_path, *tasks, **more):
    return read_coco(written(tmp_path / "a.json", *tasks), **more)


def only(tmp_path, *results):
    """Return the data set of one task in which the second annotator drew nothing."""
    return of_tasks(tmp_path, task(1, work(1, *results), work(2)))


def bare(*sides):
    """Return a box whose image has no size."""
    return {key: value for key, value in box(*sides).items() if key != "original_width"}


# Who was asked, and who drew.


def test_an_empty_annotation_was_asked_for_and_a_cancelled_one_is_not(tmp_path):
    first = task(1, work(1, BOX), work(2), work(3, was_cancelled=True))
    data = of_tasks(tmp_path, first, task(2, work(1), work(3, BOX)))
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
    assert of_tasks(tmp_path, task(1, *works)).annotator_names == names


def test_predictions_and_ground_truth_are_annotators(tmp_path):
    model = {"model_version": "yolo", "result": [box(1, 1, 9, 9, score=0.5)]}
    data = of_tasks(tmp_path, task(1, work(1), predictions=[model, 31]))
    assert drawn(data) == [("1.jpg", "yolo", "cat", 2, 1, 18, 9)]
    assert data.annotator_names == ("1", "yolo")
    assert data.notes == (
        "yolo is a model and counts as an annotator: 1 prediction in the file",
        "1 prediction left out: a number instead of regions",
    )
    with pytest.raises(DatasetError, match="only, 'yolo', by the model_version of predictions"):
        of_tasks(tmp_path, task(1, predictions=[model]))
    data = of_tasks(tmp_path, task(1, work(1, BOX), work(2, ground_truth=True)))
    assert data.annotator_names == ("1", "ground truth")
    assert "--reference 'ground truth'" in data.notes[0]


def test_files_of_several_label_studios_may_number_others_alike(tmp_path):
    paths = [written(tmp_path / f"{who}.json", task(1, work(1, BOX))) for who in ("ann", "bob")]
    with pytest.raises(DatasetError, match="'1', by completed_by, which each Label Studio counts"):
        read_coco(paths)
    assert read_coco(paths, attribution="files").annotator_names == ("ann", "bob")


def test_the_first_annotation_of_a_task_counts_and_sessions_keep_all(tmp_path):
    first = task(1, work(1, BOX), work(2), work(1, box(50, 50, 9, 9)))
    tasks = first, task(2, work(1), work(2))
    assert len(of_tasks(tmp_path, *tasks).annotations) == 1
    repeats = of_tasks(tmp_path, *tasks, session_key="session").repeats
    assert len(repeats.sessions.annotations) == 2


def test_json_min_has_one_record_for_each_annotation(tmp_path):
    # 10 % of 200, 20 % of 100, 5 % of 200 and 50 % of 100 pixels.
    region = {"x": 10, "y": 20, "width": 5, "height": 50, "rotation": 0, "rectanglelabels": ["cat"]}
    region |= {"original_width": 200, "original_height": 100}
    shared = {"id": 4, "image": "/data/upload/1/0a1b2c3d-1.jpg", "lead_time": 3}
    first = shared | {"annotator": 1, "annotation_id": 1, "label": [region]}
    data = of_tasks(tmp_path, first, shared | {"annotator": 2, "annotation_id": 2})
    assert drawn(data) == [("1.jpg", "1", "cat", 20, 20, 10, 50)]
    assert asked(data) == {"1.jpg": ["1", "2"]}
    # So has the folder of a target storage.
    stored = {"task": {"id": 4, "data": {"image": "1.jpg"}}}
    data = of_tasks(tmp_path, *(stored | work(who, BOX) for who in (1, 2)))
    assert asked(data) == {"1.jpg": ["1", "2"]}


def test_unnamed_annotations_beside_named_ones_are_of_nobody_else(tmp_path):
    named = [work(person, BOX) for person in (1, 2)]
    tasks = task(1, *named), task(2, named[0], work(None, BOX))
    with pytest.raises(DatasetError, match="1 of 4 annotations do not name their annotator"):
        of_tasks(tmp_path, *tasks)
    data = alone(tmp_path / "a.json")
    assert data.annotator_names == ("1", "2", "(not named)")
    assert "1 annotation without completed_by, here by '(not named)'" in data.notes


def test_a_file_that_names_nobody_is_one_finding(tmp_path):
    nobody = [task(number, work(None, BOX)) for number in (1, 2, 3)]
    ((*_, message),) = found(written(tmp_path / "a.json", *nobody), "T005")
    assert message == "no annotation of the file says who completed it (3 annotations)"
    # An annotator without a name among others cannot be told from them.
    path = written(tmp_path / "b.json", *nobody, task(4, work(1, BOX)))
    assert [each[-1] for each in found(path, "T005")] == [
        f"task {number}: an annotation does not say who completed it" for number in (1, 2, 3)
    ]


def test_predictions_for_a_review_count_until_somebody_submitted_one(tmp_path):
    """Those of tasks that nobody reviewed yet are the annotations of people."""
    predictions = [
        {"model_version": name, "result": [box(x, 1, 9, 9)]} for name, x in (("ann", 1), ("bob", 2))
    ]
    kept = box(5, 1, 9, 9, origin="prediction")
    works = [[work({"id": 3, "email": "ann"}, kept)], [work(3, was_cancelled=True)], []]
    data = of_tasks(tmp_path, *(
        task(n, *each, predictions=predictions,
             data={"image": f"{n}.jpg", "gain": 0.5, "bboxqa": "review"})
        for n, each in enumerate(works, start=1)
    ))  # fmt: skip
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


@pytest.mark.parametrize("session", [None, "session"])
def test_tasks_that_are_twice_in_a_file_with_their_ids_are_copies(tmp_path, session):
    given = task(1, work(1, BOX, id=7), work(2, id=8)), task(2, work(1, BOX, id=9), work(2, id=9))
    data = of_tasks(tmp_path, *given, *given, **({"session_key": session} if session else {}))
    assert len(data.annotations) == 2
    assert "4 annotations left out: copies of others of their task, with the same ids" in data.notes
    assert [each[-1] for each in found(tmp_path / "a.json", "T007")] == [
        f"task {n}: is in the file twice (same annotation ids); counted once" for n in (1, 2)
    ]


# Images of tasks.


def test_tasks_with_several_images_have_each_by_itself(tmp_path):
    right = [work(who, box(who, 1, 9, 9, to_name="right")) for who in (1, 2)]
    left = [work(who, box(5, 1, 9, 9, to_name="left")) for who in (1, 3)]
    first = task(1, *right, data={"left": "l.jpg", "right": "r.jpg"})
    data = of_tasks(tmp_path, first, task(2, *left, data={"left": "l2.jpg", "right": "r2.jpg"}))
    assert asked(data) == {
        "l.jpg": ["1", "2"], "r.jpg": ["1", "2"], "l2.jpg": ["1", "3"], "r2.jpg": ["1", "3"],
    }  # fmt: skip
    assert {name for name, *_ in drawn(data)} == {"r.jpg", "l2.jpg"}
    assert data.notes == ()
    # Pages of a list are images; those of a Repeater are objects, with a tag each.
    for page, pages in (({"item_index": 1}, ["1.png", "2.png"]),
                        ({"to_name": "page_1"}, [{"url": "1.png"}, {"url": "2.png"}])):  # fmt: skip
        works = [work(who, box(who, 1, 9, 9, **page)) for who in (1, 2)]
        data = of_tasks(tmp_path, task(1, *works, data={"pages": pages}))
        assert {name for name, *_ in drawn(data)} == {"2.png"}
        assert set(asked(data)) == {"1.png", "2.png"}


def test_a_tag_that_shows_one_of_several_images_is_refused(tmp_path):
    works = [work(who, box(who, 1, 9, 9, to_name="tag")) for who in (1, 2)]
    path = written(tmp_path / "a.json", task(1, *works, data={"left": "l.jpg", "right": "r.jpg"}))
    words = r"images under left, right: --columns image=KEY says"
    with pytest.raises(DatasetError, match=words):
        read_coco(path)
    with reading(columns={"image": "right"}):
        assert read_coco(path).image_names == ("r.jpg",)


def test_images_that_nobody_drew_on_are_empty(tmp_path):
    logo = {"logo": "https://x.org/logo.png"}
    shown = [{"image": f"{n}.jpg", "next": f"{n + 1}.jpg"} | logo for n in (1, 2)]
    tasks = [task(n, work(1), work(2), data=data) for n, data in enumerate(shown)]
    last = task(4, work(1, BOX), work(2), data={"image": "4.jpg"})
    data = of_tasks(tmp_path, *tasks, last)
    names = ["1.jpg", "2.jpg", "3.jpg", "4.jpg", "logo.png"]
    assert asked(data) == {name: ["1", "2"] for name in names}
    assert data.notes[0].startswith("nobody drew on the images under 'next', 'logo'")
    with reading(columns={"image": "image"}):
        assert [*asked(read_coco(tmp_path / "a.json"))] == ["1.jpg", "2.jpg", "4.jpg"]


def test_a_region_without_a_size_takes_that_of_others_or_the_given_one(tmp_path):
    assert (
        len(of_tasks(tmp_path, task(1, work(1, bare(1, 1, 9, 9)), work(2, BOX))).annotations) == 2
    )
    with pytest.raises(
        DatasetError, match=r"T002 error task 1, region.*no original_width"
    ) as caught:
        only(tmp_path, bare(1, 1, 9, 9))
    assert "give --image-size 1920x1080" in caught.value.problems[0]
    unsized = task(1, *(work(who, bare(10, 10, 50, 50)) for who in (1, 2)))
    with reading(image_size=(400, 300)):
        data = of_tasks(tmp_path, unsized, task(2, work(1, BOX), work(2, BOX)))
    assert sorted(data.image_size.tolist()) == [[200, 100], [400, 300]]
    assert data.annotations.bbox[data.annotations.image == 0].tolist() == [[40, 30, 200, 150]] * 2


# Names of images from URLs, parts of which are the same for other images.
DRIVE = "https://drive.google.com/uc?export=view&id="


@pytest.mark.parametrize(
    ("addresses", "names"),
    [
        ([f"{DRIVE}1a", f"{DRIVE}2b"], ("uc?export=view&id=1a", "uc?export=view&id=2b")),
        (["https://h/img?id=5", "https://h/img?id=6"], ("img?id=5", "img?id=6")),
        (["https://h/view?v=5a", "https://h/view?v=6b"], ("view?v=5a", "view?v=6b")),
        (["https://h/a.ashx?f=1.jpg", "https://h/a.ashx?f=2.jpg"],
         ("a.ashx?f=1.jpg", "a.ashx?f=2.jpg")),
        (["/data/upload/1/0a1b2c3d-a.png?p=1", "/data/upload/1/0a1b2c3d-a.png?p=2"],
         ("data/upload/1/0a1b2c3d-a.png?p=1", "data/upload/1/0a1b2c3d-a.png?p=2")),
        (["https://h/a.jpg?v=1", "https://h/b.jpg?v=1"], ("a.jpg", "b.jpg")),
        (["s3://shop/day/scene#8.png", "s3://shop/day/scene#9.png"],
         ("day/scene#8.png", "day/scene#9.png")),
    ],
)  # fmt: skip
def test_images_have_names_of_their_own(tmp_path, addresses, names):
    works = [work(who, BOX) for who in (1, 2)]
    tasks = [task(n, *works, data={"image": each}) for n, each in enumerate(addresses)]
    data = of_tasks(tmp_path, *tasks)
    assert data.image_names == names
    assert len(data.annotations) == 4


@pytest.mark.parametrize(
    "signature", ["X-Amz-Date={0}&X-Amz-Signature=0a{0}", "se={0}&sig=a{0}%3D"]
)
def test_signatures_are_no_part_of_names_of_pictures(tmp_path, signature):
    # Two exports are signed at two times.
    for who in (1, 2):
        address = f"https://h/b/a.jpg?{signature.format(who)}"
        written(tmp_path / f"{who}.json", task(1, work(who, BOX), data={"image": address}))
    data = read_coco(tmp_path)
    assert (data.image_names, data.assigned.tolist()) == (("b/a.jpg",), [[True, True]])


def test_images_named_by_tasks_of_different_projects_are_refused(tmp_path):
    for who, order in enumerate(("ab", "ba")):
        tasks = [task(n, work(who, BOX), data={"text": each}) for n, each in enumerate(order, 1)]
        written(tmp_path / f"{who}.json", *tasks)
    outcome = run("agree", tmp_path, "--bootstrap", "0")
    assert (outcome.returncode, outcome.stdout) == (2, "")
    assert "image 'task 1' is named by the number of its task, whose data differ" in outcome.stderr
    with reading(columns={"image": "text"}):
        assert read_coco(tmp_path).image_names == ("a", "b")


# Regions.


def test_a_region_split_into_results_is_one(tmp_path):
    shape = {"x": 1, "y": 1, "width": 9, "height": 9, "rotation": 0}
    parts = [
        result("rectangle", shape, id="r"),
        result("labels", {**shape, "labels": ["cat"]}, id="r"),
        result("choices", {**shape, "choices": ["old"]}, id="r", from_name="age"),
    ]
    data = only(tmp_path, *parts)
    assert (data.category_names, len(data.annotations), data.notes) == (("cat",), 1, ())
    (region,) = regions_of([(str(place), part) for place, part in enumerate(parts)])
    assert region.attributes == {"age": ["old"]}


def test_findings_stand_in_the_file_of_the_user(tmp_path):
    parts = box(1, 1, 9, 9), box(60, 1, 60, 9, id="wide")
    path = written(tmp_path / "a.json", task(1, work(1, *parts)))
    (found,) = [each for each in validate(path).findings if each.code == "B003"]
    assert (found.file, found.pointer) == (str(path), "/0/annotations/0/result/1")
    place = path.read_text().index('{"id": "wide"')
    assert found.spot.offset == found.spot.column - 1 == place
    assert found.excerpt.startswith('{"id": "wide"')
    assert (found.ids["annotation"], found.fix) == ("wide", None)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({"x": "left"}, "x is 'left'; expected a number"),
        ({"height": None}, "height is missing; expected a number"),
        ({"x": True}, "x is True; expected a number"),
        ({"x": -(10**400)}, f"x is -1{'0' * 38}; expected a number within ±1,000,000,000"),
        ({"rotation": []}, "rotation is []; expected a number"),
        ({"x": 640}, "x is 640, which is in pixels"),
    ],
)
def test_values_of_other_types_are_refused(tmp_path, value, words):
    path = written(tmp_path / "a.json", task(1, work(1, box(1, 1, 9, 9, value=value, id="r"))))
    ((*_, message),) = [each for code in ("T001", "T003") for each in found(path, code)]
    assert message.startswith(f"task 1, region r: {words}")
    with pytest.raises(DatasetError, match="region r"):
        alone(path)


def test_files_without_tasks_are_refused(tmp_path):
    choice = {"type": "choices", "value": {"choices": ["yes"]}}
    path = written(tmp_path / "a.json", task(1, work(1, choice), data={"text": "a dog"}))
    with pytest.raises(DatasetError, match="is Label Studio JSON without images"):
        validate(path)
    path.write_text(json.dumps({"tasks": [task(1, work(1, BOX), work(2))]}))
    with pytest.raises(DatasetError, match="none of the keys of a task; tasks inside of it are"):
        read_coco(path)
    path = written(tmp_path / "a.json", task(1, work(1, BOX)), task(2, work(2, BOX)))
    whole = path.read_bytes()
    for broken in (whole[:-30], whole.replace(b'"cat"', b'"c\xfft"', 1)):
        path.write_bytes(broken)
        assert [finding.code for finding in validate(path).findings] == ["F001"]
        with pytest.raises(DatasetError, match="F001 error") as raised:
            read_coco(path)
        assert len(raised.value.problems) == 1


# Masks: bitmaps, and brushes against an encoder of the format and real ones.


def of_bits(bits):
    bits += "0" * (-len(bits) % 8)
    return [int(bits[start : start + 8], 2) for start in range(0, len(bits), 8)]


def encoded(values, rng):
    """Return bytes as Label Studio's run lengths; where runs begin and end is left to chance."""
    widths = (3, 4, 9, 16)
    bits = f"{len(values):032b}{7:05b}" + "".join(f"{width - 1:04b}" for width in widths)
    place = 0
    while place < len(values):
        choice = int(rng.integers(4))
        rest = np.flatnonzero(np.diff(values[place:], append=-1))[0] + 1
        repeats = rest > 1 and rng.random() < 0.8
        most = rest if repeats else rng.integers(1, 40)
        n = int(min(most, len(values) - place, 2 ** widths[choice]))
        bits += f"{int(repeats)}{choice:02b}{n - 1:0{widths[choice]}b}"
        bits += "".join(f"{each:08b}" for each in values[place : place + (1 if repeats else n)])
        place += n
    return of_bits(bits)


@pytest.mark.parametrize("seed", range(20))
def test_any_runs_give_the_mask(seed):
    rng = np.random.default_rng(seed)
    height, width = rng.integers(1, 12, 2).tolist()
    mask = rng.random((height, width)) < 0.5
    rgba = np.zeros((height, width, 4), np.int64)
    rgba[..., 3] = np.where(mask, rng.integers(1, 256, mask.shape), 0)
    found = brush_mask(encoded(rgba.ravel(), rng), width, height)
    assert (drawn_spans(found.spans, height, width) == mask).all()


@pytest.mark.parametrize(
    ("numbers", "words"),
    [
        ("text", "is not a list of bytes"),
        ([256], "is not a list of bytes"),
        ([-1], "is not a list of bytes"),
        ([0, 0], "is cut off"),
        ([0, 0, 0, 8, 57, 17, 20], "is cut off"),
        ([255, 255, 255, 255, 57], "has 1,073,741,823 pixels; expected 2 × 1"),
        ([0, 0, 0, 8, 8, 0, 0], "values of 2 bits"),
        # A run of 9 in a picture of 8 bytes.
        (of_bits(f"{8:032b}{7:05b}" + 4 * f"{3:04b}" + f"100{8:04b}{255:08b}"), "has more pixels"),
    ],
)
def test_what_is_no_mask_is_refused(numbers, words):
    with pytest.raises(MaskProblemError, match=words):
        brush_mask(numbers, 2, 1)


def test_no_memory_is_taken_for_the_size_that_a_file_claims():
    # The number of bytes is 32 bits, of which an image of 2^30 pixels has none left.
    with pytest.raises(MaskProblemError, match="is cut off"):
        brush_mask([255, 254, 0, 0, 57, 17, 20], 1 << 15, (1 << 15) - 1)


def brush(pixels):
    rgba = np.repeat(pixels[..., None] * 255, 4, 2).ravel()
    value = {"format": "rle", "rle": encoded(rgba, np.random.default_rng(1))}
    return result("brushlabels", value | {"brushlabels": ["cat"]})


def bitmask(pixels):
    """Return a picture as Label Studio writes it: black where drawn, else transparent."""
    picture = np.zeros((*pixels.shape, 4), np.uint8)
    picture[..., 3] = pixels * 255
    data = io.BytesIO()
    Image.fromarray(picture).save(data, "PNG")
    address = f"data:image/png;base64,{base64.b64encode(data.getvalue()).decode()}"
    return result("bitmasklabels", {"imageDataURL": address, "bitmasklabels": ["cat"]})


@pytest.mark.parametrize("form", [brush, bitmask])
def test_brushes_and_bitmasks_are_run_lengths_of_coco(tmp_path, form):
    pixels = np.zeros((100, 200), bool)
    pixels[20:30, 50:55] = True
    pixels[22, 60] = True
    data = only(tmp_path, form(pixels))
    assert data.annotations.bbox.tolist() == [[50, 20, 11, 10]]
    assert data.category_names == ("cat",)
    assert np.array_equal(decode(data.annotations.segmentation.rle(0)), pixels)


@pytest.mark.parametrize(
    ("data", "images"),
    [
        (
            {"image": "a.jpg", "pages": ["1.png", "2.png"], "text": "a dog"},
            {"image": ["a.jpg"], "pages": ["1.png", "2.png"]},
        ),
        ({"image": "day1_7"}, {"image": ["day1_7"]}),
        ({"image": "a.jpg", "image_quality": "good"}, {"image": ["a.jpg"]}),
        ({"pages": [{"url": "1.png"}, {"url": "2.png"}]}, {"pages": ["1.png", "2.png"]}),
    ],
)
def test_images_of_a_task_are_addresses_else_words_under_usual_keys(data, images):
    assert images_of(data) == images


@pytest.mark.parametrize(
    ("addresses", "names"),
    [
        (["/data/upload/1/0a1b2c3d-a%20b.jpg", "s3://shop/day/1.png"], ["a b.jpg", "day/1.png"]),
        (
            ["/data/upload/1/0a1b2c3d-a.jpg", "/data/upload/2/a.jpg"],
            ["data/upload/1/0a1b2c3d-a.jpg", "data/upload/2/a.jpg"],
        ),
        (
            ["https://x.org/a.jpg?page=1", "https://x.org/a.jpg?page=2"],
            ["a.jpg?page=1", "a.jpg?page=2"],
        ),
    ],
)
def test_images_have_their_short_names_where_these_are_unique(addresses, names):
    assert [*image_names(addresses).values()] == names
