"""Files that the user may not read are not said to be damaged."""

import os
import tempfile
import zipfile
from contextlib import contextmanager
from pathlib import Path

import pytest
from support.tool_files import write

import bboxqa
from bboxqa import DatasetError, read_coco

BOX = "0 .5 .5 .2 .25\n"
IMAGE = '<image id="0" name="a.jpg" width="9" height="9"/>'
XML = f"<annotations><version>1.1</version>{IMAGE}</annotations>"
ADVICE = "Allow reading it, or move it elsewhere."
NOBODY = 65534


@contextmanager
def as_ordinary_user():
    """Give up the rights of the superuser, who can read everything."""
    before = os.geteuid()
    if before == 0:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(before)


@pytest.fixture
def folder():
    """Return a folder that every user can open."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


def labels(folder):
    for person in ("ann", "bob"):
        write(folder, **{f"{person}/{name}.txt": BOX for name in "abc"})
    return [folder / "ann", folder / "bob"], folder / "ann/b.txt"


def archive(folder):
    with zipfile.ZipFile(folder / "a.zip", "w") as packed:
        packed.writestr("annotations.xml", XML)
    return folder / "a.zip", folder / "a.zip"


def cvat(folder):
    write(folder, **{"a.xml": XML})
    return folder / "a.xml", folder / "a.xml"


def beside_others(folder):
    write(folder, **{"b.xml": XML, "c.xml": XML})
    source, path = archive(folder)
    return [folder / "b.xml", folder / "c.xml", source], path


@pytest.mark.parametrize("made", [labels, archive, cvat, beside_others])
def test_the_advice_is_to_allow_reading(made, folder):
    for name in ("before", "after"):
        (folder / name).mkdir()
    source, path = made(folder / "after")
    with bboxqa.reading(image_size=(100, 80)):
        # What is needed to read is loaded before rights are given up.
        read_coco(made(folder / "before")[0], min_annotators=1, attribution="files")
        path.chmod(0)
        with as_ordinary_user(), pytest.raises(DatasetError) as error:
            read_coco(source, min_annotators=1, attribution="files")
    assert f"{path}: cannot be read: permission denied" in str(error.value).replace("Perm", "perm")
    assert error.value.advice == ADVICE
