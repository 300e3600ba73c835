"""Boxes, areas and layouts of whole files, and of any values."""

import json

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.layouts import WRITTEN, by_annotators, document
from support.validation import document_of, findings, mended, only, report_of

from bboxqa import reading, validate
from bboxqa.model.settings import ValidateSettings
from bboxqa.rules.fixes import fix
from bboxqa.rules.registry import RULES, page_lines

PLAIN = [[60, 50, 20, 10], [50, 60, 25, 18], [76, 30, 22, 10], [8, 60, 30, 19], [75, 65, 24, 14]]


def boxes(*many, **more):
    return {"annotations": [{"bbox": list(box), **more} for box in many]}


def test_one_area_for_boxes_of_different_sizes_is_no_area():
    """A tool wrote 2500 for 62 of 100 boxes of a public file, and no finding named it."""
    sizes = [(10 + n, 20) for n in range(12)]
    same = [[5, 5, *size] for size in sizes]
    found = only(boxes(*same, area=149), code="B011")
    assert (found.count, [*found.edits]) == (12, [])


NUMBER = st.one_of(
    st.integers(-20, 130), st.floats(-20, 130), st.sampled_from([0, 1e-9, 1e300, -1e300])
)
BOX = st.one_of(
    st.lists(NUMBER, min_size=4, max_size=4), st.sampled_from([None, [], "box", {}, [1, 2]])
)


@given(st.lists(st.tuples(BOX, NUMBER), max_size=8))
@example([([0, 0, 1e-200, 1e-200], 0)])
@example([([0, 0, 1e-200, 1e-200], 0.3)])
def test_any_boxes_can_be_looked_at_and_what_can_be_mended_stays_mended(many):
    content = {"annotations": [{"bbox": box, "area": area} for box, area in many]}
    text = fix(document_of(content), ValidateSettings(select=("B",)), unsafe=True).text
    left = findings(bytes(text).decode(), select=("B",))
    assert [finding.message for finding in left if finding.fix] == []


@pytest.mark.parametrize(("width", "is_small"), [("0.133333", False), ("0.133330", True)])
def test_the_decimals_of_yolo_make_no_box_small(tmp_path, width, is_small):
    # 0.133333 of 15 px is 1.999995 px, and was 2 px before it was written.
    (tmp_path / "a.txt").write_text(f"0 0.266667 0.45 {width} 0.3\n")
    with reading(image_size=(15, 10)):
        found = {each.code for each in validate(tmp_path).findings}
    assert ("B008" in found) == is_small


# B005 to B007: boxes that are proved to be in another layout, and boxes that are not.
LAYOUT_CODES = {"B005", "B006", "B007"}
SYMPTOMS = {"B001", "B002", "B003", "B004", "B008", "B009", "B010", "B011", "B012", "P007", "Q002"}
CORNERS = ["x1, y1, x2, y2", "y1, x1, y2, x2"]
PARTS = {"a block": slice(20, 32), "scattered": slice(0, 60, 5)}


def the_layout(content):
    """Return the only finding about layouts, and the codes of all others."""
    report = report_of(content)
    (found,) = [finding for finding in report.findings if finding.code in LAYOUT_CODES]
    return found, set(report.counts) - {found.code}


def boxes_after(content):
    return np.array([each["bbox"] for each in mended(content, "B")["annotations"]])


# How a layout is proved: by outlines, by areas, and by edges where areas follow the boxes.
NO_OUTLINES, EDGES = {"outlines": False}, {"outlines": False, "areas": False}
PROOFS = [
    *((layout, {}) for layout in WRITTEN),
    *((layout, {"part": part}) for layout in WRITTEN for part in PARTS.values()),
    *((layout, {**NO_OUTLINES, "part": part})
      for layout in (*CORNERS, "percent of the image (0 to 100)")
      for part in (slice(None), *PARTS.values())),
    *((layout, EDGES) for layout in
      (*CORNERS, "centre-x, centre-y, width, height", "parts of the image (0 to 1)")),
]  # fmt: skip


