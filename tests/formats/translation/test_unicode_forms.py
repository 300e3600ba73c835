"""Label files and image files whose names are in different Unicode forms, as macOS writes them."""

import json
from unicodedata import normalize

import pytest
from PIL import Image

import bboxqa
from bboxqa import read_coco

SHAPE = {"label": "cat", "points": [[1, 1], [9, 9]], "shape_type": "rectangle"}
LABELS = {
    ".txt": "0 0.5 0.5 0.2 0.25\n",
    ".TXT": "1 1 9 1 9 9 1 9 cat 0\n",
    ".xml": (
        "<annotation><filename>{name}</filename><object><name>cat</name><bndbox><xmin>1</xmin>"
        "<ymin>1</ymin><xmax>9</xmax><ymax>9</ymax></bndbox></object></annotation>"
    ),
    ".json": json.dumps({"version": "5", "shapes": [SHAPE], "imagePath": "name.jpg"}),
}
FORMS = [("NFD", "NFC"), ("NFC", "NFD")]


def folder_of(folder, suffix, of_labels, of_pictures, stem="straße_é_ü", said="1.jpg"):
    """Write a label file and a picture of 100 × 80 pixels, whose names differ in their form."""
    label = folder / "ann" / (normalize(of_labels, stem) + suffix)
    label.parent.mkdir(exist_ok=True)
    (folder / "images").mkdir(exist_ok=True)
    text = LABELS[suffix].replace("{name}", said).replace("name.jpg", said)
    label.write_text(text, encoding="utf-8")
    Image.new("L", (100, 80)).save(folder / "images" / (normalize(of_pictures, stem) + ".jpg"))
    return label.parent


@pytest.mark.parametrize("suffix", LABELS)
@pytest.mark.parametrize(("of_labels", "of_pictures"), FORMS)
def test_a_picture_is_found_under_the_other_form_of_a_name(
    tmp_path, suffix, of_labels, of_pictures
):
    folder = folder_of(tmp_path, suffix, of_labels, of_pictures)
    with bboxqa.reading(missing_txt="asked"):
        data = read_coco(folder, min_annotators=1)
    assert len(data.image_names) == 1
    assert data.image_size.tolist() == [[100, 80]]
    assert not any("picture" in note or "label file" in note for note in data.notes)
