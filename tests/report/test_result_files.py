"""Tables as files: what is written is what a reader of csv finds."""

import csv
import json
import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from bboxqa.model.settings import AgreeSettings
from bboxqa.pipelines.agree import agree_with
from bboxqa.pipelines.read import read_coco
from bboxqa.report.agreement_summary import summary
from bboxqa.report.result_files import write_folder

# The reader writes signs that steer, but for ends of lines, as their escapes.
NAMES = st.text(st.sampled_from(",\"\n;' aé"), min_size=1, max_size=6)


def document(names, category):
    return {
        "images": [
            {"id": number, "file_name": name, "width": 99, "height": 99, "annotators": ["a,b", "c"]}
            for number, name in enumerate(names)
        ],
        "annotations": [
            {"id": 2 * number, "image_id": number, "category_id": 0, "annotator": "a,b",
             "bbox": [1, 2, 30, 40]}
            for number in range(len(names))
        ],
        "categories": [{"id": 0, "name": category}],
    }  # fmt: skip


@given(st.lists(NAMES, min_size=1, max_size=4, unique=True), NAMES)
def test_every_cell_is_read_as_it_is_in_the_table(names, category):
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "a.json"
        source.write_text(json.dumps(document(names, category)))
        settings = AgreeSettings(iou_threshold=(0.5, 0.75), bootstrap=0)
        result = agree_with(read_coco(source), settings)
        write_folder(result, summary(result), Path(folder) / "out")
        for name in ("images", "units", "pairs", "categories"):
            with (Path(folder) / "out" / f"{name}.csv").open(newline="", encoding="utf-8") as file:
                header, *rows = csv.reader(file)
            tables = [(part.iou_threshold, getattr(part, name)) for part in result.thresholds]
            assert header == ["iou_threshold", *tables[0][1].columns]
            assert rows == [
                # The end of a line is written as its escape, as the others are.
                ["" if value is None else str(value).replace("\n", "\\n") for value in values]
                for threshold, table in tables
                for values in ((threshold, *row) for row in table.rows())
            ]


def test_undefined_and_missing_are_empty_cells(tmp_path):
    source = tmp_path / "a.json"
    source.write_text(json.dumps(document(["x"], "k")))
    result = agree_with(read_coco(source), AgreeSettings(bootstrap=0))
    write_folder(result, summary(result), tmp_path / "out")
    units = (tmp_path / "out" / "units.csv").read_text().splitlines()
    assert units == [
        "iou_threshold,image,unit,annotator,annotation,category,state",
        '0.5,x,0,"a,b",0,k,drawn',
        "0.5,x,0,c,,,missing",
    ]
    pairs = (tmp_path / "out" / "pairs.csv").read_text().splitlines()
    reason = "no meaning: all annotations are of one category"
    assert pairs[1] == f'0.5,"a,b",c,,{reason},1,0.0,,,,'
    both = document(["x"], "k")
    both["annotations"].append({**both["annotations"][0], "id": 1, "annotator": "c"})
    source.write_text(json.dumps(both))
    result = agree_with(read_coco(source), AgreeSettings(bootstrap=0))
    write_folder(result, summary(result), tmp_path / "same")
    pairs = (tmp_path / "same" / "pairs.csv").read_text().splitlines()
    assert pairs[1] == '0.5,"a,b",c,,undefined: no two values that could differ,1,1.0,,,1.0,1.0'


def test_categories_are_no_formulas_of_a_spreadsheet(tmp_path):
    source = tmp_path / "a.json"
    source.write_text(json.dumps(document(["x"], "=1+1")))
    result = agree_with(read_coco(source), AgreeSettings(bootstrap=0))
    for raw, cell in ((False, "'=1+1"), (True, "=1+1")):
        write_folder(result, summary(result), tmp_path / cell, raw_csv=raw)
        lines = (tmp_path / cell / "units.csv").read_text().splitlines()
        assert lines[1] == f'0.5,x,0,"a,b",0,{cell},drawn'
