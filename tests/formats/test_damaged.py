"""Files of one annotator that are empty, cut off or closed: agreement would look better."""

import json
import os
import tempfile
import zipfile
from contextlib import contextmanager
from pathlib import Path

import pytest
from support.cli import run
from support.cvat_xml import box, document, head, image
from support.datasets import annotation
from support.datasets import document as coco
from support.tool_files import SUFFIXES, text_of, write, zipped

import bboxqa
from bboxqa import read_coco, validate
from bboxqa.batch.run import run_batch
from bboxqa.batch.settings import Settings
from bboxqa.core.errors import DatasetError
from bboxqa.formats.opening import damage_in
from bboxqa.formats.size_files import sizes_of

WHO = ("ann", "bob", "eve")
CUT = "line 1: is XML that cannot be read: unclosed token"


def job(who):
    return document(head(who, kind="job"), image("a.jpg", box()), image("b.jpg", box(label="dog")))


def made(folder, form):
    """Write files of three annotators, and return those of the third."""
    for n, who in enumerate(WHO):
        if form == "zip":
            zipped(folder / f"{who}.zip", {"annotations.xml": job(who)}, zipfile.ZIP_STORED)
        elif form == "voc":
            texts = {f"{who}/{e}.xml": text_of("voc", f"{e}.jpg", (1 + n, 1, 9, 9)) for e in "ab"}
            write(folder, **texts)
        else:
            text = job(who) if form == "cvat" else text_of(form, box=(10 + n, 10, 20, 20))
            write(folder, **{f"{who}.{SUFFIXES.get(form, 'json')}": text})
    return sorted(path for path in folder.rglob("*") if "eve" in str(path) and path.is_file())


CASES = [
    ("cvat", 0, "eve.xml: is empty"),
    ("cvat", 400, "eve.xml:13:3: is XML that cannot be read: unclosed token"),
    ("zip", 0, "eve.zip: is empty"),
    ("zip", 500, "eve.zip: is a zip archive that cannot be read: "),
    ("coco", 0, "eve.json:1:1: F001 error the file is empty"),
    ("table", 12, "eve.csv: ends within its first line"),
    ("voc", 9, f"eve/a.xml: {CUT}"),
]  # fmt: skip


@pytest.mark.parametrize(("form", "length", "words"), CASES)
def test_a_damaged_file_of_an_annotator_fails_everywhere_with_the_same_words(
    tmp_path, monkeypatch, form, length, words
):
    monkeypatch.chdir(tmp_path)
    folder = Path("root/street")
    folder.mkdir(parents=True)
    for path in made(folder, form):
        path.write_bytes(path.read_bytes()[:length])
    rows = run_batch("root", Path("out"), Settings({"bootstrap": 0, "checks": False}, {})).rows
    (row,) = [each for each in rows if each.project == "street"]
    assert (row.status, row.passed) == ("failed", False)
    assert f"street/{words}" in row.message
    with pytest.raises(DatasetError) as error:
        read_coco("root/street")
    assert f"street/{words}" in error.value.problems[0]
    done = run("validate", "root/street")
    assert done.returncode in (1, 2)
    for part in (words.split(":")[0], words.rpartition(": ")[2].removeprefix("F001 error ")):
        assert part in done.output


def many(n, who=""):
    """Return a file with boxes of a person in an image."""
    box = [10 + len(who), ord(who[:1] or "a") - 90, 20, 20]
    return json.dumps(coco([annotation(k, bbox=box) for k in range(1, n)]))


@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
@pytest.mark.parametrize("place", [0, 0.5, 1])
def test_a_damaged_file_in_an_archive_is_named_and_its_person_is_not_dropped(
    tmp_path, compression, place
):
    path = tmp_path / "all.zip"
    zipped(path, {f"{who}.json": many(2000) for who in WHO}, compression)
    info = zipfile.ZipFile(path).getinfo("ann.json")
    # Twenty bytes of it are zero.
    content = bytearray(path.read_bytes())
    at = info.header_offset + 30 + len(info.filename) + int(place * (info.compress_size - 20))
    content[at : at + 20] = bytes(20)
    path.write_bytes(content)
    for command in ("agree", "validate"):
        result = run(command, path)
        assert result.returncode == 2
        assert f"{path}/ann.json: cannot be read: " in result.stderr
        assert "Export or download it again" in result.stderr


