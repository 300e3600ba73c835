"""Drawings of files, documents and data sets, by `bboxqa draw` too."""

import numpy as np
import pytest
from PIL import Image
from support.cli import run
from support.datasets import annotation, dataset, image, object_rows, write
from support.datasets import document as coco
from support.poses import people_document

import bboxqa
from bboxqa.core.errors import ConfigError, DatasetError
from bboxqa.examples import example_file, example_picture
from bboxqa.pipelines.draw import data_scene

EMPTY = "nobody drew a box in this image (--similarity keypoints draws key points)"


def document(**changes):
    """Return two images by two annotators; the first has the id 0."""
    boxes = [("ann", [10, 10, 30, 30]), ("bob", [12, 10, 30, 30]), ("bob", [60, 50, 20, 20])]
    drawn = [
        annotation(row, 0, 1, box, annotator=who, area=box[2] * box[3], iscrowd=0)
        for row, (who, box) in enumerate(boxes, 1)
    ]
    images = [image(0, "a.png", height=80), image(7, "b/c.png", height=80, annotators=["ann"])]
    return coco(drawn, images) | changes


@pytest.fixture
def file(tmp_path):
    return write(tmp_path / "export.json", document())


def n_drawn(drawing):
    return len(drawing.axes[0].collections[1].get_paths())


@pytest.mark.parametrize("name", ["a.png", "0", 0])
def test_an_image_is_named_by_file_or_id(file, name):
    drawing = bboxqa.draw(file, name)
    assert (drawing.name, n_drawn(drawing), drawing.notes) == ("a.png", 3, ())
    assert bboxqa.draw(document(), name).name == "a.png"


def test_a_name_comes_before_an_id():
    of = document()
    for record, name in zip(of["images"], ("7", "0"), strict=True):
        record["file_name"] = name
    assert bboxqa.draw(of, "7").notes == ()
    assert bboxqa.draw(of, 7).name == "0"


@pytest.mark.parametrize(
    ("image", "message"),
    [
        ("x.tif", "there is no image 'x.tif' among 2 images: 'a.png', 'b/c.png'"),
        ("a.jpg", "there is no image 'a.jpg' among 2 images; did you mean 'a.png'?"),
        (99, "there is no image 99 among 2 images: 'a.png'"),
    ],
)
def test_an_image_that_is_not_there_is_named_with_those_that_are(file, image, message):
    with pytest.raises(DatasetError) as caught:
        bboxqa.draw(file, image)
    assert message in str(caught.value)


def test_an_image_without_annotations_is_drawn_empty(file):
    drawing = bboxqa.draw(file, 7)
    assert (n_drawn(drawing), drawing.notes) == (0, (EMPTY,))


def test_pixels_come_from_below_the_folder_of_images(file, tmp_path):
    folder = tmp_path / "photos"
    folder.mkdir()
    Image.new("RGB", (100, 80), "red").save(folder / "a.png")
    drawing = bboxqa.draw(file, 0, images=folder)
    (drawn,) = drawing.axes[0].images
    assert drawing.notes == ()
    assert (np.asarray(drawn.get_array()) == (255, 0, 0)).all()
    assert bboxqa.draw(file, 7, images=folder).notes[0] == (
        f"drawn on a blank canvas: there is no file 'b/c.png' in {folder}"
    )
    Image.new("RGB", (50, 40), "red").save(folder / "a.png")
    found = bboxqa.draw(file, 0, images=[folder])
    assert found.notes == ("the file has 50 × 40 pixels, the data say 100 × 80",)
    assert found.axes[0].images[0].get_extent() == [0, 100, 80, 0]


def test_units_are_those_that_agree_matches():
    random = np.random.default_rng(3)
    data = dataset(object_rows(random), size=(60, 60))
    settings = bboxqa.AgreeSettings()
    rows = bboxqa.agree(data, bootstrap=0).thresholds[0].units.records()
    for name in data.image_names:
        found, expected = {}, {}
        for shape in data_scene(data, name, settings).shapes:
            found.setdefault(shape.unit, set()).add((shape.annotator, shape.category))
        for row in rows:
            if row["image"] == name and row["state"] == "drawn":
                expected.setdefault(row["unit"], set()).add((row["annotator"], row["category"]))
        assert sorted(map(sorted, found.values())) == sorted(map(sorted, expected.values()))
        assert sorted(found) == list(range(1, len(expected) + 1))


