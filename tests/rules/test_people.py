"""Who annotated what, in rules about annotators and splits, and pseudonyms in findings."""

import pytest
from msgspec.structs import fields
from support.datasets import annotation, document, image, write
from support.validation import document_of

from bboxqa import validate
from bboxqa.model.findings import Edit, Finding, FoundReport, Severity
from bboxqa.rules.people import People, authorship


def test_image_records_of_annotators_are_images_of_each():
    images = [{"annotator": "ann"}, {"annotator": "bob", "file_name": "a.jpg"}]
    known = authorship(document_of({"images": images, "annotations": [{}, {"image_id": 2}]}))
    assert known.by_records
    assert known.picture.tolist() == [0, 0]
    assert known.author.tolist() == [0, 1]


# M008 in splits of several people: agreement compares images of one split, and these only.


def shared_in(folder, files, **people):
    """Return the findings of M008 in files with images of these numbers, and perhaps annotators."""
    for name, numbers in files.items():
        images = [image(n, file_name=f"{n}.jpg") for n in numbers]
        named = {"annotator": people[name]} if people else {}
        write(folder / name, document([annotation(1, numbers[0], 1, **named)], images))
    return validate(folder, select=["M008"]).findings


def test_an_image_that_somebody_has_for_training_and_another_for_tests_leaks(tmp_path):
    files = {
        "ann/train.json": range(1, 30), "ann/val.json": range(50, 60),
        "bob/train.json": range(1, 20), "bob/val.json": range(20, 30),
    }  # fmt: skip
    found = shared_in(tmp_path, files)
    leaks = {each.file for each in found if each.severity is not Severity.INFO}
    assert leaks == {f"{tmp_path}/bob/val.json"}


@pytest.mark.parametrize(
    ("names", "people", "numbers", "severity"),
    [
        # Files that share most images are by annotators, unless they are named as splits.
        (("ann.json", "bob.json"), (), (range(1, 51), range(11, 51)), "info"),
        (("train.json", "val.json"), (), (range(1, 51), range(11, 51)), "warning"),
        (("1.json", "2.json"), ("ann", "bob"), (range(1, 13), range(1, 6)), "info"),
        (("1.json", "2.json"), ("ann", "ann"), (range(1, 13), range(1, 6)), "warning"),
        (("train.json", "val.json"), ("ann", "bob"), (range(1, 13), range(1, 6)), "warning"),
    ],
)
def test_files_share_images_as_splits_or_as_people(tmp_path, names, people, numbers, severity):
    files = dict(zip(names, numbers, strict=True))
    found = shared_in(tmp_path, files, **dict(zip(names, people, strict=False)))
    assert {each.severity for each in found} == {severity}


NAME = "ann@example.org"
TEXTS = {
    "message": f"by {NAME}",
    "file": f"in/{NAME}.json",
    "pointer": f"/by/{NAME}/0",
    "ids": {"annotator": NAME},
    "found": [{"by": NAME}],
    "expected": f"not {NAME}",
    "examples": (f"/by/{NAME}/1",),
    "key": f"box of {NAME}",
    "excerpt": f'{{"by": "{NAME}"}}',
    "edits": (Edit("/by", "replace", NAME),),
}
# Names of images, in `boxes`, are not changed.
NO_TEXTS = {"code", "severity", "fix", "count", "spot", "boxes"}


def test_no_field_of_a_finding_has_a_name(tmp_path):
    assert {each.name for each in fields(Finding)} == TEXTS.keys() | NO_TEXTS
    finding = Finding("B001", Severity.ERROR, fix="safe", **TEXTS)
    report = FoundReport((), (finding,), {}, {}, {}, "")
    (hidden,) = People(tmp_path / "key.json", {NAME: "a.json"}).hidden(report).findings
    assert NAME not in repr(hidden)
    assert hidden.ids == {"annotator": "person-01"}
    # Nothing proposes a fix whose changes are not known.
    assert (hidden.fix, hidden.edits) == (None, ())
