"""JSON of Darwin, Datumaro, LabelMe, Supervisely and VIA: people, shapes, masks and defects."""

import base64
import io
import json
import zlib

import numpy as np
import pytest
from PIL import Image
from support import cvat_xml
from support.masks import decode
from support.tool_files import alone, asked, drawn, found, write

from bboxqa import read_coco
from bboxqa.core.errors import DatasetError
from bboxqa.formats.registry import format_of

QUARTER = 1.5707963267948966
NOBODY = "(not named)"


def darwin(*annotations):
    """Return the file of an item, an image of 10 × 8 pixels."""
    slot = {"type": "image", "slot_name": "0", "width": 10, "height": 8}
    item = {"name": "a.jpg", "path": "/", "slots": [slot]}
    return {"version": "2.0", "item": item, "annotations": [*annotations]}


def of_darwin(*people, name="cat", **shape):
    """Return an annotation of Darwin."""
    who = {"annotators": [{"email": each, "full_name": each.title()} for each in people]}
    return {"id": f"i{name}", "name": name, "slot_names": ["0"], **(who if people else {}), **shape}


def darwin_box(*people, box=(1, 2, 3, 4), **more):
    sides = dict(zip("xywh", box, strict=True))
    return of_darwin(*people, **more, bounding_box=sides)


def darwin_paths(*paths):
    return of_darwin(polygon={"paths": [[{"x": x, "y": y} for x, y in path] for path in paths]})


def item(*annotations, name="a"):
    """Return an item of Datumaro, an image of 100 × 80 pixels."""
    image = {"path": f"{name}.jpg", "size": [80, 100]}
    return {"id": name, "annotations": [*annotations], "image": image}


def datumaro(*items):
    """Return a file of Datumaro; what is no item is an annotation of one."""
    items = [each if "annotations" in each else item(each) for each in items]
    listed = [{"name": name, "parent": "", "attributes": []} for name in ("cat", "dog")]
    categories = {"label": {"labels": listed, "attributes": []}, "points": {"items": []}}
    return {"info": {}, "categories": categories, "items": items}


def of_datumaro(kind, label=0, attributes=None, **more):
    return {"id": 0, "type": kind, "attributes": attributes or {}, "label_id": label} | more


def labelme(*shapes, **more):
    """Return a file of LabelMe, of an image of 100 × 80 pixels."""
    head = {"version": "5.2.1", "flags": {}, "shapes": [*shapes], "imagePath": "a.jpg"}
    return head | {"imageData": None, "imageHeight": 80, "imageWidth": 100} | more


def of_labelme(points, kind="rectangle", label="cat", **more):
    return {"label": label, "points": points, "shape_type": kind, "flags": {}, **more}


META = {"classes": [{"title": "cat", "shape": "rectangle"}, {"title": "dog", "shape": "any"}]}
# The example of Supervisely's documentation: the three pixels of the first row, the first of the
# second, and three of the third.
MASK = (
    "eJzrDPBz5+WS4mJgYOD19HAJAtLMIMwIInOeqf8BUmwBPiGuQPr///9Lb86/C2QxlgT5BTM4PLuRBuTwebo4hlTMSa4"
    "4cOHAB6DqY0yORgq8YkAZBk9XP5d1TglNANAFGzA="
)


def supervisely(*objects, **more):
    """Return the annotations of an image of 100 × 80 pixels."""
    size = {"height": 80, "width": 100}
    return {"description": "", "tags": [], "size": size, "objects": [*objects]} | more


def of_supervisely(who, *corners, label="cat", kind="rectangle", **more):
    points = {"exterior": [*corners], "interior": []}
    made = {"id": 7, "labelerLogin": who, "createdAt": "2021-05-12T08:53:14.856Z"}
    return made | {"geometryType": kind, "classTitle": label, "points": points} | more


def bitmap(data=MASK, origin=(10, 20)):
    return of_supervisely("ann", kind="bitmap", bitmap={"data": data, "origin": [*origin]})


def via(*regions, name="a.jpg"):
    """Return the entry of an image of VIA."""
    entry = {"filename": name, "size": 9, "regions": [*regions], "file_attributes": {}}
    return {f"{name}9": entry}


