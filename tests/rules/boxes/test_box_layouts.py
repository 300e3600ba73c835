"""B005 to B007, B013: boxes in another layout, in all images or in part of them."""

import json
import os

import numpy as np
import pytest
from PIL import Image
from support import layouts
from support.layouts import WRITTEN, by_annotators, document
from support.validation import document_of, report_of

from bboxqa import validate
from bboxqa.model.settings import ValidateSettings
from bboxqa.rules.fixes import fix

LAYOUT_CODES = {"B005", "B006", "B007", "B013"}
SYMPTOMS = {"B001", "B002", "B003", "B004", "B008", "B009", "B010", "B011", "B012", "P007", "Q002"}

# What boxes alone, or boxes and areas, cannot show.
NEED_OUTLINES = {
    "y, x, height, width",
    "width, height, x, y",
    "y1, x1, y2, x2 in thousandths of the image (0 to 1000)",
}
NEED_AREAS = {"x, y, width, height, scaled by 0.5"}
NEED_AREAS_IN_PART = {"thousandths of the image (0 to 1000)", "x, y, width, height, scaled by 2"}
NEED_OUTLINES_IN_PART = {"centre-x, centre-y, width, height"}


def written(*args, **more):
    """Return the document of a layout, read once for all that looks at it, and the true boxes."""
    content, truth = document(*args, **more)
    return document_of(content), truth


def the_layout(content):
    """Return the only finding about layouts, and the codes of all others."""
    report = report_of(content)
    (found,) = [finding for finding in report.findings if finding.code in LAYOUT_CODES]
    return found, set(report.counts) - {found.code}


def boxes_after(content):
    chosen = ValidateSettings(select=("B",))
    text = fix(document_of(content), chosen, unsafe=True).text
    return np.array([a["bbox"] for a in json.loads(bytes(text))["annotations"]])


PARTS = {"all": slice(None), "a block": slice(20, 32), "scattered": slice(0, 60, 5)}


def in_parts(layouts):
    """Return each layout in all images and, in turn, in a block or in scattered ones.

    `make fuzz` has each layout in each part.
    """
    parts = [
        PARTS if "BBOXQA_FUZZ" in os.environ else ("all", ("a block", "scattered")[place % 2])
        for place in range(len(layouts))
    ]
    return [(layout, part) for layout, some in zip(layouts, parts, strict=True) for part in some]


@pytest.mark.parametrize(("layout", "part"), in_parts(WRITTEN))
def test_outlines_tell_every_layout_in_any_part_of_the_images(layout, part):
    code, write = WRITTEN[layout]
    content, truth = written(write, part=PARTS[part])
    found, others = the_layout(content)
    where = "" if part == "all" else " in 12 of 60 images"
    assert (found.code, found.severity) == (code, "error")
    assert found.message.startswith(f"boxes{where} look like {layout}: ")
    assert SYMPTOMS.isdisjoint(others)
    assert np.allclose(boxes_after(content), truth, atol=0.2)


@pytest.mark.parametrize(
    ("layout", "part"),
    in_parts(sorted(WRITTEN.keys() - NEED_OUTLINES - NEED_OUTLINES_IN_PART)),
)
def test_areas_tell_layouts_where_there_are_no_outlines(layout, part):
    code, write = WRITTEN[layout]
    content, truth = written(write, outlines=False, part=PARTS[part])
    found, others = the_layout(content)
    assert found.code == code
    assert f"look like {layout}: " in found.message
    assert SYMPTOMS.isdisjoint(others)
    assert np.allclose(boxes_after(content), truth, atol=0.2)


CORNERS = sorted(layout for layout in WRITTEN if "x2" in layout and " in " not in layout)
# The third image has six boxes, and the first has four.
SIX, FOUR = slice(2, 3), slice(0, 1)


@pytest.mark.parametrize("outlines", [True, False])
@pytest.mark.parametrize("layout", CORNERS)
def test_corners_in_a_single_image_are_found(layout, outlines):
    content, truth = written(WRITTEN[layout][1], outlines=outlines, part=SIX)
    found, others = the_layout(content)
    assert found.message.startswith(f"boxes in 1 of 60 images look like {layout}: ")
    assert SYMPTOMS.isdisjoint(others)
    assert np.allclose(boxes_after(content), truth, atol=0.2)


