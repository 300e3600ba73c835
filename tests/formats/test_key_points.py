"""Key points: read with their names in one order, also without a box, and the same when back."""

import json
from html import escape
from xml.sax.saxutils import quoteattr

import numpy as np
import pytest
from support import cvat_xml, studio
from support.converted import ENDINGS, document, there_and_back, written
from support.tool_files import text_of, write

import bboxqa
from bboxqa import DatasetError, read_coco
from bboxqa.formats.document import Where
from bboxqa.formats.translation.collector import Collector

ROUNDED = 1e-5


def joints_of(path, **options):
    """Return the key points of each annotation, by name, and its box."""
    data = read_coco(path, keypoints=True, min_annotators=1, **options)
    of = data.annotations
    result = []
    for row in range(len(of)):
        names = data.joint_names[of.category[row]]
        part = slice(int(of.keypoints.start[row]), int(of.keypoints.stop[row]))
        points = np.column_stack([of.keypoints.xy[part], of.keypoints.visibility[part]])
        result.append((dict(zip(names, points.tolist(), strict=True)), of.bbox[row].tolist()))
    return result


def skeleton(*joints):
    """Return a skeleton of CVAT, of (name, x, y, outside, occluded)."""
    points = [cvat_xml.shape("points", name, points=f"{x},{y}", outside=out, occluded=hidden)
              for name, x, y, out, hidden in joints]  # fmt: skip
    return cvat_xml.shape("skeleton", "dog", "".join(points), source="manual")


def test_skeletons_of_cvat(tmp_path):
    first = skeleton(("head", 10, 20, 0, 0), ("tail", 40, 60, 0, 1), ("paw", 1, 1, 1, 0))
    second = skeleton(("tail", 41, 61, 0, 0), ("head", 11, 21, 0, 0), ("paw", 2, 2, 0, 0))
    path = cvat_xml.written(tmp_path / "a.xml", cvat_xml.image("a.jpg", first, second))
    # Annotations are ordered by their boxes.
    assert joints_of(path) == [
        ({"head": [11, 21, 2], "tail": [41, 61, 2], "paw": [2, 2, 2]}, [2, 2, 39, 59]),
        ({"head": [10, 20, 2], "tail": [40, 60, 1], "paw": [1, 1, 0]}, [10, 20, 30, 40]),
    ]
    # They have no box to be compared with others.
    assert len(read_coco(path, min_annotators=1).annotations) == 0


def test_key_points_of_label_studio_belong_to_their_parent_or_stand_alone(tmp_path):
    def point(x, y, label, **more):
        value = {"x": x, "y": y, "width": 1, "keypointlabels": [label]}
        return studio.result("keypointlabels", value, **more)

    results = [
        studio.box(10, 10, 50, 50, "dog", id="b"), point(50, 50, "tail", id="1", parentID="b"),
        point(20, 20, "head", id="2", parentID="b"), point(5, 5, "ball", id="3"),
    ]  # fmt: skip
    path = studio.written(tmp_path / "a.json", studio.task(1, studio.work(1, *results)))
    ball, dog = joints_of(path)
    assert ball == ({"1": [10, 5, 2]}, [10, 5, 0, 0])
    assert dog == ({"tail": [100, 50, 2], "head": [40, 20, 2]}, [20, 10, 100, 50])


# Points of LabelMe with the group of a box are its key points.
CAT = ("cat", "rectangle", [[10, 20], [50, 60]])
DOG = ("dog", "polygon", [[60, 20], [90, 20], [90, 60]])
EYES = [("left_eye", "point", [[20, 30]]), ("right_eye", "point", [[40, 30]])]
SEEN = {"left_eye": [20, 30, 2], "right_eye": [40, 30, 2]}


def of_labelme(tmp_path, *shapes):
    """Write shapes (label, type, points) with groups; return the path."""
    keys = ("label", "shape_type", "points", "group_id")
    listed = [dict(zip(keys, (*shape, group), strict=True)) for shape, group in shapes]
    return written(tmp_path / "a.json", json.loads(text_of("labelme")) | {"shapes": listed})


@pytest.mark.parametrize(
    "shapes",
    [
        [(EYES[0], 7), (CAT, 7), (DOG, None), (EYES[1], 7)],
        # Of several shapes, the only rectangle has the points.
        [(DOG, "a"), (CAT, "a"), (EYES[0], "a"), (EYES[1], "a")],
    ],
)
def test_points_before_and_after_a_box_of_labelme_are_its_joints(tmp_path, shapes):
    path = of_labelme(tmp_path, *shapes)
    assert joints_of(path) == [(SEEN, [10, 20, 40, 40]), ({}, [60, 20, 30, 40])]
    assert not any("without one box" in note for note in read_coco(path, min_annotators=1).notes)


@pytest.mark.parametrize("others", [[], [(CAT, 1), (CAT, 1)], [(CAT, 2)], [(CAT, None)]])
def test_points_of_labelme_without_one_box_are_objects(tmp_path, others):
    path = of_labelme(tmp_path, (EYES[0], 1), (EYES[1], 1), *others)
    objects = [points for points, _ in joints_of(path) if points]
    assert objects == [{"1": point} for point in SEEN.values()]
    expected = "2 points in groups without one box: each is an object of its own"
    notes = read_coco(path, keypoints=True, min_annotators=1).notes
    assert any(note.endswith(expected) for note in notes)


