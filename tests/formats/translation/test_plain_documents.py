"""Documents of plain boxes, which are made of columns: the same as of records."""

import os
from dataclasses import fields, replace
from itertools import product

import numpy as np
import pytest
from support.both_ways import read_both_ways
from support.tool_files import write

import bboxqa
from bboxqa.formats.box_tables.box_table import translate as of_table
from bboxqa.formats.dota.reader import translate_dota as of_dota
from bboxqa.formats.records import ReadSettings
from bboxqa.formats.tables import rows as table_rows
from bboxqa.formats.translation.reading import read_file
from bboxqa.formats.yolo.reader import translate_labels as of_yolo


def yolo_line(rng):
    shares = rng.uniform(0.1, 0.4, 4)
    return f"{rng.integers(3)} " + " ".join(f"{each:.{rng.integers(1, 18)}f}" for each in shares)


ODD = {
    "class without a name": "7 .5 .5 .1 .1",
    "polygon": "0 .1 .1 .2 .1 .2 .2",
    "beyond the image": "0 .5 .5 1.4 .1",
    "score": "0 .5 .5 .1 .1 .9",
    "no label": "cat",
    "no UTF-8": "\udcff",
    "negative": "0 .5 -.001 .1 1e-1",
}


@pytest.mark.parametrize("names", ["names: [cat, dog, bird]\n", None])
def test_labels_of_yolo(tmp_path, names):
    rng = np.random.default_rng(5)
    files = {
        f"labels/{n}.txt": "\n".join(yolo_line(rng) for _ in range(rng.integers(6)))
        for n in range(120)
    }
    for place, line in enumerate(ODD.values()):
        files[f"labels/{15 * place}.txt"] += f"\n{line}"
    write(tmp_path, **({"data.yaml": names} if names else {}))
    for name, text in files.items():
        write(tmp_path, **{name: text.encode("utf-8", "surrogateescape")})
    with bboxqa.reading(image_size=(640, 480)):
        n_plain, n_all = read_both_ways(of_yolo, tmp_path)
    assert n_all / 2 < n_plain < n_all


def dota_line(rng):
    points = rng.uniform(-10, 300, (4, 2))
    if rng.integers(4):
        turn = np.deg2rad(rng.choice([0, 30, 45, rng.uniform(0, 360)]))
        side = rng.uniform(20, 90, 2)
        right = np.array([np.cos(turn), np.sin(turn)])
        down = np.array([-right[1], right[0]])
        start = points[0]
        points = np.array([start, start + side[0] * right, start + side @ [right, down]])
        points = np.vstack([points, start + side[1] * down])
    digits = rng.integers(0, 17)
    numbers = " ".join(f"{each:.{digits}f}" for each in points.ravel())
    return f"{numbers} {rng.choice(['plane', 'ship'])} {rng.integers(3)}"


ODD_OF_DOTA = {
    "no mark": "1 1 5 1 5 3 1 3 plane",
    "two words": "1 1 5 1 5 3 1 3 small vehicle 1",
    "not ASCII": "1 1 5 1 5 3 1 3 avión 0",
    "two blanks": "1 1 5 1 5 3 1 3  plane 0",
    "far away": "1e10 1 5 1 5 3 1 3 plane 0",
    "no label": "plane",
    "header below": "gsd:0.1",
    "separator": "1 1 5 1 5 3 1 3 a\x1cb 0",
}


def dota_folder(folder, odd):
    rng = np.random.default_rng(6)
    files = {}
    for number in range(200):
        lines = [dota_line(rng) for _ in range(rng.integers(6))]
        end = str(rng.choice(["\n", "\r\n"]))
        head = str(rng.choice(["", f"imagesource:GoogleEarth{end}gsd:0.1{end}"]))
        files[f"labelTxt/{number}.txt"] = head + end.join(lines)
    for place, line in enumerate(odd):
        files[f"labelTxt/{13 * place}.txt"] += f"\n{line}"
    return write(folder, **files)