def of_via(name="rect", said=None, **shape):
    said = {"label": "cat"} if said is None else said
    return {"shape_attributes": {"name": name, **shape}, "region_attributes": said}


def png(pixels):
    """Return a PNG of an array in base64."""
    stream = io.BytesIO()
    Image.fromarray(np.asarray(pixels, np.uint8)).save(stream, "PNG")
    return base64.b64encode(stream.getvalue()).decode()


def one(tmp_path, content):
    """Write a file, and return its path."""
    return write(tmp_path, **{"a.json": content}) / "a.json"


DATUMARO_BOX = of_datumaro("bbox", bbox=[10, 20, 30, 40])
ANN = of_supervisely("ann", [50, 40], [10, 20])
VIA_BOX = of_via(x=10, y=20, width=30, height=40)
POINTS = [{"x": x, "y": y} for x, y in ((1, 2), (9, 2), (5, 7))]
SHAPES = [
    (darwin_box(), [1, 2, 3, 4]),
    (of_darwin(ellipse={"center": {"x": 5, "y": 4}, "radius": {"x": 3, "y": 1}, "angle": QUARTER}),
     [4, 1, 2, 6]),
    (DATUMARO_BOX, [10, 20, 30, 40]),
    # Turned by a quarter about its centre (25, 40).
    (of_datumaro("bbox", attributes={"rotation": 90.0}, bbox=[10, 20, 30, 40]), [5, 25, 40, 30]),
    (of_datumaro("rotated_bbox", points=[25, 40, 30, 40, 90]), [5, 25, 40, 30]),
    (of_datumaro("polygon", points=[1, 2, 9, 2, 5, 7]), [1, 2, 8, 5]),
    (of_datumaro("ellipse", points=[10, 20, 40, 60]), [10, 20, 30, 40]),
    # COCO's counts of a mask of 2 × 3 pixels whose second column is set: 2, 2 and 2 pixels.
    (of_datumaro("mask", rle={"size": [2, 3], "counts": "222"}), [1, 0, 1, 2]),
    (of_labelme([[10, 20], [30, 60]]), [10, 20, 20, 40]),
    (of_labelme([[30, 20], [10, 60]]), [10, 20, 20, 40]),
    (of_labelme([[30, 60], [10, 20]]), [10, 20, 20, 40]),
    (of_labelme([[10, 20], [30, 20], [30, 60], [10, 60]]), [10, 20, 20, 40]),
    (of_labelme([[10, 20], [30, 20], [20, 60]], "polygon"), [10, 20, 20, 40]),
    # Files of old versions have polygons only.
    (of_labelme([[10, 20], [30, 20], [20, 60]], None), [10, 20, 20, 40]),
    # The centre, and a point on the circle, 3 to the right of it and 4 below: a radius of 5.
    (of_labelme([[50, 40], [53, 44]], "circle"), [45, 35, 10, 10]),
    # A square on its corner.
    (of_labelme([[50, 30], [60, 40], [50, 50], [40, 40]], "rotation"), [40, 30, 20, 20]),
    # A quarter turn of 40 × 20 pixels about (30, 30).
    (of_supervisely("ann", [10, 20], [50, 40], kind="oriented_bbox", angle=QUARTER),
     [20, 10, 20, 40]),
    (bitmap(), [10, 20, 3, 3]),
    (VIA_BOX, [10, 20, 30, 40]),
    (of_via("circle", cx=50, cy=40, r=8), [42, 32, 16, 16]),
    (of_via("ellipse", cx=50, cy=40, rx=8, ry=2), [42, 38, 16, 4]),
    # A quarter turn: width and height change places.
    (of_via("ellipse", cx=50, cy=40, rx=8, ry=2, theta=QUARTER), [48, 32, 4, 16]),
    (of_via("polygon", all_points_x=[1, 9, 5], all_points_y=[2, 2, 7]), [1, 2, 8, 5]),
]  # fmt: skip
# A key of a shape shows its tool.
TOOLS = {
    "slot_names": darwin, "label_id": datumaro, "shape_type": labelme,
    "classTitle": supervisely, "shape_attributes": via,
}  # fmt: skip


