"""Lists of COCO results as files of annotators, with the images and categories of others."""

import json
import random
import re

import numpy as np
import pytest
from pycocotools import mask as coco_mask
from pycocotools.coco import COCO
from support.cli import run
from support.tool_files import exact_rows

import bboxqa
from bboxqa.core.errors import ConfigError, DatasetError
from bboxqa.formats import scanner as windows

IMAGES = [{"id": n, "file_name": f"{n}.jpg", "width": 640, "height": 480} for n in (0, 7, 8, 9, 30)]
CATEGORIES = [{"id": 0, "name": "cat"}, {"id": 3, "name": "dog"}]
HERE, THERE = [10, 10, 20, 20], [60, 60, 20, 20]
ABSENT = "…"


def result(image, category, box, score=0.9, **more):
    return {"image_id": image, "category_id": category, "bbox": box, "score": score, **more}


def made(seed, n=40):
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


def document(annotations=(), **more):
    return {
        "images": IMAGES,
        "categories": CATEGORIES,
        "annotations": [
            {"id": n, "area": 400, "iscrowd": 0, **each} for n, each in enumerate(annotations, 1)
        ],
        **more,
    }


def drawn(results):
    """Return results as annotations without a score."""
    return [{key: each[key] for key in ("image_id", "category_id", "bbox")} for each in results]


@pytest.fixture
def folder(tmp_path):
    write(tmp_path, "gt", document(drawn(made(0))))
    write(tmp_path, "a", made(1))
    write(tmp_path, "b", made(2))
    return tmp_path


def write(folder, name, content):
    path = folder / f"{name}.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def paths(folder, *names):
    return [folder / f"{name}.json" for name in names]


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


@pytest.mark.parametrize("content", [document(), {"images": IMAGES, "categories": CATEGORIES}])
def test_a_file_without_annotations_is_by_nobody(folder, content):
    write(folder, "gt", content)
    data = bboxqa.read_coco(paths(folder, "gt", "a", "b"))
    assert data.annotator_names == ("a", "b")
    # Both were asked about an image that no result is about.
    assert data.image_names == tuple(sorted(each["file_name"] for each in IMAGES))
    assert data.assigned.all()
    assert "gt.json: no annotations; the results take images" in "\n".join(data.notes)
    assert [each.name.rpartition("/")[2] for each in data.sources] == [
        "a.json",
        "b.json",
        "gt.json",
    ]


def test_annotators_of_a_key_and_results_are_measured_together(folder):
    both = [
        {**each, "annotator": who}
        for who, seed in (("ann", 3), ("bob", 4))
        for each in drawn(made(seed))
    ]
    write(folder, "gt", document(both))
    data = bboxqa.read_coco(paths(folder, "gt", "a"))
    assert rows_of(data) == sorted(
        expected(drawn(made(3)), "ann") + expected(drawn(made(4)), "bob") + expected(made(1), "a")
    )
    assert data.attribution.endswith("; a by its list of results")
    beside = bboxqa.read_coco(paths(folder, "gt"), predictions=folder / "a.json")
    assert rows_of(beside) == rows_of(data)
    assert beside.assigned.tolist() == data.assigned.tolist()


def test_the_order_of_results_and_files_changes_nothing(folder):
    before = bboxqa.agree(bboxqa.read_coco(paths(folder, "gt", "a", "b")), bootstrap=0)
    moved = made(1)
    random.Random(5).shuffle(moved)
    write(folder, "a", [dict(reversed(each.items())) for each in moved])
    after = bboxqa.agree(bboxqa.read_coco(paths(folder, "b", "a", "gt")), bootstrap=0)
    assert before.alpha == after.alpha
    assert before.pairs.records() == after.pairs.records()


@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize("window", [1, 70, 700])
def test_reading_by_windows_changes_nothing(folder, monkeypatch, window, indent):
    plain = rows_of(bboxqa.read_coco(paths(folder, "gt", "a", "b")))
    monkeypatch.setattr(windows, "WINDOW", window)
    write(folder, "a", "\ufeff" + json.dumps(made(1), indent=indent) + "\n")
    data = bboxqa.read_coco(paths(folder, "gt", "a", "b"))
    assert rows_of(data) == plain
    own = np.flatnonzero(data.annotations.annotator == 0)
    places = [n for n, each in enumerate(made(1)) if each["score"] >= 0.5]
    assert sorted(data.annotations.shown_ids(own)) == sorted(f"a.json#/{n}" for n in places)


