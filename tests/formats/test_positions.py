"""Where values stand: every pointer of a document leads to its own text."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bboxqa.core.json_values import pointer_to
from bboxqa.formats import positions
from bboxqa.formats import scanner as windows
from bboxqa.formats.positions import JsonPlaces, Locator, spots
from bboxqa.formats.scanner import read_bytes
from bboxqa.model.findings import Spot

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
    locator = Locator(read_bytes(text, "a"))
    for parts, value in pointers(document):
        span = locator.span(pointer_to(*parts))
        assert json.loads(text[span.start : span.stop]) == value
        if parts and isinstance(parts[-1], str) and span.key is not None:
            assert text[span.key : span.key + 1] == b'"'


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
    monkeypatch.setattr(windows, "WINDOW", window)
    monkeypatch.setattr(positions, "_SIZE", window)
    document = {"annotations": records, "images": records}
    text = json.dumps(document, ensure_ascii=False, indent=indent).encode()
    locator = Locator(read_bytes(text, "a"))
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
    assert Locator(read_bytes(text, "a")).span(pointer) is None


def test_records_before_a_break_have_places():
    text = b'{"annotations": [{"id": 1}, {"id": 2}, {"i'
    assert Locator(read_bytes(text, "a")).value("annotations", 1) == {"id": 2}


def test_lines_and_columns_count_signs_not_bytes():
    text = "ä\nöü x\r\ny".encode()
    places = [text.index(b"x"), text.index(b"y")]
    assert list(spots(text, places)) == [Spot(2, 4, places[0]), Spot(3, 1, places[1])]


def test_what_does_not_exist_is_the_place_of_its_holder():
    text = b'[{"a": 1}, 2]'
    assert JsonPlaces(text).span("/0/b/c") == (1, 9)
    assert JsonPlaces(text).span("/7") == (0, len(text))
    assert JsonPlaces(b"[1, 2").span("/0") == (0, 5)


def test_values_beside_odd_ones_have_places():
    text = b'{"annotations": [{"id": NaN, "id": 2, "bbox": [1, NaN], "\xff\t": {"a": 1e999}}]}'
    locator = Locator(read_bytes(text, "a"))
    found = locator.span("/annotations/0/bbox/1")
    assert text[found.start : found.stop] == b"NaN"
    found = locator.span("/annotations/0/bbox")
    assert (text[found.key : found.key + 6], text[found.start : found.stop]) == (
        b'"bbox"',
        b"[1, NaN]",
    )