def file_of(*shapes):
    """Return the file of shapes of one tool."""
    (made,) = (make for key, make in TOOLS.items() if key in shapes[0])
    return made(item(*shapes)) if made is datumaro else made(*shapes)


@pytest.mark.parametrize(("given", "box"), SHAPES)
def test_shapes_are_boxes(tmp_path, given, box):
    data = alone(one(tmp_path, file_of(given)))
    assert data.annotations.bbox.round(6).tolist() == [box]
    assert data.category_names == ("cat",)


BOB = of_supervisely("bob", [10, 20], [52, 41], label="dog")
LABELME_BOX = of_labelme([[10, 20], [30, 60]])
DEFECTS = [
    *((darwin_box("ann"), given, "T001", f"a.jpg, annotation 2: {words}") for given, words in (
        (of_darwin(bounding_box={"x": 1, "y": 2, "w": 3}), "h is missing; expected a number"),
        (of_darwin(polygon={"paths": []}), "polygon.paths are missing; expected lists of points"),
        (of_darwin(polygon={"paths": [[None]]}), "a point is null; expected [x, y]"),
        (of_darwin(ellipse={"center": {"x": 1}}), "y is missing; expected a number"),
        (of_darwin(), "has no shape among id, name, slot_names"),
    )),
    *((DATUMARO_BOX, given, code, f"item a, annotation 2: {words}") for given, code, words in (
        (of_datumaro("bbox", bbox=[1, 2, 3]), "T001", "bbox is [1, 2, 3]; expected 4 numbers"),
        (of_datumaro("bbox", bbox=[1, 2, 3, "a"]), "T001", "bbox is 'a'; expected a number"),
        (of_datumaro("polygon", points=[1]), "T001", "points is [1]; expected 2 numbers"),
        (of_datumaro(""), "T001", "has no type"),
        (of_datumaro("mask"), "T008", "the mask cannot be read: size is null"),
        (of_datumaro("mask", rle={"size": [2, 3], "counts": "22"}), "T008", "the mask has 4 p"),
        (of_datumaro("mask", rle={"size": [2, 3], "counts": "  "}), "T008", "the mask has"),
        (of_datumaro("mask", rle={"size": [2, 3], "counts": "6"}), "T011", "the mask has no"),
        (of_datumaro("bbox", None, bbox=[1, 2, 3, 4]), "T004", "has no label_id"),
        (of_datumaro("bbox", 2, bbox=[1, 2, 3, 4]), "T050", "label_id is 2; the file lists 2 "),
    )),
    *((LABELME_BOX, *each) for each in (
        (of_labelme([[1, 2]]), "T001", "a rectangle has 1 point; expected 2"),
        (of_labelme([[1, 2], [3, "x"]]), "T001", "a coordinate is 'x'; expected a number"),
        (of_labelme(None, "polygon"), "T001", "points are missing"),
        (of_labelme([[1, 2], [3, 4]], label=""), "T004", "a shape has no label"),
        (of_labelme([[1, 2], [3, 4]], "mask", mask="x"), "T008", "the mask is not a PNG in base64"),
        (of_labelme([[99, 2], [101, 2]], "mask", mask=png([[9] * 3])), "T008", "beyond the image"),
        (of_labelme([[1, 2], [3, 2]], "mask", mask=png([[0] * 3])), "T011", "has no pixels"),
        (7, "T001", "is not an object"),
    )),
    *((BOB, given, code, f"a.json, object 2: {words}") for given, code, words in (
        (bitmap(MASK[:40]), "T008", "the mask is not a PNG in base64"),
        (bitmap(None), "T008", "the mask is missing"),
        (bitmap(origin=(98, 20)), "T008", "the mask is 3 × 3 at 98, 20, beyond the image"),
        (bitmap(origin=("x", 2)), "T001", "a coordinate is 'x'; expected a number"),
        (of_supervisely("ann", [1, 2]), "T001", "points.exterior are [[1, 2]]; expected 2 or"),
        (of_supervisely("ann", [1, 2], [3, None]), "T001", "a coordinate is missing; expected a"),
        (of_supervisely("ann", [1, 2], [9, 9], kind=""), "T001", "has no geometryType, nor has"),
        (of_supervisely("ann", kind="multipolygon"), "T001", "has no parts"),
        ("cat", "T001", "expected an object of JSON"),
    )),
    *((VIA_BOX, given, "T001", f"a.jpg, region 2: {words}") for given, words in (
        ({"shape_attributes": {}}, "shape_attributes are missing; expected the name of a shape"),
        (of_via(x=1, y=2, width=3), "height is missing; expected a number"),
        (of_via("polygon", all_points_x=[1], all_points_y=[]), "all_points_x and all_points_y are"),
        (of_via("polygon", all_points_x=["a"], all_points_y=[1]), "a coordinate is 'a'; expected"),
    )),
]  # fmt: skip


