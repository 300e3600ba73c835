"""Boxes of tables in pixels or in shares of the image, of which some are beyond their image."""

import numpy as np
import pytest
from support.tool_files import alone, found, write

import bboxqa
from bboxqa.core.errors import ConfigError, DatasetError

HEADER = "image,annotator,category,x1,y1,x2,y2,image_width,image_height"
SHARE = "0.1,0.2,0.5,0.9"
PIXELS = "20,20,100,90"


def table(tmp_path, *boxes, header=HEADER, end=",200,100"):
    """Write a table with boxes of corners, each in an image of its own; return its path."""
    rows = [f"{number}.jpg,ann,cat,{box}{end}" for number, box in enumerate(boxes)]
    return write(tmp_path, **{"a.csv": "\n".join([header, *rows]) + "\n"}) / "a.csv"


@pytest.mark.parametrize("quoted", [False, True])
def test_a_box_slightly_beyond_its_image_leaves_the_others_shares(tmp_path, quoted):
    path = table(tmp_path, *[SHARE] * 4, "0.4,0.2,1.0096,0.9", SHARE)
    if quoted:
        path.write_text(path.read_text("utf-8").replace(",cat,", ',"cat",'), "utf-8")
    boxes = alone(path).annotations.bbox
    np.testing.assert_allclose(boxes[[0, 5]], [[20, 20, 80, 70]] * 2)
    np.testing.assert_allclose(boxes[4], [80, 20, 121.92, 70])
    ((_, line, _, message),) = found(path, "T003")
    assert line == 6
    assert message.endswith("line 6: x2 is 1.0096; expected 0 to 1, a share of the image")


def test_half_shares_and_half_pixels_are_refused_until_the_unit_is_said(tmp_path):
    path = table(tmp_path, PIXELS, SHARE, SHARE, PIXELS)
    with pytest.raises(DatasetError) as caught:
        alone(path)
    assert str(caught.value).splitlines()[0] == (
        f"{path}: has 2 boxes of numbers up to 2, such as in line 3, and 2 of larger ones, such as "
        "in line 2; expected either shares of the image or pixels"
    )
    assert caught.value.advice == (
        "Write all boxes in one unit, or say it: "
        'bboxqa.reading(box_format="xyxy-shares") or xyxy-pixels'
    )
    with bboxqa.reading(box_format="xyxy-pixels"):
        assert alone(path).annotations.bbox[0].tolist() == [20, 20, 80, 70]
    with bboxqa.reading(box_format="xyxy-shares"), pytest.raises(DatasetError, match="in pixels"):
        alone(path)


def test_the_unit_of_one_box_can_be_said(tmp_path):
    path = table(tmp_path, "0,0,1,1")
    assert alone(path).annotations.bbox.tolist() == [[0, 0, 1, 1]]
    with bboxqa.reading(box_format="xyxy-shares"):
        assert alone(path).annotations.bbox.tolist() == [[0, 0, 200, 100]]
    with pytest.raises(ConfigError, match="expected one of 'xywh', 'xyxy'"):
        bboxqa.reading(box_format="xyxy-percent").__enter__()
