"""Fixes lose nothing, and change no number that was right or cannot be known."""

import copy
import json

import pytest
from pycocotools import mask as coco
from support.kept import MARK, fixed, lost, marked, mask_of, records
from support.layouts import WRITTEN
from support.originals import ORIGINALS
from support.reference import data_file
from support.validation import document_of, report_of

from bboxqa.model.settings import ValidateSettings
from bboxqa.rules.runner import apply

LISTS = ("images", "categories", "annotations")
REAL = [
    *(f"exports/{name}.json" for name in ("cvat_boxes", "cvat_polygons", "roboflow_boxes", "taco")),
    *(f"several/{name}.json" for name in ("asthma_round1", "crowd_boxes", "pedestrians")),
    "lvis_double_100.json",
]
COMMITTED = ["roboflow.json", "simulated.json", "simulated_reviewed.json"]


EVERY, FOURTH = 1, 4


def of_some(change, step=EVERY):
    """Return what applies a change of an annotation and its image to those of some images."""

    def whole(document):
        chosen = {image["id"]: image for image in document["images"][::step]}
        for annotation in document["annotations"]:
            if annotation["image_id"] in chosen:
                change(annotation, chosen[annotation["image_id"]])

    return whole


def written(write):
    """Return a change of boxes to another layout."""

    def change(annotation, image):
        numbers = write(*annotation["bbox"], image["width"], image["height"])
        annotation["bbox"] = [round(float(number), 4) for number in numbers]

    return change


def close(found, expected):
    """Return whether values are equal up to the rounding of a layout."""
    if isinstance(found, list) and isinstance(expected, list):
        return len(found) == len(expected) and all(map(close, found, expected))
    if isinstance(found, (int, float)) and isinstance(expected, (int, float)):
        return abs(found - expected) <= 0.2 + 1e-3 * abs(expected)
    return found == expected


@pytest.mark.parametrize("areas", ["of the boxes as written", "missing"])
@pytest.mark.parametrize("step", [EVERY, FOURTH])
@pytest.mark.parametrize("layout", WRITTEN)
def test_no_safe_fix_makes_a_wrong_number_of_boxes_in_another_layout(layout, step, areas):
    right, wrong = (ORIGINALS["boxes"]() for _ in range(2))
    of_some(written(WRITTEN[layout][1]), step)(wrong)
    for annotation in wrong["annotations"]:
        _, _, width, height = annotation["bbox"]
        annotation.update(area=width * height)
        if areas == "missing":
            del annotation["area"]
    mended = fixed(wrong)
    for before, now, truth in zip(
        wrong["annotations"], mended["annotations"], right["annotations"], strict=True
    ):
        assert now["bbox"] == before["bbox"]
        # Where no box extends beyond its image, nothing shows the layout.
        if now.get("area") != before.get("area") and layout not in UNSEEN:
            assert close(now["area"], truth["area"])


# Without outlines and areas, boxes in these layouts look like others in all or part of the images.
UNSEEN = {
    "width, height, x, y",
    "x, y, width, height, scaled by 0.5",
    "percent of the image (0 to 100)",
    "thousandths of the image (0 to 1000)",
}


def normalised(annotation, image):
    """Write a box and its outline as parts of the image, and leave the area in pixels."""
    size = image["width"], image["height"]
    annotation["bbox"] = [round(n / size[at % 2], 5) for at, n in enumerate(annotation["bbox"])]
    annotation["segmentation"] = [
        [round(n / size[at % 2], 5) for at, n in enumerate(ring)]
        for ring in annotation["segmentation"]
    ]


def doubled(annotation, _image):
    """Scale a box and its outline, so that many leave their images."""
    annotation["bbox"] = [2 * number for number in annotation["bbox"]]
    annotation["segmentation"] = [
        [2 * number for number in ring] for ring in annotation["segmentation"]
    ]


@pytest.mark.parametrize("step", [EVERY, FOURTH])
@pytest.mark.parametrize("change", [normalised, doubled])
def test_areas_stay_where_outlines_and_boxes_are_not_those_of_the_image(change, step):
    document = ORIGINALS["polygons"]()
    of_some(change, step)(document)
    assert fixed(document) == document


@pytest.fixture(scope="module", params=COMMITTED + REAL)
def export(request):
    """Return an export whose records are marked, and what `document_of` reads of it."""
    document = marked(json.loads(data_file(request.param).read_bytes()))
    return document, document_of(json.dumps(document))


def test_no_record_is_lost_and_safe_fixes_keep_masks_that_were_right(export):
    document, read = export
    mended = fixed(read)
    # The only record that a safe fix removes is no class: the root of a Roboflow export.
    assert [part for part, record in lost(document, mended) if record.get("id") != 0] == []
    images = {str(image["id"]): image for image in document["images"]}
    now = {record[MARK]: record for record in records(mended, "annotations")}
    for before in records(document, "annotations"):
        after, image = now[before[MARK]], images[str(before["image_id"])]
        if before.get("segmentation") != after.get("segmentation"):
            assert mask_of(before, image) == mask_of(after, image)
        if before.get("area") != after.get("area"):
            mask = mask_of(after, image)
            true = after["bbox"][2] * after["bbox"][3] if mask is None else coco.area(mask)
            assert after["area"] == pytest.approx(true, rel=0.03, abs=2)


