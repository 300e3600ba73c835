"""What formats hold is written as their tools document it; what they cannot hold is refused."""

import csv
import json

import pytest
from support.cli import run
from support.converted import document, written

import bboxqa
from bboxqa import DatasetError, OutputError

IMAGES = [("a.jpg", 200, 100, ["ann", "7"]), ("b.jpg", 50, 50, None)]
BOX = [20, 10, 60.5, 40]
SKEW = [[0, 0, 40, 0, 40, 30, 10, 30]]


def _source(tmp_path, annotations=((0, "ann", 0, BOX),), images=IMAGES):
    return written(tmp_path / "source.json", document(images, annotations))


def test_label_studio_is_as_its_manual_says(tmp_path):
    bboxqa.convert(_source(tmp_path), tmp_path / "out.json", to="label-studio")
    first, second = json.loads((tmp_path / "out.json").read_bytes())
    assert first == {
        "id": 10,
        "data": {"image": "a.jpg", "width": 200, "height": 100},
        "annotations": [
            {"completed_by": 7, "was_cancelled": False, "ground_truth": False, "result": []},
            {
                "completed_by": {"email": "ann"},
                "was_cancelled": False,
                "ground_truth": False,
                "result": [
                    {
                        "id": "100",
                        "type": "rectanglelabels",
                        "from_name": "label",
                        "to_name": "image",
                        "original_width": 200,
                        "original_height": 100,
                        "image_rotation": 0,
                        "value": {
                            "x": 10.0, "y": 10.0, "width": 30.25, "height": 40.0, "rotation": 0,
                            "rectanglelabels": ["cat"],
                        },
                    }
                ],
            },
        ],
    }  # fmt: skip
    assert second["annotations"] == []


def test_label_studio_gets_predictions_with_their_mean_score(tmp_path):
    drawn = [(0, "net", 0, {"bbox": BOX, "score": score}) for score in (0.5, 0.75)]
    source = _source(tmp_path, drawn, [("a.jpg", 200, 100, ["net"])])
    bboxqa.convert(source, tmp_path / "out.json", to="label-studio", as_predictions=True)
    (task,) = json.loads((tmp_path / "out.json").read_bytes())
    assert task["annotations"] == []
    (prediction,) = task["predictions"]
    assert prediction["model_version"] == "net"
    assert prediction["score"] == 0.625
    assert [region["score"] for region in prediction["result"]] == [0.5, 0.75]


def test_a_table_has_a_row_for_each_box_and_for_each_who_drew_nothing(tmp_path):
    bboxqa.convert(_source(tmp_path), tmp_path / "out.csv", to="csv")
    with (tmp_path / "out.csv").open(newline="", encoding="utf-8") as file:
        empty, box, by_nobody = csv.DictReader(file)
    assert box == {
        "image": "a.jpg", "image_id": "10", "image_width": "200", "image_height": "100",
        "annotator": "ann", "category": "cat", "id": "100", "x": "20", "y": "10",
        "width": "60.5", "height": "40", "iscrowd": "0",
    }  # fmt: skip
    assert (empty["annotator"], empty["category"], empty["x"]) == ("7", "", "")
    assert (by_nobody["image"], by_nobody["annotator"]) == ("b.jpg", "")


def test_parquet_has_the_same_table_with_types(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    bboxqa.convert(_source(tmp_path), tmp_path / "out.parquet", to="parquet")
    row = parquet.read_table(tmp_path / "out.parquet").to_pylist()[1]
    assert (row["image"], row["id"], row["width"]) == ("a.jpg", 100, 60.5)


def test_coco_names_annotators_and_who_was_asked(tmp_path):
    people = {}
    for who in ("ann", "bob"):
        content = document([("a.jpg", 200, 100, None)], [(0, who, 0, BOX)][: who == "ann"])
        del content["images"][0]["file_name"], content["categories"][1]
        content["images"][0]["file_name"] = "a.jpg"
        for each in content["annotations"]:
            del each["annotator"]
        people[who] = written(tmp_path / f"{who}.json", content)
    bboxqa.convert(people, tmp_path / "out.json", to="coco")
    found = json.loads((tmp_path / "out.json").read_bytes())
    (image,), (annotation,) = found["images"], found["annotations"]
    assert image["annotators"] == ["ann", "bob"]
    assert annotation["annotator"] == "ann"
    assert annotation["area"] == 2420


def test_what_a_format_cannot_hold_is_counted_and_refused(tmp_path):
    skewed = {"bbox": [0, 0, 40, 30], "segmentation": SKEW}
    drawn = [(0, "ann", 0, skewed), (0, "7", 0, skewed), (0, "7", 1, {"bbox": BOX, "track": 3})]
    source = _source(tmp_path, drawn)
    with pytest.raises(DatasetError) as error:
        bboxqa.convert(source, tmp_path / "out.csv", to="csv")
    (problem,) = error.value.problems
    assert problem == (
        "2 polygons (such as annotation 100): a table of boxes holds no polygon; their boxes are "
        "written"
    )
    assert not (tmp_path / "out.csv").exists()
    found = bboxqa.convert(source, tmp_path / "out.csv", to="csv", lossy=True)
    assert [loss.n for loss in found.losses] == [2]
    outcome = run("convert", source, tmp_path / "out.json", "--to", "label-studio")
    assert outcome.returncode == 2
    assert "1 annotation with 'track' (annotation 102): Label Studio has no place" in outcome.stderr


def test_percent_needs_the_size_of_images(tmp_path):
    source = _source(tmp_path, images=[("a.jpg", 0, 0, None)])
    with pytest.raises(DatasetError, match="1 image without width and height"):
        bboxqa.convert(source, tmp_path / "out.json", to="label-studio")


def test_nothing_is_replaced_unless_forced(tmp_path):
    source, out = _source(tmp_path), tmp_path / "out.csv"
    out.write_text("mine")
    with pytest.raises(OutputError, match="already exists"):
        bboxqa.convert(source, out, to="csv")
    assert out.read_text() == "mine"
    bboxqa.convert(source, out, to="csv", force=True)
    assert out.read_text().startswith("image,")


def test_the_command_says_what_it_wrote(tmp_path):
    outcome = run("convert", _source(tmp_path), tmp_path / "out.json", "--to", "coco")
    assert outcome.returncode == 0
    assert outcome.stdout.endswith("out.json: 2 images, 1 annotation, 2 annotators\n")
    outcome = run("convert", tmp_path / "out.json", tmp_path / "x", "--to", "label_studio")
    assert outcome.returncode == 2
    assert "did you mean 'label-studio'?" in outcome.stderr
