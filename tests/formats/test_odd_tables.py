"""Tables that nobody should write, refused with what is wrong."""

import pytest

from bboxqa.core.errors import DatasetError
from bboxqa.formats.ratings.reader import read_ratings
from bboxqa.formats.recordings.tables import elan_layout
from bboxqa.formats.table_files import open_table


def test_a_time_out_of_range_is_no_time():
    assert elan_layout([["NaN", "part", "-1", "99999999999999", "2.152", "-"]]) is None


def test_objects_without_keys_are_refused(tmp_path):
    (tmp_path / "a.jsonl").write_text("{}\n{}\n")
    with pytest.raises(DatasetError, match="line 1: is an object without keys; expected the names"):
        open_table(tmp_path / "a.jsonl")


def test_a_nameless_column_of_counts_is_refused(tmp_path):
    (tmp_path / "a.csv").write_text("unit,cat,,dog\nu1,1,0,2\nu2,2,1,0\n")
    with pytest.raises(DatasetError, match="line 1: column 2 of the counts has no name"):
        read_ratings(tmp_path / "a.csv", layout="counts")


def test_damaged_parquet_is_refused(tmp_path):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    path = tmp_path / "a.parquet"
    parquet.write_table(pa.table({"unit": [f"u{i}" for i in range(2000)]}), path)
    data = bytearray(path.read_bytes())
    for place in range(4, len(data) // 3):
        data[place] ^= 0x5A
    path.write_bytes(data)
    with pytest.raises(DatasetError, match=r"a\.parquet: is not Parquet that can be read: \w"):
        open_table(path).columns(["unit"])
