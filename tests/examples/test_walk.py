"""The worked examples agree, say so, say when they do not, and read well."""

import copy

import numpy as np
import pytest

import bboxqa
from bboxqa.agreement.unit_counts import coincidence_matrix, from_units
from bboxqa.core.errors import OutputError
from bboxqa.examples import SCENES, example_file, read_expected
from bboxqa.examples.walks import (
    EXAMPLES,
    Check,
    Step,
    Walk,
    alpha_of,
    braces,
    digits,
    match_boxes,
    unit_rows,
    walk,
    write_example,
)
from bboxqa.geometry.boxes import bbox_iou, corners
from bboxqa.model.annotations import Annotations, Dataset

N_CHECKS = {
    "fruits": 3 + 1 + 1,
    "smiling_fruits": 3 + 1 + 1,
    "landscape": 3 + 1 + 1,
}
KEY_FIGURES = {
    "fruits": ["0.9689*", "{1,6,9} {2,5,-} {3,4,8} {-,-,7}", "(12*11)", "alpha = 0.0222: agrees"],
    "smiling_fruits": ["alpha = 0.4940: agrees", "{-,-,12}"],
    "landscape": ["alpha = 0.4889: agrees", "0.9872*", "Waterfall"],
}


@pytest.mark.parametrize("name", EXAMPLES)
class TestEveryExample:
    def test_all_of_it_agrees_and_fits_a_terminal(self, name):
        walk = EXAMPLES[name]()
        assert walk.name == name
        assert [one for one in walk.checks if not one.agrees] == []
        assert walk.agrees
        assert len(walk.checks) == N_CHECKS[name]
        text = walk.text()
        assert text.endswith(f"\n\nAll {N_CHECKS[name]} checks agree with what is expected.\n")
        for figure in KEY_FIGURES[name]:
            assert figure in text
        assert "DIFFERS" not in text
        assert text.isascii()
        assert [
            line for line in text.splitlines() if len(line) > 100 or line != line.rstrip()
        ] == []


@pytest.mark.parametrize("scene", SCENES)
def test_the_steps_end_at_what_one_call_returns(scene):
    result = bboxqa.agree(bboxqa.read_coco(example_file(scene)), iou_threshold=0.5, bootstrap=0)
    walk = EXAMPLES[scene]()
    assert len(walk.steps) == 7
    assert walk.steps[-1].checks[0].computed == digits(result.alpha)


CHANGES = [
    ("fruits", ("images", "fruits", "alpha"), 0.0223,
     "alpha = 0.0222: DIFFERS: expected 0.0223"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "path", "value", "told"), CHANGES)
def test_a_changed_expectation_is_told(name, path, value, told):
    expected = copy.deepcopy(read_expected())
    place = expected
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    result = walk(name, expected)
    assert not result.agrees
    assert sum(not one.agrees for one in result.checks) == 1
    text = result.text()
    assert told in " ".join(text.split())
    assert text.endswith(f"1 of {len(result.checks)} checks DIFFER from what is expected.\n")


@pytest.mark.parametrize("scene", ["fruits", "smiling_fruits"])
def test_the_coincidences_and_overlaps_are_those_of_the_source(scene):
    expected, data = read_expected()["images"][scene], bboxqa.read(example_file(scene))
    names = {str(each + 1): name for each, name in enumerate(data.category_names)}
    units = match_boxes(data, "recursive", expected["iou_threshold"])
    found = from_units(data.annotations, units, data.assigned, len(data.category_names))
    values, matrix = coincidence_matrix(found, "category")
    order = [[*names, "missing"][value] for value in values]
    wanted = expected["coincidence_matrix"]
    at = [wanted["values"].index(each) for each in order]
    assert matrix == pytest.approx(np.array(wanted["matrix"])[np.ix_(at, at)])
    for pair, value in expected.get("bbox_iou", {}).items():
        one, other = (data.annotations.id.tolist().index(int(each)) for each in pair.split("-"))
        box = corners(data.annotations.bbox)
        assert bbox_iou(box[[one]], box[[other]])[0] == pytest.approx(value, abs=5e-5)


def test_nothing_compared_is_no_agreement():
    assert not Walk("empty", "", ()).agrees
    assert Walk("one", "", (Step("", "", "", (Check("x", "1", "1"),)),)).agrees


@pytest.mark.parametrize("case", read_expected()["matching"]["cases"])
def test_schematic_boxes_have_the_units_and_the_alpha_of_the_source(case):
    boxes, people = read_expected()["matching"]["boxes"], case["annotators"]
    ids = sorted(case["box_ids"], key=lambda each: (boxes[str(each)]["annotator"], each))
    drawn = [boxes[str(each)] for each in ids]
    category = np.array([each["category_id"] - 1 for each in drawn], np.int32)
    data = Dataset(
        image_names=("case",), image_size=np.zeros((1, 2), np.int32),
        category_names=tuple(map(str, range(category.max() + 1))), annotator_names=tuple(people),
        annotations=Annotations(
            id=np.array(ids), image=np.zeros(len(ids), np.int32),
            annotator=np.array([people.index(e["annotator"]) for e in drawn], np.int32),
            category=category, bbox=np.array([each["bbox"] for each in drawn], np.float64),
            iscrowd=np.zeros(len(ids), np.bool_),
        ),
        assigned=np.ones((1, len(people)), np.bool_),
    )  # fmt: skip
    units = match_boxes(data, "hungarian" if len(people) == 2 else "recursive", 0.5)
    assert braces(unit_rows(data, units)) == braces(case["units"])
    found = from_units(data.annotations, units, data.assigned, len(data.category_names))
    assert digits(alpha_of(found).value) == digits(case["alpha"])


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


class TestWriteExample:
    @pytest.mark.parametrize(
        ("name", "files"),
        [
            *(
                (scene, [f"{scene}{end}" for end in (".json", ".png", "_annotators.png", ".txt")])
                for scene in SCENES
            ),
        ],
    )
    def test_the_files_are_there_and_nothing_else(self, name, files, tmp_path):
        folder = tmp_path / "für Ann" / name
        for new in (files, []):
            assert write_example(name, folder) == [folder / file for file in new]
            assert names_in(folder) == sorted(files)
        assert (folder / f"{name}.txt").read_text("utf-8") == EXAMPLES[name]().text()
        for picture in folder.glob("*.png"):
            assert picture.read_bytes().startswith(b"\x89PNG")

    def test_a_file_in_the_place_of_the_folder_is_told(self, tmp_path):
        (tmp_path / "taken").write_text("mine")
        with pytest.raises(OutputError, match=r"taken/\S+: cannot be written: Not a directory"):
            write_example("fruits", tmp_path / "taken")
        assert (tmp_path / "taken").read_text() == "mine"
