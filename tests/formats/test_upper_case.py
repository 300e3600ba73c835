"""Files whose suffix is in upper case, as some systems write it, are read like others."""

import shutil
from pathlib import Path

import pytest
from support.converted import document, written
from support.tool_files import asked, drawn, write

import bboxqa
from bboxqa.formats.unreadable import is_result
from bboxqa.formats.writers import names

BOX = {"x": 10, "y": 20, "w": 30, "h": 40}
PEOPLE = ["ada", "bob"]
CONTENT = document(
    [("a.jpg", 200, 100, PEOPLE), ("b.jpg", 200, 100, PEOPLE)],
    [
        (image, who, 0, [10, 20, 30 + PEOPLE.index(who), 40 + image])
        for image in (0, 1)
        for who in PEOPLE
    ],
)


def darwin(name):
    slot = {"type": "image", "slot_name": "0", "width": 200, "height": 100}
    box = {"id": "1", "name": "cat", "slot_names": ["0"], "bounding_box": BOX}
    item = {"name": name, "path": "/", "slots": [slot]}
    return {"version": "2.0", "item": item, "annotations": [box]}


def supervisely():
    corners = {"exterior": [[10, 20], [40, 60]], "interior": []}
    box = {"geometryType": "rectangle", "classTitle": "cat", "points": corners}
    return {"tags": [], "size": {"height": 100, "width": 200}, "objects": [box]}


def datumaro():
    labels = {"labels": [{"name": "cat", "parent": "", "attributes": []}], "attributes": []}
    box = {"id": 0, "type": "bbox", "attributes": {}, "label_id": 0, "bbox": [10, 20, 30, 40]}
    items = [
        {"id": name, "annotations": [box], "image": {"path": f"{name}.jpg", "size": [100, 200]}}
        for name in "ab"
    ]
    return {"info": {}, "categories": {"label": labels}, "items": items}


def via():
    shape = {"name": "rect", "x": 10, "y": 20, "width": 30, "height": 40}
    region = {"shape_attributes": shape, "region_attributes": {"label": "cat"}}
    return {
        f"{name}.jpg9": {"filename": f"{name}.jpg", "size": 9, "regions": [region]}
        | {"file_attributes": {}}
        for name in "ab"
    }


def voc_file(name):
    box = "<xmin>11</xmin><ymin>21</ymin><xmax>40</xmax><ymax>60</ymax>"
    size = "<size><width>200</width><height>100</height></size>"
    shape = f"<object><name>cat</name><bndbox>{box}</bndbox></object>"
    return f"<annotation><filename>{name}.jpg</filename>{size}{shape}</annotation>"


OF_ONE_PERSON = {
    "darwin": {f"{each}.json": darwin(f"{each}.jpg") for each in "ab"},
    "supervisely": {
        "meta.json": {"classes": [{"title": "cat", "shape": "rectangle"}]},
        **{f"ds/ann/{each}.jpg.json": supervisely() for each in "ab"},
    },
    "supervisely files": {f"{each}.jpg.json": supervisely() for each in "ab"},
    "datumaro": {"annotations/default.json": datumaro()},
    "datumaro subset": {"train.json": datumaro()},
    "via": {"via.json": via()},
    "voc": {f"{each}.xml": voc_file(each) for each in "ab"},
}


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


@pytest.mark.parametrize("name", OF_ONE_PERSON)
@pytest.mark.parametrize("packed", [False, True])
def test_sources_of_one_person_are_read_from_files_in_upper_case(tmp_path, name, packed):
    for who in PEOPLE[:1]:
        write(tmp_path / "lower" / who, **OF_ONE_PERSON[name])
    upper = in_upper_case(tmp_path / "lower", tmp_path / "upper")
    sources = [tmp_path / "lower", upper]
    if packed:
        for folder in sources:
            for who in PEOPLE[:1]:
                shutil.make_archive(folder / who, "zip", folder / who)
                shutil.rmtree(folder / who)
    expected = contents(sources[0])
    assert len(expected[0]) == 2
    assert contents(upper) == expected


def test_one_file_in_upper_case_is_read_beside_others(tmp_path):
    for name, files in OF_ONE_PERSON.items():
        folder = write(tmp_path / name, **files)
        last = max(each for each in folder.rglob("*.*") if each.name != "meta.json")
        last.rename(last.with_suffix(last.suffix.upper()))
        data = bboxqa.read_coco(folder, min_annotators=1)
        assert sorted(data.image_names) == ["a.jpg", "b.jpg"], name


def test_a_fixed_copy_in_upper_case_is_known_as_such(tmp_path):
    for name in ("a.JSON", "a.fixed.JSON", "b.fixed.JSON"):
        (tmp_path / name).touch()
    assert [is_result(tmp_path / each) for each in ("a.fixed.JSON", "b.fixed.JSON")] == [
        True,
        False,
    ]
