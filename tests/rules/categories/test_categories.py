"""C: categories."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.validation import codes, document_of, exact, findings, report_of

from bboxqa.formats.scanner import read_bytes
from bboxqa.model.findings import Edit, Severity
from bboxqa.model.settings import ValidateSettings
from bboxqa.rules.fixes import fix

ONLY_C = {"select": ("C",)}


def two(first="cat", second="dog", ids=(1, 2), used=(1, 2)):
    return {
        "categories": [{"id": ids[0], "name": first}, {"id": ids[1], "name": second}],
        "annotations": [{"category_id": number, "bbox": [20 * n, 5, 9, 9]}
                        for n, number in enumerate(used)],
    }  # fmt: skip


def root(names=("rbc", "wbc"), name="cells", used=(1, 2), **more):
    record = {"id": 0, "name": name, "supercategory": "none", **more}
    others = [{"id": n, "name": each, "supercategory": name} for n, each in enumerate(names, 1)]
    return {
        "categories": [record, *others],
        "annotations": [{"category_id": number, "bbox": [20 * n, 5, 9, 9]}
                        for n, number in enumerate(used)],
    }  # fmt: skip


def mended(content, *select, unsafe=True):
    document = document_of(content)
    settings = ValidateSettings(select=select)
    return read_bytes(fix(document, settings, unsafe=unsafe).text, "mended.json")


@pytest.mark.parametrize("ids", [(1, 1), ("a", "a"), (1, "1"), (1, 1.0)])
def test_an_id_used_twice(ids):
    (found,) = findings(two(ids=ids, used=()), code="C001")
    assert found.pointer == "/categories/1/id"
    assert 'is already used by category "cat"' in found.message


def test_a_category_that_is_equal_to_an_earlier_one_is_removed():
    content = two("cat", "cat", ids=(1, 1), used=(1,))
    (found,) = findings(content, code="C001")
    assert found.severity == Severity.WARNING
    assert found.message == (
        'category "cat" is equal to an earlier one, /categories/0; expected it once'
    )
    kept = json.loads(bytes(mended(content, "C001", unsafe=False).text))["categories"]
    assert [each["name"] for each in kept] == ["cat"]


def test_no_category_is_removed_where_another_one_has_its_id():
    content = two("cat", "cat", ids=(1, 1), used=(1,))
    content["categories"].insert(1, {"id": 1, "name": "dog"})
    found = findings(content, code="C001")
    assert [each.severity for each in found] == [Severity.ERROR] * 2
    assert not any(each.edits for each in found)


@pytest.mark.parametrize("name", ["Cat", " cat", "cat  ", "CAT"])
def test_names_that_differ_by_case_or_blanks_are_merged(name):
    (found,) = findings(two("cat", name), code="C003")
    assert found.fix == "unsafe"
    assert tuple(found.edits) == (
        Edit("/annotations/1/category_id", "replace", 1),
        Edit("/categories/1", "remove"),
    )
    reading = mended(two("cat", name), "C003")
    assert [category["name"] for category in reading.categories] == ["cat"]
    assert reading.annotations.category_id.tolist() == [1, 1]


@pytest.mark.parametrize("content", [
    two("cat", "Cat", ids=(1, 1)), two("cat", "Cat", ids=(1, "2")),
    two("cat", "Cat", used=(1, "2")), two("cat", "Cat", ids=(None, 2)),
])  # fmt: skip
def test_nothing_is_merged_where_ids_are_not_sure(content):
    (found,) = findings(content, code="C003")
    assert tuple(found.edits) == ()
    assert found.fix is None


def test_the_root_of_roboflow_is_removed():
    (found,) = findings(root(), code="C005")
    assert found.fix == "unsafe"
    assert found.pointer == "/categories/0"
    assert not {"C004", "C006"} & codes(root(), **ONLY_C)
    reading = mended(root(), "C", unsafe=True)
    assert [category["id"] for category in reading.categories] == [1, 2]


@pytest.mark.parametrize("content", [
    root(used=(0, 1, 2)), root(used=("0", 1, 2)), root(id=3), root(name=""), root(names=()),
    {"categories": [{"id": 0, "name": "cells"}, {"id": 1, "supercategory": "other"}]},
])  # fmt: skip
def test_what_is_no_root_of_roboflow(content):
    assert "C005" not in codes(content)


@pytest.mark.parametrize(
    ("ids", "count", "message"),
    [
        ((0, 1), 1, "category ids are not 1 to 2: there is an id 0"),
        ((1, 4), 1, "category ids are not 1 to 2: 2 below 4 are missing, such as 2"),
        ((10, 11), 2, "category ids are not 1 to 2: 9 below 11 are missing, such as 1"),
        ((7, 6_283_630_679), 2, "category ids are not 1 to 2: the highest is 6,283,630,679"),
    ],
)
def test_ids_that_do_not_count_from_1(ids, count, message):
    """Counted are the categories with such ids, and not the ids that are missing."""
    (found,) = findings(two(ids=ids), code="C006")
    assert (found.message, found.count) == (message, count)


def test_maps_that_contradict():
    found = findings(two(), two("dog", "bird"), two(), code="C007")
    assert [(each.file, each.pointer) for each in found] == [
        ("b.json", "/categories/0"), ("b.json", "/categories/1"),
    ]  # fmt: skip
    assert found[0].message == (
        'category "dog" has id 1 here and id 2 in export.json; expected one map for all files'
    )
    assert 'id 2 is "bird" here and "dog" in export.json' in found[1].message


def test_files_without_a_name_in_common_may_be_of_different_data_sets():
    (found,) = findings(two(), two("oak", "elm"), code="C007")
    assert found.severity is Severity.INFO
    assert found.count == 2
    assert "no name is in both" in found.message


@pytest.mark.parametrize("name", ["", "  ", None, 3, [], {}, True])
def test_a_name_that_is_no_text(name):
    (found,) = findings({"categories": [{"name": name}]}, code="C008")
    assert found.pointer == "/categories/0/name"


ODD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2),
    max_leaves=3,
)
RECORD = st.fixed_dictionaries(
    {}, optional={"id": ODD | st.integers(0, 3), "name": ODD | st.sampled_from("aAb"),
                  "supercategory": ODD | st.sampled_from("ab")},
)  # fmt: skip


@given(st.lists(ODD | RECORD, max_size=4), st.lists(ODD | st.integers(0, 3), max_size=4))
def test_whatever_stands_there_nothing_crashes(categories, used):
    text = exact({
        "images": [], "categories": categories,
        "annotations": [{"id": n, "category_id": number} for n, number in enumerate(used)],
    })  # fmt: skip
    report = report_of(text, text, **ONLY_C)
    assert sum(report.counts.values()) >= len(report.findings)
    n_records = {"categories": len(categories), "annotations": len(used)}
    for finding in report.findings:
        part, _, row = finding.pointer.removeprefix("/").partition("/")
        assert part in n_records
        assert not row or int(row.split("/")[0]) < n_records[part]


@pytest.mark.parametrize("other", ["cat\u200b", "\ufeffcat", " Cat"])
def test_names_that_look_the_same(other):
    (found,) = findings({"categories": [{"name": "cat"}, {"name": other}]}, code="C003")
    assert "differs only in case, blanks or invisible characters from" in found.message
    assert found.edits


@pytest.mark.parametrize(
    ("name", "plain", "signs"),
    [
        ("c\u200bat", "cat", "U+200B"),
        ("\ufeffcat", "cat", "U+FEFF"),
        ("cat\n", "cat", "U+000A"),
        ("traffic\tlight", "traffic light", "U+0009"),
        ("cat ", "cat", "U+0020"),
        ("caf\u00ad\u00e9", "caf\u00e9", "U+00AD"),
        ("cat\u200d", "cat", "U+200D"),
    ],
)
def test_signs_that_are_not_seen(name, plain, signs):
    (found,) = findings({"categories": [{"name": name}, {"name": "dog"}]}, code="C009")
    assert found.message == (
        f'category name "{plain}" has invisible characters ({signs}); expected it without them'
    )
    assert [edit.value for edit in found.edits] == [plain]
