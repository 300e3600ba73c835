"""Archives beside other annotations, which are left out."""

import gzip
import json
import shlex
import zipfile

import pytest
from support.cli import run
from support.datasets import annotation, document

TEXT = json.dumps(document([annotation(1)]))


def people(folder):
    folder.mkdir()
    for who in ("bob", "cid"):
        (folder / f"{who}.json").write_text(TEXT)
    return folder


@pytest.mark.parametrize("name", ["ann.json.gz", "ann.zip"])
@pytest.mark.parametrize("command", ["agree", "validate"])
def test_an_archive_with_annotations_of_its_own_is_named_with_what_to_type(tmp_path, command, name):
    folder = people(tmp_path / "street")
    path = folder / name
    if name.endswith(".gz"):
        path.write_bytes(gzip.compress(TEXT.encode()))
    else:
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("x.json", TEXT)
    done = run(command, folder)
    typed = f"{folder} {path}"
    note = f"1 archive left out ({name}), as other files are read"
    assert note in done.output
    assert f"to read such an archive as well, name it: {typed}" in done.output
    done = run(command, *shlex.split(typed))
    assert done.returncode == 0
    assert "left out" not in done.output
    assert ("3 annotators" if command == "agree" else str(path)) in done.output


@pytest.mark.parametrize("place", ["", "all/"])
def test_an_archive_that_was_unpacked_is_not_named(tmp_path, place):
    folder = people(tmp_path / "street")
    (folder / "bob.json.gz").write_bytes(gzip.compress(TEXT.encode()))
    (folder / "all").mkdir()
    (folder / place / "ann.json").write_text(TEXT)
    with zipfile.ZipFile(folder / "all.zip", "w") as archive:
        archive.writestr("ann.json", TEXT)
        archive.writestr("LICENSE", "")
    with zipfile.ZipFile(folder / "images.zip", "w") as archive:
        archive.writestr("a.jpg", "")
    done = run("agree", folder)
    assert done.returncode == 0
    assert "left out" not in done.output
