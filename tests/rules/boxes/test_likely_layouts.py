"""Layouts of boxes without outlines and areas, of which only the images tell."""

import json
import re

import numpy as np
import pytest
from support.validation import exact, findings


def document(change, part=1.0, n_images=60, seed=3, related=False, size=(640, 480)):
    """Return a file of 5 boxes an image, changed in the first part of the images.

    With `related` sides, large boxes are wide and high.
    """
    values = np.random.default_rng(seed)
    images, annotations = [], []
    for image in range(1, n_images + 1):
        width, height = size if image % 2 else (500, 375)
        images.append({"id": image, "file_name": f"{image}.jpg", "width": width, "height": height})
        for _ in range(5):
            sides = values.uniform(20, 150, 2)
            if related:
                sides = sides[0] * values.uniform(0.8, 1.25, 2)
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


def halved(x, y, w, h, _width, _height):
    return x / 2, y / 2, w / 2, h / 2


def size_first(x, y, w, h, _width, _height):
    return w, h, x, y


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


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("change", "part", "code", "words"),
    [
        (size_first, 1.0, "B005", "boxes look like width, height, x, y, unless their objects"),
        # Images whose boxes would not overlap, or leave their image, show nothing.
        (
            size_first,
            0.4,
            "B005",
            r"boxes in (1\d|2[0-4]) of 60 images look like width, height, x, y, unless",
        ),
        (
            centre,
            0.4,
            "B006",
            r"boxes in (1\d|2[0-4]) of 60 images look like centre-x, centre-y, width",
        ),
        (halved, 1.0, "B013", "all 300 boxes of 60 images lie in the upper left quarter"),
        (halved, 0.2, "B013", "all 60 boxes of 12 of 60 images lie in the upper left quarter"),
    ],
)
def test_what_boxes_have_in_common_shows_a_layout_as_likely(change, part, code, words, seed):
    found, *symptoms = of_boxes(document(change, part, seed=seed, related=True))
    assert (found.code, found.fix) == (code, None)
    assert re.match(words, found.message)
    # In images that show nothing else.
    assert {each.code for each in symptoms} <= (
        {"B008", "B009"} if change is size_first and part < 1 else set()
    )


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("related", [False, True])
def test_objects_that_lie_in_each_other_are_not_taken_for_sizes(related, seed):
    """Boxes in the upper left corner, all from (10, 10) on, overlap in either reading."""

    def nested(_x, _y, w, h, _width, _height):
        return 10, 10, w, h

    assert of_boxes(document(nested, 0.4, seed=seed, related=related)) == []


def test_a_class_of_the_upper_left_is_not_taken_for_halved_boxes():
    """As large as others, and not in the places of others."""

    def upper_left(x, y, w, h, _width, _height):
        return x / 3, y / 3, w, h

    found = {each.code for each in of_boxes(document(upper_left, 0.2, size=(500, 375)))}
    assert "B013" not in found


def test_thousandths_of_large_images_may_be_halved_boxes():
    def in_large_image(x, y, w, h, _width, _height):
        return 2 * x, 2 * y, 2 * w, 2 * h

    content = json.loads(document(in_large_image, size=(500, 500)))
    for image in content["images"]:
        image.update(width=2600, height=2000)
    [found] = of_boxes(json.dumps(content))
    assert found.message.startswith(
        "boxes look like thousandths of the image (0 to 1000), or scaled"
    )
    assert found.fix is None


def test_enlarged_boxes_of_part_of_the_images_are_found_beside_a_few_other_defects():
    content = json.loads(document(doubled, 0.5, seed=0))
    first = [each for each in content["annotations"] if each["image_id"] <= 30]
    first[0]["bbox"][2] = 0
    first[1]["bbox"] = [1250, 900, 100, 100]
    empty, found = sorted(of_boxes(json.dumps(content)), key=lambda each: each.code)
    assert (empty.code, found.code) == ("B001", "B013")
    assert "; read this way, 148 of them lie inside" in found.message


def cut_at_edges(change, images, seed, n_images=30):
    """Return a file of boxes of which many are cut at the edges, changed in these images."""
    values = np.random.default_rng(seed)
    content = json.loads(document(lambda *box: box[:4], n_images=n_images, seed=seed))
    for each in content["annotations"]:
        width, height = (640, 480) if each["image_id"] % 2 else (500, 375)
        x, y, w, h = each["bbox"]
        if values.random() < 0.5:
            x = values.choice([0, width - w])
        box = change(x, y, w, h, width, height) if each["image_id"] in images else (x, y, w, h)
        each["bbox"] = [round(float(number), 2) for number in box]
    return exact(content)


@pytest.mark.parametrize("seed", range(5))
def test_centres_in_few_images_are_told_by_boxes_that_end_at_edges(seed):
    [found] = of_boxes(cut_at_edges(centre, range(2, 30, 3), seed))
    assert (found.code, found.severity) == ("B006", "error")
    assert "end at its edges, and all lie inside" in found.message


@pytest.mark.parametrize("seed", range(5))
def test_boxes_that_rounding_moved_past_the_edge_are_not_taken_for_centres(seed):
    changed = range(2, 30, 3)
    content = json.loads(cut_at_edges(centre, changed, seed))
    for each in content["annotations"]:
        if each["image_id"] not in changed:
            each["bbox"][2] += 0.5
    [found] = [each for each in of_boxes(json.dumps(content)) if each.code == "B006"]
    n_images = int(re.match(r"boxes in (\d+) of 30 images look like centre", found.message)[1])
    assert n_images <= len(changed)


@pytest.mark.parametrize("seed", range(5))
def test_boxes_that_are_drawn_past_their_images_end_at_no_edges(seed):
    def past(x, y, w, h, _width, _height):
        return x, y, w * 1.3, h * 1.3

    found = of_boxes(cut_at_edges(past, range(2, 30, 3), seed))
    assert "B006" not in {each.code for each in found if each.severity == "error"}


@pytest.mark.parametrize("seed", [2, 3, 4])
def test_centres_that_nothing_proves_are_a_warning_without_a_fix(seed):
    [found] = of_boxes(document(centre, 0.2, seed=seed))
    assert (found.code, found.severity, found.fix) == ("B006", "warning", None)
    assert re.match(r"boxes in \d+ of 60 images may be centre-x, centre-y, width, ", found.message)


def test_boxes_beyond_the_left_edge_as_well_are_no_centres():
    def anywhere(x, y, w, h, width, height):
        return x * 1.3 - width * 0.15, y * 1.3 - height * 0.15, w, h

    found = of_boxes(document(anywhere, 0.2, seed=1))
    assert {each.code for each in found} <= {"B002", "B003", "B004"}
