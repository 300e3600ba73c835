import json
import os
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from bboxqa.batch import store
from bboxqa.batch.discovery import discover
from bboxqa.batch.keys import result_key
from bboxqa.batch.rows import Settings
from bboxqa.batch.store import Content, Stored, fetched, find_projects
from bboxqa.core.errors import ConfigError, DatasetError, OutputError

pytest.importorskip("fsspec", exc_type=ImportError)

COCO = json.dumps({"images": [], "annotations": [], "categories": []})


@pytest.fixture
def root(tmp_path):
    root = tmp_path / "root"
    for name, text in {
        "a/export.json": COCO,
        "a/images/1.jpg": "x",
        "a/images/deep/2.jpg": "xyz",
        "a/bboxqa.toml": "bootstrap = 10\n",
        "team b/train/_annotations.coco.json": COCO,
        "team b/valid/_annotations.coco.json": COCO,
        "late/export.json": '{"info": "' + "x" * 70_000 + '", ' + COCO[1:],
        "package.json": "{}",
        "empty.json": "",
        ".hidden/export.json": COCO,
        "c/.hidden.json": COCO,
        "export.fixed.json": COCO,
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, "utf-8")
    return root


@pytest.mark.parametrize("pattern", [None, "export*.json"])
@pytest.mark.parametrize("store", ["file", "memory"])
def test_a_store_has_the_projects_of_a_folder(root, store, pattern):
    import fsspec

    url = f"file://{root}"
    if store == "memory":
        url = f"memory://{root.parent.name}{pattern}/root".replace("*", "")
        fsspec.filesystem("memory").put(f"{root}/", url, recursive=True)
    there, here = find_projects(url + "/", pattern, None), discover(root, pattern)
    assert there.left_alone == here.left_alone
    # The pattern leaves it out.
    assert there.unreadable == here.unreadable == (() if pattern else (("empty.json", "is empty"),))
    assert [project.name for project in there.projects] == [p.name for p in here.projects]
    for project, twin in zip(there.projects, here.projects, strict=True):
        assert [root / file for file in project.files] == list(twin.files)
        assert (project.size, bool(project.images)) == (twin.size, bool(twin.images))
        assert bool(project.settings) == bool(twin.settings)


def test_what_is_fetched_is_there_and_then_gone(root, tmp_path):
    project = find_projects(f"file://{root}", None, None).projects[0]
    with fetched(project, tmp_path, images=True) as (local, place):
        assert place.name == "root"
        assert [file.read_text() for file in local.files] == [COCO]
        assert sorted(file.name for file in local.images.rglob("*.jpg")) == ["1.jpg", "2.jpg"]
        assert local.settings.read_text() == "bootstrap = 10\n"
    with fetched(project, tmp_path, images=False) as (local, _):
        assert local.images is None
        assert not (local.folder / "images").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["root"]


def test_the_key_changes_with_the_files_and_settings(root):
    def stamp(settings):
        return result_key(find_projects(f"file://{root}", None, None).projects[0], settings)

    plain, looking = Settings({}, {}), Settings({}, {}, images=True)
    assert stamp(plain) == stamp(plain)
    keys = [stamp(plain), stamp(looking), stamp(Settings({"seed": 2}, {}))]
    (root / "a/images/1.jpg").write_text("xx", "utf-8")
    keys.append(stamp(looking))
    assert stamp(plain) == keys[0]
    (root / "a/bboxqa.toml").write_text("bootstrap = 1000\n", "utf-8")
    keys.append(stamp(plain))
    assert len(set(keys)) == len(keys)


@pytest.mark.parametrize(
    "name", ["../x.json", "a/../../x.json", "/etc/x.json", "a\\..\\x.json", "C:x.json", "a//b"]
)
def test_no_name_leads_out_of_the_folder(root, tmp_path, name):
    content = Content(name, 3, ())
    project = Stored("p", Path(), (Path("x"),), None, None, 3, f"file://{root}", (content,))
    with (
        pytest.raises(OutputError, match="leads out"),
        fetched(project, tmp_path, images=False),
    ):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["root"]


