"""Scanning JSON for rules: what is odd is told with its place, and what can be read is read."""

import json
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from support.validation import report_of

from bboxqa.core.json_values import pointer_to
from bboxqa.core.machine import gc_paused
from bboxqa.formats import scanner
from bboxqa.formats.positions import JsonPlaces, Locator, spots
from bboxqa.formats.scanner import Scanner
from bboxqa.model.findings import Spot
from bboxqa.rules.fixes import key_before


def read(text):
    return Scanner(text if isinstance(text, bytes) else text.encode(), "a.json").read()


@pytest.mark.parametrize(
    ("text", "offset", "why"),
    [
        ("", 0, "the file ends here"), ("   ", 3, "the file ends here"),
        ("hello", 0, "Expecting value"), ('{"images": [1, 2', 16, "the file ends here"),
        ('{"images": [{"id": 1}, {"id"', 28, "the file ends here"),
        ('{"images": [], ', 15, "the file ends here"), ('{"images" []}', 10, "expected ':'"),
        ('{"images": [] "x": 1}', 14, "expected ',' or '}'"),
        ('{"images": [1 2]}', 14, "expected ',' or ']'"),
        ('{"images": [1, 2,]}', 16, "a comma before ']'"),
        ('{"images": [],}', 13, "a comma before '}'"),
        ('{"info": "a\nb"}', 9, "a control character in a text"),
        ("[" * 100_000, 1, "lists nested more than 500 deep"),
        ('{"info": tru}', 9, "Expecting value"),
    ],
)  # fmt: skip
def test_where_a_file_breaks(text, offset, why):
    assert read(text).broken == [(offset, why)]


def test_records_before_a_break_are_kept():
    result = read('{"annotations": [{"id": 4}, {"id": 5}], "images": [{"id": 1}, {"id": 2}, {"i')
    assert result.annotations.id.tolist() == [4, 5]
    assert result.images == [{"id": 1}, {"id": 2}]
    assert result.stopped
    assert Locator(result).value("annotations", 1) == {"id": 5}


@pytest.mark.parametrize("records", ['7, 1"id": 2', "7, 06", '7, null{"id": 2}', "7, 9{"])
def test_a_value_without_a_comma_after_it_is_found_again(records):
    result = read(f'{{"images": [{records}]}}')
    found = [Locator(result).value("images", row) for row in range(2)]
    assert found == [*result.images] == [7, json.loads(records[3:4].replace("n", "null"))]


@pytest.mark.parametrize(
    ("encode", "named"),
    [
        (lambda t: b"\xef\xbb\xbf" + t.encode(), "UTF-8 with a byte order mark"),
        (lambda t: t.encode("utf-16"), "UTF-16"), (lambda t: t.encode("utf-16-le"), "UTF-16-LE"),
        (lambda t: t.encode("utf-16-be"), "UTF-16-BE"), (lambda t: t.encode("utf-32"), "UTF-32"),
        (lambda t: t.encode("latin-1"), "not UTF-8 (byte 27 is 0xe9)"), (lambda t: t.encode(), ""),
    ],
)  # fmt: skip
def test_encodings(encode, named):
    result = read(encode('{"images": [{"file_name": "é.jpg"}]}'.replace('"f', '"f')))
    assert result.encoding == named
    assert result.images == [{"file_name": "é.jpg"}]
    assert not result.broken


def test_numbers_that_json_does_not_have():
    text = '{"annotations": [{"bbox": [NaN, 1, 2]}, {"area": -Infinity}, {"a/b": [1e400]}]}'
    result = read(text)
    assert result.not_finite == [
        ("/annotations/0/bbox/0", "NaN"), ("/annotations/1/area", "-Infinity"),
        ("/annotations/2/a~1b/0", "Infinity"),
    ]  # fmt: skip
    assert np.isnan(result.annotations.bbox).all()