def test_unsafe_fixes_change_only_records_with_findings(export):
    document, read = export
    mended = fixed(read, unsafe=True)
    now = {record[MARK]: record for record in records(mended, "annotations")}
    named = rows_of_fixable_findings(read)
    for row, before in enumerate(records(document, "annotations")):
        if row not in named:
            kept = now[before[MARK]]
            assert {**kept, "category_id": 0} == {**before, "category_id": 0}
    assert len(document["annotations"]) - len(now) <= len(named)


def rows_of_fixable_findings(document):
    """Return the annotations that rules with a fix find something in."""
    result = set()
    for rule, rows in apply(document, ValidateSettings()):
        if rule.fix and rows.name == "annotations":
            result.update(rows.rows.tolist())
        for number in rows.numbers.tolist() if rule.fix else ():
            edited = [edit.pointer.split("/") for edit in rows.edits_of(number)]
            result.update(int(parts[2]) for parts in edited if parts[1] == "annotations")
    return result


def scaled(*by):
    """Return a change that scales a box and its outline, and leaves the area."""

    def change(annotation, image):
        factors = by if len(by) == 2 else [by[0] / image[side] for side in ("width", "height")]
        annotation["bbox"] = [
            round(n * factors[at % 2], 3) for at, n in enumerate(annotation["bbox"])
        ]
        annotation["segmentation"] = [
            [round(n * factors[at % 2], 3) for at, n in enumerate(ring)]
            for ring in annotation["segmentation"]
        ]

    return change


def test_areas_of_an_image_that_differ_by_one_factor_are_kept():
    document = ORIGINALS["polygons"]()
    first = document["images"][0]["id"]
    wrong = [each for each in document["annotations"] if each["image_id"] == first]
    for annotation in wrong[:4]:
        scaled(0.5, 0.5)(annotation, {})
    lone = document["annotations"][-1]
    right = lone["area"]
    lone["area"] *= 3
    mended = fixed(document)["annotations"]
    assert [each["area"] for each in mended[:4]] == [each["area"] for each in wrong[:4]]
    assert mended[-1]["area"] == pytest.approx(right, abs=0.01)


@pytest.mark.parametrize("step", [EVERY, FOURTH])
def test_no_outline_is_clipped_where_many_extend_beyond_images(step):
    document = ORIGINALS["polygons"]()
    for image in document["images"][::step]:
        image.update(width=image["width"] // 2, height=image["height"] // 2)
    assert "P006" in report_of(json.dumps(document)).counts
    assert fixed(document, unsafe=True) == document


def in_squares(original):
    """Return an original whose images are squares that hold all of its boxes."""
    document = ORIGINALS[original]()
    for image in document["images"]:
        image["width"] = image["height"] = max(image["width"], image["height"])
    return document


@pytest.mark.parametrize("areas", [True, False])
@pytest.mark.parametrize("layout", ["x1, y1, x2, y2", "y1, x1, y2, x2"])
def test_corners_in_square_images_are_in_doubt(layout, areas):
    document = in_squares("boxes")
    of_some(written(WRITTEN[layout][1]))(document)
    for annotation in document["annotations"]:
        if not areas:
            del annotation["area"]
    (found,) = [
        each for each in report_of(json.dumps(document)).findings if each.code == "B005"
    ]  # fmt: skip
    assert found.message.startswith("boxes look like x1, y1, x2, y2, or with y before x: ")
    boxes = [annotation["bbox"] for annotation in document["annotations"]]
    mended = fixed(document, unsafe=True)["annotations"]
    assert [annotation["bbox"] for annotation in mended] == boxes


@pytest.mark.parametrize("layout", ["x1, y1, x2, y2", "y1, x1, y2, x2"])
def test_outlines_tell_x_from_y_in_square_images(layout):
    right = in_squares("polygons")
    wrong = copy.deepcopy(right)
    of_some(written(WRITTEN[layout][1]))(wrong)
    mended = fixed(wrong, unsafe=True)["annotations"]
    for annotation, truth in zip(mended, right["annotations"], strict=True):
        assert annotation["bbox"] == pytest.approx(truth["bbox"], abs=0.01)


def test_the_root_category_of_one_file_is_not_removed_safely():
    document = ORIGINALS["boxes"]()
    for category in document["categories"]:
        category["supercategory"] = "traffic"
    document["categories"].insert(0, {"id": 0, "name": "traffic", "supercategory": "none"})
    assert "C005" in report_of(json.dumps(document)).counts
    assert fixed(document) == document
    assert len(fixed(document, unsafe=True)["categories"]) == 3
