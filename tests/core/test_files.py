"""Where files go that are written: in place of what, and through what; and links to them."""

import os
import stat
import threading
from pathlib import Path

import pytest

from bboxqa.core.errors import OutputError
from bboxqa.core.file_names import is_file, is_folder
from bboxqa.core.files import filled_folder, identity_of, write_atomically, write_fixed
from bboxqa.core.interrupts import PLACED


def left(folder):
    return sorted(path.name for path in folder.iterdir())


def rights(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_a_new_file_has_the_rights_that_the_user_wants(tmp_path):
    path, plain = tmp_path / "new.json", tmp_path / "plain.json"
    plain.write_bytes(b"")
    write_atomically(path, b"new")
    assert path.read_bytes() == b"new"
    assert rights(path) == rights(plain)
    assert left(tmp_path) == ["new.json", "plain.json"]


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664, 0o755])
def test_a_file_keeps_its_rights(tmp_path, mode):
    path = tmp_path / "old.json"
    path.write_bytes(b"old and longer")
    path.chmod(mode)
    write_atomically(path, b"new")
    assert (path.read_bytes(), rights(path)) == (b"new", mode)
    assert left(tmp_path) == ["old.json"]


def test_a_link_stays_and_what_it_leads_to_is_written(tmp_path):
    (tmp_path / "real").mkdir()
    real, link, second = tmp_path / "real" / "a.json", tmp_path / "b.json", tmp_path / "c.json"
    real.write_bytes(b"old")
    real.chmod(0o640)
    link.symlink_to("real/a.json")
    second.symlink_to(link)
    write_atomically(second, b"new")
    assert link.is_symlink()
    assert second.is_symlink()
    assert (real.read_bytes(), rights(real)) == (b"new", 0o640)
    assert left(tmp_path / "real") == ["a.json"]
    assert left(tmp_path) == ["b.json", "c.json", "real"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")
@pytest.mark.parametrize("through_a_link", [False, True])
def test_a_pipe_is_written_to(tmp_path, through_a_link):
    pipe, path, got = tmp_path / "pipe", tmp_path / "pipe", []
    os.mkfifo(pipe)
    if through_a_link:
        path = tmp_path / "link"
        path.symlink_to(pipe)
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()), daemon=True)
    reader.start()
    data = b"more than a pipe holds at once" * 10_000
    write_atomically(path, data)
    reader.join(20)
    assert got == [data]
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert PLACED[-1] == path
    assert left(tmp_path) == sorted({"pipe", path.name})


@pytest.mark.skipif(not Path("/dev/fd").exists(), reason="no paths of descriptors here")
def test_a_pipe_without_a_name_is_written_to():
    read, write = os.pipe()
    write_atomically(Path(f"/dev/fd/{write}"), b"text")
    os.close(write)
    assert os.read(read, 9) == b"text"
    os.close(read)


def test_a_folder_is_no_file(tmp_path):
    link = tmp_path / "link"
    (tmp_path / "folder").mkdir()
    link.symlink_to("folder")
    for path in (tmp_path / "folder", link):
        with pytest.raises(OutputError, match=r"is a folder; name a file$") as error:
            write_atomically(path, b"new")
        assert str(error.value).startswith(f"{path}: ")
    assert left(tmp_path) == ["folder", "link"]
    assert left(tmp_path / "folder") == []


def test_the_folder_is_made_unless_a_file_is_in_its_place(tmp_path):
    write_atomically(tmp_path / "new" / "er" / "a.json", b"new")
    with pytest.raises(OutputError, match="cannot be written: Not a directory"):
        write_atomically(tmp_path / "new" / "er" / "a.json" / "b.json", b"new")
    assert left(tmp_path / "new" / "er") == ["a.json"]


def test_what_is_interrupted_leaves_what_was_there(tmp_path, monkeypatch):
    path = tmp_path / "a.json"
    path.write_bytes(b"old")

    def stop(self, target):
        raise KeyboardInterrupt

    monkeypatch.setattr("pathlib.Path.replace", stop)
    with pytest.raises(KeyboardInterrupt):
        write_atomically(path, b"new")
    assert path.read_bytes() == b"old"
    assert left(tmp_path) == ["a.json"]


@pytest.fixture
def old(tmp_path):
    target = tmp_path / "target"
    target.mkdir()
    for name in ("a.csv", "record.json", "mine.txt"):
        (target / name).write_text("old")
    return target


@pytest.mark.parametrize("last", [None, "record.json"])
def test_a_new_folder_appears_with_all_its_files(tmp_path, last):
    target, plain = tmp_path / "deep" / "target", tmp_path / "plain"
    plain.mkdir()
    with filled_folder(target, last=last) as scratch:
        (scratch / "a.csv").write_text("new")
        assert not target.exists()
    assert left(target) == ["a.csv"]
    assert left(target.parent) == ["target"]
    assert rights(target) == rights(plain)


def test_a_folder_with_a_mark_is_replaced_as_a_whole(old):
    with filled_folder(old, last="record.json") as scratch:
        (scratch / "record.json").write_text("new")
        assert (old / "record.json").read_text() == "old"
    assert {file.name: file.read_text() for file in old.iterdir()} == {"record.json": "new"}
    assert left(old.parent) == ["target"]


@pytest.mark.parametrize("last", [None, "record.json"])
def test_a_folder_that_is_not_filled_leaves_the_old_one(old, last):
    before = {file.name: file.read_text() for file in old.iterdir()}

    def interrupted():
        with filled_folder(old, last=last) as scratch:
            (scratch / "a.csv").write_text("new")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert {file.name: file.read_text() for file in old.iterdir()} == before
    assert left(old.parent) == ["target"]


@pytest.mark.parametrize("content", [b"newer", b"OLD"])
def test_a_file_that_was_replaced_meanwhile_stays(content, tmp_path):
    path, other = tmp_path / "a.json", tmp_path / "b.json"
    path.write_bytes(b"old")
    read = identity_of(path)
    other.write_bytes(content)
    other.replace(path)
    with pytest.raises(OutputError, match=r"a\.json: another program changed it"):
        write_fixed(path, b"fixed", in_place=True, fixed=read)
    assert path.read_bytes() == content
    assert [file.name for file in tmp_path.iterdir()] == ["a.json"]
    write_fixed(path, b"fixed", in_place=True, fixed=identity_of(path))
    assert path.read_bytes() == b"fixed"


def test_links_are_what_they_lead_to(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("x")
    for name, target in [
        ("to_folder", "folder"), ("to_file", "file"), ("to_nothing", "nowhere"), ("loop", "loop"),
    ]:  # fmt: skip
        (tmp_path / name).symlink_to(target)
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "to_pipe").symlink_to("pipe")
    with os.scandir(tmp_path) as found:
        entries = [*found]
    assert {each.name for each in entries if is_folder(each)} == {"folder", "to_folder"}
    files = {each.name for each in entries if is_file(each)}
    assert files == {"file", "to_file", "to_nothing", "loop"}


def test_folders_that_killed_processes_left_are_removed_after_a_day(tmp_path):
    gone, new = tmp_path / ".bboxqa-gone", tmp_path / ".bboxqa-new"
    for each in (gone, new):
        each.mkdir()
    os.utime(gone, (0, 0))
    with filled_folder(tmp_path / "b") as scratch:
        (scratch / "x").write_text("1")
    assert left(tmp_path) == [new.name, "b"]