@pytest.mark.parametrize("target", ["nowhere.json", "ann.json"])
def test_a_link_that_leads_nowhere_is_an_error(tmp_path, target):
    folder = write(tmp_path / "street", **{f"{who}.json": many(9) for who in WHO[1:]})
    (folder / "ann.json").symlink_to(target)
    words = "ann.json: cannot be read: "
    for command in ("agree", "validate"):
        done = run(command, folder)
        assert (done.returncode, done.stderr.count(words)) == (2, 1)
        assert "move it out of the folder" in done.stderr


POINTER = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'ab' * 32}\nsize 99\n"


@pytest.mark.parametrize("form", ["cvat", "zip", "coco"])
def test_a_pointer_of_git_lfs_is_told_as_such(tmp_path, form):
    (path,) = made(tmp_path, form)
    path.write_text(POINTER)
    for source in (tmp_path, path):
        with pytest.raises(DatasetError, match=r"is a Git LFS pointer(?!; expected)"):
            read_coco(source, min_annotators=1)


def test_a_picture_that_is_a_pointer_of_git_lfs_is_told_as_such(tmp_path):
    write(tmp_path, **{"images/a.jpg": POINTER, "labels/a.txt": "0 0.5 0.5 0.2 0.2\n"})
    found = {each.code: each.message for each in validate(tmp_path, images=tmp_path).findings}
    fetch = "is a Git LFS pointer; its content is fetched by: git lfs pull"
    assert found["T002"] == f"the picture {fetch}"
    assert found["M002"].endswith(f"cannot be decoded: it {fetch}")
    with pytest.raises(DatasetError, match=r"images: has no image sizes; a\.jpg is a"):
        sizes_of(tmp_path / "images")


# Files that the user may not read are not said to be damaged.


@contextmanager
def as_ordinary_user():
    """Give up the rights of the superuser, who can read everything."""
    before = os.geteuid()
    if before == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(before)


def labels(folder):
    for who in WHO[:2]:
        write(folder, **{f"{who}/{name}.txt": text_of("yolo") for name in "abc"})
    return [folder / who for who in WHO[:2]], folder / "ann/b.txt"


def archive(folder):
    path = zipped(folder / "a.zip", {"annotations.xml": text_of("cvat")})
    return path, path


def cvat(folder):
    path = write(folder, **{"a.xml": text_of("cvat")}) / "a.xml"
    return path, path


def beside_others(folder):
    write(folder, **{"b.xml": text_of("cvat"), "c.xml": text_of("cvat")})
    source, path = archive(folder)
    return [folder / "b.xml", folder / "c.xml", source], path


@pytest.mark.parametrize("made", [labels, archive, cvat, beside_others])
def test_the_advice_is_to_allow_reading(made):
    with tempfile.TemporaryDirectory() as name, bboxqa.reading(image_size=(100, 80)):
        folder = Path(name)
        # Every user can open the folder.
        folder.chmod(0o755)
        for part in ("before", "after"):
            (folder / part).mkdir()
        source, path = made(folder / "after")
        # What is needed to read is loaded before rights are given up.
        read_coco(made(folder / "before")[0], min_annotators=1, attribution="files")
        path.chmod(0)
        with as_ordinary_user(), pytest.raises(DatasetError) as error:
            read_coco(source, min_annotators=1, attribution="files")
    problem = f"{path}: cannot be read: permission denied"
    assert problem in str(error.value).replace("Perm", "perm")
    assert "llow reading it" in error.value.advice


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_xml_beside_annotations_with_a_document_type_is_not_parsed(encoding):
    levels = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 90}">' for n in range(1, 6))
    bomb = f'<!DOCTYPE a [<!ENTITY e0 "{"e" * 9000}">{levels}]><a>&e5;</a>'
    assert damage_in("a.xml", bomb.encode(encoding)) == ""
    assert damage_in("a.xml", b"<a><b></a>") == "line 1: is XML that cannot be read: mismatched tag"
