"""The worked examples agree, say so, say when they do not, and read well."""

import copy

import pytest

import bboxqa
from bboxqa.core.errors import OutputError
from bboxqa.examples import SCENES, example_file, read_expected
from bboxqa.examples.lessons import EXAMPLES, walk, write_example
from bboxqa.examples.walks import Check, Step, Walk, digits

N_CHECKS = {
    "fruits": 4 + 3 + 1 + 3 + 1,
    "smiling_fruits": 3 + 1 + 4 + 1,
    "landscape": 3 + 1 + 1,
    "matching": 2 * 30,
    "iou": 14 + 12,
    "krippendorff": 12,
}
KEY_FIGURES = {
    "fruits": ["0.9689*", "{1,6,9} {2,5,-} {3,4,8} {-,-,7}", "(12*11)", "alpha = 0.0222: agrees"],
    "smiling_fruits": ["alpha = 0.4940: agrees", "{-,-,12}"],
    "landscape": ["alpha = 0.4889: agrees", "0.9872*", "Waterfall"],
    "matching": ["{7,-,-} {-,4,-} {-,10,24}", "-0.4062  agrees", "-0.1209  agrees"],
    "iou": ["129000  271000  0.4760  agrees", "60330 px / 93623 px = 0.6444: agrees", "4850"],
    "krippendorff": ["= 1 - 1.0000 / 0.8333 = -0.2000", "alpha of table 12 = 0.3953: agrees"],
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
    ("fruits", ("images", "fruits", "bbox_iou", "1-6"), 0.8401,
     "IoU of 1 and 6 = 0.8400: DIFFERS: expected 0.8401"),
    ("iou", ("bbox_iou", 4, "iou"), 0.6667, "IoU of boxes 5 = 0.4706: DIFFERS: expected 0.6667"),
    ("iou", ("polygon_iou_pixel_inclusive", 0, "union_px"), 20,
     "13 px / 19 px = 0.6842: DIFFERS: expected 13 px / 20 px = 0.6842"),
    ("matching", ("matching", "cases", 15, "units"), [[7, 10], [None, 8]],
     "units of case 16 = {7,8} {-,10}: DIFFERS: expected {7,10} {-,8}"),
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


def test_a_value_of_the_matrix_that_is_not_expected_at_all_is_told():
    expected = read_expected()
    expected["images"]["fruits"]["coincidence_matrix"] = {"values": ["1"], "matrix": [[2]]}
    assert not walk("fruits", expected).agrees


def test_nothing_compared_is_no_agreement():
    assert not Walk("empty", "", ()).agrees
    assert Walk("one", "", (Step("", "", "", (Check("x", "1", "1"),)),)).agrees


class TestMisprints:
    def test_each_is_told_once_in_the_walk_that_it_belongs_to(self):
        notes = {name: len(EXAMPLES[name]().notes) for name in EXAMPLES}
        assert notes == {**dict.fromkeys(EXAMPLES, 0), "iou": 4, "krippendorff": 1}
        assert sum(notes.values()) == len(read_expected()["errata"])

    @pytest.mark.parametrize(
        ("name", "figures"), [("iou", ["0.4706", "0.0309", "0.0476"]), ("krippendorff", ["-0.2."])]
    )
    def test_they_name_the_figures(self, name, figures):
        text = EXAMPLES[name]().text().split("Misprints")[1]
        assert all(figure in text for figure in figures)


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
            ("matching", ["matching_hungarian.png", "matching_recursive.png", "matching.txt"]),
            ("iou", ["iou.png", "iou.txt"]),
            ("krippendorff", ["krippendorff.txt"]),
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

    def test_an_unknown_name_is_told_with_the_choices(self, tmp_path):
        with pytest.raises(ValueError, match="'fruit'; choose one of fruits, smiling_fruits"):
            write_example("fruit", tmp_path)

    def test_a_file_in_the_place_of_the_folder_is_told(self, tmp_path):
        (tmp_path / "taken").write_text("mine")
        with pytest.raises(OutputError, match=r"taken/\S+: cannot be written: Not a directory"):
            write_example("krippendorff", tmp_path / "taken")
        assert (tmp_path / "taken").read_text() == "mine"
