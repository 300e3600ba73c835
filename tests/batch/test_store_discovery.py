import json
import sys
from pathlib import Path

import pytest

from bboxqa.batch.discovery import Content, Project, discover, fetched, find_projects
from bboxqa.batch.settings import Settings, result_key
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
    project = Project("p", Path(), (Path("x"),), None, None, 3, f"file://{root}", (content,))
    with pytest.raises(OutputError, match="leads out"), fetched(project, tmp_path, images=False):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["root"]


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
