"""Records of a source, which are kept in parts of a few thousand."""

from pathlib import Path
from time import process_time

from bboxqa.formats.column_builder import WHOLE
from bboxqa.formats.translation import collector
from bboxqa.formats.translation.reading import ToolOrigin


def test_records_of_alternating_parts_are_read_in_little_time():
    into, n = ToolOrigin(Path("a.csv"), WHOLE), 2 * collector._WINDOW
    for row in range(n):
        into.annotation({"image_id": 1, "category_id": 1, "bbox": [row, 0, 1, 1]}, ("", row + 1))
    into.flush()
    rows, before = [each for row in range(2000) for each in (row, n - 1 - row)], process_time()
    assert [into.record(row)["bbox"][0] for row in rows] == rows
    assert process_time() - before < 2