@pytest.mark.parametrize("outlines", [True, False])
def test_corners_in_a_single_image_are_found_only_in_five_boxes_that_all_fit(outlines):
    write = WRITTEN["x1, y1, x2, y2"][1]
    few, _ = document(write, outlines=outlines, part=FOUR)
    assert "B005" not in report_of(few).counts
    content = json.loads(document(write, outlines=outlines, part=SIX)[0])
    box = next(each["bbox"] for each in content["annotations"] if each["image_id"] == 3)
    box[2] -= 9
    assert "B005" not in report_of(json.dumps(content)).counts


def cells(write, part, *, beyond=0, seed=2):
    """Return 10 images of 20 boxes, which `write` changes in part of them; the areas follow.

    So many boxes of an image extend beyond it.
    """
    rng = np.random.default_rng(seed)
    annotations = []
    for image in range(10):
        sides = rng.uniform(20, 90, (20, 2))
        corner = rng.uniform(0, 1, (20, 2)) * ((640, 480) - sides)
        corner[:beyond] = ((640, 480) - sides / 2)[:beyond]
        for box in np.hstack([corner, sides]).round(1).tolist():
            numbers = write(*box, 640, 480) if image in range(10)[part] else box
            annotations.append({"image_id": image + 1, "bbox": [round(n, 3) for n in numbers]})
    for place, annotation in enumerate(annotations, start=1):
        area = abs(annotation["bbox"][2] * annotation["bbox"][3])
        annotation |= {"id": place, "category_id": 1, "iscrowd": 0, "area": area}
    sizes = {"width": 640, "height": 480}
    return json.dumps(
        {
            "info": {"description": "cells"},
            "licenses": [],
            "images": [{"id": n + 1, "file_name": f"{n}.jpg", **sizes} for n in range(10)],
            "categories": [{"id": 1, "name": "cell"}],
            "annotations": annotations,
        }
    )


@pytest.mark.parametrize("n_images", [1, 2])
@pytest.mark.parametrize("layout", CORNERS)
def test_corners_in_few_crowded_images_are_told_by_these_images(layout, n_images):
    found, others = the_layout(cells(WRITTEN[layout][1], slice(n_images)))
    assert found.message.startswith(f"boxes in {n_images} of 10 images look like {layout}")
    assert SYMPTOMS.isdisjoint(others)
    assert found.count == 20 * n_images


def test_corners_are_not_taken_for_enlarged_boxes_where_some_are_drawn_past_the_edge():
    found, _ = the_layout(cells(WRITTEN["x1, y1, x2, y2"][1], slice(None), beyond=2))
    assert found.code == "B005"
    assert found.message.startswith("boxes look like x1, y1, x2, y2: ")


@pytest.mark.parametrize("part", [slice(4), slice(0, 10, 3)])
def test_corners_in_part_of_the_images_may_be_drawn_past_the_edge(part):
    found, _ = the_layout(cells(WRITTEN["x1, y1, x2, y2"][1], part, beyond=1))
    assert found.message.startswith("boxes in 4 of 10 images look like x1, y1, x2, y2: ")


def test_a_box_in_the_corner_of_the_image_does_not_hide_that_all_others_are_corners():
    content = json.loads(document(WRITTEN["x1, y1, x2, y2"][1], outlines=False, part=SIX)[0])
    box = next(each for each in content["annotations"] if each["image_id"] == 3)
    box |= {"bbox": [0, 0, 30, 20], "area": 600}
    found, _ = the_layout(json.dumps(content))
    assert found.message.startswith("boxes in 1 of 60 images look like x1, y1, x2, y2")
    assert "read this way, 5 of 6 have the area that is written" in found.message


@pytest.mark.parametrize(
    ("layout", "outlines"),
    [
        ("parts of the image (0 to 1)", True),
        ("percent of the image (0 to 100)", False),
        ("thousandths of the image (0 to 1000)", False),
        ("x, y, width, height, scaled by 0.5", True),
        ("x, y, width, height, scaled by 2", True),
        ("centre-x, centre-y, width, height", True),
    ],
)
def test_other_layouts_in_a_single_image_are_found_by_outlines_and_areas(layout, outlines):
    code, write = WRITTEN[layout]
    content, truth = written(write, outlines=outlines, part=SIX)
    found, others = the_layout(content)
    assert found.code == code
    assert found.message.startswith(f"boxes in 1 of 60 images look like {layout}: ")
    assert SYMPTOMS.isdisjoint(others)
    assert np.allclose(boxes_after(content), truth, atol=0.2)


