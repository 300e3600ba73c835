"""Archives that file managers make of a folder: all files are in a folder of that name."""

import shutil
from pathlib import Path

import pytest
from support.cli import run
from support.converted import document, written
from support.tool_files import asked, drawn, write

import bboxqa

PEOPLE = ["ada", "bob"]
CONTENT = document(
    [("a.jpg", 200, 100, PEOPLE), ("b.jpg", 200, 100, PEOPLE)],
    [(image, who, 0, [10, 20, 30, 40 + image]) for image in (0, 1) for who in PEOPLE],
)
BOX = {"label": "cat", "points": [[1, 1], [9, 9]], "shape_type": "rectangle"}
LABELME = {"version": "5.2", "flags": {}, "shapes": [BOX], "imageHeight": 100, "imageWidth": 200}


def packed(folder, name=None, kind="zip"):
    """Pack a folder with its name at the top; return the archive."""
    target = folder.parent / (name or folder.name)
    archive = Path(shutil.make_archive(target, kind, folder.parent, folder.name))
    # Annotators are named after archives without the last suffix only.
    return archive.rename(f"{target}.tgz") if kind == "gztar" else archive


@pytest.mark.parametrize("to", ["yolo", "dota", "voc", "labelme"])
@pytest.mark.parametrize("kind", ["zip", "tar", "gztar"])
def test_a_packed_folder_is_read_like_the_folder(tmp_path, to, kind):
    source, out = written(tmp_path / "source.json", CONTENT), tmp_path / "out"
    bboxqa.convert(source, out, to=to, lossy=True)
    archives = [packed(out / who, kind=kind) for who in PEOPLE]
    with bboxqa.reading(image_size=(200, 100)):
        folders = bboxqa.read_coco([out / who for who in PEOPLE])
        data = bboxqa.read_coco(archives)
    assert (drawn(data), asked(data)) == (drawn(folders), asked(folders))
    assert len(drawn(data)) == 4


@pytest.mark.parametrize(
    ("folder", "names"),
    [
        ("day1", ["ann_day1", "bob"]),
        ("day1", ["day1_ann", "bob"]),
        ("day1", ["ann_day1", "bob_day1"]),
        ("1", ["day 1 ann", "bob"]),
    ],
)
def test_a_folder_in_the_archives_of_two_people_joins_their_images(tmp_path, folder, names):
    write(tmp_path / folder, **{"a.json": LABELME | {"imagePath": "a.jpg"}})
    archives = [packed(tmp_path / folder, name) for name in names]
    assert asked(bboxqa.read_coco(archives)) == {f"{folder}/a.jpg": sorted(names)}


@pytest.mark.parametrize("command", ["agree", "validate"])
def test_an_archive_without_files_says_so(tmp_path, command):
    (tmp_path / "empty").mkdir()
    path = shutil.make_archive(tmp_path / "ada", "zip", tmp_path / "empty")
    outcome = run(command, path)
    assert outcome.returncode == 2
    assert f"{path}: is an archive without files" in outcome.stderr