@pytest.mark.parametrize(("layout", "options"), PROOFS)
def test_a_layout_is_proved_for_all_or_part_of_the_images(layout, options):
    code, write = WRITTEN[layout]
    content, truth = document(write, **options)
    found, others = the_layout(content)
    assert (found.code, found.severity) == (code, "error")
    is_part = options.get("part", slice(None)) != slice(None)
    of = " in 12 of 60 images" if is_part else ""
    assert found.message.startswith(f"boxes{of} look like {layout}: ")
    assert SYMPTOMS.isdisjoint(others)
    if found.fix:
        assert np.allclose(boxes_after(content), truth, atol=0.2)
    assert found.fix or is_part


@pytest.mark.parametrize("outlines", [True, False])
def test_the_layout_of_one_annotator_is_found_in_shared_images(outlines):
    layout = "x1, y1, x2, y2"
    content = json.dumps(by_annotators(WRITTEN[layout][1], outlines=outlines))
    found, others = the_layout(content)
    assert found.message.startswith(f'boxes by annotator "bob" look like {layout}: ')
    assert SYMPTOMS.isdisjoint(others)
    changed = boxes_after(content)
    n_boxes = len(changed) // 3
    assert np.allclose(changed[n_boxes : 2 * n_boxes], changed[:n_boxes], atol=0.2)
    two = json.dumps(by_annotators(WRITTEN[layout][1], outlines=True, normal=("cid",)))
    assert f"boxes by 2 of 3 annotators look like {layout}: " in the_layout(two)[0].message


def beyond(x, y, w, h, width, height):
    """Extend boxes beyond the right and the lower edge."""
    return (x, y, w + 0.3 * width, h + 0.3 * height)


def belt(x, y, w, h, width, height):
    """Objects on a belt below a camera: boxes leave the image at the bottom."""
    return (x / 2 + width / 4, y / 2 + height / 2, w, h + 0.1 * height)


def drawn_past_edges(x, y, w, h, width, height):
    """Boxes of objects that are cut off at the edges, drawn as if they were whole."""
    return (x - 0.2 * w, y - 0.2 * h, 1.4 * w, 1.4 * h)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("write", [lambda *box: box[:4], beyond, belt, drawn_past_edges])
@pytest.mark.parametrize("outlines", [False, True])
def test_what_is_no_proof_is_not_said(write, outlines, seed):
    content = json.loads(document(write, outlines=False, areas=False, seed=seed)[0])
    if outlines:
        for each in content["annotations"]:
            x, y, w, h = each["bbox"]
            each["segmentation"] = [[x, y, x + w, y, x + w, y + h, x, y + h]]
    assert LAYOUT_CODES.isdisjoint(report_of(json.dumps(content)).counts)


def test_pixels_that_were_shares_of_few_digits_are_no_shares():
    content = json.loads(document(lambda *box: box[:4], outlines=False, areas=False)[0])
    for each in content["annotations"]:
        each["bbox"] = [1e-10, 1.2e-10, 0.9999999999, 0.9999999998]
    assert LAYOUT_CODES.isdisjoint(report_of(json.dumps(content)).counts)


def test_boxes_elsewhere_than_their_outlines_have_no_other_layout():
    """A converter of outlines took the first two points for centre and sides."""
    content = json.loads(document(lambda *box: box[:4])[0])
    for each in content["annotations"]:
        x, y, width, height = each["bbox"]
        ring = [x + width, y, x + width, y + height, x, y + height, x, y]
        each["segmentation"] = [ring]
        each["bbox"] = [ring[0] - ring[2] / 2, ring[1] - ring[3] / 2, *ring[2:4]]
    report = report_of(json.dumps(content))
    assert LAYOUT_CODES.isdisjoint(report.counts)
    (found,) = [finding for finding in report.findings if finding.code == "P007"]
    assert found.severity == "error"
    # Nobody knows which of them are wrong, as the page of the rule says.
    assert found.fix is None
    assert "Severity  warning or error" in [*page_lines(RULES["P007"])]
