"""Lists of COCO results, the results of a model as one more annotator, and panoptic COCO."""

import json
import random

import numpy as np
import pytest
from pycocotools import mask as coco_mask
from pycocotools.coco import COCO
from support.cli import run
from support.tool_files import exact_rows, write

import bboxqa
from bboxqa.core.errors import ConfigError, DatasetError

IMAGES = [{"id": n, "file_name": f"{n}.jpg", "width": 640, "height": 480} for n in (0, 7, 8, 9, 30)]
CATEGORIES = [{"id": 0, "name": "cat", "isthing": 1}, {"id": 3, "name": "dog", "isthing": 0}]
HERE, THERE = [10, 10, 20, 20], [60, 60, 20, 20]
ABSENT = "…"


def without_absent(record):
    """Return an object without the keys that are absent; other values as they are."""
    if not isinstance(record, dict):
        return record
    return {key: value for key, value in record.items() if value is not ABSENT}


def result(image, category, box, score=0.9, **more):
    return {"image_id": image, "category_id": category, "bbox": box, "score": score, **more}


def made(seed, n=40):
    """Return random results about all images but one."""
    rng = random.Random(seed)
    return [
        result(
            rng.choice(IMAGES[:-1])["id"],
            rng.choice(CATEGORIES)["id"],
            [rng.randint(0, 500), rng.randint(0, 400), rng.randint(9, 99), rng.randint(9, 70)],
            rng.choice([0, 0.3, 0.5, 0.8, 1]),
        )
        for _ in range(n)
    ]


def document(annotations, **more):
    return {"images": IMAGES, "categories": CATEGORIES, "annotations": annotations, **more}


def ground_truth(annotations=(), **more):
    own = {"area": 400, "iscrowd": 0}
    return document([{"id": n, **own, **each} for n, each in enumerate(annotations, 1)], **more)


def drawn(results):
    """Return results as annotations without a score."""
    return [{key: each[key] for key in ("image_id", "category_id", "bbox")} for each in results]


@pytest.fixture
def folder(tmp_path):
    files = {"gt": ground_truth(drawn(made(0))), "a": made(1), "b": made(2)}
    return write(tmp_path, **{f"{name}.json": content for name, content in files.items()})


def paths(folder, *names):
    return [folder / f"{name}.json" for name in names]


def refused(folder, words, *arguments):
    """Check that a command names what is wrong with a.json."""
    done = run("agree", *arguments, cwd=folder)
    assert done.returncode == 2
    for word in ("a.json", *words):
        assert word in done.stderr


def rows_of(data):
    return sorted(exact_rows(data))


def expected(results, annotator, least=0.5, *, named=True):
    """Return the same from results, in plain Python."""
    files = {each["id"]: each["file_name"] for each in IMAGES}
    names = {each["id"]: each["name"] for each in CATEGORIES}
    return sorted(
        (
            files[each["image_id"]] if named else f"image {each['image_id']}",
            annotator,
            names[each["category_id"]] if named else f"category {each['category_id']}",
            tuple(map(float, each["bbox"])),
        )
        for each in results
        if each.get("score", 1) >= least
    )


@pytest.mark.parametrize("least", [0, 0.3, 0.5, 0.81])
def test_results_take_images_and_categories_of_the_coco_file(folder, least):
    data = bboxqa.read_coco(paths(folder, "a", "gt", "b"), score=least)
    assert rows_of(data) == sorted(
        expected(drawn(made(0)), "gt")
        + expected(made(1), "a", least)
        + expected(made(2), "b", least)
    )
    assert data.annotator_names == ("a", "b", "gt")
    assert data.assigned.all()
    assert data.attribution == "one file per annotator"
    n = sum(each["score"] >= least for each in made(1))
    said = f"a.json: results with a score of {least:g} or more count: {n} of 40; asked about all"
    assert said in "\n".join(data.notes)


def test_results_alone_are_known_by_id(folder):
    data = bboxqa.read_coco(paths(folder, "a", "b"))
    assert rows_of(data) == sorted(
        expected(made(1), "a", named=False) + expected(made(2), "b", named=False)
    )
    assert data.assigned.all()
    assert "known by id only (image 7, category 3)" in "\n".join(data.notes)
    assert (data.image_size == 0).all()