def with_areas(size, write, area, *, sides):
    """Return 30 images of 8 boxes with these sides, as `write` writes them, and their areas."""
    rng = np.random.default_rng(3)
    images = [{"id": n, "file_name": f"{n}.jpg"} for n in range(1, 31)]
    for image in images:
        image |= {"width": size[0], "height": size[1]}
    annotations = []
    for place in range(240):
        w, h = rng.uniform(*sides, 2).tolist()
        x, y = (rng.uniform(0, 1, 2) * (size[0] - w, size[1] - h)).tolist()
        one = {"id": place + 1, "image_id": place // 8 + 1, "category_id": 1, "iscrowd": 0}
        annotations.append({**one, "bbox": write(x, y, w, h), "area": area(w, h)})
    categories = [{"id": 1, "name": "a"}]
    return json.dumps({"images": images, "annotations": annotations, "categories": categories})


@pytest.mark.parametrize("size", [(1024, 768), (1000, 785)])
def test_areas_of_ellipses_are_not_taken_for_thousandths(size):
    """The area of an ellipse is 0.785 of its box, as many pixels as a box of 1024 x 768 has."""
    pixels = with_areas(
        size, lambda *box: list(box), lambda w, h: np.pi / 4 * w * h, sides=(10, 200)
    )
    assert LAYOUT_CODES.isdisjoint(report_of(pixels).counts)


@pytest.mark.parametrize(("size", "n_fit"), [((1360, 765), 234), ((1024, 768), 240)])
def test_whole_thousandths_of_small_objects_have_the_area_of_their_boxes(size, n_fit):
    """Rounding changes the area of a box of 10 pixels by a tenth and more.

    Some then have the area of the box as written, too.
    """
    content = with_areas(
        size,
        lambda x, y, w, h: [
            round(1000 * each / side) for each, side in zip((x, y, w, h), size * 2, strict=True)
        ],
        lambda w, h: w * h,
        sides=(8, 40),
    )
    found, others = the_layout(content)
    assert found.message.startswith(
        f"boxes look like thousandths of the image (0 to 1000): read this way, {n_fit} of 240 have "
        "the area that is written"
    )
    assert SYMPTOMS.isdisjoint(others)


@pytest.mark.parametrize("part", [*PARTS.values(), SIX])
def test_areas_tell_sizes_before_positions_unless_they_are_wrong(part):
    content, _ = written(WRITTEN["width, height, x, y"][1], outlines=False, part=part)
    found, others = the_layout(content)
    assert " look like width, height, x, y, unless their areas are wrong: read" in found.message
    assert "have the area that is written, but not as x, y, width, height" in found.message
    assert found.fix is None
    assert SYMPTOMS.isdisjoint(others)


@pytest.mark.parametrize("layout", sorted(WRITTEN.keys() - NEED_OUTLINES - NEED_AREAS))
def test_images_tell_layouts_where_areas_follow_the_boxes(layout):
    code, write = WRITTEN[layout]
    content, truth = written(write, outlines=False, areas=False)
    found, others = the_layout(content)
    assert found.code == code
    assert f"look like {layout}: " in found.message
    assert SYMPTOMS.isdisjoint(others)
    assert np.allclose(boxes_after(content), truth, atol=0.2)


@pytest.mark.parametrize(
    "layout",
    sorted(
        WRITTEN.keys() - NEED_OUTLINES - NEED_AREAS - NEED_AREAS_IN_PART - NEED_OUTLINES_IN_PART
    ),
)
def test_images_tell_layouts_of_a_merged_part(layout):
    code, write = WRITTEN[layout]
    content, _ = document(write, outlines=False, areas=False, part=slice(20, 32))
    found, others = the_layout(content)
    assert found.code == code
    assert found.message.startswith(f"boxes in 12 of 60 images look like {layout}: ")
    assert SYMPTOMS.isdisjoint(others)


def test_thousandths_without_outlines_do_not_tell_x_from_y():
    _, write = WRITTEN["y1, x1, y2, x2 in thousandths of the image (0 to 1000)"]
    found, _ = the_layout(document(write, outlines=False)[0])
    assert "(0 to 1000), or with y before x: " in found.message
    assert found.fix is None


def test_swapped_boxes_without_outlines_may_be_swapped_sizes():
    _, write = WRITTEN["y, x, height, width"]
    (found,) = [
        finding
        for finding in report_of(document(write, outlines=False)[0]).findings
        if finding.code == "B012"
    ]
    assert "images, or their boxes are y, x, height, width: boxes extend" in found.message


def test_outlines_of_square_images_may_be_what_is_swapped(monkeypatch):
    _, write = WRITTEN["y, x, height, width"]
    found, _ = the_layout(document(write)[0])
    assert "look like y, x, height, width: " in found.message
    monkeypatch.setattr(layouts, "SIZES", ((256, 256),))
    found, _ = the_layout(document(write)[0])
    assert "y, x, height, width, unless their outlines have y before x: " in found.message


def test_image_files_tell_swapped_boxes_from_swapped_sizes(tmp_path):
    _, write = WRITTEN["y, x, height, width"]
    content, _ = document(write, outlines=False)
    export = tmp_path / "export.json"
    export.write_text(content)
    records = json.loads(content)["images"]
    for image in records:
        Image.new("1", (image["width"], image["height"])).save(tmp_path / image["file_name"])
    (found,) = validate(export, images=tmp_path, select=["B005", "B012"]).findings
    assert found.code == "B005"
    assert "look like y, x, height, width: they extend beyond images whose sizes" in found.message
    for image in records:
        Image.new("1", (image["height"], image["width"])).save(tmp_path / image["file_name"])
    assert validate(export, images=tmp_path, select=["B005", "B012"]).counts == {"B012": 1}


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("outlines", [False, True])
def test_sound_boxes_have_no_other_layout(seed, outlines):
    content, _ = document(lambda *box: box[:4], outlines=outlines, seed=seed)
    assert LAYOUT_CODES.isdisjoint(report_of(content).counts)


@pytest.mark.parametrize("seed", range(6))
def test_boxes_that_extend_beyond_their_images_have_no_other_layout(seed):
    def beyond(x, y, w, h, width, height):
        return (x, y, w + 0.3 * width, h + 0.3 * height)

    content, _ = document(beyond, outlines=False, areas=False, seed=seed)
    report = report_of(content)
    assert LAYOUT_CODES.isdisjoint(report.counts)
    assert "B003" in report.counts


@pytest.mark.parametrize("outlines", [True, False])
@pytest.mark.parametrize(
    ("layout", "code"),
    [("x1, y1, x2, y2", "B005"), ("parts of the image (0 to 1)", "B007")],
)
def test_the_layout_of_one_annotator_is_found_in_shared_images(layout, code, outlines):
    _, write = WRITTEN[layout]
    content = by_annotators(write, outlines=outlines)
    read = document_of(json.dumps(content))
    found, others = the_layout(read)
    assert found.code == code
    assert found.message.startswith(f'boxes by annotator "bob" look like {layout}: ')
    assert SYMPTOMS.isdisjoint(others)
    n_boxes = len(content["annotations"]) // 3
    assert found.count == n_boxes
    changed = boxes_after(read)
    assert np.allclose(changed[n_boxes : 2 * n_boxes], changed[:n_boxes], atol=0.2)


def test_the_layout_of_two_of_three_annotators_is_found():
    _, write = WRITTEN["x1, y1, x2, y2"]
    found, _ = the_layout(json.dumps(by_annotators(write, outlines=True, normal=("cid",))))
    assert found.message.startswith("boxes by 2 of 3 annotators look like x1, y1, x2, y2: ")


def of_first_points():
    """Return boxes made of the first two points of their outlines, taken for centre and sides."""
    content = json.loads(document(lambda *box: box[:4])[0])
    for each in content["annotations"]:
        x, y, width, height = each["bbox"]
        ring = [x + width, y, x + width, y + height, x, y + height, x, y]
        each["segmentation"] = [ring]
        each["bbox"] = [ring[0] - ring[2] / 2, ring[1] - ring[3] / 2, *ring[2:4]]
    return json.dumps(content)


def test_boxes_elsewhere_than_their_outlines_have_no_other_layout():
    """A converter of outlines did this; half of the width of each box is its x."""
    report = report_of(of_first_points())
    assert LAYOUT_CODES.isdisjoint(report.counts)
    (found,) = [finding for finding in report.findings if finding.code == "P007"]
    assert found.severity == "error"


def test_boxes_that_differ_from_their_outlines_by_a_little_are_a_warning():
    content = json.loads(document(lambda *box: box[:4])[0])
    for each in content["annotations"]:
        each["bbox"][2] += 5
    found = [each for each in report_of(json.dumps(content)).findings if each.code == "P007"]
    assert [each.severity for each in found] == ["warning"]


def test_the_centre_of_boxes_drawn_apart_from_their_outlines_is_found_by_images():
    def write(x, y, w, h, *_):
        return (x + w / 2 + 3, y + h / 2 + 3, w + 6, h - 6)

    content = json.loads(document(write, areas=False)[0])
    found, _ = the_layout(json.dumps(content))
    assert found.code == "B006"
    assert "extend beyond their image" in found.message


def crowded(write, seed=1, n_images=60):
    """Return images with many small boxes, without areas and outlines to tell a layout by."""
    rng = np.random.default_rng(seed)
    images, annotations = [], []
    for number in range(n_images):
        width, height = (1280, 720) if number % 2 else (720, 1280)
        images.append(
            {"id": number, "file_name": f"{number}.jpg", "width": width, "height": height}
        )
        for _ in range(30):
            w, h = (rng.uniform(0.04, 0.12, 2) * (width, height)).tolist()
            x, y = (rng.uniform(0, 1, 2) * (width - w, height - h)).tolist()
            box = write(x, y, w, h, width, height)
            annotations.append(
                {"id": len(annotations) + 1, "image_id": number, "category_id": 1, "bbox": box,
                 "area": box[2] * box[3], "iscrowd": 0}
            )  # fmt: skip
    categories = [{"id": 1, "name": "cat"}]
    return json.dumps({"images": images, "annotations": annotations, "categories": categories})


@pytest.mark.parametrize("seed", range(3))
def test_centres_of_small_boxes_are_told_by_two_edges(seed):
    found, _ = the_layout(crowded(WRITTEN["centre-x, centre-y, width, height"][1], seed))
    assert (found.code, found.count) == ("B006", 1800)


@pytest.mark.parametrize("seed", range(3))
def test_boxes_beyond_one_edge_are_not_centres(seed):
    """A camera above a belt: boxes leave the image at the bottom, and begin well inside of it."""

    def belt(x, y, w, h, width, height):
        return (x / 2 + width / 4, y / 2 + height / 2, w, h + 0.1 * height)

    report = report_of(crowded(belt, seed))
    assert LAYOUT_CODES.isdisjoint(report.counts)
    assert "B003" in report.counts


def test_height_before_width_is_told_where_boxes_are_long():
    rng = np.random.default_rng(0)

    def wide(x, y, w, h, width, height):
        long = float(rng.uniform(0.5, 0.9)) * width
        return (x / width * (width - long), y, h, long)

    content = json.loads(crowded(wide))
    for image in content["images"]:
        image["width"], image["height"] = 1280, 720
    found, _ = the_layout(crowded(wide))
    assert found.code == "B005"
    assert found.message.startswith("boxes look like x, y, height, width: ")


@pytest.mark.parametrize("unit", [100, 1000])
@pytest.mark.parametrize("size", [1300, 2000])
def test_boxes_in_a_corner_of_some_images_are_in_pixels(unit, size):
    """In many images with one box each, some have theirs where percent would be."""
    rng = np.random.default_rng(unit + size)
    images, annotations = [], []
    for number in range(3000):
        images.append({"id": number, "file_name": f"{number}.jpg", "width": size, "height": size})
        side = rng.uniform(10, 60, 2)
        box = [*(rng.uniform(0, 1, 2) * (size - side)).tolist(), *side.tolist()]
        annotations.append(
            {"id": number + 1, "image_id": number, "category_id": 1, "bbox": box, "iscrowd": 0}
        )
    content = {"images": images, "annotations": annotations, "categories": [{"id": 1, "name": "a"}]}
    assert LAYOUT_CODES.isdisjoint(report_of(json.dumps(content)).counts)


@pytest.mark.parametrize(
    ("layout", "code"),
    [("centre-x, centre-y, width, height", "B006"), ("percent of the image (0 to 100)", "B007")],
)
def test_images_tell_these_layouts_of_one_annotator(layout, code):
    _, write = WRITTEN[layout]
    content = json.dumps(by_annotators(write, outlines=False))
    found, _ = the_layout(content)
    assert found.code == code
    assert found.message.startswith(f'boxes by annotator "bob" look like {layout}: ')


def test_an_object_in_the_corner_of_a_video_is_in_pixels():
    content = json.loads(crowded(lambda *box: list(box[:4])))
    rng = np.random.default_rng(0)
    for number in range(20, 50):
        corner = [5 + rng.normal(), 8 + rng.normal(), 88.5, 87.5]
        content["annotations"] = [
            each for each in content["annotations"] if each["image_id"] != number
        ]
        content["annotations"] += [
            {"id": 5000 + 2 * number + n, "image_id": number, "category_id": 1, "bbox": corner,
             "iscrowd": 0}
            for n in range(2)
        ]  # fmt: skip
    assert LAYOUT_CODES.isdisjoint(report_of(json.dumps(content)).counts)


def test_boxes_of_another_clip_that_leave_the_image_are_not_centres():
    """Two annotators of different videos; boxes of one extend beyond two edges."""

    def truncated(x, y, w, h, width, height):
        return (x / 2 + width / 2 - w / 2, y / 2 + height / 2 - h / 2, 1.6 * w, 1.6 * h)

    content = json.loads(crowded(lambda *box: list(box[:4])))
    other = json.loads(crowded(truncated, seed=2, n_images=10))
    for each in content["annotations"]:
        each["annotator"] = "ann"
    for each in other["annotations"]:
        each["image_id"] += 60
        each["id"] += 2000
        each["annotator"] = "bob"
    for each in other["images"]:
        each["id"] += 60
        each["file_name"] = "b" + each["file_name"]
    content["images"] += other["images"]
    content["annotations"] += other["annotations"]
    report = report_of(json.dumps(content))
    assert LAYOUT_CODES.isdisjoint(report.counts)
    assert "B003" in report.counts


@pytest.mark.parametrize(("factor", "found"), [(0.5, True), (0.25, True), (0.6, False), (1, False)])
def test_boxes_that_all_lie_in_the_upper_left_quarter_are_a_warning(factor, found):
    def scaled(x, y, w, h, *_):
        return x * factor, y * factor, w * factor, h * factor

    content = json.loads(document(scaled, outlines=False, areas=False)[0])
    report = report_of(json.dumps(content))
    scales = [each for each in report.findings if each.code == "B013"]
    assert len(scales) == found
    if found:
        n_boxes = len(content["annotations"])
        assert scales[0].severity == "warning"
        assert scales[0].message.startswith(f"all {n_boxes} boxes of 60 images lie in the upper")
    content["images"] = content["images"][:29]
    few = [each for each in content["annotations"] if each["image_id"] <= 29]
    assert "B013" not in report_of(json.dumps(content | {"annotations": few})).counts


def drawn_beyond_edges(seed):
    """Return boxes about random centres, of which the ends of some are beyond their images."""
    rng = np.random.default_rng(seed)
    size = np.array([300.0, 200.0])
    sides = rng.uniform(15, 45, (1200, 2))
    corner = rng.uniform(-0.22 * sides, size - 0.78 * sides)
    return np.concatenate([corner, sides], axis=1).round(1)


def file_of(bbox, size=(300, 200), per_image=30):
    n_images = len(bbox) // per_image
    images = [
        {"id": number, "file_name": f"{number}.jpg", "width": size[0], "height": size[1]}
        for number in range(1, n_images + 1)
    ]
    annotations = [
        {"id": row + 1, "image_id": 1 + row // per_image, "category_id": 1, "bbox": box}
        for row, box in enumerate(bbox.tolist())
    ]
    categories = [{"id": 1, "name": "cell"}]
    return json.dumps({"images": images, "annotations": annotations, "categories": categories})


@pytest.mark.parametrize("seed", range(3))
def test_centres_are_likely_where_people_draw_boxes_beyond_all_edges(seed):
    bbox = drawn_beyond_edges(seed)
    centred = np.concatenate([bbox[:, :2] + bbox[:, 2:] / 2, bbox[:, 2:]], axis=1)
    found, others = the_layout(file_of(centred))
    assert found.code == "B006"
    assert "height, unless the sizes of the images are wrong: as x" in found.message
    assert found.fix is None
    assert SYMPTOMS.isdisjoint(others)


@pytest.mark.parametrize("seed", range(3))
def test_boxes_drawn_beyond_edges_are_not_centres(seed):
    bbox = drawn_beyond_edges(seed)
    # A tool may cut boxes off at 0 but not at the other edges, or sizes may be too small.
    cut = np.maximum(bbox[:, :2], 0)
    cut = np.concatenate([cut, bbox[:, :2] + bbox[:, 2:] - cut], axis=1)
    inside = bbox[((bbox[:, :2] >= 0) & (bbox[:, :2] + bbox[:, 2:] <= [300, 200])).all(axis=1)]
    inside = inside[: len(inside) // 30 * 30]
    for content in (file_of(bbox), file_of(cut), file_of(inside, size=(280, 185))):
        assert "B006" not in report_of(content).counts