def test_a_table_in_memory_is_drawn():
    box = {"x": 10, "y": 10, "width": 20, "height": 20}
    rows = [{"image": "a.jpg", "annotator": who, "category": "cat", **box} for who in "ab"]
    found = bboxqa.draw(rows, "a.jpg")
    assert found.by == "annotator"
    assert found.read == ()


def test_without_annotators_colours_stand_for_categories():
    nobody = [
        {k: v for k, v in each.items() if k != "annotator"} for each in document()["annotations"]
    ]
    images = [{k: v for k, v in each.items() if k != "annotators"} for each in document()["images"]]
    assert bboxqa.draw(document(annotations=nobody, images=images), 0).by == "category"
    assert bboxqa.draw(document(), 0).by == "annotator"


@pytest.mark.parametrize("in_memory", [False, True])
def test_key_points_without_boxes_are_noted(file, in_memory):
    content = document()
    content["categories"][0] |= {"keypoints": ["nose"], "skeleton": []}
    own = {"image_id": 7, "category_id": 1, "annotator": "ann", "keypoints": [9, 9, 2]}
    content["annotations"] += [{"id": 9, **own}, {"id": 10, **own}]
    write(file, content)
    source = content if in_memory else file
    assert bboxqa.draw(source, 7).notes == (EMPTY,)
    with_points = bboxqa.draw(source, 7, similarity="keypoints")
    assert (n_drawn(with_points), with_points.notes) == (2, ())


def test_what_cannot_be_is_refused(file):
    with pytest.raises(ConfigError, match="by is 'label'; expected one of annotator, category"):
        bboxqa.draw(file, 0, by="label")
    with pytest.raises(ConfigError, match="units are drawn at one threshold; give one --iou"):
        bboxqa.draw(file, 0, by="unit", iou_threshold=[0.5, 0.75])
    with pytest.raises(DatasetError, match="no such folder of images"):
        bboxqa.draw(file, 0, images="nowhere")


def test_an_id_of_several_images_is_refused(tmp_path, file):
    other = document()
    other["images"][0]["file_name"] = "z.png"
    write(tmp_path / "other.json", other)
    with pytest.raises(DatasetError, match=r"several images have the id 0: 'a\.png', 'z"):
        bboxqa.draw([file, tmp_path / "other.json"], 0)


FRUITS = example_file("fruits")


def test_writes_a_picture_beside_the_user(tmp_path):
    folder = example_picture("fruits").parent
    found = run("draw", FRUITS, "--image", "fruits.png", "--images", folder, cwd=tmp_path)
    assert (found.returncode, found.output) == (0, "Written: fruits_annotator.png\n")
    with Image.open(tmp_path / "fruits_annotator.png") as written:
        assert written.width == 2136
    again = run("draw", FRUITS, "--image", "fruits.png", cwd=tmp_path)
    assert again.returncode == 2
    assert "already exists; move it away, or give --force" in again.stderr
    assert run("draw", FRUITS, "--image", "fruits.png", "--force", cwd=tmp_path).returncode == 0


def test_says_what_the_drawing_lacks(tmp_path):
    options = ["--images", tmp_path, "--by", "unit", "--iou", 0.4, "--out", "a.svg"]
    found = run("draw", FRUITS, "--image", 1, *options, cwd=tmp_path)
    assert found.returncode == 0
    assert (
        found.stderr
        == f"Note: drawn on a blank canvas: there is no file 'fruits.png' in {tmp_path}\n"
    )
    assert found.stdout == "Written: a.svg\n"


