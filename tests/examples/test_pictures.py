"""The example data, the places of labels and the pictures made of both."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from scenes import draw_scene
from write_pictures import drawings, png, write_pictures

from bboxqa.examples import SCENES, example_picture
from bboxqa.report.plots import page_style

SHIPPED = Path(__file__).parents[2] / "readme_images"


class TestPictures:
    @pytest.mark.parametrize("scene", SCENES)
    def test_the_picture_that_ships_is_the_scene(self, scene):
        with Image.open(example_picture(scene)) as image:
            shipped = np.asarray(image.convert("RGB"), float)
        # A palette of 256 colours, and other versions of Pillow, change single values.
        assert np.abs(shipped - np.asarray(draw_scene(scene), float)).mean() < 2

    def test_pictures_have_the_sizes_of_those_in_pages_and_are_the_same_each_time(self, tmp_path):
        written = write_pictures(tmp_path / "new")
        assert sorted((tmp_path / "new").iterdir()) == sorted(written)
        assert {path.stem for path in written} == {*drawings()}
        for path in written:
            assert path.stat().st_size < 150_000
            with Image.open(path) as image, Image.open(SHIPPED / path.name) as shipped:
                assert image.size == shipped.size
            # One of each kind: a scene, its panels, and a diagram.
            if path.stem in ("fruits", "fruits_annotators", "iou"):
                with page_style():
                    assert png(drawings()[path.stem]()) == path.read_bytes()
