"""Sections of the page of an agreement: they show what the documents have, and only that."""

import json
import re
from html import unescape

import pytest

import bboxqa
from bboxqa.report.agreement_summary import summary
from bboxqa.report.pages.agreement_page import agreement_pages
from bboxqa.report.result_files import documents_of

OPTIONS = {"images": 8, "annotators": 3, "categories": ("cow", "sheep"), "seed": 1}
FURTHER = {"reference", "model", "repeats", "time"}


@pytest.fixture(scope="module")
def simulated():
    errors = {"*": {"miss": 0.1, "jitter": 2}, "p03": {"offset": [5, 0]}}
    return bboxqa.simulate(errors=errors, objects=6, **OPTIONS)


def documents(data, **settings):
    result = bboxqa.agree(data, bootstrap=40, **settings)
    return documents_of(result, summary(result), result.diagnose())


@pytest.fixture(scope="module")
def full(simulated, tmp_path_factory):
    """A result with times, a reference, and a model."""
    folder = tmp_path_factory.mktemp("model")
    truth = simulated.truth()
    results = [
        {"score": 0.8} | {key: each[key] for key in ("image_id", "category_id", "bbox")}
        for each in truth["annotations"][::2]
    ]
    (folder / "net.json").write_text(json.dumps(results))
    (folder / "export.json").write_text(json.dumps(simulated.document()))
    (folder / "truth.json").write_text(json.dumps(truth))
    data = bboxqa.read_coco(
        folder / "export.json", predictions=folder / "net.json", score=0.4, time_key="created_at"
    )
    reference = bboxqa.read_coco(folder / "truth.json", min_annotators=1)
    return documents(data, reference=reference)


@pytest.fixture(scope="module")
def again():
    """A result in which two annotators annotated the same images in two sessions."""
    boxes = [
        {
            "id": 100 * session + 10 * image + place, "image_id": image, "category_id": 1,
            "bbox": [10 + 3 * session * (name == "ann"), 10, 30, 30], "annotator": name,
            "session": session,
        }
        for session in (1, 2) for image in (1, 2, 3) for place, name in enumerate(("ann", "bob"))
    ]  # fmt: skip
    images = [{"id": n, "file_name": f"{n}.png", "width": 99, "height": 99} for n in (1, 2, 3)]
    document = {"images": images, "categories": [{"id": 1, "name": "cow"}], "annotations": boxes}
    return documents(bboxqa.read_coco(document, session_key="session"))


def texts_of(page, section):
    """Return the text of a section of a page."""
    (found,) = re.findall(f'<section id="{section}"[^>]*>(.*?)</section>', page, re.DOTALL)
    return unescape(re.sub(r"<[^>]*>", " ", found))


def assert_figures(figures, shown):
    for figure in figures:
        for value in (figure["value"], *(figure["interval"] or ())):
            assert value is None or f"{value:.4f}".removeprefix("-") in shown


@pytest.fixture(scope="module")
def page(full):
    return next(agreement_pages(full))[1]


def test_sections_are_there_where_the_documents_have_something(again, page):
    for found, names in (
        (page, FURTHER - {"repeats"}), (next(agreement_pages(again))[1], {"repeats"}),
    ):  # fmt: skip
        assert {*re.findall(r'<section id="(\w+)"', found)} & FURTHER == names
        assert {*re.findall(r'<a href="#(\w+)">', found)} & FURTHER == names


def test_the_reference_section_shows_each_annotator(full, page):
    found = full["summary"]["thresholds"][0]["reference"]
    shown = texts_of(page, "reference")
    assert "truth.json: 8 of its 8 images were annotated" in shown
    for row in found["annotators"]:
        assert row["name"] in shown
        assert_figures([row[name] for name in ("precision", "recall", "f1")], shown)
        assert_figures(row["offset_px"], shown)


def test_the_section_of_a_model_compares_it_with_each_annotator(full, page):
    shown = texts_of(page, "model")
    pairs = [
        row for row in full["summary"]["thresholds"][0]["pairs"]
        if "net" in (row["annotator_1"], row["annotator_2"])
    ]  # fmt: skip
    assert len(pairs) == 3
    assert_figures([{"value": row["f1"], "interval": None} for row in pairs], shown)
    assert "net is a model: its results with a score of 0.4 or more" in shown


def test_the_section_of_repeats_has_agreement_with_oneself(again):
    everyone, ann, bob = again["summary"]["thresholds"][0]["repeats"]
    # Ann moved boxes of 30 x 30 px by 3 px: 27 / 33 of them overlap. Bob's are the same.
    assert ann["mean_iou"]["value"] == pytest.approx(27 / 33)
    shown = texts_of(next(agreement_pages(again))[1], "repeats")
    for row in (everyone, ann, bob):
        assert_figures([row["f1"], row["mean_iou"]], shown)
    assert "all annotators" in shown