def test_a_file_that_changed_is_not_measured(root, tmp_path):
    project = find_projects(f"file://{root}", None, None).projects[0]
    (root / "a/export.json").write_text(COCO + " ", "utf-8")
    with (
        pytest.raises(OutputError, match=r"a/export\.json: has changed"),
        fetched(project, tmp_path, images=False),
    ):
        pass


def test_a_file_that_changed_to_one_of_the_same_size_is_not_measured(root, tmp_path):
    project = find_projects(f"file://{root}", None, None).projects[0]
    file = root / "a/export.json"
    before = file.stat()
    file.write_text(COCO.replace("images", "imagez"), "utf-8")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns + 10**9))
    assert file.stat().st_size == before.st_size
    with (
        pytest.raises(OutputError, match=r"a/export\.json: has changed"),
        fetched(project, tmp_path, images=False),
    ):
        pass


def altered(monkeypatch, **changes):
    """Let the store tell something else of one file than in a list; return what is asked for."""
    from fsspec.implementations.local import LocalFileSystem

    real, asked = LocalFileSystem.info, []

    def info(self, path, **options):
        asked.append(Path(path).name)
        told = {**real(self, path, **options), **changes}
        return {key: value for key, value in told.items() if value is not None}

    monkeypatch.setattr(LocalFileSystem, "info", info)
    return asked


@pytest.mark.parametrize(
    ("listed", "now"),
    [
        ({}, {"mtime": None, "created": None}),
        ({}, {"ETag": "of one file only"}),
        ({"ETag": "9e1", "LastModified": "12:00:00.123"}, {"ETag": '"9e1"', "LastModified": "12"}),
    ],
)
def test_a_list_and_one_file_need_not_tell_the_same(root, tmp_path, monkeypatch, listed, now):
    with monkeypatch.context() as patched:
        altered(patched, **listed)
        project = find_projects(f"file://{root}", None, None).projects[0]
    altered(monkeypatch, **now)
    with fetched(project, tmp_path, images=True) as (local, _):
        assert [file.read_text() for file in local.files] == [COCO]


def test_another_version_is_told_by_its_tag(root, tmp_path, monkeypatch):
    with monkeypatch.context() as patched:
        altered(patched, ETag="9e1")
        project = find_projects(f"file://{root}", None, None).projects[0]
    altered(monkeypatch, ETag="9e2")
    with (
        pytest.raises(OutputError, match=r"a/export\.json: has changed"),
        fetched(project, tmp_path, images=False),
    ):
        pass


def test_an_image_of_another_size_is_not_looked_at(root, tmp_path):
    project = find_projects(f"file://{root}", None, None).projects[0]
    (root / "a/images/1.jpg").write_text("longer", "utf-8")
    with (
        pytest.raises(OutputError, match=r"a/images/1\.jpg: has changed"),
        fetched(project, tmp_path, images=True),
    ):
        pass


def test_a_file_larger_than_the_disk_is_not_begun(root, tmp_path):
    project = find_projects(f"file://{root}", None, None).projects[0]
    huge = replace(project, contents=(Content("a/export.json", 1 << 60, ()),))
    with pytest.raises(OutputError, match="room for"), fetched(huge, tmp_path, images=False):
        pass


@pytest.mark.parametrize(
    "url", ["s3://key:secret@bucket/x", "https://host/x?sig=secret", "simplecache::s3://bucket"]
)
def test_credentials_in_an_address_are_refused_and_not_repeated(url):
    with pytest.raises((ConfigError, DatasetError)) as error:
        find_projects(url, None, None)
    assert "secret" not in str(error.value)


def test_what_is_not_there_is_told(tmp_path, monkeypatch):
    with pytest.raises(DatasetError, match="no such folder"):
        find_projects(f"file://{tmp_path}/nothing", None, None)
    with pytest.raises(ConfigError, match="nostore"):
        find_projects("nostore://x", None, None)
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    with pytest.raises(ConfigError, match=r"pip install 'bboxqa\[dask\]'"):
        find_projects("s3://bucket/x", None, None)