@pytest.mark.parametrize("content", [ground_truth(), {"images": IMAGES, "categories": CATEGORIES}])
def test_a_file_without_annotations_is_by_nobody(folder, content):
    write(folder, **{"gt.json": content})
    data = bboxqa.read_coco(paths(folder, "gt", "a", "b"))
    assert data.annotator_names == ("a", "b")
    # Both were asked about an image that no result is about.
    assert data.image_names == tuple(sorted(each["file_name"] for each in IMAGES))
    assert data.assigned.all()
    assert "gt.json: no annotations; the results take images" in "\n".join(data.notes)
    names = [each.name.rpartition("/")[2] for each in data.sources]
    assert names == ["a.json", "b.json", "gt.json"]


def test_scores_and_results_are_converted_completely(folder):
    bboxqa.convert(paths(folder, "gt", "a"), folder / "out.json", to="coco")
    whole = json.loads((folder / "out.json").read_text())
    own = [each for each in whole["annotations"] if each["annotator"] == "a"]
    assert sorted(each["score"] for each in own) == sorted(each["score"] for each in made(1))
    assert {each["width"] for each in whole["images"]} == {640}
    data = bboxqa.read_coco(folder / "out.json")
    assert rows_of(data) == sorted(expected(drawn(made(0)), "gt") + expected(made(1), "a", 0))
    with pytest.raises(DatasetError, match="width"):
        bboxqa.convert(folder / "a.json", folder / "labels", to="yolo", lossy=True)


def test_masks_give_boxes_as_in_pycocotools(folder):
    rng = np.random.default_rng(0)
    results = []
    for number in (0, 7, 8):
        mask = np.zeros((480, 640), np.uint8)
        x, y, w, h = rng.integers(5, 200, 4)
        mask[y : y + h, x : x + w] = 1
        mask[y, x] = 0
        rle = coco_mask.encode(np.asfortranarray(mask))
        rle["counts"] = rle["counts"].decode()
        results.append({"image_id": number, "category_id": 3, "segmentation": rle, "score": 0.75})
    write(folder, **{"a.json": results})
    found = COCO(str(folder / "gt.json")).loadRes(str(folder / "a.json"))
    boxes = {each["image_id"]: tuple(each["bbox"]) for each in found.dataset["annotations"]}
    for with_masks in (False, True):
        data = bboxqa.read_coco(paths(folder, "gt", "a"), segmentation=with_masks)
        own = [row for row in rows_of(data) if row[1] == "a"]
        assert own == [(f"{n}.jpg", "a", "dog", boxes[n]) for n in (0, 7, 8)]
    bboxqa.convert(paths(folder, "a"), folder / "out.json", to="coco")
    whole = json.loads((folder / "out.json").read_text())["annotations"]
    assert [tuple(each["bbox"]) for each in whole] == [boxes[n] for n in (0, 7, 8)]


def test_key_points_of_results_are_compared(folder):
    points = [10, 10, 2, 40, 50, 2, 0, 0, 0]
    kinds = [CATEGORIES[0] | {"keypoints": ["nose", "tail", "ear"]}]
    truth = [{"image_id": 7, "category_id": 0, "bbox": HERE, "keypoints": points}]
    found = [{"image_id": 7, "category_id": 0, "keypoints": points, "score": 0.9}]
    write(folder, **{"gt.json": ground_truth(truth, categories=kinds), "a.json": found})
    data = bboxqa.read_coco(paths(folder, "gt", "a"), keypoints=True)
    result = bboxqa.agree(data, similarity="keypoints", sigmas=[0.1] * 3, bootstrap=0)
    assert result.existence.f1 == 1
    refused(folder, ["bbox", "--similarity keypoints"], "gt.json", "a.json")


