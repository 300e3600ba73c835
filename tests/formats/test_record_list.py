"""Records that are decoded again where they are looked at, against a list of them."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import bboxqa
from bboxqa.core.errors import DatasetError
from bboxqa.formats import windows
from bboxqa.formats.document import record_list
from bboxqa.formats.document.record_list import RecordList
from bboxqa.formats.document.tolerant import read_bytes

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


def test_each_window_is_decoded_once_on_the_way(monkeypatch):
    images = [{"id": place, "file_name": f"{place}.jpg"} for place in range(150_000)]
    text = json.dumps({"images": images, "annotations": [], "categories": []}).encode()
    reading = read_bytes(text, "export.json", memory=1 << 20)
    assert isinstance(reading.images, RecordList)
    times = []
    plain = record_list.decoded
    monkeypatch.setattr(record_list, "decoded", lambda part: times.append(part) or plain(part))
    assert [*reading.images] == images
    n_windows = len(times)
    assert n_windows > 1
    assert reading.images[0] == images[0]
    assert reading.images[1] == images[1]
    # The first window once more, for both.
    assert len(times) == n_windows + 1
    assert isinstance(read_bytes(text, "export.json").images, list)


def test_a_file_that_changes_meanwhile_is_told():
    records = RecordList(b'{"id": 1}, {"id": 2}', "export.json")
    records.add_text(0, 20, 3)
    with pytest.raises(DatasetError, match=r"export\.json: the file was changed while it was read"):
        records[0]
    broken = RecordList(b'{"id": 1}, {"id"', "export.json")
    broken.add_text(0, 16, 2)
    with pytest.raises(DatasetError, match="was changed"):
        list(broken)


def test_file_names_that_are_there_again_need_few_looks(tmp_path, monkeypatch):
    """One image record for each annotator: equal names are far apart."""
    images = [
        {"id": 1 + number, "file_name": f"{number % 300}.jpg", "width": 9, "height": 9}
        for number in range(900)
    ]
    file = tmp_path / "export.json"
    file.write_text(json.dumps({"images": images, "annotations": [], "categories": []}))
    monkeypatch.setattr(windows, "WINDOW", 2000)
    times = []
    plain = record_list.decoded
    monkeypatch.setattr(record_list, "decoded", lambda part: times.append(part) or plain(part))
    found = bboxqa.validate(file, memory=1 << 20, select=["I"], max_findings=5)
    n_windows = len(set(times))
    assert n_windows > 20
    assert len(times) < 20 * n_windows
    assert found == bboxqa.validate(file, select=["I"], max_findings=5)
