"""`bboxqa draw` as a user meets it."""

from PIL import Image
from support.cli import run

from bboxqa.examples import example_file, example_picture

FRUITS = example_file("fruits")


def test_writes_a_picture_beside_the_user(tmp_path):
    folder = example_picture("fruits").parent
    found = run("draw", FRUITS, "--image", "fruits.png", "--images", folder, cwd=tmp_path)
    assert (found.returncode, found.output) == (0, "Written: fruits_annotator.png\n")
    with Image.open(tmp_path / "fruits_annotator.png") as image:
        assert image.width == 2136
    again = run("draw", FRUITS, "--image", "fruits.png", cwd=tmp_path)
    assert again.returncode == 2
    assert "already exists; move it away, or give --force" in again.stderr


def test_says_what_the_drawing_lacks(tmp_path):
    options = ["--images", tmp_path, "--by", "unit", "--iou", 0.4, "--out", "a.svg"]
    found = run("draw", FRUITS, "--image", 1, *options, cwd=tmp_path)
    assert found.returncode == 0
    assert (
        found.stderr
        == f"Note: drawn on a blank canvas: there is no file 'fruits.png' in {tmp_path}\n"
    )
    assert found.stdout == "Written: a.svg\n"


def test_refuses_what_cannot_be_drawn_before_reading(tmp_path):
    missing = run("draw", "nowhere.json", "--image", "a", "--out", "a.jpg", cwd=tmp_path)
    assert (missing.returncode, "expected .png, .svg, .pdf" in missing.stderr) == (2, True)
    nothing = run("draw", "--image", "a", cwd=tmp_path)
    assert (nothing.returncode, "no file given" in nothing.stderr) == (2, True)
    other = run("draw", FRUITS, "--image", "fruit.png", cwd=tmp_path)
    assert other.stderr == (
        "Error: there is no image 'fruit.png' among 1 image; did you mean 'fruits.png'?\n"
    )
    assert list(tmp_path.iterdir()) == []