SIZED = {"size": [9, 9]}
WRONG = [
    ([result(0, 3, HERE), result(99, 3, HERE)], ["a.json#/1: image_id is 99", "gt.json"]),
    ([result(0, 17, HERE)], ["a.json#/0: category_id is 17", "--ground-truth gt.json"]),
    ([result(0, 3, ABSENT)], ["bbox is missing"]),
    ([result(0, 3, [1, 2, "x", 4])], ["bbox"]),
    ([result(0, 3, [1, 2, 1e300, 4])], ["1e+300"]),
    ([result(0, 3, HERE, ABSENT)], ["top level is a list; expected an object"]),
    ([result(0, 3, HERE), result(0, 3, HERE, "high")], ["score", '"high"']),
    ([result(0, 3, HERE, 90)], ["scores are from 90 to 90; expected 0 to 1"]),
    ([result(0, 3, HERE, 0.2)], ["none of 1 result has a score of 0.5", "--score"]),
    ([result(1 << 70, 3, HERE)], ["image_id", "1180591620717411303424"]),
    ([*[result(0, 3, HERE)] * 2, 7], ["a.json:1:", "7"]),
    ([], ["holds an empty list"]),
    ([[1, 2]], []),
    (json.dumps([result(0, 3, HERE)])[:-1], []),
    ([result(0, 3, ABSENT, segmentation=SIZED | {"counts": [1 << 70]})], ["run lengths add up to"]),
    ([result(0, 3, ABSENT, segmentation=SIZED | {"counts": [81]})], ["bbox is missing"]),
    ([{"image_id": 0, "caption": "a cat"}], ["holds results of COCO captions; expected objects"]),
]


@pytest.mark.parametrize(("results", "words"), WRONG, ids=range(len(WRONG)))
def test_wrong_results_are_named(folder, results, words):
    if isinstance(results, list):
        results = [without_absent(each) for each in results]
    write(folder, **{"a.json": results})
    refused(folder, words, "gt.json", "a.json")


def test_options_that_do_not_fit_results_are_refused(folder):
    assert run("agree", "gt.json", "gt.json", "--score", "0.1", cwd=folder).returncode == 2
    with pytest.raises(ConfigError, match="a model has no sessions"):
        bboxqa.read_coco(paths(folder, "gt", "b"), session_key="session")
    with pytest.raises(DatasetError, match="no annotator is named"):
        bboxqa.read_coco(folder / "b.json")


# The results of a model beside annotators of one file.
RESULTS = [
    result(0, 0, HERE, 0.9), result(0, 3, THERE, 0.5), result(7, 0, HERE, 0.49),
    result(8, 3, THERE, 0.8),
]  # fmt: skip


def of_team(*people):
    """Return a document whose annotators draw one box in each of two images."""
    boxes = ({"image_id": n, "category_id": 0, "bbox": HERE, "annotator": who}
             for n in (0, 7) for who in people)  # fmt: skip
    return ground_truth(boxes, images=IMAGES[:3])


@pytest.fixture
def team(tmp_path):
    return write(tmp_path, **{"team.json": of_team("ann", "bob"), "a.json": RESULTS})


def test_a_model_is_measured_as_an_annotator_with_a_file_is(team):
    whole = of_team("ann", "bob")
    own = {"area": 400, "iscrowd": 0, "annotator": "a"}
    model = [each for each in RESULTS if each["score"] >= 0.5]
    whole["annotations"] += [{"id": n, **each, **own} for n, each in enumerate(model, 100)]
    for image in (images := [dict(each) for each in whole["images"]]):
        image["annotators"] = ["a"] if image["id"] == 8 else ["a", "ann", "bob"]
    first = bboxqa.agree(bboxqa.read_coco(whole | {"images": images}), bootstrap=0)
    found = bboxqa.read_coco(team / "team.json", predictions=team / "a.json")
    second = bboxqa.agree(found, bootstrap=0)
    assert first.pairs.records() == second.pairs.records()
    assert first.alpha == second.alpha


def test_the_command_for_all_findings_names_the_reference(team):
    write(team, **{"b.json": [result(99, 0, HERE)]})
    done = run("agree", "b.json", "--reference", "team.json", cwd=team)
    assert "bboxqa validate b.json --ground-truth team.json" in done.output


