"""`bboxqa plan` as a user meets it."""

import json

import numpy as np
import pytest
from click.testing import CliRunner
from support.datasets import annotation, document, image, write
from support.reference import shared_file

from bboxqa.cli import cli
from bboxqa.config import AgreeSettings
from bboxqa.errors import ConfigError
from bboxqa.io.coco import read_coco
from bboxqa.planning import plan_images


@pytest.fixture
def file(tmp_path):
    """Return a file of 40 images, the last 8 of them left empty by both annotators."""
    rng = np.random.default_rng(0)
    images = [image(number, rater_list=["a", "b"]) for number in range(1, 41)]
    annotations = []
    for number in range(1, 33):
        for who in "ab":
            if rng.random() < 0.8:
                annotations.append(
                    annotation(
                        len(annotations) + 1,
                        number,
                        category_id=int(rng.integers(1, 3)),
                        rater_id=who,
                    )
                )
    categories = [{"id": 1, "name": "cat"}, {"id": 2, "name": "dog"}]
    return write(tmp_path / "export.json", document(annotations, images, categories))


def run(*arguments):
    return CliRunner().invoke(cli, ["plan", *map(str, arguments)])


def test_says_how_many_more(file):
    found = run(file, "--target-width", 0.1)
    assert found.exit_code == 0
    first, second, third = found.output.splitlines()
    assert first.startswith("40 images annotated by two or more: alpha ")
    assert second == "wanted: 0.1 wide"
    assert third.startswith("annotate ")
    assert third.endswith(" in all), if they are like these")


def test_empty_images_come_on_top(file):
    values = json.loads(run(file, "--target-width", 0.1, "--format", "json").output)
    with_a_say = 32 * (values["width"] / 0.1) ** 2
    assert values["n_needed"] == pytest.approx(with_a_say * 40 / 32, abs=2)
    assert values["n_more"] == values["n_needed"] - 40
    assert values["status"] == "ok"


def test_says_that_it_is_reached(file):
    assert run(file, "--target-width", 1.9).output.splitlines()[-1].startswith("reached; ")


def test_nothing_to_plan_by(tmp_path):
    images = [image(number, rater_list=["a", "b"]) for number in (1, 2)]
    same = [annotation(number, 1 + number // 2, rater_id="ab"[number % 2]) for number in range(4)]
    found = run(write(tmp_path / "same.json", document(same, images)), "--target-width", 0.1)
    assert found.exit_code == 0
    assert found.output == (
        "2 images annotated by two or more; nothing to plan by: "
        "undefined: only one value occurs, so no disagreement is possible\n"
    )


def test_one_threshold_only(file):
    data = read_coco(file)
    with pytest.raises(ConfigError, match="one IoU threshold"):
        plan_images(data, 0.1, AgreeSettings(iou_threshold=(0.5, 0.75)))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "Missing option '--target-width'"),
        (("--target-width", "0.1"), "no file given; try: bboxqa plan export.json"),
        (("x.json", "--target-width", "0"), "0 is not in the range 0<x<=2"),
    ],
)
def test_wrong_use(arguments, message):
    found = run(*arguments)
    assert found.exit_code == 2
    assert message in found.output


def test_real_annotations():
    path = shared_file("lvis_double_100.json")
    values = json.loads(run(path, "--target-width", "0.05", "--format", "json").output)
    assert values["n_images"] == 100
    assert values["n_needed"] == pytest.approx(100 * (values["width"] / 0.05) ** 2, abs=3)