@pytest.mark.parametrize(("sound", "given", "code", "words"), DEFECTS)
def test_a_defect_is_found_where_it_stands(tmp_path, sound, given, code, words):
    path = one(tmp_path, file_of(sound, given))
    ((file, _, pointer, message),) = found(path, code)
    assert file == str(path)
    assert pointer.endswith(("/annotations/1", "/shapes/1", "/objects/1", "/regions/1"))
    assert words in message
    if code in ("T001", "T008"):
        with pytest.raises(DatasetError, match=code):
            alone(path)


@pytest.mark.parametrize(
    ("files", "pointer"),
    [
        ({"a.json": darwin(darwin_box("ann"), darwin_box("bob"), darwin_box())}, "/annotations/2"),
        ({"meta.json": META, "a/ann/a.png.json": supervisely(ANN, BOB, ANN | {"labelerLogin": ""})},
         "/objects/2"),
    ],
)  # fmt: skip
def test_an_annotation_without_a_name_among_others_is_refused(tmp_path, files, pointer):
    write(tmp_path, **files)
    with pytest.raises(DatasetError, match="1 of 3 annotations do not name their annotator"):
        read_coco(tmp_path)
    ((file, _, at, message),) = found(tmp_path, "A001")
    assert (file, at) == (f"{tmp_path}/{[*files][-1]}", pointer)
    assert message.startswith("1 of 3 annotations do not name their annotator")


def test_annotations_of_darwin_are_by_those_who_drew_them(tmp_path):
    two = darwin_box("ann@x.org", "bob@x.org", box=(5, 1, 2, 2))
    bob = darwin_box("bob@x.org", name="dog", box=(1, 2, 3, 5))
    data = read_coco(one(tmp_path, darwin(darwin_box("ann@x.org"), bob, two)))
    assert drawn(data) == [
        ("a.jpg", "ann@x.org", "cat", 1, 2, 3, 4), ("a.jpg", "ann@x.org", "cat", 5, 1, 2, 2),
        ("a.jpg", "bob@x.org", "dog", 1, 2, 3, 5),
    ]  # fmt: skip
    assert data.attribution == "annotators of Darwin"
    assert data.notes == ("1 annotation by several people, here by the first",)


def test_paths_inside_of_others_are_holes(tmp_path):
    paths = [(0, 0), (6, 0), (6, 6), (0, 6)], [(2, 2), (4, 2), (4, 4)], [(7, 7), (9, 7), (9, 8)]
    data = alone(one(tmp_path, darwin(darwin_paths(*paths))))
    assert data.annotations.bbox.tolist() == [[0, 0, 9, 8]]
    rings = data.annotations.segmentation.rings(0)
    assert [len(ring) for ring in rings] == [4, 3]
    assert rings[1][0].tolist() == [7, 7]
    assert data.notes == ("1 polygon with holes: the outer outlines are compared",)


def test_masks_of_darwin_stand_in_layers(tmp_path):
    # Row 1: three pixels of the first mask from x = 2 on; row 2: two of the second from x = 1.
    layer = {"dense_rle": [0, 12, 1, 3, 0, 6, 2, 2, 0, 57], "total_pixels": 80,
             "mask_annotation_ids_mapping": {"icat": 1, "idog": 2}}  # fmt: skip
    masks = [of_darwin(name=name, mask={}) for name in ("cat", "dog")]
    content = darwin(*masks, of_darwin(name="__raster_layer__", raster_layer=layer))
    assert drawn(alone(one(tmp_path, content))) == [
        ("a.jpg", NOBODY, "cat", 2, 1, 3, 1), ("a.jpg", NOBODY, "dog", 1, 2, 2, 1),
    ]  # fmt: skip


