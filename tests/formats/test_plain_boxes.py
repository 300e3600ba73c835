"""Plain boxes are read as columns, which have the order and the values of records."""

from pathlib import Path
from time import process_time

import numpy as np
import pytest
from support import cvat_xml, studio
from support.tool_files import translation_of

from bboxqa.formats.column_builder import WHOLE
from bboxqa.formats.registry import format_of
from bboxqa.formats.translation import collector
from bboxqa.formats.translation.reading import ToolOrigin


def of_cvat(path, kinds):
    """Write an image for each 20 shapes: plain boxes, marked boxes, polygons and lines."""
    made = {
        "plain": lambda x: cvat_xml.box(x, 10, x + 20, 40),
        "marked": lambda x: cvat_xml.box(x, 10, x + 20, 40).replace('occluded="0"', 'occluded="1"'),
        "outline": lambda x: cvat_xml.shape("polygon", points=f"{x},1;{x + 9},1;{x + 9},8"),
        "apart": lambda x: cvat_xml.shape("polyline", points=f"{x},1;9,9"),
    }
    parts = [made[kind](n % 50) for n, kind in enumerate(kinds)]
    images = [
        cvat_xml.image(f"{n}.jpg", *parts[n : n + 20], number=n) for n in range(0, len(parts), 20)
    ]
    return cvat_xml.written(path / "a.xml", cvat_xml.head("ann"), *images)


def of_studio(path, kinds):
    """Write a task for each kind, with two boxes."""
    made = {
        "plain": lambda x: studio.box(x, 10, 20, 30, id=f"r{x}"),
        "marked": lambda x: studio.box(x, 10, 20, 30, id=f"r{x}", score=0.5),
        "outline": lambda x: studio.box(x, 10, 20, 30, id=f"r{x}", value={"rotation": 30}),
        "apart": lambda x: studio.result("choices", {"choices": ["old"]}, id=f"r{x}"),
    }
    tasks = [
        studio.task(n, studio.work(1, made[kind](n % 50), made["plain"](60)))
        for n, kind in enumerate(kinds, start=1)
    ]
    return studio.written(path / "a.json", *tasks)


@pytest.mark.parametrize("written", [of_cvat, of_studio])
@pytest.mark.parametrize("seed", range(3))
def test_columns_have_the_values_and_the_order_of_records(tmp_path, monkeypatch, written, seed):
    monkeypatch.setattr(collector, "_WINDOW", 16)
    random = np.random.default_rng(seed)
    kinds = random.choice(["plain", "marked", "outline", "apart"], 90, p=[0.7, 0.1, 0.1, 0.1])
    path = written(tmp_path, kinds.tolist())
    format_read = format_of(path)
    _, records = translation_of(format_read.translate, path)
    boxed = [each for each in records if "bbox" in each]
    document = format_read.document(path, WHOLE)
    columns = document.annotations
    assert len(columns) == len(boxed)
    assert columns.bbox.tolist() == [each["bbox"] for each in boxed]
    assert columns.image_id.tolist() == [each["image_id"] for each in boxed]
    assert columns.category_id.tolist() == [each["category_id"] for each in boxed]
    names = np.array(columns.annotator_names, object)
    assert names[columns.annotator["annotator"]].tolist() == [each["annotator"] for each in boxed]


def test_records_of_alternating_parts_are_read_in_little_time():
    into, n = ToolOrigin(Path("a.csv"), WHOLE), 2 * collector._WINDOW
    for row in range(n):
        into.annotation({"image_id": 1, "category_id": 1, "bbox": [row, 0, 1, 1]}, ("", row + 1))
    into.flush()
    rows, before = [each for row in range(2000) for each in (row, n - 1 - row)], process_time()
    assert [into.record(row)["bbox"][0] for row in rows] == rows
    assert process_time() - before < 2
