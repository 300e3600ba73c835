"""The results of a model as one more annotator."""

import json

import pytest
from support.cli import run

import bboxqa

HERE, THERE = [10, 10, 20, 20], [60, 60, 20, 20]


def result(image, category, box, score, **more):
    return {"image_id": image, "category_id": category, "bbox": box, "score": score, **more}


RESULTS = [
    result(1, 1, HERE, 0.9), result(1, 2, THERE, 0.5), result(2, 1, HERE, 0.49),
    result(3, 2, THERE, 0.8),
]  # fmt: skip


def document(authors=("ann", "bob"), n_images=3, **more):
    """Return a document whose annotators draw one box in each image but the last."""
    annotations = [
        {"id": 2 * image + n, "image_id": image, "category_id": 1, "bbox": HERE,
         "area": 400, "iscrowd": 0} | ({} if who is None else {"annotator": who})
        for image in range(1, n_images) for n, who in enumerate(authors)
    ]  # fmt: skip
    return {
        "images": [
            {"id": n, "file_name": f"{n}.png", "width": 200, "height": 200}
            for n in range(1, n_images + 1)
        ],
        "annotations": annotations,
        "categories": [{"id": 1, "name": "cow"}, {"id": 2, "name": "sheep"}],
        **more,
    }


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "export.json").write_text(json.dumps(document()))
    (tmp_path / "yolo.json").write_text(json.dumps(RESULTS))
    return tmp_path


def test_a_model_is_measured_as_an_annotator_with_a_file_is(folder):
    drawn = [each for each in RESULTS if each["score"] >= 0.5]
    model = [
        {"id": n, **each, "area": 400, "iscrowd": 0, "annotator": "yolo"}
        for n, each in enumerate(drawn, 100)
    ]
    whole = document()
    whole["annotations"] += model
    for image in whole["images"]:
        image["annotators"] = ["ann", "bob", "yolo"] if image["id"] < 3 else ["yolo"]
    first = bboxqa.agree(bboxqa.read_coco(whole), bootstrap=0)
    found = bboxqa.read_coco(folder / "export.json", predictions=folder / "yolo.json")
    second = bboxqa.agree(found, bootstrap=0)
    assert first.pairs.records() == second.pairs.records()
    assert first.alpha == second.alpha


def test_a_model_is_compared_with_a_reference(folder):
    (folder / "truth.json").write_text(json.dumps(document(("eve",))))
    done = run(
        "agree", "export.json", "--predictions", "yolo.json", "--score", 0.4,
        "--reference", "truth.json", "--format", "json", cwd=folder,
    )  # fmt: skip
    found = json.loads(done.stdout)["thresholds"][0]["reference"]["annotators"][2]
    # HERE in two images, and THERE in two where there is nothing.
    assert (found["name"], found["n"], found["n_matched"], found["n_reference"]) == (
        "yolo",
        4,
        2,
        2,
    )
    assert found["precision"]["value"] == 0.5


@pytest.mark.parametrize(
    ("results", "words"),
    [
        ([{**RESULTS[0], "image_id": 99}], ["yolo.json:1:15", "image_id is 99", "--ground-truth"]),
        ([{**RESULTS[0], "category_id": 7}], ["category_id is 7", "one of the categories"]),
        (
            [RESULTS[0], {"image_id": 1, "category_id": 1, "bbox": HERE}],
            ["E001", "score is missing"],
        ),
        (
            [{"image_id": 1, "bbox": HERE}],
            ["results[0]: category_id is missing", "results[0]: score is missing", '"score": 0.9'],
        ),
        ([{"image_id": 1, "category_id": 1, "score": 0.9}], ["bbox"]),
        ([{**RESULTS[0], "score": 90}], ["from 90 to 90; expected 0 to 1", "divided by 100"]),
        ([{**RESULTS[0], "bbox": [10, 10, -2, 5]}], ["-2"]),
        ([{**RESULTS[0], "score": 0.4}], ["none of 1 result has a score of 0.5", "highest is 0.4"]),
        ([], ["yolo.json: the list of results is empty"]),
        (document(), ["yolo.json: holds annotations; expected a list of COCO results"]),
        ([{**RESULTS[0], "bbox": [150, 150, 190, 190]}] * 40, ["x1, y1, x2, y2", "--no-checks"]),
    ],
    ids=lambda value: str(value[:1])[:30] if isinstance(value, list) else "",
)
def test_what_is_wrong_is_named(folder, results, words):
    (folder / "yolo.json").write_text(json.dumps(results))
    done = run("agree", "export.json", "--predictions", "yolo.json", cwd=folder)
    assert done.returncode == 2
    for word in ("yolo.json", *words):
        assert word in done.stderr


def test_a_model_has_no_vote_on_what_annotators_miss_or_add(tmp_path):
    """Of what one annotator drew and two missed, a model that finds it too makes no majority."""
    errors = {"p*": "jitter=3% miss=0.15 extra=0.15", "p04": "miss=0.4 extra=0.4"}
    made = bboxqa.simulate(images=20, annotators=4, errors=errors, seed=1).document()
    by_model = [each for each in made["annotations"] if each["annotator"] == "p04"]
    results = [
        {key: each[key] for key in ("image_id", "category_id", "bbox")} | {"score": 0.9}
        for each in by_model
    ]
    path = tmp_path / "model.json"
    path.write_text(json.dumps(results))
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
