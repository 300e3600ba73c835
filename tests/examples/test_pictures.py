"""The example data, the places of labels and the pictures made of both."""

from itertools import combinations

import numpy as np
import pytest
from hungarian_picture import _BOXES, _CHOSEN
from matching_parts import iou
from matplotlib.patches import FancyBboxPatch
from panels import _OVERLAY_SCALES, scene_axes
from PIL import Image
from recursive_picture import _UNITS
from scene_records import read_scene
from scenes import draw_scene
from support.rectangles import inside, overlap
from write_pictures import drawings, png, write_pictures

from bboxqa.examples import SCENES, example_picture, read_expected
from bboxqa.report.charts.axes import page_style
from bboxqa.report.drawing import Look

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


class TestData:
    def test_each_annotator_has_an_image_record_of_the_same_file(self):
        record = read_scene("fruits")
        assert (record.width, record.height) == (451, 384)
        assert record.annotators == ("Ann1", "Ann2", "Ann3")
        assert record.categories == ("Apple", "Banana")

    @pytest.mark.parametrize(
        ("scene", "annotation_id", "annotator", "category", "bbox"),
        [
            ("fruits", 1, "Ann1", "Banana", (57.0, 40.0, 353.0, 217.84)),
            ("fruits", 8, "Ann3", "Banana", (138.0, 173.0, 151.0, 146.0)),
            ("smiling_fruits", 12, "Ann3", "Apple", (16.18, 4.31, 207.34, 66.95)),
            ("landscape", 17, "Ann2", "River", (0.1, 59.85, 45.52, 4.15)),
            ("landscape", 30, "Ann3", "Sky", (0.1, 0.05, 63.9, 35.2)),
        ],
    )
    def test_boxes(self, scene, annotation_id, annotator, category, bbox):
        box = read_scene(scene).box(annotation_id)
        assert (box.annotator, box.category, box.bbox_xywh) == (annotator, category, bbox)

    def test_expected_values(self):
        expected = read_expected()
        alphas = {scene: expected["images"][scene]["alpha"] for scene in SCENES}
        assert alphas == {"fruits": 0.0222, "smiling_fruits": 0.494, "landscape": 0.4889}
        assert expected["images"]["fruits"]["recursive_units"][3] == [None, None, 7]
        assert len(expected["bbox_iou"]) == 14
        assert len(expected["polygon_iou_pixel_inclusive"]) == 12
        assert len(expected["krippendorff"]) == 12
        assert len(expected["matching"]["boxes"]) == 28
        assert len(expected["matching"]["cases"]) == 30
        assert len(expected["errata"]) == 5

    @pytest.mark.parametrize("scene", SCENES)
    def test_every_annotation_is_in_one_unit_under_its_annotator(self, scene):
        record = read_scene(scene)
        filled = [
            (annotation_id, annotator)
            for unit in record.units
            for annotation_id, annotator in zip(unit, record.annotators, strict=True)
            if annotation_id is not None
        ]
        assert sorted(filled) == [(box.id, box.annotator) for box in record.boxes]

    def test_an_unknown_scene_is_named_with_the_choices(self):
        with pytest.raises(ValueError, match="'fruit'; choose one of fruits"):
            read_scene("fruit")


class TestSchematics:
    def test_the_chosen_pairs_have_the_greatest_total(self):
        values = {
            (first, second): value
            for first, here in _BOXES["A"].items()
            for second, there in _BOXES["B"].items()
            if (value := iou(here, there)) >= 0.5
        }
        matchings = [
            pairs
            for count in range(len(values) + 1)
            for pairs in combinations(values, count)
            if len({first for first, _ in pairs}) == len({second for _, second in pairs}) == count
        ]
        best = max(matchings, key=lambda pairs: sum(values[pair] for pair in pairs))
        assert sorted(best) == sorted(_CHOSEN)
        assert max(values, key=values.__getitem__) not in _CHOSEN

    def test_the_recursive_units_are_those_of_a_worked_case(self):
        case = next(
            case
            for case in read_expected()["matching"]["cases"]
            if case["box_ids"] == [1, 2, 23, 15, 4, 24]
        )
        assert [list(unit) for unit in _UNITS[:3]] == case["units"]

    def test_box_25_has_no_partner(self):
        boxes = read_expected()["matching"]["boxes"]
        others = [boxes[str(number)]["bbox"] for number in (1, 15, 2, 4)]
        assert all(iou(boxes["25"]["bbox"], other) == 0 for other in others)


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
            # Each scene has a function of its own; its panels have one for all scenes.
            if path.stem in SCENES or not path.stem.startswith(SCENES[1:]):
                with page_style():
                    assert png(drawings()[path.stem]()) == path.read_bytes()
        assert sorted(path.name for path in (tmp_path / "new").iterdir()) == sorted(PICTURE_SIZES)
