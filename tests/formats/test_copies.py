"""Files that are copies or splits of one data set, given as annotators."""

import pytest
from support.cli import run
from support.datasets import annotation, document, image, write

from bboxqa.pipelines.read import read_coco


def file_of(path, places, change=None):
    """Return a file with three boxes on each of some images."""
    boxes = [
        annotation(3 * place + number, place, bbox=[10 * number, place, 5, 7])
        for place in places
        for number in range(3)
    ]
    boxes[-1] |= change or {}
    images = [image(n, file_name=f"{n}.jpg") for n in places]
    categories = [{"id": 1, "name": "cat"}, {"id": 2, "name": "dog"}]
    return write(path, document(boxes, images, categories))


@pytest.mark.parametrize("change", [None, {"bbox": [20, 1, 5, 7.5]}, {"category_id": 2}])
def test_a_part_beside_the_whole_is_a_headline(tmp_path, change):
    whole = file_of(tmp_path / "all.json", range(1, 21))
    parts = [
        file_of(tmp_path / "first.json", range(1, 13), change),
        file_of(tmp_path / "later.json", range(13, 21)),
    ]
    headlines = [
        f"all and {name} have the same {3 * n} annotations on the {n} images that both have: "
        "are they copies or splits of one data set?"
        for name, n in (("first", 12), ("later", 8))
    ]
    expected = headlines if change is None else headlines[1:]
    assert list(read_coco([whole, *parts]).headlines) == expected
    lines = run("agree", whole, *parts).stdout.splitlines()
    assert lines.index(f"Warning: {expected[0]}") < lines.index("")