def test_a_model_is_compared_with_a_reference(team):
    write(team, **{"truth.json": of_team("eve")})
    done = run(
        "agree", "team.json", "--predictions", "a.json", "--score", 0.4,
        "--reference", "truth.json", "--format", "json", cwd=team,
    )  # fmt: skip
    (found,) = (
        each for each in json.loads(done.stdout)["thresholds"][0]["reference"]["annotators"]
        if each["name"] == "a"
    )  # fmt: skip
    # HERE in two images, and THERE in two where there is nothing.
    assert (found["n"], found["n_matched"], found["n_reference"]) == (4, 2, 2)
    assert found["precision"]["value"] == 0.5


@pytest.mark.parametrize(
    ("results", "words"),
    [
        ([result(99, 0, HERE)], ["a.json:1:15", "image_id is 99", "--ground-truth"]),
        ([{"image_id": 0, "bbox": HERE}], ["results[0]: category_id is missing", '"score": 0.9']),
        ([], ["a.json: the list of results is empty"]),
        (of_team("ann"), ["a.json: expected a list of COCO results"]),
        ({"images": []}, ["a.json: expected a list of COCO results"]),
        ([result(0, 0, [450, 350, 590, 470])] * 40, ["x1, y1, x2, y2", "--no-checks"]),
    ],
    ids=range(6),
)  # fmt: skip
def test_what_is_wrong_with_predictions_is_named(team, results, words):
    write(team, **{"a.json": results})
    refused(team, words, "team.json", "--predictions", "a.json")


def test_a_model_has_no_vote_on_what_annotators_miss_or_add(tmp_path):
    """Of what one annotator drew and two missed, a model that finds it too makes no majority."""
    errors = {"p*": "jitter=3% miss=0.15 extra=0.15", "p04": "miss=0.4 extra=0.4"}
    made = bboxqa.simulate(images=20, annotators=4, errors=errors, seed=1).document()
    by_model = [each for each in made["annotations"] if each["annotator"] == "p04"]
    results = [each | {"score": 0.9} for each in drawn(by_model)]
    path = write(tmp_path, **{"model.json": results}) / "model.json"
    team = [each for each in made["annotations"] if each["annotator"] != "p04"]
    images = [image | {"annotators": ["p01", "p02", "p03"]} for image in made["images"]]
    made |= {"annotations": team, "images": images}

    def rates(**more):
        data = bboxqa.read_coco(made, **more)
        rows = bboxqa.agree(data, bootstrap=0).diagnose().tables["annotators"].records()
        return {row["annotator"]: (row["n_missed"], row["n_extra"]) for row in rows}

    alone, beside = rates(), rates(predictions=path, score=0.5)
    of_model = beside.pop("model")
    assert beside == alone
    assert min(of_model) > max(map(max, alone.values()))
    assert min(map(min, alone.values())) > 0


# Panoptic COCO: its segments are annotations.


def segment(number, category, box, **more):
    own = {"id": number, "category_id": category, "bbox": box, "area": box[2] * box[3]}
    return own | {"iscrowd": 0} | more


def record(image, segments, **more):
    return {"segments_info": segments, "file_name": f"{image}.png", "image_id": image, **more}


def panoptic(seed, *, unique=True):
    """Return records of all images, one of them without segments."""
    rng = random.Random(seed)
    records, number = [], 0
    for image in [each["id"] for each in IMAGES]:
        segments = []
        for place in range(0 if image == 9 else rng.randint(1, 9)):
            number += rng.randint(1, 1 << 20)
            box = [rng.randint(0, 500), rng.randint(0, 400), rng.randint(9, 99), rng.randint(9, 70)]
            crowd = int(rng.random() < 0.2)
            kind = rng.choice(CATEGORIES)["id"]
            segments.append(segment(number if unique else place, kind, box, iscrowd=crowd))
        records.append(record(image, segments))
    return records


def flat(records):
    """Return segments as annotations of images."""
    return [
        one | {"image_id": each["image_id"]} for each in records for one in each["segments_info"]
    ]


