"""`bboxqa plan` as a user meets it."""

import json
import re

import numpy as np
import pytest
from support.cli import run
from support.datasets import annotation, document, image, write
from support.reference import data_file
from support.resampled import n_for_width

import bboxqa
from bboxqa.core.errors import ConfigError
from bboxqa.model.settings import AgreeSettings
from bboxqa.pipelines.plan import plan_images
from bboxqa.pipelines.read import read_coco


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


def as_number(text):
    return int(text.replace(",", ""))


def test_says_how_many_more(file):
    found = run("plan", file, "--target-width", 0.1)
    assert found.returncode == 0
    first, second, third, fourth, fifth = found.output.splitlines()
    assert first.startswith("40 images annotated by two or more: alpha ")
    assert second == "target: 0.1 wide"
    assert third.startswith("annotate ")
    assert third.endswith(" in all), if they are like these")
    needed = re.search(r"\(([\d,]+) in all\)", third)[1]
    low, high = re.match(r"95 % range: ([\d,]+) to ([\d,]+) in all; ", fourth).groups()
    assert as_number(low) < as_number(needed) < as_number(high)
    assert fourth.endswith(f"; half of the samples of {needed} miss the target")
    assert fifth == "note: with 40 images the width itself is uncertain"


def test_empty_images_come_on_top(file):
    values = json.loads(run("plan", file, "--target-width", 0.1, "--format", "json").output)
    drawn = {each["image_id"] for each in json.loads(file.read_text())["annotations"]}
    with_a_say = n_for_width(len(drawn), values["width"] / 0.1)
    assert values["n_needed"] == pytest.approx(with_a_say * 40 / len(drawn), abs=2)
    assert values["n_more"] == values["n_needed"] - 40
    assert values["status"] == "ok"


def test_says_that_it_is_reached(file):
    assert run("plan", file, "--target-width", 1.9).output.splitlines()[2].startswith("reached; ")