def test_repeated_keys_at_any_depth():
    records = '[{"id": 1, "id": 2}, {"id": 3}, {"id": 4, "x": {"a": 1, "a": 2}}]'
    result = read(f'{{"images": [{{}}], "annotations": {records}, "images": []}}')
    assert sorted(result.repeated) == [
        ("", "images"), ("/annotations/0", "id"), ("/annotations/2", "a"),
    ]  # fmt: skip
    assert result.images == []


@given(st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=12,
))  # fmt: skip
def test_any_json_is_read_without_complaint(value):
    result = read(json.dumps({"images": value, "annotations": value, "categories": [value]}))
    assert not result.broken
    assert not result.repeated
    assert result.categories == [value]
    if isinstance(value, list):
        assert result.images == value
        assert len(result.annotations) == len(value)


@pytest.mark.parametrize(
    ("rle", "total", "area", "problem"),
    [
        ({"size": [2, 2], "counts": [1, 3]}, 4, 3, ""),
        ({"size": [2, 2], "counts": "04"}, 4, 4, ""),
        ({"size": [2, 2], "counts": [1, -3]}, -1, -1, "counts has a run of -3; expected 0 or more"),
        ({"size": [2, 2], "counts": "é"}, -1, -1, "counts is not valid: "),
        ({"size": [2, 2], "counts": 5}, -1, -1, "counts is 5; expected text, or a list"),
        ({"size": [2]}, -1, -1, "size is [2]; expected [height, width]"),
        ({"size": [10**9, 10**9], "counts": [4]}, 4, 0, "size is [1000000000, 1000000000]"),
        ({"size": "x", "counts": []}, 0, 0, 'size is "x"'),
    ],
)
def test_run_lengths(rle, total, area, problem):
    rles = read(json.dumps({"annotations": [{}, {"segmentation": rle}]})).annotations.rles
    assert rles.row.tolist() == [1]
    assert (rles.total[0], rles.area[0]) == (total, area)
    said = rles.problems[rles.problem[0]]
    assert said.startswith(problem)
    assert bool(said) == bool(problem)


def everything(text):
    """Return all that rules find in a text, and some of its records."""
    found = [replace(each, edits=(*each.edits,)) for each in report_of(text, limit=9).findings]
    locator = Locator(read(text))
    return found, [locator.value("annotations", row) for row in range(0, 60, 7)]


def mixed(n, extra):
    outlines = [[[0, 0, 9, 0, 9, 9]], {"size": [2, 2], "counts": [1, 3]}, None, [1, 2, 3], [[1]]]
    records = [
        {"id": k, "image_id": str(k), "bbox": [k, 1, 2, 3], "segmentation": outlines[k % 5],
         "keypoints": [1, 2, k % 3], "annotator": f"a{k % 4 if k < n // 2 else k % 7}", **extra}
        for k in range(n)
    ]  # fmt: skip
    return json.dumps({"annotations": records, "images": [{"id": 1}] * 9, "categories": []})