def test_subsets_of_datumaro_are_one_data_set_and_other_files_are_people(tmp_path):
    train, test = datumaro(DATUMARO_BOX), datumaro(item(DATUMARO_BOX, name="b"))
    write(tmp_path / "set/annotations", **{"train.json": train, "test.json": test})
    assert alone(tmp_path / "set").image_names == ("a.jpg", "b.jpg")
    assert alone(tmp_path / "set/annotations").image_names == ("a.jpg", "b.jpg")
    both = {"ann": train, "bob": datumaro(item(DATUMARO_BOX, DATUMARO_BOX))}
    for place in ("people/{}.json", "folders/{}/annotations/default.json"):
        write(tmp_path, **{place.format(who): content for who, content in both.items()})
        folder = tmp_path / place.partition("/")[0]
        assert asked(read_coco(folder)) == {"a.jpg": ["ann", "bob"]}


NAMED = ("ann", "bob")


@pytest.mark.parametrize(
    "content",
    [
        datumaro(item(*(of_datumaro("bbox", attributes={"annotator": who, "occluded": False},
                                    bbox=[10, 20, 30, 40]) for who in NAMED))),
        via(*(VIA_BOX | {"region_attributes": {"label": "cat", "annotator": e}} for e in NAMED)),
        cvat_xml.document(cvat_xml.head(labels=["cat"]), cvat_xml.image("a.jpg", *(
            cvat_xml.box(inside=f'<attribute name="annotator">{e}</attribute>') for e in NAMED))),
    ],
)  # fmt: skip
def test_annotators_may_be_an_attribute(tmp_path, content):
    data = read_coco(one(tmp_path, content))
    assert (data.annotator_names, data.category_names) == (NAMED, ("cat",))


def test_a_mask_of_labelme_is_a_picture_between_two_corners(tmp_path):
    shape = of_labelme([[10, 20], [12, 21]], "mask", mask=png([[0, 255, 255], [0, 255, 0]]))
    data = alone(one(tmp_path, labelme(shape)))
    # Its first column is empty.
    assert data.annotations.bbox.tolist() == [[11, 20, 2, 2]]
    filled = decode(data.annotations.segmentation.rle(0))
    assert np.argwhere(filled).tolist() == [[20, 11], [20, 12], [21, 11]]


def test_objects_of_supervisely_are_by_those_who_drew_them(tmp_path):
    files = {"meta.json": META, "ds0/ann/a.png.json": supervisely(ANN, BOB)}
    data = read_coco(write(tmp_path, **files), time_key="created_at")
    assert drawn(data) == [
        ("a.png", "ann", "cat", 10, 20, 40, 20), ("a.png", "bob", "dog", 10, 20, 42, 21),
    ]  # fmt: skip
    assert data.attribution == "labelerLogin"
    assert data.annotations.times.seconds.min() == 1620809594.856


def test_nested_datasets_are_read_and_other_classes_found(tmp_path):
    places = ("ds0/ann/a", "ds0/datasets/ds1/ann/a", "ds0/datasets/ds1/ann/b")
    files = {f"{place}.png.json": supervisely(ANN) for place in places}
    files |= {"meta.json": META, "ds0/meta/a.png.json": {"objects": 1}}
    files["key_id_map.json"] = {"objects": {}, "tags": {}}
    assert alone(write(tmp_path, **files)).image_names == ("b.png", "ds0/a.png", "ds0/ds1/a.png")
    cow = of_supervisely("ann", [1, 1], [9, 9], label="cow")
    write(tmp_path, **{f"{places[0]}.png.json": supervisely(ANN, cow)})
    ((_, _, pointer, message),) = found(tmp_path, "T050")
    assert pointer == "/objects/1"
    assert message == "a.png.json, object 2: 'cow' is not a class of meta.json"


