"""The document of objects to review is sound COCO, and says why each is reviewed."""

import json

from support.datasets import dataset

import bboxqa


def test_the_document_holds_what_is_to_be_reviewed(tmp_path):
    # Of six objects in the second image, c did not draw one, and named another one otherwise.
    rows = [
        (1, annotator, int((n + (annotator == 2) * (n == 4)) % 2), (100.0 * n, 0.0, 30.0, 30.0))
        for n in range(6)
        for annotator in range(3)
        if (n, annotator) != (1, 2)
    ]
    found = bboxqa.agree(dataset(rows, n_images=2, size=(640, 480)), bootstrap=0).diagnose()
    document = found.review_document
    assert [image["file_name"] for image in document["images"]] == ["image 0001"]
    by_reason = {each["reason"] for each in document["annotations"]}
    assert by_reason == set(found.review["reason"])
    path = tmp_path / "review.json"
    path.write_text(json.dumps(document))
    report = bboxqa.validate(path)
    assert not [each for each in report.findings if each.severity == "error"]
    read = bboxqa.read_coco(document)
    assert len(read.annotations) == len(document["annotations"])
    assert read.assigned.all()
