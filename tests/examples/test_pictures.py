"""The example data, the places of labels and the pictures made of both."""

from itertools import combinations

import numpy as np
import pytest
from matplotlib.patches import FancyBboxPatch
from panels import _OVERLAY_SCALES, scene_axes
from PIL import Image
from scene_records import read_scene
from scenes import draw_scene
from support.rectangles import inside, overlap
from write_pictures import drawings, png, write_pictures

from bboxqa.examples import SCENES, example_picture
from bboxqa.report.drawing import Look
from bboxqa.report.plots import page_style

PICTURE_SIZES = {
    "fruits.png": (676, 576),
    "fruits_annotators.png": (1200, 401),
    "fruits_overlay.png": (1156, 638),
    "smiling_fruits.png": (548, 720),
    "smiling_fruits_annotators.png": (1200, 579),
    "smiling_fruits_overlay.png": (1018, 792),
    "landscape.png": (640, 640),
    "landscape_annotators.png": (1200, 458),
    "landscape_overlay.png": (1138, 728),
    "fruits_drawn.png": (1068, 956),
    "matching_hungarian.png": (1100, 490),
    "matching_recursive.png": (1100, 430),
    "iou.png": (1100, 470),
    "rotated_box.png": (1100, 450),
}


@pytest.mark.parametrize("scene", SCENES)
def test_no_tag_of_a_scene_covers_another(scene):
    record = read_scene(scene)
    panels = [
        ([box for box in record.boxes if box.annotator == annotator], 384 / record.width)
        for annotator in record.annotators
    ]
    rim = (-1, -1, record.width + 1, record.height + 1)
    for boxes, scale in [*panels, (record.boxes, _OVERLAY_SCALES[scene])]:
        ax = scene_axes(record, boxes, [Look("#000000")] * len(boxes), scale)
        corners = [
            patch.get_path().get_extents().extents
            for patch in ax.patches
            if isinstance(patch, FancyBboxPatch)
        ]
        places = [tuple(corner) for corner in corners]
        assert [text.get_text() for text in ax.texts] == [str(box.id) for box in boxes]
        assert all(inside(place, rim) for place in places)
        assert not any(overlap(*pair) for pair in combinations(places, 2))
        for place, box in zip(places, boxes, strict=True):
            left, top, right, bottom = box.corners
            near = (left - 3 / scale, top - 3 / scale, right + 3 / scale, bottom + 3 / scale)
            assert overlap(place, near), f"the tag of box {box.id} is away from its box"


class TestPictures:
    @pytest.mark.parametrize("scene", SCENES)
    def test_a_scene_has_the_size_of_its_record(self, scene):
        record = read_scene(scene)
        assert draw_scene(scene).size == (record.width, record.height)

    @pytest.mark.parametrize("scene", SCENES)
    def test_the_picture_that_ships_is_the_scene(self, scene):
        with Image.open(example_picture(scene)) as image:
            shipped = np.asarray(image.convert("RGB"), float)
        # A palette of 256 colours, and other versions of Pillow, change single values.
        assert np.abs(shipped - np.asarray(draw_scene(scene), float)).mean() < 2

    def test_pictures_have_their_sizes_and_are_the_same_each_time(self, tmp_path):
        written = write_pictures(tmp_path / "new")
        assert [path.name for path in written] == list(PICTURE_SIZES)
        for path in written:
            assert path.stat().st_size < 150_000
            with Image.open(path) as image:
                assert image.size == PICTURE_SIZES[path.name]
            # One of each kind: a scene, its panels, and a diagram.
            if path.stem in ("fruits", "fruits_annotators", "iou"):
                with page_style():
                    assert png(drawings()[path.stem]()) == path.read_bytes()
        assert sorted(path.name for path in (tmp_path / "new").iterdir()) == sorted(PICTURE_SIZES)
