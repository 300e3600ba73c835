"""Boxes and outlines as datumaro writes them: `make oracles`, which has its own environment."""

from pathlib import Path

import numpy as np
import pytest
from support.tool_files import drawn

from bboxqa import read_coco, reading

datumaro = pytest.importorskip(
    "datumaro", reason="needs older versions of pandas and Pillow: make oracles"
)

BOXES = [("a", "cat", 10, 20, 30, 40), ("a", "dog", 1, 2, 3, 4), ("b", "cat", 50.5, 10.25, 20, 30)]
RING = [60.0, 60, 80, 60, 80, 75]
# How each is called there, what it keeps besides boxes, and how far coordinates are rounded.
FORMATS = {"datumaro": 1e-2, "coco_instances": 1e-2, "cvat": 1e-2, "voc": 0.51,
           "yolo": 1e-3, "open_images": 1e-2}  # fmt: skip


@pytest.fixture(scope="module")
def dataset():
    from datumaro.components.annotation import AnnotationType, Bbox, LabelCategories, Polygon
    from datumaro.components.dataset import Dataset
    from datumaro.components.dataset_base import DatasetItem
    from datumaro.components.media import Image

    labels = ["cat", "dog"]
    items = []
    for name in "abc":
        of = [each for each in BOXES if each[0] == name]
        made = [
            Bbox(*box, label=labels.index(label), id=1 + BOXES.index((name, label, *box)))
            for _, label, *box in of
        ]
        if name == "b":
            made.append(Polygon(RING, label=1, id=7))
        picture = Image.from_numpy(data=np.zeros((90, 100, 3), np.uint8))
        items.append(DatasetItem(name, subset="train", media=picture, annotations=made))
    categories = {AnnotationType.label: LabelCategories.from_iterable(labels)}
    return Dataset.from_iterable(items, categories=categories)


def boxes(path, **choices):
    with reading(**choices):
        data = read_coco(path, min_annotators=1)
    return sorted((Path(image).stem, label, *box) for image, _, label, *box in drawn(data))


@pytest.mark.parametrize("form", FORMATS)
def test_what_datumaro_writes_is_read(dataset, form, tmp_path):
    dataset.export(str(tmp_path / "out"), form, save_media=True)
    said = {"voc": {"voc_base": 0}, "open_images": {"image_size": (100, 90)}}
    found = boxes(tmp_path / "out", **said.get(form, {}))
    expected = list(BOXES)
    if form not in ("voc", "yolo", "open_images"):
        expected.append(("b", "dog", 60, 60, 20, 15))
    expected.sort()
    assert [each[:2] for each in found] == [each[:2] for each in expected]
    wanted = [each[2:] for each in expected]
    np.testing.assert_allclose([each[2:] for each in found], wanted, atol=FORMATS[form])
