"""Regions of Label Studio: shapes in pixels, labels, and what is wrong with them."""

import base64
import io

import numpy as np
import pytest
from PIL import Image
from pycocotools import mask as mask_utils
from support.studio import box, result, task, work, written

from bboxqa import read_coco, validate
from bboxqa.core.errors import DatasetError
from bboxqa.formats.label_studio.regions import regions_of
from bboxqa.model.findings import Severity


def only(tmp_path, *results):
    """Return the data set of one task in which the second annotator drew nothing."""
    return read_coco(written(tmp_path / "a.json", task(1, work(1, *results), work(2))))


def test_rectangles_turn_about_their_top_left_corner(tmp_path):
    # 40 × 10 pixels at (100, 20), turned a quarter: it goes down from there, and to the left.
    data = only(tmp_path, box(50, 20, 20, 10, value={"rotation": 90}))
    assert data.annotations.bbox.round(9).tolist() == [[90, 20, 10, 40]]
    (ring,) = data.annotations.segmentation.rings(0)
    assert ring.round(9).tolist() == [[100, 20], [100, 60], [90, 60], [90, 20]]


def test_a_region_split_into_results_is_one(tmp_path):
    shape = {"x": 1, "y": 1, "width": 9, "height": 9, "rotation": 0}
    parts = [
        result("rectangle", shape, id="r"),
        result("labels", {**shape, "labels": ["cat"]}, id="r"),
        result("choices", {**shape, "choices": ["old"]}, id="r", from_name="age"),
    ]
    data = only(tmp_path, *parts)
    assert data.category_names == ("cat",)
    assert len(data.annotations) == 1
    assert data.notes == ()
    (region,) = regions_of([(str(place), part) for place, part in enumerate(parts)])
    assert region.attributes == {"age": ["old"]}


def test_findings_stand_in_the_file_of_the_user(tmp_path):
    path = written(
        tmp_path / "a.json", task(1, work(1, box(1, 1, 9, 9), box(60, 1, 60, 9, id="wide")))
    )
    (found,) = [each for each in validate(path).findings if each.code == "B003"]
    text = path.read_text()
    assert found.pointer == "/0/annotations/0/result/1"
    assert found.spot.offset == found.spot.column - 1 == text.index('{"id": "wide"')
    assert found.excerpt.startswith('{"id": "wide"')
    assert found.ids["annotation"] == "wide"
    assert found.file == str(path)
    assert found.fix is None


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({"x": "left"}, "x is 'left'; expected a number"),
        ({"height": None}, "height is missing; expected a number"),
        ({"x": True}, "x is True; expected a number"),
        ({"x": -(10**400)}, f"x is -1{'0' * 38}; expected a number within ±1,000,000,000"),
        ({"rotation": []}, "rotation is []; expected a number"),
    ],
)
def test_values_of_other_types_are_refused(tmp_path, value, words):
    path = written(tmp_path / "a.json", task(1, work(1, box(1, 1, 9, 9, value=value, id="r"))))
    (found,) = [each for each in validate(path).findings if each.severity is Severity.ERROR]
    assert (found.code, found.message) == ("T001", f"task 1, region r: {words}")


def test_pixels_in_place_of_percent_stop_a_measurement(tmp_path):
    path = written(tmp_path / "a.json", task(1, work(1, box(640, 1, 9, 9, id="r")), work(2)))
    with pytest.raises(DatasetError, match="x is 640, which is in pixels"):
        read_coco(path)


def _bitmask(pixels):
    """Return a picture as Label Studio writes it: black where drawn, else transparent."""
    picture = np.zeros((*pixels.shape, 4), np.uint8)
    picture[..., 3] = pixels * 255
    data = io.BytesIO()
    Image.fromarray(picture).save(data, "PNG")
    address = f"data:image/png;base64,{base64.b64encode(data.getvalue()).decode()}"
    return result("bitmasklabels", {"imageDataURL": address, "bitmasklabels": ["cat"]})


def test_bitmasks_are_masks(tmp_path):
    pixels = np.zeros((100, 200), bool)
    pixels[20:30, 50:55] = True
    pixels[22, 60] = True
    data = only(tmp_path, _bitmask(pixels))
    assert data.annotations.bbox.tolist() == [[50, 20, 11, 10]]
    assert data.category_names == ("cat",)
    rle = data.annotations.segmentation.rle(0)
    assert rle["size"] == [100, 200]
    assert mask_utils.area(rle) == pixels.sum() == 51
