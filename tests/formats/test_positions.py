"""Where values stand: every pointer of a document leads to its own text."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bboxqa.core.json_values import pointer_to
from bboxqa.formats import positions
from bboxqa.formats import scanner as chunk
from bboxqa.formats import scanner as windows
from bboxqa.formats.positions import Locator, spots
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
    monkeypatch.setattr(chunk, "_FIRST_CHUNK", window)
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


def test_the_last_of_equal_keys_is_meant():
    text = b'{"annotations": [{"id": 1, "id": 22}]}'
    span = Locator(read_bytes(text, "a")).span("/annotations/0/id")
    assert text[span.start : span.stop] == b"22"


def test_records_before_a_break_have_places():
    text = b'{"annotations": [{"id": 1}, {"id": 2}, {"i'
    assert Locator(read_bytes(text, "a")).value("annotations", 1) == {"id": 2}


def test_lines_and_columns_count_signs_not_bytes():
    text = "ä\nöü x\r\ny".encode()
    places = [text.index(b"x"), text.index(b"y")]
    assert list(spots(text, places)) == [Spot(2, 4, places[0]), Spot(3, 1, places[1])]


SIZE = 1 << 20
HALF = b"\xe2\x82"


@pytest.mark.parametrize("before", range(4))
def test_columns_go_on_from_one_part_of_a_long_line_to_the_next(before):
    # "€" has three bytes: the end of a part is before, inside of, and after one.
    text = b"x" * before + "€".encode() * 700_000 + "\n€y".encode()
    last = text.index(b"y")
    found = list(spots(text, [text.index(b"\n"), last, last + 1]))
    assert found == [
        Spot(1, 700_001 + before, last - 4), Spot(2, 2, last), Spot(2, 3, last + 1),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "spot"),
    [
        # Half a sign counts as one, before a finding and between two others.
        (b"x" * 5 + HALF, Spot(1, 7, 7)),
        (b"x" * (SIZE - 2) + HALF, Spot(1, SIZE, SIZE)),
        (b"x" * (SIZE - 2) + HALF + b"y", Spot(1, SIZE + 1, SIZE + 1)),
        # What was left of it does not go over to the next line.
        (b"x" * (SIZE - 2) + HALF + b"\n\xac", Spot(2, 2, SIZE + 2)),
        (b"x" * (SIZE - 2) + HALF + b"\n", Spot(2, 1, SIZE + 1)),
    ],
)
def test_half_a_sign_at_the_end_of_a_part(text, spot):
    assert list(spots(text, [len(text)])) == [spot]


def test_what_lies_between_two_places_is_not_held_at_once():
    class Large(bytes):
        most = 0

        def __getitem__(self, place):
            part = super().__getitem__(place)
            Large.most = max(Large.most, len(part))
            return part

    assert len(list(spots(Large(b" " * 5_000_000), [0, 4_999_999]))) == 2
    assert 0 < Large.most <= 1 << 20
