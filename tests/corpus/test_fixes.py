"""Fixes lose nothing, and change no number that was right or cannot be known."""

import copy
import json
from functools import cache

import numpy as np
import pytest
from pycocotools import mask as coco
from support.layouts import WRITTEN
from support.reference import data_file
from support.validation import document_of, report_of

from bboxqa.model.settings import ValidateSettings
from bboxqa.rules.fixes import fix
from bboxqa.rules.runner import apply, codes_of

SIZES = ((640, 480), (480, 640), (800, 600), (1920, 1080), (1280, 720))
N_IMAGES = 48
CATEGORIES = ("car", "bicycle", "person")


def document(images, annotations, categories=CATEGORIES):
    """Return a document of images and annotations, which are numbered here."""
    if isinstance(categories[0], str):
        categories = [{"name": name, "supercategory": "street"} for name in categories]
    for records in (images, annotations, categories):
        for number, record in enumerate(records, 1):
            record["id"] = number
    return {
        "info": {"description": "street", "year": 2026, "date_created": "2026-03-02"},
        "licenses": [{"id": 1, "name": "CC BY 4.0", "url": "https://creativecommons.org"}],
        "images": images,
        "categories": categories,
        "annotations": annotations,
    }


def pictures(rng, sizes=SIZES):
    """Return images of different sizes, without ids."""
    result = []
    for number in range(N_IMAGES):
        width, height = sizes[rng.integers(len(sizes))]
        name = f"street_{number:03}_{rng.integers(16**6):06x}.jpg"
        result.append({"file_name": name, "width": width, "height": height, "license": 1})
    return result


def places(rng, width, height):
    """Yield the boxes of a few objects: one in each of some cells of an image."""
    for cell in rng.permutation(9)[: rng.integers(3, 7)].tolist():
        across, down = width / 3, height / 3
        w, h = rng.uniform(0.5, 0.9, 2) * (across, down)
        x, y = rng.uniform(0, 1, 2) * (across - w, down - h) + (cell % 3 * across, cell // 3 * down)
        yield np.round([x, y, w, h], 1)


def outline(rng, x, y, w, h):
    """Return a polygon in a box that it need not fill, and its area."""
    n_points = int(rng.integers(9, 15))
    angles = np.sort(rng.uniform(0, 2 * np.pi, n_points) / 3 + np.arange(n_points) * 2 * np.pi)
    angles = (angles / n_points) % (2 * np.pi)
    reach = rng.uniform(0.7, 1, n_points)
    xy = np.stack(
        [x + w / 2 * (1 + reach * np.cos(angles)), y + h / 2 * (1 + reach * np.sin(angles))]
    )
    xy = np.round(xy, 2)
    after = np.roll(xy, -1, axis=1)
    return xy.T.ravel().tolist(), float(abs((xy[0] * after[1] - after[0] * xy[1]).sum()) / 2)


def drawn(rng, box):
    """Return an annotation with a polygon in a box."""
    ring, area = outline(rng, *box)
    xs, ys = ring[::2], ring[1::2]
    sides = min(xs), min(ys), max(xs) - min(xs), max(ys) - min(ys)
    return {"bbox": [round(n, 2) for n in sides], "segmentation": [ring], "area": round(area, 2)}


def annotated(rng, images, draw):
    """Return annotations of images, each as `draw` makes it of a box."""
    return [
        {"image_id": number, "category_id": int(rng.integers(1, 4)), "iscrowd": 0, **draw(rng, box)}
        for number, image in enumerate(images, 1)
        for box in places(rng, image["width"], image["height"])
    ]


def polygons(seed=15):
    """Return polygons, as CVAT and others export them."""
    rng = np.random.default_rng(seed)
    images = pictures(rng)
    annotations = annotated(rng, images, drawn)
    for annotation in annotations:
        annotation["attributes"] = {"occluded": False}
    return document(images, annotations)


def boxes(seed=16):
    """Return boxes without outlines, as Roboflow exports them."""
    rng = np.random.default_rng(seed)

    def draw(_rng, box):
        return {"bbox": box.tolist(), "area": round(float(box[2] * box[3]), 2), "segmentation": []}

    images = pictures(rng)
    annotations = annotated(rng, images, draw)
    for image in images:
        stem = image["file_name"].removesuffix(".jpg")
        image["file_name"] = f"{stem}_jpg.rf.{rng.bytes(16).hex()}.jpg"
    return document(images, annotations)


def copies(make):
    """Return a function that returns a document anew, which is made once."""
    content = cache(lambda: json.dumps(make()))
    return lambda: json.loads(content())


ORIGINALS = {"polygons": copies(polygons), "boxes": copies(boxes)}
"""What is in a sound export to a function that makes it."""


MARK = "row in the test"
LISTS = ("images", "categories", "annotations")


def fixed(document, *, unsafe=False):
    """Return a document after all its fixes, as it is or read by `document_of`."""
    content = json.dumps(document) if isinstance(document, dict) else document
    text = fix(document_of(content), ValidateSettings(), unsafe=unsafe).text
    return json.loads(bytes(text))


def records(document, name):
    """Return the records of a list; none where it is not a list of objects."""
    values = document.get(name) if isinstance(document, dict) else document
    return [value for value in values or () if isinstance(value, dict)]


def marked(document):
    """Return a document whose records have a mark by which they are found again."""
    changed = dict(document)
    for name in LISTS:
        changed[name] = [
            {**record, MARK: row} for row, record in enumerate(records(document, name))
        ]
    return changed


def referred(document, name, key):
    """Return the mark of the record that each annotation refers to; None for none."""
    rows = {}
    for record in records(document, name):
        rows.setdefault(str(record.get("id")), record[MARK])
    return {
        annotation[MARK]: rows.get(str(annotation.get(key)))
        for annotation in records(document, "annotations")
    }


def lost(before, after):
    """Return what records of a marked document are missing or refer to something else after it."""
    result = []
    for name in LISTS:
        found = {record[MARK] for record in records(after, name)}
        result += [(name, record) for record in records(before, name) if record[MARK] not in found]
    for name, key in (("images", "image_id"), ("categories", "category_id")):
        old, new = referred(before, name, key), referred(after, name, key)
        result += [
            (key, row) for row, mark in old.items()
            if row in new and mark is not None and new[row] != mark
        ]  # fmt: skip
    return result


def mask_of(annotation, image):
    """Return the run lengths that pycocotools makes of an outline; None where it makes none."""
    outline = annotation.get("segmentation")
    height, width = image.get("height"), image.get("width")
    if not outline or type(height) is not int or type(width) is not int:
        return None
    try:
        if isinstance(outline, list):
            return coco.merge(coco.frPyObjects(outline, height, width))
        if isinstance(outline["counts"], list):
            return coco.frPyObjects(outline, *outline["size"])
    except (TypeError, ValueError, KeyError, IndexError):
        return None
    return outline


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
    settings = ValidateSettings()
    for rule, rows in apply(document, codes_of(document, settings), settings):
        if rule.fix and rows.name == "annotations":
            result.update(rows.rows.tolist())
        for number in rows.numbers.tolist() if rule.fix else ():
            edited = [edit.pointer.split("/") for edit in rows.edits_of(document, number)]
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
