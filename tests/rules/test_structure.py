"""The file, keys and types, ids and categories: what is said once, and what fixes leave."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.validation import codes, exact, findings, mended, only, report_of, whole_file

from bboxqa.model.findings import Severity

CLEAN = whole_file({})


@pytest.mark.parametrize("before", ["bbox", '"bbox"'])
def test_a_cut_file_says_where_it_ends_and_its_lists_are_not_missed(before):
    cut = CLEAN[: CLEAN.index(before)]
    found = only(cut, code="F001")
    place = len(cut) - (before == "bbox")
    assert found.message == f"the file ends at byte {place}, before the document does"
    assert found.spot.offset == place
    assert not codes(cut) & {"S001", "F006", "I004", "I007", "S004"}


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_other_encodings_are_written_as_plain_utf8(encoding):
    text = CLEAN.replace("a.jpg", "ä.jpg")
    found = only(text.encode(encoding), code="F003")
    assert (found.severity, found.fix) == (Severity.WARNING, "safe")
    assert mended(text.encode(encoding), "F003", unsafe=False) == json.loads(text)


@pytest.mark.parametrize("form", ["day/{}.jpg", "{}.jpg", "{}"])
def test_image_ids_that_are_names_of_images_are_said_once(form):
    images = [{"id": 5 + n, "file_name": f"day/im{n}.jpg"} for n in range(4)]
    drawn = [{"image_id": form.format(f"im{n}"), "bbox": [10 + n, 10, 20, 30]} for n in range(4)]
    content = {"images": images, "annotations": drawn}
    (found,) = report_of(content, select=("S003", "I004")).findings
    assert found.message.startswith("image_id of 4 of 4 annotations is the name of an image")
    assert (found.code, found.fix) == ("I004", "safe")
    assert [each.value for each in found.edits] == [5, 6, 7, 8]
    # A name of two images, or of none, is only an id that is no number.
    images[1]["file_name"] = "night/im0.jpg"
    assert report_of(content, select=("S003",)).counts == {"S003": 1 if "/" in form else 2}


def test_maps_of_categories_that_contradict_between_files():
    maps = [{"categories": [{"name": name} for name in names]}
            for names in (("cat", "dog"), ("dog", "bird"), ("cat", "dog"))]  # fmt: skip
    found = findings(*maps, code="C007")
    assert [(e.file, e.pointer) for e in found] == [("b.json", f"/categories/{n}") for n in (0, 1)]
    says = 'category "{}" has id {} here, and "dog" has id 2 in export.json'
    assert says.format("dog", 1) in found[0].message
    assert says.format("bird", 2) in found[1].message


IDS = st.sampled_from([0, 1, 2, "0", "1", "2", 1.0, 2.0])


@given(st.lists(IDS, min_size=1, max_size=3), st.lists(IDS, max_size=5), st.lists(IDS, max_size=5))
def test_fixes_of_ids_end_in_whole_numbers(images, references, ids):
    drawn = [{"id": own, "image_id": to} for own, to in zip(ids, references, strict=False)]
    example = {"images": [{"id": value} for value in images], "annotations": drawn}
    result = mended(example, "S003", "I", unsafe=False)
    own = [a["id"] for a in result["annotations"]]
    assert {type(value) for value in own} <= {int}
    assert len(set(own)) == len(own)
    assert 0 not in own
    whole = [int(value) for value in images]
    if len(set(whole)) == len(whole):
        assert [(type(i["id"]), i["id"]) for i in result["images"]] == [(int, n) for n in whole]
        for before, after in zip(drawn, result["annotations"], strict=True):
            if int(before["image_id"]) in whole:
                assert type(after["image_id"]) is int
                assert after["image_id"] == int(before["image_id"])


VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(-2, 4), st.sampled_from([1.0, 2.5, 10**30, "1", "02"]),
    st.text(max_size=2), st.just([]), st.just({}), st.just(["1", "2", "3", 4]),
)  # fmt: skip
KEYS = st.sampled_from(
    ["id", "image_id", "category_id", "bbox", "area", "iscrowd", "segmentation", "width",
     "height", "file_name", "name", "rater", "rater_list"]
)  # fmt: skip
RECORDS = st.lists(st.one_of(VALUES, st.dictionaries(KEYS, VALUES)), max_size=4)
DOCUMENTS = st.dictionaries(
    st.sampled_from(["images", "annotations", "categories", "info", "licenses"]),
    st.one_of(RECORDS, RECORDS, VALUES),
)


@given(DOCUMENTS)
def test_no_document_is_too_odd_and_safe_fixes_come_to_an_end(document):
    fixed = mended(exact(document), "F", "S", "I", "A", unsafe=False)
    left = findings(exact(fixed), select=("F", "S", "I", "A"))
    assert not [finding for finding in left if finding.fix == "safe"]


ODD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2),
    max_leaves=3,
)
CATEGORY = st.fixed_dictionaries(
    {}, optional={"id": ODD | st.integers(0, 3), "name": ODD | st.sampled_from("aAb"),
                  "supercategory": ODD | st.sampled_from("ab")},
)  # fmt: skip


@given(st.lists(ODD | CATEGORY, max_size=4), st.lists(ODD | st.integers(0, 3), max_size=4))
def test_whatever_categories_are_findings_point_to_records(categories, used):
    drawn = [{"id": n, "category_id": number} for n, number in enumerate(used)]
    text = exact({"images": [], "categories": categories, "annotations": drawn})
    report = report_of(text, text, select=("C",))
    assert sum(report.counts.values()) >= len(report.findings)
    n_records = {"categories": len(categories), "annotations": len(used)}
    for finding in report.findings:
        part, _, row = finding.pointer.removeprefix("/").partition("/")
        assert part in n_records
        assert not row or int(row.split("/")[0]) < n_records[part]
