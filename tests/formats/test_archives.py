"""Files of folders and archives: read in place like those of a folder, and refused as traps."""

import gzip
import io
import json
import os
import shutil
import struct
import tarfile
import zipfile
from collections import Counter
from pathlib import Path

import pytest
from support.converted import document, written
from support.datasets import two_annotators
from support.tool_files import SUFFIXES, alone, asked, drawn, text_of, write, zipped

import bboxqa
from bboxqa import read_coco, validate
from bboxqa.core.errors import DatasetError
from bboxqa.formats import member
from bboxqa.formats.source import members_of
from bboxqa.formats.sources import sources_of

PEOPLE = ["ada", "bob"]


def tarred(path, contents, mode="w:"):
    """Write a tar archive of texts by name, of folders, or of entries given whole."""
    with tarfile.open(path, mode, format=tarfile.PAX_FORMAT) as archive:
        for name, content in contents:
            info = name if isinstance(name, tarfile.TarInfo) else tarfile.TarInfo(name)
            if content is None:
                info.type = tarfile.DIRTYPE
            info.size = len(content or "")
            archive.addfile(info, io.BytesIO((content or "").encode()))
    return path


def packed(folder, kind, name="all"):
    """Pack the files of a folder beside it; return the archive."""
    return Path(shutil.make_archive(str(folder.parent / name), kind, folder))


# What is in an archive is read as in a folder.


@pytest.mark.parametrize("kind", ["zip", "gztar"])
@pytest.mark.parametrize("form", ["cvat", "label-studio", "datumaro", "coco", "results", "table"])
def test_files_of_people_are_read_as_those_of_a_folder(tmp_path, form, kind):
    end = SUFFIXES.get(form, "json")
    texts = {f"all/{who}.{end}": text_of(form, box=(10 + 2 * n, 10, 20, 20), who=who)
             for n, who in enumerate(PEOPLE)}  # fmt: skip
    folder = write(tmp_path, **texts) / "all"
    expected, data = read_coco(folder), read_coco(packed(folder, kind))
    assert data.annotator_names == expected.annotator_names == ("ada", "bob")
    assert data.image_names == expected.image_names
    assert data.annotations.bbox.tolist() == expected.annotations.bbox.tolist()


def test_one_file_can_be_named(tmp_path):
    path = zipped(tmp_path / "a.zip", {f"{e}.json": text_of("label-studio", who=e) for e in PEOPLE})
    assert alone(path / "bob.json").annotator_names == ("bob",)
    with pytest.raises(DatasetError, match=r"no such file in the archive; it has ada.json"):
        read_coco(path / "eve.json")
    assert read_coco({"x": path / "ada.json", "y": path / "bob.json"}).annotator_names == ("x", "y")


CONTENT = document(
    [("a.jpg", 200, 100, PEOPLE), ("b.jpg", 200, 100, PEOPLE)],
    [(image, who, 0, [10, 20, 30, 40 + image]) for image in (0, 1) for who in PEOPLE],
)


def whole(folder, name=None, kind="zip"):
    """Pack a folder with its name at the top, as file managers do; return the archive."""
    target = folder.parent / (name or folder.name)
    archive = Path(shutil.make_archive(target, kind, folder.parent, folder.name))
    # Annotators are named after archives without the last suffix only.
    return archive.rename(f"{target}.tgz") if kind == "gztar" else archive


@pytest.mark.parametrize("to", ["yolo", "dota", "voc", "labelme"])
@pytest.mark.parametrize("kind", ["zip", "tar", "gztar"])
def test_a_packed_folder_is_read_like_the_folder(tmp_path, to, kind):
    source, out = written(tmp_path / "source.json", CONTENT), tmp_path / "out"
    bboxqa.convert(source, out, to=to, lossy=True)
    archives = [whole(out / who, kind=kind) for who in PEOPLE]
    with bboxqa.reading(image_size=(200, 100)):
        folders, data = read_coco([out / who for who in PEOPLE]), read_coco(archives)
    assert (drawn(data), asked(data)) == (drawn(folders), asked(folders))
    assert len(drawn(data)) == 4