@pytest.mark.parametrize(
    "text",
    [
        mixed(60, {}), mixed(60, {"text": '"},{"id": 1'}),
        mixed(60, {"inner": [{"a": 1}, {"b": 2}] * 9}),
        mixed(60, {}).replace('"id": 7,', '"id": 7, "id": 8,'),
        mixed(60, {}).replace('"id": 50,', '"id": NaN,'),
        mixed(60, {}).replace('"id": 50,', '"id" 50,'), mixed(60, {})[:-900],
        mixed(3, {}).replace("[]", "[" + "{}, " * 900 + "{}]"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("window", [60, 500])
def test_windows_change_nothing_of_broken_files(text, window, monkeypatch):
    whole = everything(text.encode())
    monkeypatch.setattr(scanner, "WINDOW", window)
    assert repr(everything(text.encode())) == repr(whole)


# Where values stand.
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=15,
)


def pointers(value, parts=()):
    yield parts, value
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from pointers(inner, (*parts, key))
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from pointers(inner, (*parts, place))


@given(
    st.lists(VALUES, max_size=8), st.lists(VALUES, max_size=3), VALUES,
    st.sampled_from([None, 0, 3]), st.booleans(),
)  # fmt: skip
def test_every_pointer_leads_to_its_value(annotations, images, info, indent, ascii_only):
    document = {"info": info, "annotations": annotations, "images": images}
    text = json.dumps(document, indent=indent, ensure_ascii=ascii_only).encode()
    locator = Locator(read(text))
    for parts, value in pointers(document):
        span = locator.span(pointer_to(*parts))
        assert json.loads(text[span.start : span.stop]) == value
        key = key_before(text, span.start)
        assert (key is not None) == (bool(parts) and isinstance(parts[-1], str))
        assert key is None or text[key : key + 1] == b'"'


RECORDS = {
    "plain": [{"id": n, "é": "ü" * (n % 5)} for n in range(50)],
    "objects inside": [{"id": n, "é": "ü" * (n % 5), "deep": [{"x": n}, {}]} for n in range(50)],
    "signs in a text": [{"id": n, "é": "}, {" * (n % 3)} for n in range(50)],
    # As many signs between objects as between records.
    "no object": [7 if n % 5 == 2 else {"deep": [{}, {"x": n}] * (n % 5 < 2)} for n in range(50)],
}


@pytest.mark.parametrize("records", RECORDS.values(), ids=RECORDS)
@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize("window", [1, 40, 1 << 20])
def test_records_are_found_in_any_order_and_any_window(window, indent, records, monkeypatch):
    monkeypatch.setattr(scanner, "WINDOW", window)
    document = {"annotations": records, "images": records}
    text = json.dumps(document, ensure_ascii=False, indent=indent).encode()
    locator = Locator(read(text))
    for row in (*range(50), *range(49, -1, -1), 7, 7, 30, 8):
        for name in document:
            assert locator.value(name, row) == records[row]
            span = locator.span(f"/{name}/{row}")
            assert json.loads(text[span.start : span.stop]) == records[row]


@pytest.mark.parametrize(
    "pointer", ["/x", "/annotations/9", "/annotations/0/x", "/annotations/0/id/3", "/info/a/b"]
)
def test_what_is_not_there_stands_nowhere(pointer):
    text = b'{"annotations": [{"id": 1}], "info": {"a": 5}}'
    assert Locator(read(text)).span(pointer) is None


def test_lines_and_columns_count_signs_not_bytes():
    text = "ä\nöü x\r\ny".encode()
    places = [text.index(b"x"), text.index(b"y")]
    assert list(spots(text, places)) == [Spot(2, 4, places[0]), Spot(3, 1, places[1])]


def test_what_does_not_exist_is_the_place_of_its_holder():
    text = b'[{"a": 1}, 2]'
    assert JsonPlaces(text).find(["0", "b", "c"]) == (1, 1, 9)
    assert JsonPlaces(text).find(["7"]) == (0, 0, len(text))
    assert JsonPlaces(b"[1, 2").find(["0"]) == (0, 0, 5)


def test_values_beside_odd_ones_have_places():
    text = b'{"annotations": [{"id": NaN, "id": 2, "bbox": [1, NaN], "\xff\t": {"a": 1e999}}]}'
    locator = Locator(read(text))
    found = locator.span("/annotations/0/bbox/1")
    assert text[found.start : found.stop] == b"NaN"
    found = locator.span("/annotations/0/bbox")
    assert text[key_before(text, found.start) : found.stop] == b'"bbox": [1, NaN]'


def test_a_read_text_is_released_without_a_search_for_cycles():
    text = b'{"info": {"a": 1}, "annotations": [{"id": 1}]}' + b" " * 1000
    held = sys.getrefcount(text)
    with gc_paused():
        Scanner(text, "a.json").read()
        assert sys.getrefcount(text) == held
