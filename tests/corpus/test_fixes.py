"""Fixes lose nothing, and change no number that was right or cannot be known."""

import json

import pytest
from pycocotools import mask as coco
from support import layouts
from support.layouts import WRITTEN
from support.reference import data_file
from support.validation import document_of, findings, report_of

from bboxqa.model.settings import ValidateSettings
from bboxqa.rules.fixes import fix
from bboxqa.rules.runner import apply, codes_of


def plain(*box):
    return box[:4]


def boxes(write=plain, step=1):
    """Return boxes without outlines, of which `write` changes those of some images; the true ones.

    Images have enough boxes to show in which layout they are.
    """
    part = slice(0, None, step)
    text, truth = layouts.document(write, outlines=False, part=part, least=3, side=0.2)
    return json.loads(text), truth


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


EXPORTS = ["roboflow.json", "simulated.json", "simulated_reviewed.json", "lvis_double_100.json",
           "exports/cvat_polygons.json", "several/crowd_boxes.json"]  # fmt: skip


EVERY, FOURTH = 1, 4


def of_some(change, step=EVERY):
    """Return what applies a change of an annotation and its image to those of some images."""

    def whole(document):
        chosen = {image["id"]: image for image in document["images"][::step]}
        for annotation in document["annotations"]:
            if annotation["image_id"] in chosen:
                change(annotation, chosen[annotation["image_id"]])

    return whole


@pytest.mark.parametrize("areas", ["of the boxes as written", "missing"])
@pytest.mark.parametrize("step", [EVERY, FOURTH])
@pytest.mark.parametrize("layout", WRITTEN)
def test_no_safe_fix_makes_a_wrong_number_of_boxes_in_another_layout(layout, step, areas):
    wrong, truth = boxes(WRITTEN[layout][1], step)
    for annotation in wrong["annotations"]:
        _, _, width, height = annotation["bbox"]
        annotation.update(area=width * height)
        if areas == "missing":
            del annotation["area"]
    mended = fixed(wrong)["annotations"]
    for before, now, (*_, width, height) in zip(wrong["annotations"], mended, truth, strict=True):
        assert now["bbox"] == before["bbox"]
        # Where no box extends beyond its image, nothing shows the layout.
        if now.get("area") != before.get("area") and layout not in UNSEEN:
            assert now["area"] == pytest.approx(width * height, rel=1e-3, abs=0.2)


# Without outlines and areas, boxes in these layouts look like others in all or part of the images.
UNSEEN = {"percent of the image (0 to 100)", "thousandths of the image (0 to 1000)"}


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
    document = json.loads(layouts.document(plain)[0])
    of_some(change, step)(document)
    assert fixed(document) == document


@pytest.fixture(scope="module", params=EXPORTS)
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


@pytest.mark.parametrize("step", [EVERY, FOURTH])
def test_no_outline_is_clipped_where_many_extend_beyond_images(step):
    document = json.loads(layouts.document(plain)[0])
    for image in document["images"][::step]:
        image.update(width=image["width"] // 2, height=image["height"] // 2)
    assert "P006" in report_of(json.dumps(document)).counts
    assert fixed(document, unsafe=True) == document


def in_squares(document):
    """Return a document whose images are squares that hold all boxes."""
    for image in document["images"]:
        image["width"] = image["height"] = max(image["width"], image["height"])
    return document


@pytest.mark.parametrize("areas", [True, False])
@pytest.mark.parametrize("layout", ["x1, y1, x2, y2", "y1, x1, y2, x2"])
def test_corners_in_square_images_are_in_doubt(layout, areas):
    document = in_squares(boxes(WRITTEN[layout][1])[0])
    for annotation in document["annotations"]:
        if not areas:
            del annotation["area"]
    (found,) = findings(json.dumps(document), code="B005")
    assert found.message.startswith("boxes look like x1, y1, x2, y2, or with y before x: ")
    mended = fixed(document, unsafe=True)["annotations"]
    assert [each["bbox"] for each in mended] == [each["bbox"] for each in document["annotations"]]


@pytest.mark.parametrize("layout", ["x1, y1, x2, y2", "y1, x1, y2, x2"])
def test_outlines_tell_x_from_y_in_square_images(layout):
    text, truth = layouts.document(WRITTEN[layout][1])
    mended = fixed(in_squares(json.loads(text)), unsafe=True)["annotations"]
    for annotation, box in zip(mended, truth, strict=True):
        assert annotation["bbox"] == pytest.approx(box, abs=0.01)