def test_annotators_of_one_skeleton_are_compared(tmp_path):
    for name, shift in (("ann", 0), ("bob", 1)):
        points = ((f"p{n}", 10 * n + shift, 5 * n, 0, 0) for n in range(4))
        image = cvat_xml.image("a.jpg", skeleton(*points))
        cvat_xml.written(tmp_path / f"{name}.xml", cvat_xml.head(name), image)
    data = read_coco(tmp_path, keypoints=True)
    result = bboxqa.agree(data, similarity="keypoints", sigmas=0.1)
    # s² is 30 × 15 of both; every joint is 1 px apart, and k is 0.2.
    assert result.thresholds[0].place.mean_iou == pytest.approx(np.exp(-1 / (2 * 450 * 0.04)))
    assert any("the extent of their key points as scale" in note for note in result.notes)


# Labels that are skeletons say which joints they have, in which order, and which are connected.
NAMES = ("head", "neck", "tail")
PLACES = {"tail": (40, 60), "head": (10, 20), "neck": (20, 30)}


def of_cvat(folder):
    drawing = "".join(
        [f'<line data-type="edge" data-node-from="n{a}" data-node-to="n{b}"></line>'
         for a, b in ((1, 2), (2, 3), (3, 9))]
        + [f'<circle r="1" data-node-id="n{n}" data-label-name={quoteattr(name)}></circle>'
           for n, name in enumerate(NAMES, 1)]
    )  # fmt: skip
    joints = "".join(
        f"<label><name>{name}</name><type>points</type><parent>dog</parent></label>"
        for name in NAMES
    )
    points = ((name, x, y, 0, 0) for name, (x, y) in PLACES.items())
    meta = (
        "<version>1.1</version><meta><task><labels><label><name>dog</name><type>skeleton</type>"
        f"<svg>{escape(drawing)}</svg></label>{joints}</labels></task></meta>"
    )
    return cvat_xml.written(folder / "a.xml", meta, cvat_xml.image("a.jpg", skeleton(*points)))


def of_datumaro(folder, joints):
    labels = [{"name": name} for name in ("dog", *NAMES)]
    elements = [
        {"type": "points", "label_id": 1 + NAMES.index(name), "points": [*place]}
        for name, place in PLACES.items()
    ]
    given = {"id": 1, "type": "skeleton", "label_id": 0, "elements": elements}
    points = {"items": [{"label_id": 0, "labels": [*NAMES], "joints": joints}]}
    item = {"id": "a", "annotations": [given], "image": {"path": "a.jpg", "size": [90, 90]}}
    categories = {"label": {"labels": labels}, "points": points}
    return written(folder / "a.json", {"categories": categories, "items": [item]})


def of_supervisely(folder):
    nodes = {f"k{number}": {"label": name} for number, name in enumerate(NAMES)}
    edges = [{"src": "k0", "dst": "k1"}, {"src": "k1", "dst": "k2"}, {"src": "k2", "dst": "gone"}]
    shape = {"title": "dog", "shape": "graph", "geometry_config": {"nodes": nodes, "edges": edges}}
    drawn = {f"k{NAMES.index(name)}": {"loc": [*place]} for name, place in PLACES.items()}
    figure = {"classTitle": "dog", "geometryType": "graph", "nodes": drawn}
    image = {"size": {"height": 90, "width": 90}, "tags": [], "objects": [figure]}
    meta = {"classes": [shape], "tags": []}
    return write(folder / "a", **{"meta.json": meta, "ds/ann/a.jpg.json": image})