def test_a_reference_gives_images_and_categories(folder):
    done = run(
        "agree", "--annotator", "a=a.json", "--annotator", "b=b.json",
        "--reference", "gt.json", "--format", "json", cwd=folder,
    )  # fmt: skip
    found = json.loads(done.stdout)["thresholds"][0]["reference"]["annotators"]
    assert [(each["name"], each["n_reference"]) for each in found] == [("a", 40), ("b", 40)]


def test_scores_and_results_are_converted_completely(folder):
    bboxqa.convert(paths(folder, "gt", "a"), folder / "out.json", to="coco")
    whole = json.loads((folder / "out.json").read_text())
    own = [each for each in whole["annotations"] if each["annotator"] == "a"]
    assert sorted(each["score"] for each in own) == sorted(each["score"] for each in made(1))
    assert {each["file_name"]: each["width"] for each in whole["images"]} == {
        each["file_name"]: 640 for each in IMAGES
    }
    data = bboxqa.read_coco(folder / "out.json")
    assert rows_of(data) == sorted(expected(drawn(made(0)), "gt") + expected(made(1), "a", 0))
    done = run("convert", "a.json", "labels", "--to", "yolo", "--lossy", cwd=folder)
    assert done.returncode == 2
    assert "width" in done.stderr


def test_every_command_takes_lists(folder):
    for words in (
        ["draw", "gt.json", "a.json", "--image", "7.jpg", "--out", "a.svg"],
        ["draw", "a.json", "--image", "image 7", "--out", "b.svg"],
        ["plan", "gt.json", "a.json", "--target-width", "0.5"],
        ["compare", "a.json", "b.json"],
        ["agree", "gt.json", "a.json", "--out", "out", "--diagnose", "--score", "0.4"],
        ["report", "out"],
    ):
        done = run(*words, cwd=folder)
        assert done.returncode == 0, done.output
    command = r"bboxqa agree gt.json a.json <[^>]+>--score</span> 0\.4 "
    assert re.search(command, (folder / "out" / "report.html").read_text())
    project = folder / "projects" / "one"
    project.mkdir(parents=True)
    for path in paths(folder, "gt", "a", "b"):
        path.rename(project / path.name)
    done = run("batch", "projects", "--out", "runs", cwd=folder)
    assert done.returncode == 0, done.output
    assert "one,measured,3,5,3," in (folder / "runs" / "projects.csv").read_text()


def test_masks_give_boxes_as_in_pycocotools(folder):
    rng = np.random.default_rng(0)
    results = []
    for image in (0, 7, 8):
        mask = np.zeros((480, 640), np.uint8)
        x, y, w, h = rng.integers(5, 200, 4)
        mask[y : y + h, x : x + w] = 1
        mask[y, x] = 0
        rle = coco_mask.encode(np.asfortranarray(mask))
        rle["counts"] = rle["counts"].decode()
        results.append({"image_id": image, "category_id": 3, "segmentation": rle, "score": 0.75})
    write(folder, "a", results)
    truth = COCO(str(folder / "gt.json"))
    found = truth.loadRes(str(folder / "a.json"))
    boxes = {each["image_id"]: tuple(each["bbox"]) for each in found.dataset["annotations"]}
    for more in ({"segmentation": False}, {"segmentation": True}):
        data = bboxqa.read_coco(paths(folder, "gt", "a"), **more)
        own = [row for row in rows_of(data) if row[1] == "a"]
        assert own == [(f"{n}.jpg", "a", "dog", boxes[n]) for n in (0, 7, 8)]
    bboxqa.convert(paths(folder, "a"), folder / "out.json", to="coco")
    whole = json.loads((folder / "out.json").read_text())["annotations"]
    assert [tuple(each["bbox"]) for each in whole] == [boxes[n] for n in (0, 7, 8)]


