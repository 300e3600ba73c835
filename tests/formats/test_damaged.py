"""Files of one annotator that are empty or cut off: without them, agreement would look better."""

import io
import json
import tarfile
import zipfile
from pathlib import Path

import pytest
from support.cli import run
from support.cvat_xml import box, document, head, image
from support.datasets import annotation, write
from support.datasets import document as coco

from bboxqa import read_coco
from bboxqa.batch.rows import Settings
from bboxqa.batch.run import run_batch
from bboxqa.core.errors import DatasetError

WHO = ("ann", "bob", "eve")
VOC = (
    "<annotation><filename>{0}.jpg</filename><size><width>99</width><height>99</height></size>"
    "<object><name>cat</name><bndbox><xmin>1</xmin><ymin>1</ymin><xmax>9</xmax><ymax>9</ymax>"
    "</bndbox></object></annotation>"
)


def job(who):
    return document(head(who, kind="job"), image("a.jpg", box()), image("b.jpg", box(label="dog")))


def zipped(text):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("annotations.xml", text)
    return stream.getvalue()


def made(kind):
    """Return the files of three annotators by name, and those of the third."""
    if kind == "cvat":
        return {f"{who}.xml": job(who).encode() for who in WHO}, ["eve.xml"]
    if kind == "zip":
        return {f"{who}.zip": zipped(job(who)) for who in WHO}, ["eve.zip"]
    if kind == "coco":
        boxes = [[10 + n, 10, 20, 20] for n in range(len(WHO))]
        files = {
            f"{who}.json": json.dumps(coco([annotation(1, bbox=box)])).encode()
            for who, box in zip(WHO, boxes, strict=True)
        }
        return files, ["eve.json"]
    if kind == "table":
        rows = "image,category,x,y,width,height\na.jpg,cat,{},2,3,4\n"
        files = {f"{who}.csv": rows.format(n).encode() for n, who in enumerate(WHO)}
        return files, ["eve.csv"]
    if kind == "voc":
        files = {
            f"{who}/{name}.xml": VOC.format(name).replace(">9<", f">{9 + n}<").encode()
            for n, who in enumerate(WHO)
            for name in "ab"
        }
        return files, ["eve/a.xml", "eve/b.xml"]
    raise ValueError(kind)


CASES = [
    ("cvat", 0, "eve.xml: is empty"),
    ("cvat", 60, "eve.xml: line 3: is XML that cannot be read: unclosed token"),
    ("cvat", 400, "eve.xml:13:3: is XML that cannot be read: unclosed token"),
    ("zip", 0, "eve.zip: is empty"),
    (
        "zip",
        500,
        "eve.zip: is a zip archive that cannot be read: its list of files, at the end, is missing",
    ),
    ("coco", 0, "eve.json:1:1: F001 error the file is empty"),
    ("table", 0, "eve.csv: is empty"),
    ("table", 12, "eve.csv: ends within its first line"),
    ("voc", 0, "eve/a.xml: is empty (and 1 more file in this folder)"),
    ("voc", 9, "eve/a.xml: line 1: is XML that cannot be read: unclosed token (and 1 more file"),
]


@pytest.mark.parametrize(("kind", "length", "words"), CASES)
def test_a_damaged_file_of_an_annotator_fails_everywhere_with_the_same_words(
    tmp_path, monkeypatch, kind, length, words
):
    monkeypatch.chdir(tmp_path)
    files, cut = made(kind)
    for name, content in files.items():
        path = Path("root/street") / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content[:length] if name in cut else content)
    settings = Settings({"bootstrap": 0, "checks": False}, {})
    rows = run_batch("root", Path("out"), settings).rows
    (row,) = [each for each in rows if each.project == "street"]
    assert (row.status, row.passed) == ("failed", False)
    assert f"street/{words}" in row.message
    with pytest.raises(DatasetError) as error:
        read_coco("root/street")
    assert f"street/{words}" in error.value.problems[0]
    done = run("validate", "root/street")
    assert done.returncode in (1, 2)
    shown = words.replace(" F001 error", " ")
    assert shown.split(":")[0] in done.stdout + done.stderr
    assert words.rpartition(": ")[2].removeprefix("F001 error ") in done.stdout + done.stderr


