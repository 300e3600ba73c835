"""I: ids and references."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.validation import codes, document_of, findings, report_of

from bboxqa.model.findings import Edit, Severity
from bboxqa.model.settings import ValidateSettings
from bboxqa.rules.base import ABSENT
from bboxqa.rules.fixes import fix


def only(content, code, **more):
    found = findings(content, code=code, **more)
    assert len(found) == 1, found
    return found[0]


def with_ids(*ids):
    return {"annotations": [{"id": value, "bbox": [n, n, 20, 30]} for n, value in enumerate(ids)]}


def referring(*references, images=(1, 2, 3), key="image_id", name="images"):
    return {
        name: [{"id": value} for value in images],
        "annotations": [{key: value, "bbox": [n, n, 20, 30]} for n, value in enumerate(references)],
    }


def mended(content, *select, unsafe=False):
    fixed = fix(document_of(content), ValidateSettings(select=select), unsafe=unsafe)
    return json.loads(bytes(fixed.text))


def test_later_annotations_with_an_id_get_new_ones():
    found = findings(with_ids(1, 5, 1, 4, 5), code="I001")
    assert [f.message for f in found] == [
        "id 1 is already used by /annotations/0; expected a unique id",
        "id 5 is already used by /annotations/1; expected a unique id",
    ]
    assert [f.edits for f in found] == [
        (Edit("/annotations/2/id", "replace", 6),), (Edit("/annotations/4/id", "replace", 7),),
    ]  # fmt: skip
    assert "I001" not in codes(with_ids(3, 1, 2))


def test_text_ids_link_records():
    found = only(referring("im_1", "im_2", "im_9", images=("im_1", "im_2", "im_3")), "I004")
    assert (found.found, found.pointer) == ("im_9", "/annotations/2/image_id")
    unused = only(referring("im_1", "im_2", "im_2", images=("im_1", "im_2", "im_3")), "I007")
    assert unused.examples == ("/images/2",)


def test_a_reference_to_nothing_is_removed_by_the_unsafe_fix():
    found = only(referring(1, 7, 3), "I004")
    assert found.message == (
        "image_id is 7, which none of the images has; expected the id of one of the images"
    )
    assert (found.fix, found.edits) == ("unsafe", (Edit("/annotations/1", "remove"),))
    assert len(mended(referring(1, 7, 3), "I004", unsafe=True)["annotations"]) == 2
    assert "category_id is 9" in only({"annotations": [{}, {}, {"category_id": 9}]}, "I004").message


def test_references_to_an_unknown_list_say_nothing():
    assert "I004" not in codes({"images": ABSENT})
    assert "I004" not in codes({"categories": {"1": "cat"}})
    cut = '{"annotations": [{"id": 1, "image_id": 5}], "images": [{"id": 1}, {"id"'
    assert not codes(cut) & {"I004", "I007"}


@pytest.mark.parametrize(
    ("references", "images", "said"),
    [
        ((0, 1, 2), (1, 2, 3), "image_id counts from 0 and the ids of images from 1"),
        ((1, 2, 3), (0, 1, 2), "image_id counts from 1 and the ids of images from 0"),
    ],
)
def test_counting_from_0_and_from_1_is_said_once_and_nothing_is_removed(references, images, said):
    found = only(referring(*references, images=images), "I004")
    assert said in found.message
    assert found.edits == ()


def test_a_text_that_refers_to_a_number_becomes_one():
    found = only(referring("2", 1, 3), "S003")
    assert found.message == 'image_id is "2"; expected a whole number, 0 or more'
    assert found.edits == (Edit("/annotations/0/image_id", "replace", 2),)
    assert "I004" not in codes(referring("2", 1, 3))


def test_a_number_that_refers_to_a_text_makes_that_a_number():
    result = mended(referring(2, 1, "2", 3, images=(1, "2", 3)), "S003")
    assert [image["id"] for image in result["images"]] == [1, 2, 3]
    assert [a["image_id"] for a in result["annotations"]] == [2, 1, 2, 3]


IDS = st.sampled_from([0, 1, 2, "0", "1", "2", 1.0, 2.0])


@given(st.lists(IDS, min_size=1, max_size=3), st.lists(IDS, max_size=5), st.lists(IDS, max_size=5))
def test_fixes_of_ids_end_in_whole_numbers(images, references, ids):
    example = {
        "images": [{"id": value} for value in images],
        "annotations": [
            {"id": value, "image_id": to} for value, to in zip(ids, references, strict=False)
        ],
    }
    result = mended(example, "S003", "I")
    own = [a["id"] for a in result["annotations"]]
    assert {type(value) for value in own} <= {int}
    assert len(set(own)) == len(own)
    assert 0 not in own
    whole = [int(value) for value in images]
    if len(set(whole)) == len(whole):
        assert [(type(i["id"]), i["id"]) for i in result["images"]] == [(int, n) for n in whole]
        for before, after in zip(example["annotations"], result["annotations"], strict=True):
            if int(before["image_id"]) in whole:
                assert type(after["image_id"]) is int
                assert after["image_id"] == int(before["image_id"])


def same_names(*names, **more):
    return {
        "images": [{"file_name": name, **more} for name in names],
        "annotations": [{"image_id": n + 1} for n in range(len(names))],
    }


def test_one_file_as_several_images():
    found = only(same_names("a", "a", "b"), "I006")
    assert found.message == (
        'file_name "a" is used by 2 images (ids 1, 2); expected one image per file, '
        "unless each belongs to another annotator"
    )
    assert found.severity == Severity.WARNING
    assert found.examples == ("/images/0/file_name", "/images/1/file_name")
    assert "I006" not in codes(same_names("a", "x/a", "A"))


def test_images_without_annotations_are_counted():
    found = only({"images": [{}, {}, {}]}, "I007")
    assert found.message.startswith("no annotations on 2 of 3 images; ")
    assert (found.count, found.examples) == (2, ("/images/1", "/images/2"))
    assert found.severity == Severity.INFO


def test_a_file_without_a_single_annotation_is_a_warning():
    found = only({"images": [{}, {}, {}], "annotations": []}, "I007")
    assert found.severity is Severity.WARNING
    assert found.message == (
        "no annotations on 3 of 3 images; expected only on images that show no objects"
    )
    assert only({"images": [{}, {}, {}]}, "I007").severity is Severity.INFO


@pytest.mark.parametrize(("name", "key"), [("images", "image_id"), ("categories", "category_id")])
def test_references_to_an_empty_list_are_of_one_cause(name, key):
    content = {name: [], "annotations": [{"bbox": [5, 5 * n, 20, 30]} for n in range(1, 5)]}
    (found,) = findings(content, code="I004")
    assert found.message == (
        f"{key} of 4 of 4 annotations matches none of the {name}; expected the id of one of the "
        f"{name}"
    )
    (found,) = findings({name: [], "annotations": [{}]}, code="I004")
    assert found.message.startswith(f"{key} is 1, but {name} is empty; ")


@pytest.mark.parametrize("form", ["day/{}.jpg", "{}.jpg", "{}"])
def test_image_ids_that_are_names_of_images_are_said_once(form):
    images = [{"id": 5 + n, "file_name": f"day/im{n}.jpg"} for n in range(4)]
    annotations = [
        {"image_id": form.format(f"im{n}"), "bbox": [10 + n, 10, 20, 30]} for n in range(4)
    ]
    content = {"images": images, "annotations": annotations}
    (found,) = report_of(content, select=("S003", "I004")).findings
    assert found.message == (
        "image_id of 4 of 4 annotations is the name of an image; expected its id"
    )
    assert (found.code, found.fix) == ("I004", "safe")
    assert [each.value for each in found.edits] == [5, 6, 7, 8]
    # A name of two images, or of none, is only an id that is no number.
    images[1]["file_name"] = "night/im0.jpg"
    assert report_of(content, select=("S003",)).counts == {"S003": 1 if "/" in form else 2}
