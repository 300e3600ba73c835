"""M008 in splits of several people: agreement compares images of one split, and these only."""

import pytest
from support.datasets import annotation, document, image, write

from bboxqa import validate
from bboxqa.model.findings import Severity


def found_in(folder, files, **people):
    """Return the findings of M008 in files with images of these numbers, and perhaps annotators."""
    for name, numbers in files.items():
        images = [image(n, file_name=f"{n}.jpg") for n in numbers]
        named = {"annotator": people[name]} if people else {}
        only = annotation(1, numbers[0], 1, **named)
        content = document([only], images, [{"id": 1, "name": "cat"}])
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        write(folder / name, content)
    report = validate(folder, select=["M008"])
    found = [(each.file.removeprefix(f"{folder}/"), each) for each in report.findings]
    return sorted(found, key=lambda pair: pair[0])


def test_an_image_that_somebody_has_for_training_and_another_for_tests_leaks(tmp_path):
    files = {
        "ann/train.json": range(1, 30), "ann/val.json": range(50, 60),
        "bob/train.json": range(1, 20), "bob/val.json": range(20, 30),
    }  # fmt: skip
    leaks = [
        (name, each.severity)
        for name, each in found_in(tmp_path, files)
        if each.severity is not Severity.INFO
    ]
    assert {name for name, _ in leaks} == {"bob/val.json"}


@pytest.mark.parametrize(
    ("names", "severity"),
    [(("ann.json", "bob.json"), Severity.INFO), (("train.json", "val.json"), Severity.WARNING)],
)
def test_files_that_share_most_images_are_by_annotators_unless_named_as_splits(
    tmp_path, names, severity
):
    first, second = names
    ((_, found),) = found_in(tmp_path, {first: range(1, 51), second: range(11, 51)})
    assert found.severity is severity


@pytest.mark.parametrize(
    ("names", "other", "severity"),
    [
        (("1.json", "2.json"), "bob", Severity.INFO),
        (("1.json", "2.json"), "ann", Severity.WARNING),
        (("train.json", "val.json"), "bob", Severity.WARNING),
    ],
)
def test_files_that_name_other_annotators_share_images(tmp_path, names, other, severity):
    first, second = names
    files = {first: range(1, 13), second: range(1, 6)}
    found = found_in(tmp_path, files, **{first: "ann", second: other})
    assert {each.severity for _, each in found} == {severity}
    assert not [each for _, each in found if "by several annotators" in each.message]
