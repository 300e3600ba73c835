"""`bboxqa plan` as a user meets it, and that it draws the images that `agree` draws."""

import json
import re

import numpy as np
import pytest
from support.cli import run
from support.datasets import document_of, write
from support.reference import data_file

import bboxqa


@pytest.fixture
def file(tmp_path):
    """Return a file of 40 images, the last 8 of them left empty by both annotators."""
    rng = np.random.default_rng(0)
    rows = [
        (place, who, int(rng.integers(1, 3)), (10, 10, 20, 20))
        for place in range(1, 33)
        for who in "ab"
        if rng.random() < 0.8
    ]
    content = document_of(rows, 40, ("cat", "dog"), annotators=["a", "b"])
    return write(tmp_path / "export.json", content)


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
    assert fourth.endswith(f"; {needed} reach the target in half of the cases")
    assert fifth == "Note: with 40 images the width itself is uncertain"


def test_images_are_drawn_by_as_many_as_now(tmp_path):
    made = bboxqa.simulate(images=20, annotators=3, errors={"*": "miss=0.2 confuse=0.2"})
    found = run("plan", write(tmp_path / "three.json", made.document()), "--target-width", 0.05)
    assert " more images by 3 annotators, as now (" in found.output


@pytest.mark.parametrize("n_categories", [1, 3])
@pytest.mark.parametrize("empty_images", ["agree", "skip"])
def test_the_interval_in_hand_is_that_of_agree(n_categories, empty_images, tmp_path):
    content = json.loads(data_file("simulated.json").read_text())
    kept = content["categories"][:n_categories]
    for each in content["annotations"]:
        if n_categories == 1:
            each["category_id"] = kept[0]["id"]
    content["categories"] = kept
    data = bboxqa.read_coco(content)
    found = bboxqa.agree(data, empty_images=empty_images).thresholds[0]
    low, high = found.existence.interval if n_categories == 1 else found.interval
    plan = bboxqa.plan(data, 0.05, empty_images=empty_images)
    assert plan.width == pytest.approx(high - low)
    assert (plan.f1, plan.alpha) == (
        (found.existence.f1, None) if n_categories == 1 else (None, pytest.approx(found.alpha))
    )
    typed = ("plan", write(tmp_path / "a.json", content), "--target-width", 0.05)
    words = f"F1 {found.existence.f1:.4f} (alpha has no meaning here), 95 % interval"
    assert (words in run(*typed).output) is (n_categories == 1)