def test_each_folder_is_listed_once_however_many_formats_ask(tmp_path, monkeypatch):
    for who in PEOPLE:
        write(tmp_path / who / "labels", **{f"{name}.xml": text_of("voc") for name in "abc"})
        write(tmp_path / who, **{"notes.txt": "1 2", "images/a.jpg": "x"})
    listed, scandir = Counter(), os.scandir
    monkeypatch.setattr(os, "scandir", lambda path: listed.update([path]) or scandir(path))
    found = sources_of(tmp_path)
    assert found.names == PEOPLE
    assert [len(each.members) for each in found.files] == [5, 5]
    assert {*listed.values()} == {1}


@pytest.mark.parametrize("suffix", ["zip", "gz"])
def test_coco_is_read_in_its_archive(tmp_path, suffix):
    content = two_annotators()
    path, plain = tmp_path / f"export.{suffix}", tmp_path / "export.json"

    def pack():
        raw = json.dumps(content).encode()
        plain.write_bytes(raw)
        if suffix == "gz":
            path.write_bytes(gzip.compress(raw))
        else:
            zipped(path, {"annotations/instances_default.json": raw, "images/a.jpg": "x"})
        return raw

    content["annotations"][0]["bbox"] = [1, 1, 0, 5]
    raw = pack()
    (found,) = [each for each in validate(path).findings if each.code == "B001"]
    inside = "/annotations/instances_default.json" if suffix == "zip" else ""
    assert found.file == f"{path}{inside}"
    assert raw[found.spot.offset :].startswith(b"[1, 1, 0, 5]")
    content["annotations"][0]["bbox"] = [1, 1, 5, 5]
    pack()
    data, expected = read_coco(path), read_coco(plain)
    assert drawn(data) == drawn(expected)
    assert data.sources[0].name == str(path)


# Members of folders and archives.


@pytest.mark.parametrize(
    ("name", "mode"), [("a.tar", "w:"), ("a.tar.gz", "w:gz"), ("a.tgz", "w:gz")]
)
def test_tars_are_read_packed_or_not_and_with_names_from_their_folder_on(tmp_path, name, mode):
    contents = {"./ann/b.xml": "b" * 70000, "./ann/a.xml": "a", "./.hidden": "x", "c.xml": "c"}
    path = tarred(tmp_path / name, contents.items(), mode)
    found = members_of(path)
    assert [each.name for each in found] == ["ann/a.xml", "ann/b.xml", "c.xml"]
    assert [each.read() for each in found] == [b"a", b"b" * 70000, b"c"]
    assert found[0].shown == f"{path}/ann/a.xml"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")
def test_pipes_and_links_to_folders_are_no_files_of_a_folder(tmp_path):
    (tmp_path / "b").write_text("b")
    for link, target in (("c", "b"), ("d", tmp_path), ("e", "e")):
        (tmp_path / link).symlink_to(target)
    os.mkfifo(tmp_path / "a")
    # Reading a link that leads nowhere reports it.
    assert [each.name for each in members_of(tmp_path)] == ["b", "c", "e"]


def entry(name, **more):
    info = zipfile.ZipInfo(name or "b")
    info.filename = name
    for key, value in more.items():
        setattr(info, key, value)
    return info


def sized(size):
    info = tarfile.TarInfo("a.json")
    info.pax_headers = {"size": str(size)}
    return info


def linked(name):
    info = tarfile.TarInfo(name)
    info.type, info.linkname = tarfile.SYMTYPE, "ann.json"
    return info


LINK = entry("ann.json", create_system=3, external_attr=0o120777 << 16)
RANDOM = os.urandom(9000).hex()
MUCH = "has more than 16,777,216 bytes of content"
TRAPS = {
    **{f"name {name}": ("a.zip", {entry("fine"): b"", entry(name): b""}, "leads out of the archive")
       for name in ("../a", "/a", "a/../../b", "..\\a", "C:/a", "c:\\a")},
    "no name": ("a.zip", {entry(""): "{}"}, "has an entry without a name"),
    "link": ("a.zip", {LINK: "../ann.json", "bob.json": "{}"}, r"ann\.json: is a link"),
    "tar link": ("a.tar", [(linked("bob.json"), "")], r"bob\.json: is a link, and"),
    "bomb": ("a.zip", {"a": bytes(20 << 20)}, MUCH),
    "tar bomb": ("a.tgz", [("x", "\0" * (17 << 20))], MUCH),
    "two names": ("a.tar", [("a.xml", "")] * 2, r"has two files named 'a\.xml'; expected one of"),
    "two forms of a name": ("a.tar", [("a.xml", ""), ("./a.xml", "")], "has two files named"),
    **{f"size {size} in {name}": (name, [(sized(size), "")], rf"a\.json: has {size:,} bytes by its")
       for name in ("a.tar", "a.tgz") for size in (1 << 70, 1 << 62, 10**9, -1)},
}  # fmt: skip


