"""The worked examples have the figures of their source, and read well."""

import numpy as np
import pytest

import bboxqa
from bboxqa.agreement.unit_counts import coincidence_matrix, from_units
from bboxqa.core.errors import OutputError
from bboxqa.examples import SCENES, example_file, read_expected
from bboxqa.examples.walks import alpha_of, digits, match_boxes, unit_rows, walk, write_example
from bboxqa.geometry.boxes import bbox_iou, corners
from bboxqa.model.annotations import Annotations, Dataset

KEY_FIGURES = {
    "fruits": ["0.9689*", "(12*11)", "alpha = 1 - D_o / D_e"],
    "smiling_fruits": ["0.4940\n", "12\n"],
    "landscape": ["0.4889\n", "0.9872*", "Waterfall"],
}


@pytest.mark.parametrize("name", SCENES)
def test_a_walk_ends_at_what_one_call_returns_and_fits_a_terminal(name):
    text = walk(name)
    result = bboxqa.agree(example_file(name), iou_threshold=0.5, bootstrap=0, matcher="recursive")
    assert text.endswith(f" = {digits(result.alpha)}\n")
    assert digits(result.alpha) == digits(read_expected()["images"][name]["alpha"])
    assert all(figure in text for figure in KEY_FIGURES[name])
    assert text.isascii()
    assert [line for line in text.splitlines() if len(line) > 100 or line != line.rstrip()] == []


def matched_as(data, matcher, wanted):
    """Match the boxes of a data set, whose units are the wanted ones in any order."""
    units = match_boxes(data, matcher)
    assert sorted(map(str, unit_rows(data, units))) == sorted(map(str, wanted))
    return units, from_units(data.annotations, units, data.assigned, len(data.category_names))


@pytest.mark.parametrize("scene", SCENES)
def test_pairs_units_and_coincidences_are_those_of_the_source(scene):
    expected, data = read_expected()["images"][scene], bboxqa.read(example_file(scene))
    assert expected["iou_threshold"] == 0.5
    _, found = matched_as(data, "recursive", expected["recursive_units"])
    if wanted := expected.get("coincidence_matrix"):
        values, matrix = coincidence_matrix(found, "category")
        names = {f"{each + 1}": name for each, name in enumerate(data.category_names)}
        said = [names.get(each, each) for each in wanted["values"]]
        at = [said.index([*data.category_names, "missing"][value]) for value in values]
        assert matrix == pytest.approx(np.array(wanted["matrix"])[np.ix_(at, at)])
    ids, box = data.annotations.id.tolist(), corners(data.annotations.bbox)
    for pair, value in expected.get("bbox_iou", {}).items():
        one, other = (ids.index(int(each)) for each in pair.split("-"))
        assert bbox_iou(box[[one]], box[[other]])[0] == pytest.approx(value, abs=5e-5)
    for people, pairs in expected["hungarian_pairs"].items():
        both = np.isin(
            data.annotations.annotator, [int(each[-1]) - 1 for each in people.split("-")]
        )
        part = data.annotations.take(np.flatnonzero(both))
        kept = [part.id.tolist(), match_boxes(part_of(data, part), "hungarian").unit.tolist()]
        units = [[i for i, u in zip(*kept, strict=True) if u == unit] for unit in {*kept[1]}]
        assert sorted(sorted(each) for each in units if len(each) == 2) == sorted(
            map(sorted, pairs)
        )


def part_of(data, annotations):
    return Dataset(
        image_names=data.image_names, image_size=data.image_size, annotations=annotations,
        category_names=data.category_names, annotator_names=data.annotator_names,
        assigned=data.assigned,
    )  # fmt: skip


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
    matcher = "hungarian" if len(people) == 2 else "recursive"
    _, found = matched_as(data, matcher, case["units"])
    assert digits(alpha_of(found).value) == digits(case["alpha"])


class TestWriteExample:
    @pytest.mark.parametrize("name", SCENES)
    def test_the_files_are_there_and_nothing_else(self, name, tmp_path):
        files = [f"{name}{end}" for end in (".json", ".png", "_annotators.png", ".txt")]
        folder = tmp_path / "für Ann" / name
        for new in (files, []):
            assert write_example(name, folder) == [folder / file for file in new]
            assert sorted(path.name for path in folder.iterdir()) == sorted(files)
        assert (folder / f"{name}.txt").read_text("utf-8") == walk(name)
        for picture in folder.glob("*.png"):
            assert picture.read_bytes().startswith(b"\x89PNG")

    def test_a_file_in_the_place_of_the_folder_is_told(self, tmp_path):
        (tmp_path / "taken").write_text("mine")
        with pytest.raises(OutputError, match=r"taken/\S+: cannot be written: Not a directory"):
            write_example("fruits", tmp_path / "taken")
        assert (tmp_path / "taken").read_text() == "mine"