def packed(path, files, hurt, compression, place):
    """Write a zip archive in which twenty bytes of one file are zero."""
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, text in files.items():
            archive.writestr(name, text)
        info = archive.getinfo(hurt)
    content = bytearray(path.read_bytes())
    begin = info.header_offset + 30 + len(info.filename)
    at = begin + int(place * (info.compress_size - 20))
    content[at : at + 20] = bytes(20)
    path.write_bytes(content)


def many(n, who=""):
    box = [10 + len(who), ord(who[:1] or "a") - 90, 20, 20]
    return json.dumps(coco([annotation(k, bbox=box) for k in range(1, n)]))


@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
@pytest.mark.parametrize("place", [0, 0.5, 1])
@pytest.mark.parametrize("n", [9, 2000])
def test_a_damaged_file_in_an_archive_is_named_and_its_person_is_not_dropped(
    tmp_path, compression, place, n
):
    path = tmp_path / "all.zip"
    packed(path, {f"{who}.json": many(n) for who in WHO}, "ann.json", compression, place)
    for command in ("agree", "validate"):
        result = run(command, path)
        assert result.returncode == 2
        assert f"{path}/ann.json: cannot be read: " in result.stderr
        assert "Export or download it again." in result.stderr


@pytest.mark.parametrize("target", ["nowhere.json", "ann.json"])
def test_a_link_that_leads_nowhere_is_an_error(tmp_path, target):
    folder = tmp_path / "street"
    folder.mkdir()
    for who in WHO[1:]:
        (folder / f"{who}.json").write_text(many(9))
    (folder / "ann.json").symlink_to(target)
    words = "ann.json: is a link that leads nowhere"
    for command in ("agree", "validate"):
        done = run(command, folder)
        assert (done.returncode, done.stderr.count(words)) == (2, 1)
        assert "move it out of the folder" in done.stderr


@pytest.mark.parametrize("ending", ["tar", "tar.gz"])
@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE])
def test_a_link_to_annotations_in_an_archive_is_refused(tmp_path, ending, kind):
    path = tmp_path / f"all.{ending}"
    for name in ("eve.json", "README"):
        with tarfile.open(path, "w:gz" if ending.endswith("gz") else "w") as archive:
            for who in WHO[:2]:
                (tmp_path / "one.json").write_text(many(9, who))
                archive.add(tmp_path / "one.json", f"{who}.json")
            link = tarfile.TarInfo(name)
            link.type, link.linkname = kind, "ann.json"
            archive.addfile(link)
        if name == "README":
            assert read_coco(path).annotator_names == WHO[:2]
            continue
        for command in ("agree", "validate"):
            done = run(command, path)
            assert done.returncode == 2
            assert done.stderr == (
                f"Error: {path}/eve.json: is a link, and links in an archive are not followed\n"
                "Unpack it, and name the folder, or pack the files themselves.\n"
            )


POINTER = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'ab' * 32}\nsize 99\n"


@pytest.mark.parametrize(
    ("suffix", "content"), [("xml", job("ann")), ("zip", zipped(job("ann"))), ("json", "")]
)
def test_a_pointer_of_git_lfs_is_told_as_such(tmp_path, suffix, content):
    for who in ("ann", "bob"):
        write(
            tmp_path / f"jobs/{who}.{suffix}",
            content or coco([annotation(1, bbox=[1, ord(who[0]) - 90, 20, 20])]),
        )
    write(tmp_path / f"jobs/eve.{suffix}", POINTER)
    for path in (tmp_path / "jobs", tmp_path / f"jobs/eve.{suffix}"):
        with pytest.raises(DatasetError, match="is a Git LFS pointer"):
            read_coco(path, min_annotators=1)
