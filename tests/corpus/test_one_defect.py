"""Each defect of the corpus is found, named by its cause, and nothing else is."""

import json
import os
from functools import cache

import pytest
from support.one_defect import DEFECTS
from support.originals import ORIGINALS, first_images
from support.reference import data_file
from support.validation import report_of

MOST_FINDINGS = 3
# Real exports that are not in the repository, and how many of their images are taken.
REAL = {
    "polygons": (("exports/cvat_polygons.json", 16), ("exports/taco.json", 40)),
    "boxes": (("exports/roboflow_boxes.json", 10),),
    "three annotators": (("lvis_double_100.json", 20),),
}


def report(document):
    return report_of(json.dumps(document))


@pytest.mark.parametrize("name", ORIGINALS)
def test_nothing_is_found_in_the_sound_original(name):
    assert report(ORIGINALS[name]()).findings == ()


def test_the_corpus_is_large():
    assert len(DEFECTS) >= 50


@pytest.mark.parametrize("name", DEFECTS)
def test_a_defect_is_one_cause(name):
    defect = DEFECTS[name]
    document = ORIGINALS[defect.original]()
    n_records = defect.change(document)
    found = report(document)
    assert set(found.counts) == {defect.code}
    assert all(defect.words in finding.message for finding in found.findings)
    assert n_records in (None, sum(finding.count for finding in found.findings))


def messages(document):
    return {(finding.code, finding.message) for finding in report(document).findings}


@cache
def export_and_messages(path, n_images):
    """Return the first images of an export as text, and what is found in them."""
    text = path.read_text("utf-8").replace('"rater_id"', '"annotator"')
    document = first_images(json.loads(text), n_images)
    return json.dumps(document), messages(document)


def names_cause(message, words):
    """Return whether a message has these words, or their layout of boxes in other images."""
    layout = words.partition(" look like ")[2]
    if (layout or words) in message:
        return True
    # Areas alone do not tell x from y, and square images not which of two has y before x.
    turned = f"{layout.removesuffix(': ')}, unless their outlines have y before x: "
    return bool(layout) and (", or with y before x: " in message or turned in message)


def real_of(place, defect):
    """Return the exports that get a defect: one of them in turn, with `make fuzz` all."""
    files = REAL.get(defect.original, ())
    return files if "BBOXQA_FUZZ" in os.environ else files[place % max(1, len(files)) :][:1]


@pytest.mark.parametrize(
    ("name", "file", "n_images"),
    [
        (name, *real)
        for place, (name, defect) in enumerate(DEFECTS.items())
        for real in real_of(place // 2, defect)
    ],
)
def test_a_defect_is_found_among_those_of_a_real_export(name, file, n_images):
    text, before = export_and_messages(data_file(file), n_images)
    document, defect = json.loads(text), DEFECTS[name]
    n_records = defect.change(document)
    if n_records == 0:
        pytest.skip("the export cannot have this defect")
    new = messages(document) - before
    assert len(new) <= MOST_FINDINGS
    assert any(code == defect.code and names_cause(text, defect.words) for code, text in new)


def test_a_second_category_with_nearly_the_same_name_is_one_cause():
    document = ORIGINALS["boxes"]()
    document["categories"].append({"id": 4, "name": "car\u200b", "supercategory": "street"})
    for annotation in document["annotations"][::4]:
        annotation["category_id"] = 4
    assert set(report(document).counts) == {"C003"}


def test_a_year_as_text_is_one_cause():
    document = ORIGINALS["boxes"]()
    document["info"]["year"] = "2026"
    assert set(report(document).counts) == {"S013"}
