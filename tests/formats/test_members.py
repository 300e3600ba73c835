"""The files of folders and archives: read in place, and refused where they are traps."""

import gzip
import io
import json
import os
import shutil
import struct
import tarfile
import zipfile
from pathlib import Path

import pytest
from support.datasets import two_annotators
from support.tool_files import write

import bboxqa
from bboxqa import read_coco, validate
from bboxqa.core.errors import DatasetError, OutputError
from bboxqa.formats import member
from bboxqa.formats.source import members_of


def zipped(path, contents):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in contents.items():
            archive.writestr(name, content)
    return path


def linked_labels(folder, name, target):
    (folder / "labels").mkdir()
    (folder / "data.yaml").write_text("names: [cat]\n")
    for each in "ac":
        (folder / "labels" / f"{each}.txt").write_text("0 .5 .5 .2 .2\n")
    (folder / "labels" / name).symlink_to(target)


@pytest.mark.parametrize("target", ["b.txt", "elsewhere.txt"])
def test_a_label_file_that_leads_nowhere_is_an_error(tmp_path, target):
    linked_labels(tmp_path, "b.txt", target)
    with bboxqa.reading(image_size=(64, 48)):
        with pytest.raises(
            DatasetError, match=r"labels/b\.txt: is a link that leads nowhere"
        ) as error:
            read_coco(tmp_path, min_annotators=1)
        assert "remove the link" in error.value.advice
        (tmp_path / "labels/b.txt").unlink()
        assert len(read_coco(tmp_path, min_annotators=1).annotations) == 2


def tarred(path, contents, mode):
    with tarfile.open(path, mode) as archive:
        for name, content in contents.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content.encode()))
    return path


@pytest.mark.parametrize(
    ("name", "mode"), [("a.tar", "w:"), ("a.tar.gz", "w:gz"), ("a.tgz", "w:gz")]
)
def test_tars_are_read_packed_or_not_and_with_names_from_their_folder_on(tmp_path, name, mode):
    contents = {"./ann/b.xml": "b" * 70000, "./ann/a.xml": "a", "./.hidden": "x", "c.xml": "c"}
    path = tarred(tmp_path / name, contents, mode)
    found = members_of(path)
    assert [each.name for each in found] == ["ann/a.xml", "ann/b.xml", "c.xml"]
    assert [each.read() for each in found] == [b"a", b"b" * 70000, b"c"]
    assert found[0].shown == f"{path}/ann/a.xml"


def test_a_packed_tar_that_is_cut_off_is_refused(tmp_path):
    path = tarred(tmp_path / "a.tgz", {"x": os.urandom(9000).hex()}, "w:gz")
    path.write_bytes(path.read_bytes()[:-2000])
    with pytest.raises(DatasetError, match="is a tar archive that cannot be read: Compressed"):
        members_of(path)


def test_folders_of_a_tar_count_as_entries(tmp_path, monkeypatch):
    path = tmp_path / "a.tgz"
    with tarfile.open(path, "w:gz") as archive:
        for each in ("a", "b", "c"):
            info = tarfile.TarInfo(each)
            info.type = tarfile.DIRTYPE
            archive.addfile(info)
    monkeypatch.setattr(member, "MAX_MEMBERS", 1)
    with pytest.raises(DatasetError, match="has more than 1 file"):
        members_of(path)


@pytest.mark.parametrize("name", ["a.xml", "./a.xml"])
def test_two_files_of_one_name_are_refused(tmp_path, name):
    path = tmp_path / "a.tar"
    with tarfile.open(path, "w:") as archive:
        for each in ("a.xml", name):
            archive.addfile(tarfile.TarInfo(each))
    with pytest.raises(DatasetError, match=r"has two files named 'a\.xml'; expected one of"):
        members_of(path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")
def test_pipes_and_links_to_folders_are_no_files_of_a_folder(tmp_path):
    (tmp_path / "b").write_text("b")
    (tmp_path / "c").symlink_to("b")
    (tmp_path / "d").symlink_to(tmp_path)
    (tmp_path / "e").symlink_to("e")
    os.mkfifo(tmp_path / "a")
    # Reading a link that leads nowhere reports it.
    assert [each.name for each in members_of(tmp_path)] == ["b", "c", "e"]


@pytest.mark.parametrize("name", ["../a", "/a", "a/../../b", "..\\a", "C:/a", "c:\\a"])
def test_names_that_lead_out_are_refused(tmp_path, name):
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(zipfile.ZipInfo("fine"), b"")
        archive.writestr(zipfile.ZipInfo(name), b"")
    with pytest.raises(DatasetError, match="leads out of the archive"):
        members_of(path)


def test_an_entry_of_a_zip_without_a_name_is_refused(tmp_path):
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        info = zipfile.ZipInfo("b")
        info.filename = ""
        archive.writestr(info, "{}")
    with pytest.raises(DatasetError, match="has an entry without a name"):
        members_of(path)


@pytest.mark.parametrize("mode", ["w", "w:gz"])
def test_a_size_beyond_every_offset_is_refused(tmp_path, mode):
    path = tmp_path / ("a.tar.gz" if mode == "w:gz" else "a.tar")
    info = tarfile.TarInfo("a.json")
    info.pax_headers = {"size": str(1 << 70)}
    with tarfile.open(path, mode, format=tarfile.PAX_FORMAT) as archive:
        archive.addfile(info)
    with pytest.raises(DatasetError, match="is a tar archive that cannot be read"):
        members_of(path)


def test_bombs_are_refused_before_they_are_read(tmp_path):
    path = zipped(tmp_path / "a.zip", {"a": bytes(20 << 20)})
    with pytest.raises(DatasetError, match="would become 20,971,520"):
        members_of(path)
    much = "more than 16,777,216 bytes of content, and is taken for a zip bomb"
    path = tarred(tmp_path / "a.tgz", {"x": "\0" * (17 << 20)}, "w:gz")
    with pytest.raises(DatasetError, match=much):
        members_of(path)
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(bytes(17 << 20)))
    (member,) = members_of(path)
    with pytest.raises(DatasetError, match=much):
        member.read()