def test_nothing_to_plan_by(tmp_path):
    images = [image(number, rater_list=["a", "b"]) for number in (1, 2)]
    same = [annotation(number, 1 + number // 2, rater_id="ab"[number % 2]) for number in range(4)]
    found = run(
        "plan", write(tmp_path / "same.json", document(same, images)), "--target-width", 0.1
    )
    assert found.returncode == 2
    assert found.output == (
        "2 images annotated by two or more; cannot plan: "
        "undefined: only one value occurs, so no disagreement is possible\n"
    )


def test_with_one_category_the_interval_of_f1_is_planned(tmp_path):
    rng = np.random.default_rng(3)
    images = [image(number, rater_list=["a", "b", "c"]) for number in range(1, 31)]
    drawn = [
        (number, who, 30 * place)
        for number in range(1, 31)
        for place in range(3)
        for who in "abc"
        if rng.random() < 0.8
    ]
    annotations = [
        annotation(n, number, rater_id=who, bbox=[left, 9, 20, 20])
        for n, (number, who, left) in enumerate(drawn, 1)
    ]
    path = write(tmp_path / "one.json", document(annotations, images))
    found = json.loads(run("plan", path, "--target-width", 0.05, "--format", "json").output)
    existence = bboxqa.agree(read_coco(path)).thresholds[0].existence
    assert found["alpha"] is None
    assert found["f1"] == pytest.approx(existence.f1, abs=1e-12)
    assert found["width"] == pytest.approx(np.ptp(existence.interval), abs=1e-12)
    assert found["n_more"] == found["n_needed"] - 30 > 0
    lines = run("plan", path, "--target-width", 0.05).output.splitlines()
    assert f"F1 {existence.f1:.4f} (alpha has no meaning here), 95 % interval" in lines[0]


def test_one_image_is_too_few(tmp_path):
    labels = [annotation(n, rater_id="ab"[n % 2], bbox=[40 * (n // 2), 0, 9, 9]) for n in range(5)]
    path = write(tmp_path / "one.json", document(labels))
    found = run("plan", path, "--target-width", 0.1)
    assert found.returncode == 2
    assert "cannot plan: too few images annotated by two or more annotators" in found.output


def test_one_threshold_only(file):
    data = read_coco(file)
    with pytest.raises(ConfigError, match="one threshold"):
        plan_images(data, 0.1, AgreeSettings(iou_threshold=(0.5, 0.75)))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "Missing option '--target-width'"),
        (("--target-width", "0.1"), "no file given; try: bboxqa plan export.json"),
        (("x.json", "--target-width", "0"), "0 is not in the range 0.001<=x<=2"),
        (("x.json", "--target-width", "0.0009"), "0.0009 is not in the range 0.001<=x<=2"),
        (("x.json", "--target-width", "2.1"), "2.1 is not in the range 0.001<=x<=2"),
    ],
)
def test_wrong_use(arguments, message):
    found = run("plan", *arguments)
    assert found.returncode == 2
    assert message in found.output


def test_no_plan_without_an_interval(file):
    with pytest.raises(ConfigError) as error:
        plan_images(read_coco(file), 0.1, AgreeSettings(bootstrap=0))
    assert str(error.value) == "bootstrap is 0; expected 40 or more: a plan needs an interval"


@pytest.mark.parametrize("n_images", [49, 50])
def test_few_images_are_said_to_be_few(tmp_path, n_images):
    rng = np.random.default_rng(1)
    images = [image(number, rater_list=["a", "b", "c"]) for number in range(1, n_images + 1)]
    annotations = [
        annotation(place + 1, number, category_id=int(rng.integers(1, 3)), rater_id=who)
        for place, (number, who) in enumerate(
            (number, who) for number in range(1, n_images + 1) for who in "abc"
        )
    ]
    categories = [{"id": 1, "name": "cat"}, {"id": 2, "name": "dog"}]
    path = write(tmp_path / "few.json", document(annotations, images, categories))
    lines = run("plan", path, "--target-width", 0.1).output.splitlines()
    assert " by 3 annotators, as now (" in lines[2]
    said = ["note: with 49 images the width itself is uncertain"] if n_images == 49 else []
    assert lines[4:] == said
    values = json.loads(run("plan", path, "--target-width", 0.1, "--format", "json").output)
    assert values["n_annotators"] == 3


def test_annotators_of_a_plan_are_those_of_most_images(tmp_path):
    rng = np.random.default_rng(2)
    asked = ["abc"] * 2 + ["ab"] * 4 + ["a"] * 9
    images = [image(number, rater_list=[*who]) for number, who in enumerate(asked, 1)]
    drawn = [(number, name) for number, who in enumerate(asked, 1) for name in who]
    annotations = [
        annotation(place, number, category_id=int(rng.integers(1, 3)), rater_id=name)
        for place, (number, name) in enumerate(drawn, 1)
    ]
    categories = [{"id": 1, "name": "cat"}, {"id": 2, "name": "dog"}]
    path = write(tmp_path / "mixed.json", document(annotations, images, categories))
    found = plan_images(read_coco(path), 0.1, AgreeSettings(bootstrap=100))
    assert (found.n_images, found.n_annotators) == (6, 2)


def test_simulated_annotations():
    path = data_file("simulated.json")
    values = json.loads(run("plan", path, "--target-width", "0.05", "--format", "json").output)
    assert values["n_images"] == 60
    # All left 8 of the 60 images empty, which say nothing.
    with_a_say = n_for_width(52, values["width"] / 0.05)
    assert values["n_needed"] == pytest.approx(with_a_say * 60 / 52, abs=2)


def test_real_annotations():
    path = data_file("lvis_double_100.json")
    values = json.loads(run("plan", path, "--target-width", "0.05", "--format", "json").output)
    assert values["n_images"] == 100
    assert values["n_needed"] == pytest.approx(n_for_width(100, values["width"] / 0.05), abs=3)


@pytest.mark.parametrize("form", ["text", "json"])
def test_out_is_what_is_printed_otherwise(file, tmp_path, form):
    arguments = ("plan", file, "--target-width", 0.1, "--format", form)
    printed = run(*arguments)
    done = run(*arguments, "-o", tmp_path / "plan.txt")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == f"Written: {tmp_path / 'plan.txt'}\n"
    assert (tmp_path / "plan.txt").read_text("utf-8") == printed.stdout


def test_files_that_are_read_are_not_replaced(file, tmp_path):
    before = file.read_bytes()
    for given in (file, tmp_path):
        done = run("plan", given, "--target-width", 0.1, "--out", file)
        assert done.returncode == 2
        assert f"{file} is one of the files to read; name another file" in done.stderr
    assert file.read_bytes() == before


@pytest.mark.parametrize(
    ("command", "end"),
    [("plan", ("--target-width", "0.1")), ("convert", ("out.json", "--to", "coco"))],
)
def test_a_mapped_name_that_no_category_has_is_said(file, tmp_path, command, end):
    done = run(command, str(file), *end, "--map", "Cat=cat", cwd=tmp_path)
    assert done.returncode == 0
    assert done.stderr.startswith("note: --map Cat=cat: no category is called 'Cat'")
