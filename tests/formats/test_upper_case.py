"""Files whose suffix is in upper case, as some systems write it, are read like others."""

import shutil
from pathlib import Path

import pytest
from support.converted import document, written
from support.tool_files import asked, drawn

import bboxqa
from bboxqa.formats.writers import names

PEOPLE = ["ada", "bob"]
CONTENT = document(
    [("a.jpg", 200, 100, PEOPLE), ("b.jpg", 200, 100, PEOPLE)],
    [
        (image, who, 0, [10, 20, 30 + PEOPLE.index(who), 40 + image])
        for image in (0, 1)
        for who in PEOPLE
    ],
)


def in_upper_case(source, target):
    """Copy a file or folder, with the suffixes of all files in upper case; return the copy."""
    if source.is_file():
        target = target.with_suffix(source.suffix.upper())
        return Path(shutil.copy(source, target))
    shutil.copytree(source, target)
    for path in [each for each in target.rglob("*.*") if each.is_file()]:
        path.rename(path.with_suffix(path.suffix.upper()))
    return target


def contents(path):
    with bboxqa.reading(image_size=(200, 100)):
        data = bboxqa.read_coco(path, min_annotators=1)
    return drawn(data), asked(data)


def contents_of_any_case(source, target):
    """Return the data of a source, after comparing it with that of a copy in upper case."""
    expected = contents(source)
    assert contents(in_upper_case(source, target)) == expected
    return expected


@pytest.mark.parametrize("to", [each for each in names() if each != "yolo-pose"])
def test_written_formats_are_read_from_files_in_upper_case(tmp_path, to):
    source = written(tmp_path / "source.json", CONTENT)
    ending = {"csv": ".csv", "parquet": ".parquet", "cvat": ".xml"}.get(to, ".json")
    is_file = to in {"csv", "parquet", "coco", "label-studio"}
    out = tmp_path / "out" / ("all" + ending if is_file else "")
    out.parent.mkdir(exist_ok=True)
    bboxqa.convert(source, out, to=to, lossy=True)
    boxes, _ = contents_of_any_case(out, tmp_path / "upper")
    assert len(boxes) == 4
    if is_file:
        # Files in folders are listed by their suffix.
        contents_of_any_case(out.parent, tmp_path / "folder")