def test_many_entries_are_counted_before_they_are_listed(tmp_path, monkeypatch):
    path = zipped(tmp_path / "a.zip", {"a": "", "b": ""})
    monkeypatch.setattr(member, "MAX_MEMBERS", 1)
    monkeypatch.setattr(zipfile, "ZipFile", None)
    with pytest.raises(DatasetError, match="has more than 1 file"):
        members_of(path)


def test_broken_and_encrypted_archives_are_refused(tmp_path):
    path = zipped(tmp_path / "a.zip", {"a": "content" * 99})
    whole = path.read_bytes()
    path.write_bytes(whole[:-10])
    with pytest.raises(DatasetError, match="cannot be read"):
        members_of(path)
    broken = bytearray(whole)
    broken[40] ^= 255
    path.write_bytes(broken)
    with pytest.raises(DatasetError, match="cannot be read"):
        members_of(path)[0].read()
    encrypted = bytearray(whole)
    place = whole.index(b"PK\x01\x02")
    encrypted[place + 8 : place + 10] = struct.pack("<H", 1)
    path.write_bytes(encrypted)
    with pytest.raises(DatasetError, match="is encrypted"):
        members_of(path)


@pytest.mark.parametrize("suffix", ["zip", "gz"])
def test_coco_is_read_in_its_archive(tmp_path, suffix):
    document = two_annotators()
    document["annotations"][0]["bbox"] = [1, 1, 0, 5]
    content = json.dumps(document).encode()
    path = tmp_path / f"export.{suffix}"
    if suffix == "gz":
        path.write_bytes(gzip.compress(content))
    else:
        zipped(path, {"annotations/instances_default.json": content, "images/a.jpg": "x"})
    (found,) = [each for each in validate(path).findings if each.code == "B001"]
    assert found.file == (
        f"{path}/annotations/instances_default.json" if suffix == "zip" else str(path)
    )
    assert content[found.spot.offset :].startswith(b"[1, 1, 0, 5]")
    document["annotations"][0]["bbox"] = [1, 1, 5, 5]
    sound = json.dumps(document).encode()
    plain = tmp_path / "export.json"
    plain.write_bytes(sound)
    if suffix == "gz":
        path.write_bytes(gzip.compress(sound))
    else:
        zipped(path, {"annotations/instances_default.json": sound})
    data, expected = read_coco(path), read_coco(plain)
    assert data.annotations.bbox.tolist() == expected.annotations.bbox.tolist()
    assert data.annotator_names == expected.annotator_names
    assert data.sources[0].name == str(path)


@pytest.mark.parametrize(
    ("listed", "size", "most", "advice"),
    [(10, 1 << 40, 10, "Wait until nothing writes to it."), (0, (8 << 30) + 1, 8 << 30, "Split")],
)
def test_a_file_that_is_too_large_is_refused_before_it_is_read(
    tmp_path, listed, size, most, advice
):
    path = tmp_path / "a.json"
    path.write_bytes(bytes(listed))
    # A file of a folder may be as large as any.
    (member,) = members_of(path if listed else tmp_path)
    with path.open("r+b") as file:
        file.truncate(size)
    with pytest.raises(
        DatasetError, match=f"has {size:,} bytes; expected at most {most:,}"
    ) as error:
        member.read()
    assert advice in str(error.value)


def test_no_room_for_the_content_of_a_packed_tar_is_not_the_fault_of_the_archive(tmp_path):
    resource = pytest.importorskip("resource")
    write(tmp_path / "in", **{"a.txt": bytes(range(256)) * 40})
    path = shutil.make_archive(str(tmp_path / "a"), "gztar", tmp_path / "in")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        with pytest.raises(OutputError, match="no room to unpack the archive") as refused:
            members_of(Path(path))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert str(refused.value).endswith(
        "set TMPDIR to a folder on a larger disk, or unpack the archive, and name its folder"
    )
    assert [each.name for each in members_of(Path(path))] == ["a.txt"]


def test_links_in_a_zip_are_named_as_in_a_tar(tmp_path):
    link = zipfile.ZipInfo("ann.json")
    link.create_system, link.external_attr = 3, 0o120777 << 16
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(link, "../ann.json")
        archive.writestr("bob.json", json.dumps(two_annotators()))
    with pytest.raises(DatasetError, match=r"ann\.json: is a link"):
        members_of(path)


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
        read_coco(tmp_path / "labelme.json", min_annotators=1)
