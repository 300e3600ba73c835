"""Detections that supervision itself makes."""

import pytest
import supervision
from PIL import Image
from support.tool_files import drawn, write

from bboxqa import read_coco


@pytest.mark.parametrize("is_obb", [False, True])
def test_detections_are_those_of_the_files_they_were_made_of(is_obb, tmp_path):
    lines = "1 .2 .3 .6 .3 .6 .5 .2 .5\n" if is_obb else "0 .5 .5 .25 .5\n1 .25 .5 .125 .25\n"
    for who in ("ann", "bob"):
        (tmp_path / who / "images").mkdir(parents=True)
        Image.new("RGB", (64, 48)).save(tmp_path / who / "images/a.png")
        more = {"data.yaml": "names: [cat, dog]\n", "labels/a.txt": lines}
        write(tmp_path / who, **more)
    made = {
        who: supervision.DetectionDataset.from_yolo(
            str(tmp_path / who / "images"),
            str(tmp_path / who / "labels"),
            str(tmp_path / who / "data.yaml"),
            is_obb=is_obb,
        )
        for who in ("ann", "bob")
    }
    found = {}
    for who, dataset in made.items():
        for _, _, detections in dataset:
            names = [dataset.classes[number] for number in detections.class_id]
            detections.data["class_name"] = names
            found.setdefault("a.png", {})[who] = detections
    from_files = drawn(read_coco(tmp_path))
    from_objects = drawn(read_coco(found))
    assert len(from_files) == (2 if is_obb else 4)
    for one, other in zip(from_objects, from_files, strict=True):
        assert one[:3] == other[:3]
        assert one[3:] == pytest.approx(other[3:], abs=1e-3)
