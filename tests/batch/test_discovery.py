"""Which folders are projects, and what is left alone."""

import os
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from support.datasets import two_annotators, write
from support.tool_files import text_of, zipped

from bboxqa.batch.discovery import discover

OTHER = {"version": 1, "forms": [], "label": "images and annotations"}


def made(root, *names, content=None):
    for name in names:
        write(root / name, two_annotators() if content is None else content)
    return root


def shown(found):
    """Return the files of each project, below its folder."""
    return {
        project.name: [file.relative_to(project.folder).as_posix() for file in project.files]
        for project in found.projects
    }


def hooked(monkeypatch, place, act):
    """Do something each time that a folder is about to be listed."""
    real = os.scandir

    def scandir(path):
        if Path(path) == place:
            act()
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)


def test_parts_belong_to_the_folder_above(tmp_path):
    made(tmp_path, "cvat/annotations/instances_default.json", "cvat/annotations/two/Train/x.json")
    for split in ("train", "valid", "test"):
        made(tmp_path, f"robo/{split}/_annotations.coco.json")
    made(tmp_path, "coco/annotations/train/a.json", "coco/val/b.json", "coco/c.json")
    assert shown(discover(tmp_path)) == {
        "coco": ["annotations/train/a.json", "c.json", "val/b.json"],
        "cvat": ["annotations/instances_default.json"],
        "cvat/annotations/two": ["Train/x.json"],
        "robo": [f"{split}/_annotations.coco.json" for split in ("test", "train", "valid")],
    }


@given(
    st.sets(
        st.lists(st.sampled_from(["a", "b", "annotations", "TRAIN", "images"]), max_size=4).map(
            "/".join
        ),
        min_size=1,
        max_size=8,
    )
)
def test_every_file_is_in_one_project(tmp_path_factory, folders):
    root = tmp_path_factory.mktemp("tree")
    made(root, *(Path(folder, "x.json") for folder in folders))
    expected = {}
    for folder in sorted(folders):
        parts = folder.split("/") if folder else []
        home = list(parts)
        while home and home[-1] in {"annotations", "TRAIN"}:
            home.pop()
        below = "/".join([*parts[len(home) :], "x.json"])
        expected.setdefault("/".join(home) or ".", []).append(below)
    found = discover(root)
    assert shown(found) == {name: sorted(files) for name, files in expected.items()}
    assert [project.name for project in found.projects] == sorted(expected)


def test_other_json_is_left_alone(tmp_path):
    made(tmp_path, "a/x.json", "a/y.JSON")
    made(tmp_path, "a/other.json", "b/deep/other.json", content=OTHER)
    made(tmp_path, "a/empty.json", "c/empty.json", content="")
    made(tmp_path, "a/x.fixed.json", "a/x.jsonl", "a/x.json.bak")
    made(tmp_path, "d/via.json", content={"_via_img_metadata": {}})
    found = discover(tmp_path)
    # Half an export of a project, which is read and fails, and half a project.
    assert shown(found) == {"a": ["empty.json", "x.json", "y.JSON"], "d": ["via.json"]}
    assert found.left_alone == ("a/other.json", "a/x.jsonl", "b/deep/other.json")
    assert found.unreadable == (("c/empty.json", "is empty"),)


def test_hidden_files_and_the_folder_of_the_results_are_left_out(tmp_path):
    made(tmp_path, "a/x.json", "a/.hidden.json", ".git/x.json", "results/p/x.json", "z/x.json")
    (tmp_path / "z/link").symlink_to(tmp_path / "results")
    found = discover(tmp_path, skip=tmp_path / "z/../results")
    assert shown(found) == {"a": ["x.json"], "z": ["x.json"]}
    assert found.left_alone == ()


