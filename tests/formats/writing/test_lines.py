"""Polylines and cuboids are written where a format holds them, and counted as lost elsewhere."""

import json
from xml.etree import ElementTree as ET

import pytest

import bboxqa
from bboxqa import DatasetError

CVAT = """\
<annotations><version>1.1</version><meta><task><assignee><username>{who}</username></assignee>
</task></meta><image id="0" name="a.jpg" width="200" height="100">
<box label="car" xtl="1" ytl="2" xbr="11" ybr="12"></box>
{shapes}</image></annotations>
"""
LANE = """\
<polyline label="lane" occluded="0" points="1.5,2;30,4.25;50,60" z_order="0">
<attribute name="side">left</attribute></polyline>
"""
EDGES = ("xtl1", "ytl1", "xbl1", "ybl1", "xtr1", "ytr1", "xbr1", "ybr1")
CUBOID = "<cuboid label='car' {}></cuboid>".format(
    " ".join(
        f'{edge[:-1]}{side}="{number + side}"'
        for side in (1, 2)
        for number, edge in enumerate(EDGES)
    )
)


def _project(folder, *people, shapes=LANE):
    folder.mkdir()
    for who in people:
        (folder / f"{who}.xml").write_text(CVAT.format(who=who, shapes=shapes))
    return folder


def _elements(path, name):
    files = {each.stem: ET.fromstring(each.read_bytes()) for each in path.iterdir()}  # noqa: S314
    return {who: [*root.iter(name)] for who, root in files.items()}


def test_polylines_and_cuboids_stay_in_cvat(tmp_path):
    source = _project(tmp_path / "in", "ann", "bob", shapes=LANE + CUBOID)
    found = bboxqa.convert(source, tmp_path / "out", to="cvat")
    assert found.losses == ()
    for name in ("polyline", "cuboid"):
        before, after = (_elements(each, name) for each in (source, tmp_path / "out"))
        assert after.keys() == before.keys() == {"ann", "bob"}
        for who, (line,) in after.items():
            (own,) = before[who]
            assert dict(line.items()).items() >= dict(own.items()).items()
    (line,) = _elements(tmp_path / "out", "polyline")["ann"]
    assert [each.text for each in line.iter("attribute")] == ["left"]
    # CVAT reads shapes only if their labels and attributes are declared.
    labels = ET.fromstring((tmp_path / "out/ann.xml").read_bytes()).iter("label")  # noqa: S314
    declared = {each.findtext("name"): each.findtext(".//attribute/name") for each in labels}
    assert declared == {"car": None, "lane": "side"}


def test_polylines_are_vectors_of_label_studio(tmp_path):
    source = _project(tmp_path / "in", "ann", "bob", shapes=LANE.replace("side", "occluded"))
    studio, back = tmp_path / "out.json", tmp_path / "back"
    with pytest.raises(DatasetError, match=r"line with 'attributes\.side'"):
        bboxqa.convert(_project(tmp_path / "said", "ann"), studio, to="label-studio")
    bboxqa.convert(source, studio, to="label-studio", lossy=True)
    (task,) = json.loads(studio.read_bytes())
    for work in task["annotations"]:
        (line,) = (each for each in work["result"] if each["type"] == "vectorlabels")
        assert line["value"]["vectorlabels"] == ["lane"]
        assert line["value"]["closed"] is False
        first, second, third = line["value"]["vertices"]
        assert (first["x"], first["y"], first["prevPointId"]) == (0.75, 2, None)
        assert (second["x"], second["y"], second["prevPointId"]) == (15, 4.25, first["id"])
        assert third["prevPointId"] == second["id"]
        assert len({each["id"] for each in work["result"]}) == 2
    bboxqa.convert(studio, back, to="cvat")
    for (line,) in _elements(back, "polyline").values():
        assert (line.get("label"), line.get("points")) == ("lane", "1.5,2;30,4.25;50,60")


def test_images_of_lines_alone_need_a_size_as_well(tmp_path):
    lane = {
        "shape_attributes": {"name": "polyline", "all_points_x": [1, 5], "all_points_y": [2, 9]}
    }
    image = {"filename": "a.jpg", "size": 1, "regions": [lane | {"region_attributes": {}}]}
    via, out = tmp_path / "via.json", tmp_path / "out.json"
    via.write_text(json.dumps({"a.jpg1": image}))
    with pytest.raises(DatasetError, match="1 image without width and height"):
        bboxqa.convert(via, out, to="label-studio", lossy=True)
