"""DOTA's text labels: a folder for each annotator."""

import pytest
from support.tool_files import alone, found, translation_of, write

from bboxqa.core.errors import DatasetError
from bboxqa.formats.dota.reader import translate
from bboxqa.formats.sources import sources_of

PLANE = "10 10 30 10 30 20 10 20 plane 0\n"
HEADER = "imagesource:GoogleEarth\ngsd:0.146343590398\n"
PICTURE = b"P6\n100 80\n255\n"


def of_lines(tmp_path, text, **choices):
    """Return the translation of a file of an image of 100 × 80 pixels, and its annotations."""
    folder = write(tmp_path, **{"labelTxt/a.txt": text, "images/a.ppm": PICTURE})
    return translation_of(translate, folder, **choices)


def test_header_lines_are_skipped_and_corners_kept(tmp_path):
    done, records = of_lines(tmp_path, HEADER + "20 10 30 20 20 30 10 20 small-vehicle 1\r\n")
    assert done.categories[0]["name"] == "small-vehicle"
    # A square on its corner, around (20, 20).
    assert records[0]["bbox"] == [10, 10, 20, 20]
    assert records[0]["segmentation"] == [[20, 10, 30, 20, 20, 30, 10, 20]]
    assert records[0]["attributes"] == {"rotation": 45, "difficult": 1}
    assert (done.images[0]["width"], done.images[0]["height"]) == (100, 80)


@pytest.mark.parametrize(
    ("line", "category", "difficult"),
    [
        ("1 1 5 1 5 3 1 3 plane 2", "plane", 2),
        ("1 1 5 1 5 3 1 3 plane", "plane", 0),
        ("1 1 5 1 5 3 1 3 small vehicle 1", "small vehicle", 1),
        ("1 1 5 1 5 3 1 3 7", "7", 0),
        ("1 1 5 1 5 3 1 3 7 1", "7", 1),
    ],
)
def test_category_and_mark_stand_behind_the_corners(tmp_path, line, category, difficult):
    found, (record,) = of_lines(tmp_path, line)
    assert [each["name"] for each in found.categories] == [category]
    assert record["attributes"].get("difficult", 0) == difficult


@pytest.mark.parametrize(
    "line", ["1 1 5 1 5 3 1 3", "1 1 5 1 5 3 1 x plane 0", "nan 1 5 1 5 3 1 3 plane 0"]
)
def test_lines_that_are_no_labels_are_errors_at_their_place(tmp_path, line):
    write(tmp_path, **{"a.txt": HEADER + PLANE + line})
    assert [each[:2] for each in found(tmp_path, "T001")] == [(str(tmp_path / "a.txt"), 4)]
    with pytest.raises(DatasetError) as refused:
        alone(tmp_path)
    # The place comes once.
    (problem,) = refused.value.problems
    assert problem.startswith(f"{tmp_path}/a.txt:4:1: T001 error {line!r} ")


def test_an_empty_file_beside_folders_keeps_their_labels_together(tmp_path):
    files = {"b.txt": "", "street/a.txt": PLANE, "road/c.txt": PLANE}
    write(tmp_path, **{f"ann/labelTxt/{name}": text for name, text in files.items()})
    assert sources_of(tmp_path / "ann", are_people=True).files == [tmp_path / "ann"]