def test_links(tmp_path):
    made(tmp_path, "a/x.json", "elsewhere/y.json")
    root = tmp_path / "root"
    made(root, "p/x.json", "p/sub/y.json")
    (root / "p/sub/loop").symlink_to("..")
    (root / "p/up").symlink_to(root)
    (root / "self").symlink_to("self")
    (root / "self.json").symlink_to("self.json")
    (root / "nowhere.json").symlink_to("gone.json")
    (root / "twice").symlink_to(tmp_path / "elsewhere")
    (root / "two").symlink_to(tmp_path / "elsewhere")
    found = discover(root, follow_links=True)
    assert sorted(file for files in shown(found).values() for file in files) == [
        "x.json", "y.json", "y.json",
    ]  # fmt: skip
    assert set(shown(found)) - {"twice", "two"} == {"p", "p/sub"}
    assert ("nowhere.json", "cannot be read: No such file or directory") in found.unreadable
    assert {path for path, _ in found.unreadable} <= {
        "self", "self.json", "nowhere.json",
    }  # fmt: skip
    unread = "cannot be read: Too many levels of symbolic links"
    assert ("self", unread) in discover(root).unreadable


def test_links_out_of_the_root_are_not_followed(tmp_path):
    made(tmp_path, "other/x.json", "other/images/1.jpg", "root/p/x.json", "root/q/x.json")
    root = tmp_path / "root"
    (root / "away").symlink_to(tmp_path / "other")
    (root / "p/y.json").symlink_to(tmp_path / "other/x.json")
    (root / "p/images").symlink_to(tmp_path / "other/images")
    (root / "q/z.json").symlink_to("../p/x.json")
    (tmp_path / "link").symlink_to(root)
    reason = "is a link that leads out of the folder; --follow-symlinks follows it"
    for start in (root, tmp_path / "link"):
        found = discover(start)
        assert shown(found) == {"p": ["x.json"], "q": ["x.json", "z.json"]}
        assert found.unreadable == tuple((n, reason) for n in ("away", "p/images", "p/y.json"))
        assert found.projects[0].images is None
    followed = discover(root, follow_links=True)
    assert shown(followed).keys() == {"away", "p", "q"}
    assert followed.unreadable == ()
    assert followed.projects[1].images == root / "p/images"


def test_unreadable_folder(tmp_path, monkeypatch):
    made(tmp_path, "a/x.json", "b/y.json", "b/deep/z.json", "c/z.json")

    def refuse():
        raise PermissionError(13, "Permission denied")

    hooked(monkeypatch, tmp_path / "b", refuse)
    found = discover(tmp_path)
    assert shown(found) == {"a": ["x.json"], "c": ["z.json"]}
    assert found.unreadable == (("b", "Permission denied"),)


def labelled(folder):
    """Make a folder that is one source."""
    write(folder / "data.yaml", "names: [cat]\n")
    write(folder / "labels/1.txt", "0 0.5 0.5 0.1 0.1\n")


def test_a_folder_that_is_one_source_is_a_project_and_deeper_ones_are_its_annotators(tmp_path):
    for name in ("one", "many/ann", "many/bob", "a/b/c/ann"):
        labelled(tmp_path / name)
    made(tmp_path, "many/old/x.json")
    assert shown(discover(tmp_path)) == {
        "one": ["."],
        "many": ["ann", "bob", "old/x.json"],
        "a/b/c": ["ann"],
    }


def packed(path):
    """Write an archive as CVAT exports it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    zipped(path, {"annotations.xml": text_of("cvat")})


def test_archives_are_sources_where_nothing_is_unpacked(tmp_path):
    for name in ("a/ann.zip", "a/bob.zip", "b/old.zip", "c.zip"):
        packed(tmp_path / name)
    made(tmp_path, "b/annotations/ann.json")
    zipped(tmp_path / "a/images.zip", {"1.jpg": ""})
    found = discover(tmp_path)
    assert shown(found) == {"a": ["ann.zip", "bob.zip"], "b": ["annotations/ann.json"]}
    reason = "other files are read; to read it as well, unpack it"
    assert found.not_read == (("b/old.zip", reason), ("c.zip", reason))