def _labels(names, text="0 .5 .5 .2 .2\n"):
    return {f"{who}/labels/{name}.txt": text for who in ("ann", "bob") for name in names}


@pytest.fixture
def of_tools(tmp_path):
    """Return a folder with a project in each of several formats, and their archives."""
    root = tmp_path / "tools"
    xml = (
        "<annotations><version>1.1</version><meta/><image id='0' name='a.jpg' width='9' "
        "height='9'/></annotations>"
    )
    many = [f"{number:03}" for number in range(40)]
    files = {
        **{f"yolo/{name}": text for name, text in _labels(many).items()},
        "yolo/classes.txt": "cat\n",
        "yolo/images/000.jpg": "x",
        "cvat/ann.xml": xml + " " * 300_000,
        "table/a.csv": "image,annotator,x1,y1,x2,y2\na.jpg,ann,1,1,5,5\n",
        "notes/readme.xml": "<html></html>",
    }
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, "utf-8")
    (root / "zip").mkdir()
    with zipfile.ZipFile(root / "zip/job.zip", "w") as archive:
        archive.writestr("annotations.xml", xml)
    return root


def test_a_store_has_projects_of_all_formats(of_tools, tmp_path):
    import fsspec

    url = f"memory://{tmp_path.name}/tools"
    fsspec.filesystem("memory").put(f"{of_tools}/", url, recursive=True)
    there, here = find_projects(url, None, None), discover(of_tools)
    assert [each.name for each in here.projects] == ["cvat", "table", "yolo", "zip"]
    assert [each.name for each in there.projects] == ["cvat", "table", "yolo", "zip"]
    assert (there.left_alone, there.unreadable) == (here.left_alone, here.unreadable)
    for project, twin in zip(there.projects, here.projects, strict=True):
        assert [of_tools / file for file in project.files] == list(twin.files)
        assert project.size == twin.size
    # Pictures and names of classes come with folders of labels, each once.
    with fetched(there.projects[2], tmp_path, images=True) as (local, below):
        names = {file.relative_to(below).as_posix() for file in below.rglob("*") if file.is_file()}
        assert [file.name for file in local.files] == ["ann", "bob"]
    here_names = {f.relative_to(of_tools).as_posix() for f in of_tools.rglob("*") if f.is_file()}
    assert names == {name for name in here_names if name.startswith("yolo/")}


def test_a_file_among_many_that_changed_is_not_measured(of_tools, tmp_path):
    project = find_projects(f"file://{of_tools}", None, None).projects[2]
    file = of_tools / "yolo/ann/labels/007.txt"
    file.write_text("1 .5 .5 .2 .2\n")
    os.utime(file, (1, 1))
    changed = pytest.raises(OutputError, match=r"007.txt: has changed since it was found")
    with changed, fetched(project, tmp_path, images=False):
        pass


@pytest.mark.parametrize("n_lost", [1, 2])
def test_a_request_that_is_lost_is_made_once_more(tmp_path, monkeypatch, n_lost):
    import asyncio

    import fsspec
    from fsspec.asyn import AsyncFileSystem

    lost = []

    def end(target):
        Path(target).write_text("{}")

    class Losing(AsyncFileSystem):
        protocol = "losing"

        async def _info(self, path, **_):
            return {"name": path, "size": 2, "type": "file"}

        async def _get_file(self, _path, target, **_):
            if len(lost) < n_lost:
                lost.append(target)
                await asyncio.sleep(3600)
            end(target)

    fsspec.register_implementation("losing", Losing, clobber=True)
    monkeypatch.setattr(store, "_LEAST_SECONDS", 0.2)
    content = Content("a/x.json", 2, (("size", "2"),))
    project = Stored("a", Path("a"), (Path("a/x.json"),), None, None, 2, "losing://b", (content,))
    if n_lost == 2:
        with pytest.raises(OutputError, match="TimeoutError: no answer within 0 s, twice"):
            fetched(project, tmp_path, images=False).__enter__()
        return
    with fetched(project, tmp_path, images=False) as (local, _):
        assert local.files[0].read_text() == "{}"
    assert len(lost) == 1
