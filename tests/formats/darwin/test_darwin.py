"""Darwin JSON of V7: who drew, shapes, holes, masks in layers, slots."""

import pytest
from support.tool_files import alone, drawn, found, write

from bboxqa import read_coco
from bboxqa.core.errors import DatasetError


def item(*annotations, name="a.jpg", slots=("0",), kind="image", path="/"):
    """Return the file of an item with images of 10 × 8 pixels."""
    size = {"width": 10, "height": 8}
    listed = [{"type": kind, "slot_name": slot, **size} for slot in slots]
    return {
        "version": "2.0",
        "item": {"name": name, "path": path, "slots": listed},
        "annotations": list(annotations),
    }


def shape(who=None, name="cat", slot="0", **shape):
    """Return an annotation."""
    people = {} if who is None else {"annotators": [{"email": who, "full_name": who.title()}]}
    return {"id": f"i{name}", "name": name, "slot_names": [slot], **people, **shape}


def box(x, y, w, h):
    return {"bounding_box": {"x": x, "y": y, "w": w, "h": h}}


def points(*pairs):
    return [{"x": x, "y": y} for x, y in pairs]


ANN = shape("ann@x.org", **box(1, 2, 3, 4))
BOB = shape("bob@x.org", "dog", **box(1, 2, 3, 5))


def test_annotations_are_by_those_who_drew_them(tmp_path):
    two = shape("ann@x.org", **box(5, 1, 2, 2))
    two["annotators"].append({"email": "bob@x.org"})
    data = read_coco(write(tmp_path, **{"a.json": item(ANN, BOB, two)}))
    assert drawn(data) == [
        ("a.jpg", "ann@x.org", "cat", 1, 2, 3, 4),
        ("a.jpg", "ann@x.org", "cat", 5, 1, 2, 2),
        ("a.jpg", "bob@x.org", "dog", 1, 2, 3, 5),
    ]
    assert data.attribution == "annotators of Darwin"
    assert data.notes == ("1 annotation by several people, here by the first",)


def test_an_annotation_without_a_name_among_others_is_a_finding(tmp_path):
    write(tmp_path, **{"a.json": item(ANN, shape(**box(1, 2, 3, 4)))})
    with pytest.raises(DatasetError, match="does not name its annotator; the others do"):
        read_coco(tmp_path)
    ((file, _, pointer, message),) = found(tmp_path, "T005")
    assert (file, pointer) == (f"{tmp_path}/a.json", "/annotations/1")
    assert message == "a.jpg, annotation 2: has no annotators, as others have"


def test_paths_inside_of_others_are_holes(tmp_path):
    paths = [
        points((0, 0), (6, 0), (6, 6), (0, 6)),
        points((2, 2), (4, 2), (4, 4)),
        points((7, 7), (9, 7), (9, 8)),
    ]
    data = alone(write(tmp_path, **{"a.json": item(shape(polygon={"paths": paths}))}))
    assert data.annotations.bbox.tolist() == [[0, 0, 9, 8]]
    rings = data.annotations.segmentation.rings(0)
    assert [len(ring) for ring in rings] == [4, 3]
    assert rings[1][0].tolist() == [7, 7]
    assert data.notes == ("1 polygon with holes: the outer outlines are compared",)


def test_ellipses_are_turned_in_radians(tmp_path):
    ellipse = {"center": {"x": 5, "y": 4}, "radius": {"x": 3, "y": 1}, "angle": 1.5707963267948966}
    data = alone(write(tmp_path, **{"a.json": item(shape(ellipse=ellipse))}))
    assert data.annotations.bbox.round(6).tolist() == [[4, 1, 2, 6]]


def layer(rle, **numbers):
    return {"dense_rle": rle, "mask_annotation_ids_mapping": numbers, "total_pixels": 80}


def test_masks_stand_in_layers(tmp_path):
    # Row 1: three pixels of the first mask from x = 2 on; row 2: two of the second from x = 1.
    rle = [0, 12, 1, 3, 0, 6, 2, 2, 0, 57]
    masks = [shape(name="cat", mask={}), shape(name="dog", mask={})]
    layers = shape(name="__raster_layer__", raster_layer=layer(rle, icat=1, idog=2))
    data = alone(write(tmp_path, **{"a.json": item(*masks, layers)}))
    assert drawn(data) == [
        ("a.jpg", "(not named)", "cat", 2, 1, 3, 1),
        ("a.jpg", "(not named)", "dog", 1, 2, 2, 1),
    ]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (shape(bounding_box={"x": 1, "y": 2, "w": 3}), "h is missing; expected a number"),
        (shape(polygon={"paths": []}), "polygon.paths are missing; expected lists of points"),
        (shape(polygon={"paths": [[1]]}), "a point is 1; expected [x, y]"),
        (shape(ellipse={"center": {"x": 1}}), "y is missing; expected a number"),
        (shape(), "has no shape among id, name, slot_names"),
    ],
)
def test_what_cannot_be_read_stops_a_measurement(tmp_path, given, words):
    path = write(tmp_path, **{"a.json": item(ANN, given)}) / "a.json"
    with pytest.raises(DatasetError) as caught:
        alone(path)
    (problem,) = caught.value.problems
    assert problem.endswith(f"T001 error a.jpg, annotation 2: {words}")
