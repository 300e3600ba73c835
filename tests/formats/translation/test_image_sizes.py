"""Sizes of images that formats of tools say."""

import json

import pytest

from bboxqa import read_coco, validate
from bboxqa.core.errors import DatasetError


def csv_file(folder, *widths):
    rows = [f"a.jpg,ann,cat,1,1,9,9,{width},80" for width in widths]
    path = folder / "a.csv"
    path.write_text("\n".join(["image,annotator,category,x1,y1,x2,y2,width,height", *rows]))
    return path, 3


def cvat_file(folder, *widths):
    box = '<box label="cat" xtl="1" ytl="1" xbr="9" ybr="9"/>'
    path = folder / "a.xml"
    images = [f'<image id="0" name="a.jpg" width="{w}" height="80">{box}</image>' for w in widths]
    path.write_text("\n".join(["<annotations><version>1.1</version>", *images, "</annotations>"]))
    return path, 3


def cvat_video(folder, width):
    path = folder / "a.xml"
    path.write_text(
        "<annotations><version>1.1</version><meta><task><size>1</size><mode>interpolation</mode>\n"
        f"<original_size><width>{width}</width><height>80</height></original_size></task></meta>"
        '<track id="0" label="cat"><box frame="0" xtl="1" ytl="1" xbr="9" ybr="9" outside="0"/>'
        "</track></annotations>"
    )
    return path, 1


def labelme_file(folder, width):
    shape = {"label": "cat", "points": [[1, 1], [9, 9]], "shape_type": "rectangle"}
    path = folder / "a.json"
    whole = {"version": "5.2.1", "shapes": [shape], "imagePath": "a.jpg", "imageHeight": 80}
    path.write_text(json.dumps(whole | {"imageWidth": width}))
    return path, 1


def voc_file(folder, width):
    path = folder / "a.xml"
    size = f"<size><width>{width}</width><height>80</height></size>"
    path.write_text(f"<annotation><filename>a.jpg</filename>\n{size}</annotation>")
    return path, 2


@pytest.mark.parametrize("made", [csv_file, cvat_file, cvat_video, labelme_file, voc_file])
def test_a_size_that_no_image_has_is_found_where_it_stands(tmp_path, made):
    path, _ = made(tmp_path, 100)
    assert not {"T001", "T010"} & {each.code for each in validate(path).findings}
    path, _ = made(tmp_path, -100)
    (finding,) = [each for each in validate(path).findings if each.code == "T001"]
    assert "the width is -100; expected a number of pixels, 1 or more" in finding.message
    with pytest.raises(DatasetError, match="the width is -100"):
        read_coco(path)


@pytest.mark.parametrize("made", [csv_file, cvat_file])
def test_another_size_of_an_image_is_told_once(tmp_path, made):
    path, line = made(tmp_path, 100, 1100, 1100)
    (finding,) = [each for each in validate(path).findings if each.code == "T010"]
    assert "image a.jpg: is 1100 × 80; another record of it says 100 × 80" in finding.message
    assert finding.spot.line == line