def test_key_points_of_results_are_compared(folder):
    points = [10, 10, 2, 40, 50, 2, 0, 0, 0]
    joints = {"keypoints": ["nose", "tail", "ear"]}
    people = document(
        [{"image_id": 7, "category_id": 0, "bbox": HERE, "keypoints": points}],
        categories=[{**CATEGORIES[0], **joints}],
    )
    write(folder, "gt", people)
    write(folder, "a", [{"image_id": 7, "category_id": 0, "keypoints": points, "score": 0.9}])
    done = run(
        "agree", "gt.json", "a.json", "--similarity", "keypoints", "--sigmas", "0.1,0.1,0.1",
        "--format", "json", cwd=folder,
    )  # fmt: skip
    assert json.loads(done.stdout)["thresholds"][0]["existence"]["f1"] == 1
    done = run("agree", "gt.json", "a.json", cwd=folder)
    assert done.returncode == 2
    assert "bbox" in done.stderr
    assert "--similarity keypoints" in done.stderr


@pytest.mark.parametrize(
    ("results", "words"),
    [
        ([result(0, 3, HERE), result(99, 3, HERE)], ["a.json#/1: image_id is 99", "gt.json"]),
        ([result(0, 17, HERE)], ["a.json#/0: category_id is 17", "--ground-truth gt.json"]),
        ([result(0, 3, ABSENT)], ["a.json", "bbox is missing"]),
        ([result(0, 3, [1, 2, 3])], ["bbox", "[1, 2, 3]"]),
        ([result(0, 3, [1, 2, "x", 4])], ["bbox"]),
        ([result(0, 3, [1, 2, -3, 4])], ["-3"]),
        ([result(0, 3, [1, 2, 1e300, 4])], ["1e+300"]),
        ([result(0, 3, HERE), result(0, 3, HERE, ABSENT)], ["score is missing"]),
        ([result(0, 3, HERE, ABSENT)], ["top level is a list; expected an object"]),
        ([result(0, 3, HERE), result(0, 3, HERE, "high")], ["score", '"high"']),
        ([result(0, 3, HERE, 90)], ["scores are from 90 to 90; expected 0 to 1"]),
        ([result(0, 3, HERE, 0.2)], ["none of 1 result has a score of 0.5", "--score"]),
        ([result(1 << 70, 3, HERE)], ["image_id", "1180591620717411303424"]),
        ([result([0], 3, HERE)], ["image_id"]),
        ([result(0, ABSENT, HERE)], ["category_id is missing"]),
        ([*[result(0, 3, HERE)] * 2, 7], ["a.json:1:", "7"]),
        ([], ["holds an empty list"]),
        ([[1, 2]], ["a.json"]),
        (json.dumps([result(0, 3, HERE)])[:-1], ["a.json"]),
        (json.dumps([result(0, 3, HERE)]) + "x", ["a.json"]),
        (
            [result(0, 3, ABSENT, segmentation={"size": [9, 9], "counts": [1 << 70]})],
            ["run lengths add up to"],
        ),
        (
            [result(0, 3, ABSENT, segmentation={"size": [9, 9], "counts": [81]})],
            ["bbox is missing"],
        ),
    ],
    ids=range(22),
)
def test_what_is_wrong_is_named(folder, results, words):
    if isinstance(results, list):
        results = [
            {key: value for key, value in each.items() if value is not ABSENT}
            if isinstance(each, dict) else each
            for each in results
        ]  # fmt: skip
    write(folder, "a", results)
    done = run("agree", "gt.json", "a.json", cwd=folder)
    assert done.returncode == 2
    for word in ("a.json", *words):
        assert word in done.stderr


def test_other_lists_and_options_are_refused(folder):
    write(folder, "a", [{"image_id": 0, "caption": "a cat"}])
    done = run("agree", "gt.json", "a.json", cwd=folder)
    assert "a.json: holds results of COCO captions; expected objects" in done.stderr
    done = run("agree", "gt.json", "gt.json", "--score", "0.1", cwd=folder)
    assert done.returncode == 2
    with pytest.raises(ConfigError, match="a model has no sessions"):
        bboxqa.read_coco(paths(folder, "gt", "b"), session_key="session")
    done = run("agree", "b.json", cwd=folder)
    assert "no annotator is named" in done.stderr


def test_ids_of_results_are_not_those_of_another_format(folder):
    rows = ["image,annotator,category,x,y,width,height", "0.jpg,ann,cat,1,1,9,9"]
    (folder / "boxes.csv").write_text("\n".join(rows))
    with pytest.raises(DatasetError, match=r"the ids of results are those of COCO JSON, but"):
        bboxqa.read_coco([folder / "boxes.csv", folder / "a.json"])