@pytest.mark.parametrize("name", TRAPS)
def test_traps_are_refused_before_they_are_read(tmp_path, name):
    file, contents, words = TRAPS[name]
    mode = "w:gz" if file.endswith("tgz") else "w:"
    path = tmp_path / file
    if file.endswith("zip"):
        zipped(path, contents)
    else:
        tarred(path, contents, mode)
    with pytest.raises(DatasetError, match=words):
        members_of(path)


def test_a_packed_file_is_refused_while_it_is_read(tmp_path):
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(bytes(17 << 20)))
    (member,) = members_of(path)
    with pytest.raises(DatasetError, match=MUCH):
        member.read()


def test_a_packed_tar_that_is_cut_off_is_refused(tmp_path):
    path = tarred(tmp_path / "a.tgz", [("x", RANDOM)], "w:gz")
    path.write_bytes(path.read_bytes()[:-2000])
    with pytest.raises(DatasetError, match="is a tar archive that cannot be read: Compressed"):
        members_of(path)


@pytest.mark.parametrize("kind", ["zip", "tgz"])
def test_many_entries_are_counted_before_they_are_listed(tmp_path, monkeypatch, kind):
    path = tmp_path / f"a.{kind}"
    if kind == "zip":
        zipped(path, {"a": "", "b": ""})
        monkeypatch.setattr(zipfile, "ZipFile", None)
    else:
        # Folders count as well.
        tarred(path, [("a", None), ("b", None), ("c", None)], "w:gz")
    monkeypatch.setattr(member, "MAX_MEMBERS", 1)
    with pytest.raises(DatasetError, match="has more than 1 file"):
        members_of(path)


def test_broken_and_encrypted_archives_are_refused(tmp_path):
    path = zipped(tmp_path / "a.zip", {"a": "content" * 99})
    content = path.read_bytes()
    broken, encrypted = bytearray(content), bytearray(content)
    broken[40] ^= 255
    place = content.index(b"PK\x01\x02")
    encrypted[place + 8 : place + 10] = struct.pack("<H", 1)
    for changed, words in (
        (content[:-10], "cannot be read"), (broken, "cannot be read"), (encrypted, "is encrypted"),
    ):  # fmt: skip
        path.write_bytes(changed)
        with pytest.raises(DatasetError, match=words):
            members_of(path)[0].read()


def test_a_file_that_is_too_large_is_refused_before_it_is_read(tmp_path):
    path = tmp_path / "a.json"
    path.write_bytes(b"")
    (member,) = members_of(tmp_path)
    os.truncate(path, (8 << 30) + 1)
    with pytest.raises(DatasetError, match=r"has more than 8,589,934,592 bytes"):
        member.read()


@pytest.mark.parametrize("opened", ["[", '{"a":', '["]",'])
def test_deep_json_is_refused_whatever_calls_the_decoder(tmp_path, opened):
    closed = "}" if ":" in opened else "]"
    ends = {depth: opened * depth + "1" + closed * depth for depth in (450, 600, 980, 5000)}
    for depth, value in ends.items():
        text = json.dumps(two_annotators()).replace('"bbox"', f'"x": {value}, "bbox"', 1)
        (tmp_path / f"{depth}.json").write_text(text)
        codes = {each.code for each in validate(tmp_path / f"{depth}.json").findings}
        assert ("F001" in codes) == (depth > 500)
    flags = f'{{"flags": {ends[600]}, "shapes": [], "imagePath": "a.jpg", "imageHeight": 9}}'
    (tmp_path / "labelme.json").write_text(flags)
    with pytest.raises(DatasetError, match="nested more than 500 deep"):
        alone(tmp_path / "labelme.json")