@pytest.mark.parametrize(
    "source",
    [
        of_cvat,
        lambda folder: of_datumaro(folder, [[1, 2], [2, 3]]),
        lambda folder: of_datumaro(folder, [[0, 1], [1, 2]]),
        of_supervisely,
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
    for to in ("label-studio", "labelme", "yolo-pose"):
        with pytest.raises(DatasetError, match="1 category with 'skeleton'"):
            bboxqa.convert(source, tmp_path / f"out{ENDINGS.get(to, '')}", to=to)


def test_a_limb_of_a_joint_that_is_none_is_named(tmp_path):
    path = of_datumaro(tmp_path, [[1, 2], [3, 9]])
    (finding,) = (each for each in bboxqa.validate(path).findings if each.code == "K006")
    assert finding.message.startswith("skeleton joins [3, 9]; expected two of")


def test_very_many_joints_that_annotations_lack_are_refused():
    # 12,000 graphs with a point of another name each took 2 GB.
    into = Collector()
    where = Where("", 7)
    category = into.category("person", where)
    for number in range(2100):
        record = {"category_id": category, "keypoints": [1, 2, 2], "joints": [f"k{number}"]}
        record |= {"image_id": 1, "bbox": [1, 2, 3, 4]}
        with into.refusing("a", where):
            into.annotation(record, where)
    into.flush()
    assert {(defect.code, defect.where) for defect in into.defects} == {("T001", where)}
    assert into.defects[0].message.startswith("a: its label has 2,000 key points, most of which a")
    assert into.n == 1999


def test_omitted_joints_of_very_many_names_are_refused(tmp_path):
    # Each annotation got all joints of its category: 11 GB for a file of 1 MB.
    drawn = [(0, "a", 0, {"bbox": [1, 1, 9, 9], "keypoints": [1, 2, 2]})] * 100
    content = document([("a.jpg", 90, 90, None)], drawn, ["person"])
    content["categories"][0]["keypoints"] = [f"k{number}" for number in range(30_000)]
    path = written(tmp_path / "a.json", content)
    with pytest.raises(DatasetError, match="are 3,000,000 points; expected at most 2,000,000"):
        bboxqa.convert(path, tmp_path / "out.json", to="coco", lossy=True)


# Key points and their visibility are the same after they were in another format.
JOINTS = ["head", "left_hand", "right_hand", "tail"]


def of_records(records, names=JOINTS):
    drawn = [(0, "ab"[n % 2], n % 2, record) for n, record in enumerate(records)]
    content = document([("a.png", 900, 700, ["a", "b"])], drawn, ["cat", "dog"])
    for each in content["categories"]:
        each["keypoints"] = names
    return content


def animals(random, levels, *, boxed):
    """Return eight animals, the first of which has all joints labelled."""
    for number in range(8):
        xy = random.uniform(100, 500, (4, 2))
        seen = random.choice(levels, 4) if number > 1 else np.full(4, 2)
        for joint in (number % 4, (number + 1) % 4):
            seen[joint] = max(seen[joint], *levels)
        xy[seen == 0] = 0
        low, high = xy[seen > 0].min(0), xy[seen > 0].max(0)
        beside = 9 * boxed
        yield {
            "bbox": [*(low - beside).tolist(), *(high - low + 2 * beside).tolist()],
            "keypoints": np.column_stack([xy, seen]).ravel().tolist(),
            "num_keypoints": int((seen > 0).sum()),
        }


def by_name(content):
    """Return who drew which joints where, by their names, in one order."""
    names = {each["id"]: each.get("keypoints") for each in content["categories"]}
    found = []
    for each in content["annotations"]:
        triples = np.array(each["keypoints"]).reshape(-1, 3)
        labels = names[each["category_id"]] or [str(n) for n in range(1, len(triples) + 1)]
        joints = zip(labels, triples.tolist(), strict=True)
        seen = {name: triple for name, triple in joints if triple[2]}
        found.append((each["annotator"], each["category_id"], dict(sorted(seen.items()))))
    return sorted(found, key=lambda one: (one[:2], next(iter(one[2].items()))))


@pytest.mark.parametrize(
    ("to", "then", "levels", "boxed"),
    [
        ("coco", "yolo-pose", [0, 1, 2], True),
        ("cvat", "coco", [0, 1, 2], False),
        ("yolo-pose", "coco", [0, 1, 2], True),
        ("label-studio", "yolo-pose", [0, 2], True),
        ("cvat", "label-studio", [0, 2], False),
        ("yolo-pose", "cvat", [0, 1, 2], False),
        ("labelme", "label-studio", [0, 2], True),
        ("label-studio", "labelme", [0, 2], True),
    ],
)
def test_joints_and_visibility_stay(to, then, levels, boxed, tmp_path):
    random = np.random.default_rng(len(to) + len(then))
    content = of_records([*animals(random, levels, boxed=boxed)])
    back = there_and_back(written(tmp_path / "source.json", content), tmp_path, to, then)
    found, own = by_name(back), by_name(content)
    for (*whose, joints), (*of, expected) in zip(found, own, strict=True):
        assert (whose, [*joints]) == (of, [*expected])
        np.testing.assert_allclose([*joints.values()], [*expected.values()], atol=ROUNDED)
    if boxed:
        boxes = [sorted(each["bbox"] for each in one["annotations"]) for one in (back, content)]
        np.testing.assert_allclose(*boxes, atol=ROUNDED)


@pytest.mark.parametrize(
    ("to", "problem"),
    [
        ("label-studio", r"1 annotation with hidden joints .*: .* written as visible"),
        ("labelme", r"1 annotation with hidden joints .* LabelMe has no visibility"),
        ("cvat", r"1 box around key points .*have no place for it"),
        ("csv", "1 annotation with 'keypoints'"),
        ("voc", "1 annotation with 'keypoints'"),
    ],
)
def test_what_cannot_be_held_is_refused(to, problem, tmp_path):
    # An area that is text is not compared.
    record = {"keypoints": [10, 20, 2, 30, 40, 1], "bbox": [1, 1, 80, 80], "area": "9"}
    source = written(tmp_path / "source.json", of_records([record], JOINTS[:2]))
    out = tmp_path / f"o{ENDINGS.get(to, '')}"
    with pytest.raises(DatasetError, match=problem):
        bboxqa.convert(source, out, to=to)
    bboxqa.convert(source, out, to=to, lossy=True)