def test_refuses_what_cannot_be_drawn_before_reading(tmp_path):
    missing = run("draw", "nowhere.json", "--image", "a", "--out", "a.jpg", cwd=tmp_path)
    assert (missing.returncode, "expected .png, .svg, .pdf" in missing.stderr) == (2, True)
    nothing = run("draw", "--image", "a", cwd=tmp_path)
    assert (nothing.returncode, "no file given" in nothing.stderr) == (2, True)
    other = run("draw", FRUITS, "--image", "fruit.png", cwd=tmp_path)
    near = "there is no image 'fruit.png' among 1 image; did you mean 'fruits.png'?"
    assert other.stderr == f"Error: {near}\n"
    assert list(tmp_path.iterdir()) == []


def test_labelled_joints_are_dots_and_lines_join_them():
    def damage(who, number, points):
        points[0] = 0
        points[1, 2] = 1
        return points

    document = people_document(
        np.random.default_rng(1), n_images=1, annotators=("ann",), damage=damage
    )
    data = bboxqa.read_coco(document, keypoints=True, min_annotators=1)
    drawing = bboxqa.draw(data, "1.jpg")
    collections = drawing.axes[0].collections
    dots = [len(each.get_offsets()) for each in collections if each.get_offsets().any()]
    # One hidden joint, and the fifteen visible ones.
    assert sorted(dots) == [1, 15]
    lines = [each for each in collections if type(each).__name__ == "LineCollection"]
    # Of COCO's nineteen limbs, two end at the nose, which is not labelled.
    assert [len(each.get_segments()) for each in lines] == [17]


NAMES = ["head", "tail", "left_wing", "right_wing"]
POINTS = [[10, 10], [10, 50], [30, 30], [0, 0]]


def bird(names, skeleton, who="ann", number=1):
    """Return a document of one bird whose right wing is not labelled."""
    triples = {name: [*xy, 2 * (xy != [0, 0])] for name, xy in zip(NAMES, POINTS, strict=True)}
    points = [value for name in names for value in triples[name]]
    record = annotation(number, bbox=(5, 5, 50, 50), annotator=who, keypoints=points)
    category = {"id": 1, "name": "bird", "keypoints": names, "skeleton": skeleton}
    return coco([record], [image(1, "a.jpg")], [category])


def drawn_lines(data):
    """Return the lines of each annotation that is drawn, both ends."""
    axes = bboxqa.draw(data, "a.jpg").axes[0]
    lines = [each for each in axes.collections if type(each).__name__ == "LineCollection"]
    return [[segment.tolist() for segment in each.get_segments()] for each in lines]


@pytest.mark.parametrize(
    ("skeleton", "expected"),
    [
        # Of three, the one to the right wing has no end.
        ([[1, 2], [3, 1], [4, 1]], [[POINTS[0], POINTS[1]], [POINTS[2], POINTS[0]]]),
        # One from 0 would have all lines at wrong joints.
        ([[0, 1], [1, 2]], []),
        ([[1, 5]], []),
        ([[1, 2, 3]], []),
        ([], []),
        ("1-2", []),
    ],
)
def test_lines_are_those_of_the_skeleton_counted_from_1(skeleton, expected):
    data = bboxqa.read_coco(bird(NAMES, skeleton), keypoints=True, min_annotators=1)
    assert drawn_lines(data) == [expected]


def test_a_skeleton_follows_its_joints_into_another_order(tmp_path):
    turned = NAMES[::-1]
    for who, names, skeleton in (("ann", NAMES, []), ("bob", turned, [[4, 3]])):
        write(tmp_path / f"{who}.json", bird(names, skeleton, who))
    data = bboxqa.read_coco(tmp_path, keypoints=True)
    assert data.limbs == (((0, 1),),)
    assert drawn_lines(data) == [[[POINTS[0], POINTS[1]]]] * 2


def test_pages_have_the_lines_of_the_skeleton():
    document = bird(NAMES, [[2, 3]])
    (other,) = bird(NAMES, [], "bob", number=2)["annotations"]
    document["annotations"].append(other | {"keypoints": [70, 70, 2] * 4})
    data = bboxqa.read_coco(document, keypoints=True)
    result = bboxqa.agree(data, similarity="keypoints", sigmas=(0.05,), bootstrap=0)
    (worst,) = result.diagnose().worst_images["images"]
    lines = [each["lines"] for each in worst["shapes"]]
    assert lines == [[[10, 50, 30, 30]], [[70, 70, 70, 70]]]