def test_labels_of_dota(tmp_path):
    n_plain, n_all = read_both_ways(of_dota, dota_folder(tmp_path, ODD_OF_DOTA.values()))
    assert n_plain == n_all


@pytest.mark.parametrize("outlines", [{"outlines": True}, {"rotated": True}])
def test_labels_of_dota_as_columns(tmp_path, outlines):
    folder = dota_folder(tmp_path, [ODD_OF_DOTA["no mark"], ODD_OF_DOTA["two words"]])

    def of_records(path, add, wanted):
        return of_dota(path, add, replace(wanted, add_boxes=None))

    options = ReadSettings(keys=("annotator",), digest=False, **outlines)
    found, wanted = (read_file(each, folder, options) for each in (of_dota, of_records))
    assert found.notes == wanted.notes
    for name in ("id", "image_id", "category_id", "bbox"):
        np.testing.assert_array_equal(getattr(found.columns, name), getattr(wanted.columns, name))
    for name in ("segmentation", "rotated"):
        columns, expected = getattr(found.columns, name), getattr(wanted.columns, name)
        for each in fields(expected) if expected is not None else ():
            values = getattr(columns, each.name), getattr(expected, each.name)
            np.testing.assert_array_equal(*values)


ODD_ROWS = {
    "no image": ",ann,cat,7,640,480,1,2,3,4",
    "no annotator": "a.jpg,,cat,8,640,480,1,2,3,4",
    "no category": "a.jpg,ann,,9,640,480,1,2,3,4",
    "no id": "a.jpg,ann,cat,,640,480,1,2,3,4",
    "another size": "a.jpg,ann,cat,11,650,480,1,2,3,4",
    "no box": "b.jpg,bob,,,640,480,,,,",
    "no number": "a.jpg,ann,cat,12,640,480,1,x,3,4",
    "a cell less": "a.jpg,ann,cat,13,640,480,1,2,3",
    "blanks": " a.jpg , ann , cat , 14 , 640,480, 1,2,3 ,4",
    "not ASCII": "ä.jpg,zoë,été,15,640,480,1,2,3,4",
    "empty": "",
}
BOXES = {"xywh": "x,y,width,height", "xyxy": "x1,y1,x2,y2", "cxcywh": "cx,cy,width,height"}


# Each two of these together; `make fuzz` has all three.
TABLES = [
    (form, ("\n", "\r\n")[windows], bool(share))
    for (place, form), windows, share in product(enumerate(BOXES), range(2), range(2))
    if "BBOXQA_FUZZ" in os.environ or (place + windows + share) % 2 == 0
]


@pytest.mark.parametrize(("form", "line_end", "is_share"), TABLES)
def test_tables_of_cells(tmp_path, monkeypatch, form, line_end, is_share):
    monkeypatch.setattr(table_rows, "_CHUNK", 20)
    rng = np.random.default_rng(7)
    rows = [f"image,annotator,category,id,image_width,image_height,{BOXES[form]}"]
    for number in range(300):
        box = rng.uniform(0.1, 0.3, 4) * (1 if is_share else 400)
        box[2:] += box[:2]
        numbers = ",".join(f"{each:.{rng.integers(1, 17)}f}" for each in box)
        names = f"{number // 9}.jpg,{rng.choice(['ann', 'bob'])},{rng.choice(['cat', 'dog'])}"
        rows.append(f"{names},{100 + number},640,480,{numbers}")
    for place, row in enumerate(() if is_share else ODD_ROWS.values()):
        rows.insert(20 * place + 30, row)
    path = tmp_path / "a.csv"
    path.write_text(line_end.join(rows), "utf-8", newline="")
    n_plain, n_all = read_both_ways(of_table, path)
    assert n_all / 3 < n_plain <= n_all
    assert is_share == (n_plain == n_all)
