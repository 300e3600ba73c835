"""S: keys and types."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.validation import codes, document_of, exact, findings, whole_file

from bboxqa.model.findings import Edit, Severity
from bboxqa.model.settings import ValidateSettings
from bboxqa.rules.base import ABSENT
from bboxqa.rules.fixes import fix

SQUARE = [[10, 10, 30, 10, 30, 40, 10, 40]]
BOXES = [[5 + 20 * n, 10, 10, 10] for n in range(4)]


def only(content, code, **more):
    found = findings(content, code=code, **more)
    assert len(found) == 1, found
    return found[0]


def annotations(*given, **same):
    return {"annotations": [{"bbox": BOXES[n], **same, **one} for n, one in enumerate(given)]}


def mended(content, *select, unsafe=False):
    fixed = fix(document_of(content), ValidateSettings(select=select), unsafe=unsafe)
    return json.loads(bytes(fixed.text))


@pytest.mark.parametrize("name", ["images", "annotations", "categories"])
def test_a_list_of_records_is_missed(name):
    # Images and nothing that could be annotations are a kind of their own.
    found = only({name: ABSENT, "objects": []}, "S001")
    assert found.message == f'key "{name}" is missing; expected a list of {name}'
    assert found.severity == Severity.ERROR


@pytest.mark.parametrize("value", [None, 7, "text", True])
def test_something_else_than_a_list_is_found(value):
    found = only({"images": value}, "S001")
    assert found.pointer == "/images"
    assert "S009" not in codes({"images": value})


def test_a_list_after_the_break_of_a_file_is_not_missed():
    assert not findings('{"images": [], "categories": 5, "annot', code="S001")[1:]
    assert only('{"images": [], "categories": 5, "annot', "S001").pointer == "/categories"


@pytest.mark.parametrize("key", ["id", "image_id", "category_id", "bbox"])
def test_a_required_key_of_an_annotation_is_missed(key):
    example = annotations({}, {key: ABSENT}, {})
    found = only(example, "S002")
    assert found.message.startswith(f"{key} is missing; expected ")
    assert found.pointer == f"/annotations/1/{key}"
    assert found.severity == Severity.ERROR
    assert found.spot.line == 1


def test_a_box_beside_an_outline_is_missed_less():
    example = {"annotations": [{"bbox": ABSENT, "segmentation": SQUARE}, {}]}
    assert only(example, "S002").severity == Severity.WARNING
    empty = {"annotations": [{"bbox": ABSENT, "segmentation": []}, {}]}
    assert only(empty, "S002").severity == Severity.ERROR


@pytest.mark.parametrize("name", ["images", "annotations", "categories"])
def test_an_empty_record_is_one_finding_and_is_removed(name):
    sound = json.loads(whole_file({}))
    broken = {**sound, name: [*sound[name], {}]}
    (found,) = [each for each in findings(exact(broken)) if each.severity is Severity.ERROR]
    assert (found.code, found.pointer) == ("S012", f"/{name}/1")
    fixed = fix(document_of(exact(broken)), ValidateSettings(select=("S012",)), unsafe=False)
    assert json.loads(bytes(fixed.text)) == sound


@pytest.mark.parametrize(
    ("values", "pointer", "what"),
    [
        ({"bbox": [5, -1e300, 9, 9]}, "bbox", "a number of bbox is -1e+300"),
        ({"bbox": [5, 5, 9, 2e9]}, "bbox", "a number of bbox is 2,000,000,000"),
        ({"segmentation": [[5, 5, 9, 5, 9, 9], [5, 5, 9, 5, 9, 1e300]]}, "segmentation",
         "a number of segmentation is 1e+300"),
        ({"attributes": {"rotation": 1e300}}, "attributes", "attributes.rotation is 1e+300"),
        ({"attributes": {"rotation": -(10**400)}}, "attributes",
         "attributes.rotation is more than a float can hold"),
    ],
)  # fmt: skip
def test_a_number_too_large_for_a_place_or_an_angle_is_one_finding(values, pointer, what):
    sound = json.loads(whole_file({"annotations": [{} for _ in range(8)]}))
    sound["annotations"][3] |= values
    found = findings(json.dumps(sound), select=("B", "O", "P", "S015"))
    assert [(each.code, each.pointer) for each in found] == [("S015", f"/annotations/3/{pointer}")]
    assert found[0].message.startswith(f"{what}; expected ")


@pytest.mark.parametrize(
    ("value", "new"),
    [
        ("7", 7), (7.0, 7), ("77", 77), (7.5, None), ("a", None), (True, None), (None, None),
        (-3, None), ("-3", None), ([], None), ({}, None), (10**30, None), ("0", 4),
    ],
)  # fmt: skip
def test_an_annotation_id_that_is_no_whole_number(value, new):
    example = annotations({}, {"id": value}, {})
    found = only(example, "S003")
    assert found.pointer == "/annotations/1/id"
    edits = () if new is None else (Edit("/annotations/1/id", "replace", new),)
    assert found.edits == edits
    assert found.fix == ("safe" if edits else None)


def test_references_follow_the_ids_that_become_numbers():
    example = {
        "images": [{"id": "7"}, {"id": 8.0}],
        "categories": [{"id": "a"}],
        "annotations": [
            {"image_id": "7", "category_id": "a", "bbox": BOXES[0]},
            {"image_id": 8.0, "category_id": "a", "bbox": BOXES[1]},
        ],
    }
    result = mended(example, "S003")
    assert [image["id"] for image in result["images"]] == [7, 8]
    assert [a["image_id"] for a in result["annotations"]] == [7, 8]
    assert [type(a["image_id"]) for a in result["annotations"]] == [int, int]
    assert [a["category_id"] for a in result["annotations"]] == ["a", "a"]


def test_info_and_licenses_are_added():
    example = {"info": ABSENT, "licenses": ABSENT}
    found = findings(example, code="S004")
    assert [f.edits for f in found] == [
        (Edit("/info", "add", {}),), (Edit("/licenses", "add", []),),
    ]  # fmt: skip
    assert {f.severity for f in found} == {Severity.INFO}
    result = mended(example, "S004")
    assert (result["info"], result["licenses"]) == ({}, [])


@pytest.mark.parametrize(
    ("value", "edit"),
    [
        (ABSENT, Edit("/annotations/1/iscrowd", "add", 0)),
        (None, Edit("/annotations/1/iscrowd", "replace", 0)),
        (True, Edit("/annotations/1/iscrowd", "replace", 1)),
        (1.0, Edit("/annotations/1/iscrowd", "replace", 1)),
        ("0", Edit("/annotations/1/iscrowd", "replace", 0)),
        (2, None), ("yes", None), ([1], None), ({}, None), (0.5, None), (-1, None),
    ],
)  # fmt: skip
def test_iscrowd_is_0_or_1(value, edit):
    found = only(annotations({}, {"iscrowd": value}, {}), "S005")
    assert found.edits == (() if edit is None else (edit,))
    assert found.severity == Severity.WARNING


@pytest.mark.parametrize(
    "value", [None, [], [1, 2, 3], [1, 2, 3, 4, 5], {"x": 1}, "1,2,3,4", 7, [1, 2, 3, None],
              [[1], 2, 3, 4], [True, 2, 3, 4], [1, 2, 3, "1_0"], [1, 2, 3, 10**400]],
)  # fmt: skip
def test_a_box_that_is_not_four_numbers(value):
    found = only(annotations({}, {"bbox": value}, {}), "S006")
    assert found.message.startswith("bbox is ")
    assert found.message.endswith("; expected four finite numbers: x, y, width, height")
    assert found.edits == ()


@pytest.mark.parametrize(
    ("box", "said"),
    [
        ([40, 40, 30, 20, 30], "five finite numbers, the last an angle, as most boxes here have"),
        ([9, 9, 40, 9, 40, 40, 9, 40], "the eight of four corners, as most boxes here have"),
    ],
)
def test_among_rotated_boxes_as_many_numbers_are_expected(box, said):
    odd = {"bbox": None, "segmentation": SQUARE}
    (found,) = findings(annotations(*[{"bbox": box}] * 3, odd), code="S006")
    assert found.message.endswith(f"expected {said}")
    assert found.edits == ()


def test_a_box_of_texts_becomes_numbers():
    found = only(annotations({}, {"bbox": ["10", 10.5, "2e1", "30.0"]}, {}), "S006")
    assert found.edits == (Edit("/annotations/1/bbox", "replace", [10, 10.5, 20, 30]),)
    assert found.fix == "safe"
    other = only(annotations({}, {"bbox": None, "segmentation": SQUARE}, {}), "S006")
    assert other.fix == "unsafe"


def test_numbers_that_are_text_are_fixed_and_stay_what_they_are():
    texts = {"area": "305.0000", "bbox": ["1.50", "10", "20.0", "30"]}
    texts["segmentation"] = [["10.0", "10", 30, "10", "30", "40.5"]]
    content = {"images": [{"width": "100.0"}], **annotations(texts)}
    fixed = json.loads(fix(document_of(content), ValidateSettings(), unsafe=False).text)
    (found,) = fixed["annotations"]
    assert (found["area"], found["bbox"]) == (305, [1.5, 10, 20, 30])
    assert found["segmentation"] == [[10, 10, 30, 10, 30, 40.5]]
    assert fixed["images"][0]["width"] == 100
    for odd in ("1_0", "10,5", "nan", "1e400", "", True, None):
        assert not only(annotations({}, {"area": odd, "bbox": [9, 9, 0, 9]}), "S011").edits


def test_a_box_is_taken_from_its_outline():
    example = annotations({}, {"bbox": None, "segmentation": SQUARE}, {})
    assert only(example, "S006").edits[0].value == [10, 10, 20, 30]
    bad = annotations({}, {"bbox": None, "segmentation": [[1, 1, 2, 2]]}, {})
    assert only(bad, "S006").edits == ()


@pytest.mark.parametrize(
    ("value", "new"),
    [("640", 640), (640.0, 640), (640.5, None), ("", None), (None, None), (0, None), (-5, None),
     (True, None), ([], None), (ABSENT, None), ("0", None)],
)  # fmt: skip
def test_sizes_of_images(value, new):
    found = only({"images": [{}, {"width": value}, {}]}, "S007")
    assert found.pointer == "/images/1/width"
    assert found.ids == {"image": 2}
    assert [edit.value for edit in found.edits] == ([] if new is None else [new])


@pytest.mark.parametrize("value", [None, 7, "a", [1], True, 1.5])
@pytest.mark.parametrize("name", ["images", "annotations", "categories"])
def test_a_record_that_is_no_object(name, value):
    found = only({name: [{}, value, {}]}, "S009")
    assert found.pointer == f"/{name}/1"
    assert "expected an object" in found.message
    assert "S002" not in codes({name: [{}, value, {}]})


def test_info_of_a_wrong_type_is_a_warning():
    assert only({"info": []}, "S009").severity == Severity.WARNING
    assert only({"licenses": "MIT"}, "S009").severity == Severity.WARNING
    assert only({"licenses": {}}, "S009").message == "licenses is an object; expected a list"
    assert "S009" not in codes({"info": None})


@pytest.mark.parametrize("value", [None, [], "", ABSENT])
def test_a_missing_segmentation_where_others_have_one(value):
    example = annotations({}, {"segmentation": value}, {}, segmentation=SQUARE)
    assert only(example, "S010").message.endswith(", as most annotations here have")
    half = annotations({}, {"segmentation": value}, segmentation=SQUARE)
    assert only(half, "S010").severity == Severity.INFO
    assert "S010" not in codes(annotations({}, {}, segmentation=value))
    assert "S010" not in codes(annotations({"segmentation": [[]]}, {"segmentation": value}))


def test_an_area_is_computed():
    triangle = [[0, 0, 10, 0, 0, 10]]
    example = annotations({"area": ABSENT, "segmentation": triangle}, {}, {})
    found = only(example, "S011")
    assert found.edits == (Edit("/annotations/0/area", "add", 50),)
    assert found.severity == Severity.WARNING


VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(-2, 4), st.sampled_from([1.0, 2.5, 10**30, "1", "02"]),
    st.text(max_size=2), st.just([]), st.just({}), st.just(["1", "2", "3", 4]),
)  # fmt: skip
KEYS = st.sampled_from(
    ["id", "image_id", "category_id", "bbox", "area", "iscrowd", "segmentation", "width",
     "height", "file_name", "name"]
)  # fmt: skip
RECORDS = st.lists(st.one_of(VALUES, st.dictionaries(KEYS, VALUES)), max_size=4)
DOCUMENTS = st.dictionaries(
    st.sampled_from(["images", "annotations", "categories", "info", "licenses"]),
    st.one_of(RECORDS, RECORDS, VALUES),
)


@given(DOCUMENTS)
def test_no_document_is_too_odd_and_safe_fixes_come_to_an_end(document):
    chosen = ValidateSettings(select=("F", "S", "I"))
    fixed = fix(document_of(exact(document)), chosen, unsafe=False)
    left = findings(bytes(fixed.text).decode(), select=("F", "S", "I"))
    assert not [finding for finding in left if finding.fix == "safe"]