def of_two(tmp_path, first, second):
    write(tmp_path, **{"a.json": document(first), "b.json": document(second)})
    return paths(tmp_path, "a", "b")


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("unique", [True, False])
def test_segments_are_annotations_with_all_that_a_target_holds(tmp_path, seed, unique):
    first, second = panoptic(seed, unique=unique), panoptic(seed + 100, unique=unique)
    sources = of_two(tmp_path, first, second)
    data = bboxqa.read_coco(sources)
    assert rows_of(data) == sorted(expected(flat(first), "a") + expected(flat(second), "b"))
    n_crowds = sum(each["iscrowd"] for each in flat(first) + flat(second))
    assert data.annotations.iscrowd.sum() == n_crowds
    # An image without segments, and one without a record, were asked about.
    assert data.assigned.tolist() == [[True, True]] * 5
    bboxqa.convert(sources, tmp_path / "coco.json", to="coco", attribution="files")
    assert rows_of(bboxqa.read_coco(tmp_path / "coco.json")) == rows_of(data)
    whole = json.loads((tmp_path / "coco.json").read_text())
    assert {each["isthing"] for each in whole["categories"]} == {0, 1}
    areas = [each["area"] for each in whole["annotations"] if each["annotator"] == "a"]
    assert sorted(areas) == sorted(each["area"] for each in flat(first))


def test_annotators_are_named_on_records_or_segments(tmp_path):
    box = [1, 1, 9, 9]
    records = [
        record(0, [segment(1, 0, box)], annotator_id=0),
        record(0, [segment(2, 0, box)], annotator_id=7),
        record(7, [segment(3, 0, box), segment(4, 0, box, annotator_id=7)], annotator_id=0),
        record(8, [segment(5, 0, box)], annotator_id=7),
    ]
    # Who drew nothing was asked, and the lists of images do not say so.
    write(tmp_path, **{"a.json": document([*records, record(8, [], annotator_id=0)])})
    refused(tmp_path, ["without segments", "in its list `annotators`"], "a.json")
    of_nobody = record(8, [], attributes={"weather": "fog"})
    content = document([*records, of_nobody])
    data = bboxqa.read_coco(write(tmp_path, **{"a.json": content}) / "a.json")
    assert data.annotator_names == ("0", "7")
    assert [row[:2] for row in rows_of(data)] == [
        ("0.jpg", "0"), ("0.jpg", "7"), ("7.jpg", "0"), ("7.jpg", "7"), ("8.jpg", "7"),
    ]  # fmt: skip
    asked = dict(zip(data.image_names, data.assigned.tolist(), strict=True))
    assert [name for name, both in asked.items() if all(both)] == ["0.jpg", "7.jpg"]
    assert not any(asked["9.jpg"])


FOURTH = segment(4, 0, [1, 1, 9, 9])
SEGMENTS = [
    *((record(0, [segment(3, 0, [1, 1, 9, 9]), without_absent(FOURTH | change)]), words)
      for change, words in (
        ({"bbox": ABSENT}, ["bbox is missing or", "4 finite numbers"]),
        ({"bbox": [1, 2, 3]}, ["segment 2 (id 4): bbox is missing or", "4 finite numbers"]),
        ({"bbox": [1, 2, 1e300, 4]}, ["1e+300"]),
        ({"category_id": 17}, ["category_id of segment 4 is 17; expected the id of one of the"]),
        ({"id": ABSENT}, ["id of a segment is missing; expected a whole number"]),
        ({"id": 1 << 70}, ["id of segment 11805916"]),
        ({"iscrowd": 7}, ["iscrowd of segment 4 is 7; expected 0 or 1"]),
    )),
    (record(99, [FOURTH]), ["image_id is 99"]),
    (record(0, None), ["segments_info is null; expected a list"]),
    (record(0, {"id": 1}), ["segments_info is {"]),
    (record(0, [7]), ["image 0: segment is 7; expected an object"]),
]  # fmt: skip


@pytest.mark.parametrize(("wrong", "words"), SEGMENTS, ids=range(len(SEGMENTS)))
def test_what_is_wrong_in_a_record_or_segment_is_named(tmp_path, wrong, words):
    of_two(tmp_path, [wrong], panoptic(1))
    refused(tmp_path, words, "a.json", "b.json")
