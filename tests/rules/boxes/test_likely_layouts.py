"""Layouts of boxes without outlines and areas, of which only the images tell."""

import numpy as np
import pytest
from support.validation import exact, findings


def document(change, part=1.0, n_images=60, seed=3):
    """Return a file of 5 boxes an image, changed in the first part of the images."""
    values = np.random.default_rng(seed)
    images, annotations = [], []
    for image in range(1, n_images + 1):
        width, height = (640, 480) if image % 2 else (500, 375)
        images.append({"id": image, "file_name": f"{image}.jpg", "width": width, "height": height})
        for _ in range(5):
            sides = values.uniform(20, 150, 2)
            box = [*(values.uniform(0, 1, 2) * ([width, height] - sides)), *sides]
            if image <= part * n_images:
                box = change(*box, width, height)
            box = [round(float(number), 2) for number in box]
            number = len(annotations) + 1
            record = {"id": number, "image_id": image, "category_id": 1, "bbox": box, "iscrowd": 0}
            annotations.append(record)
    categories = [{"id": 1, "name": "cat", "supercategory": "animal"}]
    lists = {"images": images, "annotations": annotations, "categories": categories}
    return exact({"info": {}, "licenses": [], **lists})


def centre(x, y, w, h, _width, _height):
    return x + w / 2, y + h / 2, w, h


def doubled(x, y, w, h, _width, _height):
    return 2 * x, 2 * y, 2 * w, 2 * h


def thousandths(x, y, w, h, width, height):
    return 1000 * x / width, 1000 * y / height, 1000 * w / width, 1000 * h / height


def slightly_larger(x, y, w, h, _width, _height):
    return 1.2 * x, 1.2 * y, 1.2 * w, 1.2 * h


def of_boxes(text):
    return [found for found in findings(text) if found.code.startswith("B")]


@pytest.mark.parametrize(
    ("change", "part", "code", "words"),
    [
        (centre, 1.0, "B006", "boxes look like centre-x, centre-y, width, height"),
        (doubled, 0.2, "B013", "boxes in 12 of 60 images look like x, y, width, height, scaled"),
        (thousandths, 0.2, "B007", "boxes in 12 of 60 images look like thousandths"),
    ],
)
# With other seeds, no box reaches far enough to the right or down to tell a scale.
@pytest.mark.parametrize("seed", [0, 1, 2, 4])
def test_a_layout_that_images_alone_show_is_one_finding(change, part, code, words, seed):
    n_images = 60 if part < 1 else 25
    [found] = of_boxes(document(change, part, n_images, seed=seed))
    assert (found.code, found.message.startswith(words)) == (code, True)
    if part < 1:
        assert "read this way, all 60 lie inside" in found.message
        assert "unless the sizes of the images are wrong" in found.message
        assert found.fix is None


@pytest.mark.parametrize("part", [0.2, 1.0])
def test_images_of_another_size_are_not_taken_for_a_layout(part):
    assert {found.code for found in of_boxes(document(slightly_larger, part))} <= {
        "B002",
        "B003",
        "B004",
    }


def test_sound_boxes_have_no_layout_but_their_own():
    assert of_boxes(document(lambda *box: box[:4], 0.2)) == []
