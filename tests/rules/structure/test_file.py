"""F: the file and its json."""

import json

import pytest
from support.validation import codes, document_of, findings, whole_file

from bboxqa.model.findings import Edit, Severity
from bboxqa.model.settings import ValidateSettings
from bboxqa.rules.fixes import fix

CLEAN = whole_file({})
EMPTY = '{"images": [], "annotations": [], "categories": []}'


def only(content, code, **more):
    found = findings(content, code=code, **more)
    assert len(found) == 1
    return found[0]


def mended(content, code, *, unsafe=False):
    return bytes(
        fix(document_of(content), ValidateSettings(select=(code,)), unsafe=unsafe).text
    ).decode()


def test_an_empty_file_is_f001_and_nothing_else():
    found = findings("")
    assert [finding.code for finding in found] == ["F001"]
    assert found[0].message == "the file is empty; expected a JSON object"
    assert codes(b" \n") == {"F001"}


def test_a_cut_file_says_where_it_ends_and_its_lists_are_not_missed():
    cut = CLEAN[: CLEAN.index("bbox")]
    found = only(cut, "F001")
    assert found.message == f"the file ends at byte {len(cut) - 1}, before the document does"
    assert found.spot.offset == len(cut) - 1
    assert not codes(cut) & {"S001", "F006", "I004", "I007", "S004"}


def test_a_file_that_ends_between_values_says_so():
    cut = CLEAN[: CLEAN.index('"bbox"')]
    message = f"the file ends at byte {len(cut)}, before the document does"
    assert only(cut, "F001").message == message


@pytest.mark.parametrize(
    ("text", "offset"),
    [
        (CLEAN.replace('"licenses": []', '"licenses": [],,'), CLEAN.index('"licenses": []') + 15),
        ("hello", 0),
        (EMPTY[:-1] + ",}", len(EMPTY) - 1),
    ],
)
def test_a_break_is_found_at_its_byte(text, offset):
    found = only(text, "F001")
    assert found.spot.offset == offset
    assert found.message.startswith(f"not JSON at byte {offset}: ")
    assert found.fix is None


def test_what_follows_the_document_is_cut_off_by_the_unsafe_fix():
    found = only(CLEAN + " {}x", "F002")
    assert found.message.startswith('3 bytes after the document ("{}x")')
    assert (found.fix, found.edits) == ("unsafe", (Edit("", "remove"),))
    assert found.spot.offset == len(CLEAN) + 1
    assert mended(CLEAN + " {}x", "F002", unsafe=True).rstrip() == CLEAN
    assert mended(CLEAN + " {}x", "F002") == CLEAN + " {}x"


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_other_encodings_are_written_as_plain_utf8(encoding):
    text = CLEAN.replace("a.jpg", "ä.jpg")
    assert json.loads(text)["images"][0]["file_name"] == "ä.jpg"
    found = only(text.encode(encoding), "F003")
    assert (found.severity, found.fix) == (Severity.WARNING, "safe")
    assert found.edits == (Edit("", "replace"),)
    assert mended(text.encode(encoding), "F003") == text


def test_text_of_an_unknown_encoding_is_left_alone():
    text = CLEAN.replace("a.jpg", "ä.jpg").encode("latin-1")
    found = only(text, "F003")
    assert "0xe4" in found.message
    assert found.fix is None


def test_an_archive_named_json_is_one_finding():
    found = only(b"PK\x03\x04\x14\x00\x08\x00\x8b\xff" + bytes(200), "F001")
    assert "is a compressed archive" in found.message
    assert codes(b"PK\x03\x04\x14\x00\x08\x00\x8b\xff" + bytes(200)) == {"F001"}


def test_numbers_that_are_not_finite_are_found_where_the_first_stands():
    text = CLEAN.replace("[10, 10, 20, 30]", "[NaN, 1e400, -Infinity, 3]")
    found = findings(text, code="F004")
    assert [(f.pointer, f.found) for f in found] == [("/annotations/0/bbox/0", "NaN")]
    assert found[0].ids["annotation"] == 1
    assert found[0].message == (
        "3 numbers: -Infinity and Infinity and NaN; expected finite numbers"
    )
    one = only(CLEAN.replace("20, 30]", "20, NaN]"), "F004")
    assert (one.pointer, one.found) == ("/annotations/0/bbox/3", "NaN")
    assert one.message == "1 number: NaN; expected finite numbers"


def test_numbers_that_are_not_finite_can_stand_anywhere():
    text = '{"annotations": {"0": NaN}, "info": {"a/b": [Infinity]}, "images": [NaN]}'
    pointers = {f.pointer for f in findings(text, code="F004")}
    assert pointers == {"/annotations/0", "/info/a~1b/0", "/images/0"}
    twice = '{"annotations": [{"area": NaN}], "annotations": []}'
    assert only(twice, "F004").ids == {}


def test_a_repeated_key_is_named():
    text = CLEAN.replace('"iscrowd": 0', '"iscrowd": 0, "iscrowd": 1')
    found = only(text, "F005")
    assert (
        found.message
        == 'key "iscrowd" appears more than once in its object; only the last one counts'
    )
    assert found.pointer == "/annotations/0/iscrowd"
    assert only(EMPTY[:-1] + ', "images": []}', "F005").pointer == "/images"


def test_a_file_is_large_from_the_set_size_on():
    found = only(CLEAN, "F007", large_file_mb=0.0001)
    assert found.severity == Severity.INFO
    assert found.message.startswith("the file has 0 MB, more than 0;")
    assert "F007" not in codes(CLEAN, large_file_mb=len(CLEAN) / 1e6)


def test_nothing_is_cut_off_behind_a_document_without_lists():
    text = b'{"id": 1, "name": "cat"}, {"id": 2, "name": "dog"}'
    (found,) = findings(text, code="F002")
    assert not found.edits
