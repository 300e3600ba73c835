"""Labels that are skeletons say which joints they have, in which order, and which are connected."""

import json
from html import escape
from xml.sax.saxutils import quoteattr

import pytest
from support.converted import document, there_and_back, written

import bboxqa
from bboxqa import DatasetError
from bboxqa.formats.document import Where
from bboxqa.formats.translation.collector import Collector

NAMES = ("head", "neck", "tail")
PLACES = {"tail": (40, 60), "head": (10, 20), "neck": (20, 30)}


def _circle(number, name):
    return f'<circle r="1" data-node-id="{number}" data-label-name={quoteattr(name)}></circle>'


def _line(first, second):
    return f'<line data-type="edge" data-node-from="{first}" data-node-to="{second}"></line>'


def _cvat(path, drawing):
    joints = "".join(
        f"<label><name>{name}</name><type>points</type><parent>dog</parent></label>"
        for name in NAMES
    )
    points = "".join(
        f'<points label="{name}" outside="0" occluded="0" points="{x},{y}"></points>'
        for name, (x, y) in PLACES.items()
    )
    path.write_text(
        "<annotations><version>1.1</version><meta><task><labels><label><name>dog</name>"
        f"<type>skeleton</type><svg>{escape(drawing)}</svg></label>{joints}</labels></task></meta>"
        f'<image id="0" name="a.jpg" width="90" height="90"><skeleton label="dog">{points}'
        "</skeleton></image></annotations>"
    )
    return path


def _datumaro(path, joints):
    labels = [{"name": name} for name in ("dog", *NAMES)]
    elements = [
        {"type": "points", "label_id": 1 + NAMES.index(name), "points": [*place]}
        for name, place in PLACES.items()
    ]
    given = {"id": 1, "type": "skeleton", "label_id": 0, "elements": elements}
    points = {"items": [{"label_id": 0, "labels": [*NAMES], "joints": joints}]}
    return written(
        path,
        {
            "categories": {"label": {"labels": labels}, "points": points},
            "items": [
                {"id": "a", "annotations": [given], "image": {"path": "a.jpg", "size": [90, 90]}}
            ],
        },
    )


def _supervisely(path):
    nodes = {f"k{number}": {"label": name} for number, name in enumerate(NAMES)}
    edges = [{"src": "k0", "dst": "k1"}, {"src": "k1", "dst": "k2"}, {"src": "k2", "dst": "gone"}]
    shape = {"title": "dog", "shape": "graph", "geometry_config": {"nodes": nodes, "edges": edges}}
    drawn = {f"k{NAMES.index(name)}": {"loc": [*place]} for name, place in PLACES.items()}
    figure = {"classTitle": "dog", "geometryType": "graph", "nodes": drawn}
    (path / "ds/ann").mkdir(parents=True)
    written(path / "meta.json", {"classes": [shape], "tags": []})
    content = {"size": {"height": 90, "width": 90}, "tags": [], "objects": [figure]}
    written(path / "ds/ann/a.jpg.json", content)
    return path


DRAWING = "".join(
    [_line("n1", "n2"), _line("n2", "n3"), _line("n3", "n9")]
    + [_circle(f"n{number}", name) for number, name in enumerate(NAMES, 1)]
)


@pytest.mark.parametrize(
    "source",
    [
        lambda path: _cvat(path / "a.xml", DRAWING),
        lambda path: _datumaro(path / "a.json", [[1, 2], [2, 3]]),
        lambda path: _datumaro(path / "a.json", [[0, 1], [1, 2]]),
        lambda path: _supervisely(path / "a"),
    ],
    ids=["cvat", "datumaro from 1", "datumaro from 0", "supervisely"],
)
def test_joints_have_the_order_of_the_label_and_its_limbs(source, tmp_path):
    bboxqa.convert(source(tmp_path), tmp_path / "out.json", to="coco", lossy=True)
    content = json.loads((tmp_path / "out.json").read_bytes())
    (category,) = content["categories"]
    assert category["keypoints"] == [*NAMES]
    assert category["skeleton"] == [[1, 2], [2, 3]]
    (annotation,) = content["annotations"]
    assert annotation["keypoints"] == [10, 20, 2, 20, 30, 2, 40, 60, 2]


def test_limbs_stay_in_cvat_and_are_lost_elsewhere(tmp_path):
    drawn = {"keypoints": [10, 20, 2, 20, 30, 1, 40, 60, 2], "bbox": [10, 20, 30, 40]}
    content = document([("a.jpg", 90, 90, ["ann"])], [(0, "ann", 0, drawn)], ["dog"])
    content["categories"][0] |= {"keypoints": ["a<b", "neck", "tail"], "skeleton": [[1, 3], [3, 2]]}
    source = written(tmp_path / "source.json", content)
    back = there_and_back(source, tmp_path, "cvat")
    assert back["categories"] == content["categories"]
    for to, out in (("label-studio", "o.json"), ("labelme", "labelme"), ("yolo-pose", "yolo")):
        with pytest.raises(bboxqa.DatasetError, match="1 category with 'skeleton'"):
            bboxqa.convert(source, tmp_path / out, to=to)


def test_very_many_joints_that_annotations_lack_are_refused_once():
    # 12,000 graphs with a point of another name each took 2 GB.
    added = []
    into = Collector(lambda records, _: added.extend(records))
    where = Where("", 7)
    category = into.category("person", where)
    for number in range(2100):
        record = {"category_id": category, "keypoints": [1, 2, 2], "joints": [f"k{number}"]}
        into.annotation(record, where)
    into.flush()
    (defect,) = into.defects
    assert (defect.code, defect.where) == ("T001", where)
    assert defect.message == (
        "its label has 2,000 key points, most of which annotations lack; expected "
        "at most 2,000,000 in all"
    )
    assert len(added) == 1999


def test_omitted_joints_of_very_many_names_are_refused(tmp_path):
    # Each annotation got all joints of its category: 11 GB for a file of 1 MB.
    names = [f"k{number}" for number in range(30_000)]
    drawn = {"image_id": 1, "category_id": 1, "bbox": [1, 1, 9, 9], "keypoints": [1, 2, 2]}
    content = {
        "images": [{"id": 1, "file_name": "a.jpg", "width": 90, "height": 90}],
        "categories": [{"id": 1, "name": "person", "keypoints": names}],
        "annotations": [{"id": number, **drawn} for number in range(1, 101)],
    }
    path = tmp_path / "a.json"
    path.write_text(json.dumps(content))
    with pytest.raises(DatasetError) as found:
        bboxqa.convert(path, tmp_path / "out.json", to="coco", lossy=True)
    assert str(found.value) == (
        "100 lists of key points with fewer than the category names would have 3,000,000 points; "
        "expected at most 2,000,000 where 100 are given\n"
        "Leave out names of key points that no annotation has."
    )
