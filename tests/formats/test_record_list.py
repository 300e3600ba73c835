"""Records that are decoded again where they are looked at, against a list of them."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bboxqa.core.errors import DatasetError
from bboxqa.formats.document.record_list import RecordList

records_of = st.lists(
    st.one_of(st.integers(), st.text(max_size=3), st.dictionaries(st.text(max_size=2), st.none())),
    max_size=12,
)


@given(records_of, st.lists(st.tuples(st.integers(0, 3), st.booleans()), max_size=20), st.data())
def test_like_a_list(records, cuts, data):
    text, parts = b"[", []
    rest = [*records]
    for size, held in [*cuts, (len(records), False)]:
        some, rest = rest[:size], rest[size:]
        start = len(text)
        text += json.dumps(some).encode()[1:-1]
        parts.append((start, len(text), some, held))
        text += b","
    found = RecordList(text)
    for start, stop, some, held in parts:
        if held:
            found.add(some)
        else:
            found.add_text(start, stop, len(some))
    assert len(found) == len(records)
    assert [*found] == records
    assert found[1:-1] == records[1:-1]
    for place in data.draw(st.lists(st.integers(-12, 11))):
        if -len(records) <= place < len(records):
            assert found[place] == records[place]
        else:
            with pytest.raises(IndexError):
                found[place]


def test_a_file_that_changes_meanwhile_is_told():
    records = RecordList(b'{"id": 1}, {"id": 2}', "export.json")
    records.add_text(0, 20, 3)
    with pytest.raises(DatasetError, match=r"export\.json: the file was changed while it was read"):
        records[0]
    broken = RecordList(b'{"id": 1}, {"id"', "export.json")
    broken.add_text(0, 16, 2)
    with pytest.raises(DatasetError, match="was changed"):
        list(broken)