def test_polygons_of_supervisely_have_parts_and_holes(tmp_path):
    ring, hole = [[0, 0], [40, 0], [40, 40]], [[20, 10], [30, 10], [30, 20]]
    part = {"exterior": [[50, 50], [60, 50], [60, 60]], "interior": []}
    whole = {"exterior": ring, "interior": [hole]}
    both = of_supervisely("ann", kind="multipolygon", parts=[whole, part])
    polygon = of_supervisely("ann", kind="polygon", points=whole)
    data = alone(one(tmp_path, supervisely(polygon, both)))
    assert data.annotations.bbox.tolist() == [[0, 0, 40, 40], [0, 0, 60, 60]]
    assert [len(data.annotations.segmentation.rings(row)) for row in (0, 1)] == [1, 2]
    assert "2 polygons with holes: the outer outlines are compared" in data.notes


def test_masks_of_supervisely_are_read_at_their_origin(tmp_path):
    data = alone(one(tmp_path, supervisely(bitmap())))
    # The whole first column and the rest of the first and third row: seven of nine pixels.
    pixels = decode(data.annotations.segmentation.rle(0))
    assert pixels[20:23, 10:13].tolist() == [[True] * 3, [True, False, False], [True] * 3]
    assert pixels.sum() == 7
    large = io.BytesIO()
    Image.new("1", (5000, 5000)).save(large, "PNG")
    bomb = base64.b64encode(zlib.compress(large.getvalue())).decode()
    ((_, _, _, message),) = found(one(tmp_path, supervisely(bitmap(bomb))), "T008")
    assert message.endswith("the mask has 5000 × 5000 pixels; its image has 100 × 80")


def test_regions_of_via_are_a_list_or_an_object(tmp_path):
    old = via()
    old["a.jpg9"]["regions"] = {"0": VIA_BOX, "1": of_via(x=90, y=1, width=2, height="wide")}
    path = one(tmp_path, json.dumps(old, indent=1))
    ((_, line, pointer, _),) = found(path, "T001")
    assert pointer == "/a.jpg9/regions/1"
    assert path.read_text().splitlines()[line - 1] == '   "1": {'
    old["a.jpg9"]["regions"].pop("1")
    project = {"_via_settings": {"ui": {}}, "_via_img_metadata": old, "_via_attributes": {}}
    for content in (old, project):
        path = one(tmp_path, content)
        assert format_of(path).name == "via"
        assert drawn(alone(path)) == [("a.jpg", NOBODY, "cat", 10, 20, 30, 40)]
    with pytest.raises(DatasetError, match="is VIA JSON without images"):
        read_coco(one(tmp_path, project | {"_via_img_metadata": []}))


HEADER = (
    "filename,file_size,file_attributes,region_count,region_id,region_shape_attributes,"
    "region_attributes\n"
)
ROW = 'a.jpg,9,"{}",2,0,"{""name"":""rect"",""x"":10,""y"":20,""width"":30,""height"":40}",'


@pytest.mark.parametrize("mark", ["", "#", "\ufeff"])
def test_csv_of_via_has_a_row_for_each_region(tmp_path, mark):
    rows = [ROW + '"{""label"":""cat""}"', 'b.jpg,9,"{}",0,0,"{}","{}"']
    path = write(tmp_path, **{"a.csv": mark + HEADER + "\n".join(rows) + "\n"}) / "a.csv"
    data = alone(path)
    assert drawn(data) == [("a.jpg", NOBODY, "cat", 10, 20, 30, 40)]
    assert data.image_names == ("a.jpg", "b.jpg")
    # The label of the first row goes on in the third line.
    rows = [ROW + '"{""label"":""c\nat""}"', 'a.jpg,9,"{}",2,1,"{rect","{""label"":""cat""}"']
    path.write_text(mark + HEADER + "\n".join(rows))
    ((file, line, _, message),) = found(path, "T001")
    assert (file, line) == (str(path), 4)
    assert message == "a.jpg, region 2: shape_attributes are {rect; expected the name of a shape"
    path.write_text(HEADER)
    with pytest.raises(DatasetError, match="is VIA csv without images"):
        alone(path)
