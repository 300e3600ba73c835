"""Which tool wrote a file."""

import pytest
from support.reference import data_file
from support.validation import document_of, exact

from bboxqa.rules.document import exporter


def tool(**top):
    return exporter(document_of(exact({"images": [], "annotations": [], "categories": [], **top})))


BLANK = dict.fromkeys(("contributor", "date_created", "description", "url", "version", "year"), "")
NO_LICENCE = [{"name": "", "id": 0, "url": ""}]


def test_cvat_and_datumaro():
    def attributed(**attributes):
        record = {"id": 1, "image_id": 1, "category_id": 1, "attributes": attributes}
        return tool(info=BLANK, licenses=NO_LICENCE, annotations=[record])

    assert attributed(occluded=False, severity="") == "CVAT"
    assert attributed(occluded=False, truncated=False) == "CVAT"
    assert attributed(occluded=False, truncated=False, difficult=False) == "Datumaro"
    assert attributed() == tool(info=BLANK, licenses=NO_LICENCE) == "Datumaro"
    assert tool(info={**BLANK, "year": "2024"}, licenses=NO_LICENCE) is None
    assert tool(info=BLANK, licenses=[]) is None


@pytest.mark.parametrize(
    ("info", "expected"),
    [
        ({"contributor": "Label Studio"}, "Label Studio"),
        ({"contributor": "Label Studio Converter"}, "Label Studio Converter"),
        ({"contributor": "Supervisely"}, "Supervisely"),
        ({"description": "Exported from roboflow.ai"}, "Roboflow"),
        ({"url": "https://public.roboflow.com/object-detection/undefined"}, "Roboflow"),
        ({"description": "VIA project exported to COCO using VGG Image Annotator"}, "VIA"),
        ({"url": "http://www.robots.ox.ac.uk/~vgg/software/via/"}, "VIA"),
        ({"description": "Exported from FiftyOne"}, "FiftyOne"),
        ({"year": "", "url": "https://voxel51.com/fiftyone"}, "FiftyOne"),
        ({"description": "annotated in a studio, with labels"}, None),
        ({"contributor": 7, "url": 3}, None),
        ([], None),
    ],
)
def test_what_info_says(info, expected):
    assert tool(info=info) == expected


def test_roboflow_by_its_file_names():
    name = "image-117_png.rf.fd0859290894b48d1010488ef26de26c.jpg"
    assert tool(images=[{"file_name": name}]) == "Roboflow"
    assert tool(images=[{"file_name": name}, {"file_name": "b.jpg"}]) is None


@pytest.mark.parametrize("text", ["", "[]", "3", '{"images": [3, {"id": []}], "info": null}'])
def test_odd_files_have_no_exporter(text):
    assert exporter(document_of(text)) is None


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("roboflow.json", "Roboflow"),
        ("simulated.json", None),
        ("exports/cvat_boxes.json", "CVAT"),
        ("exports/cvat_polygons.json", "CVAT"),
        ("exports/roboflow_boxes.json", "Roboflow"),
        ("exports/taco.json", None),
        ("lvis_double_100.json", None),
    ],
)
def test_exports(name, expected):
    assert exporter(document_of(data_file(name).read_bytes())) == expected
