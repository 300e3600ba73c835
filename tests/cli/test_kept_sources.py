"""No command replaces a file that it reads, whatever the output is called."""

import json
import os
import shutil
from pathlib import Path

import pytest
from PIL import Image
from support.cli import run
from support.datasets import annotation, document, image, write

REFUSED = "is one of the files to read; name another file"
ITSELF, LINK, HARD_LINK = "the file", "a link", "a hard link"
WAYS = [ITSELF, LINK, HARD_LINK]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Return a folder with annotations of one image, the image, a table, and a result."""
    tmp_path = tmp_path_factory.mktemp("made")
    records = [annotation(n, rater=who) for n, who in enumerate(("ann", "bob"), 1)]
    for name in ("export.json", "other.json", "export.svg"):
        write(tmp_path / name, document(records, [image(1, "street.png")]))
    (tmp_path / "images").mkdir()
    Image.new("RGB", (100, 100)).save(tmp_path / "images" / "street.png")
    (tmp_path / "table.csv").write_text(
        "unit,annotator,value\nu,ann,1\nu,bob,1\nv,ann,2\nv,bob,1\n"
    )
    (tmp_path / "sizes.csv").write_text("image,width,height\nstreet.png,100,100\n")
    (tmp_path / "times.csv").write_text("annotator,start,end,label\nann,0,9,x\nbob,0,8,x\n")
    (tmp_path / "settings.toml").write_text('similarity = "bbox"\n')
    assert (
        run("validate", "export.json", "--write-baseline", "base.json", cwd=tmp_path).returncode
        == 0
    )
    measured = run("agree", "export.json", "--diagnose", "--out", "result", cwd=tmp_path)
    assert measured.returncode == 0
    return tmp_path


@pytest.fixture
def folder(made, tmp_path):
    return Path(shutil.copytree(made, tmp_path, dirs_exist_ok=True))


def named(path, way):
    """Return a path of the same file: itself, a symbolic link to it, or a hard link."""
    if way == ITSELF:
        return path
    target = path.with_name(f"output{path.suffix}")
    (os.symlink if way == LINK else os.link)(path, target)
    return target


def contents(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("source", "command"),
    [
        ("export.json", "validate export.json --out {}"),
        ("export.json", "validate . --out {}"),
        ("export.json", "validate export.json --write-baseline {}"),
        ("export.json", "validate export.json --report {}"),
        ("base.json", "validate export.json --baseline base.json --out {}"),
        ("images/street.png", "validate export.json --images images --out {}"),
        ("images/street.png", "validate export.json --images images --write-baseline {}"),
        ("other.json", "validate export.json --ground-truth other.json --out {}"),
        ("export.json", "agree export.json --report {} --force"),
        ("images/street.png", "agree export.json --images images --report {} --force"),
        ("other.json", "agree export.json --reference other.json --report {} --force"),
        ("other.json", "agree export.json --predictions other.json --report {} --force"),
        ("settings.toml", "agree export.json --config settings.toml --report {} --force"),
        ("export.json", "agree --annotator a=export.json --annotator b=other.json --report {}"),
        ("export.json", "plan export.json --target-width 0.1 --out {}"),
        ("settings.toml", "plan export.json --target-width 0.1 --config settings.toml --out {}"),
        ("sizes.csv", "plan export.json --target-width 0.1 --image-size sizes.csv --out {}"),
        ("table.csv", "stats table.csv --out {}"),
        ("times.csv", "segments times.csv --out {}"),
        ("export.svg", "draw export.svg --image 1 --out {} --force"),
        ("images/street.png", "draw export.json --image 1 --images images --out {} --force"),
        ("other.json", "simulate --truth other.json --out {} --force"),
        ("result/summary.json", "report result --out {} --force"),
        ("result/units.csv", "report result --out {} --force"),
        ("images/street.png", "report result --images images --out {} --force"),
    ],
)  # fmt: skip
def test_a_file_that_is_read_is_not_replaced(source, command, way, folder):
    target = named(folder / source, way)
    before = contents(folder)
    arguments = [str(target) if each == "{}" else each for each in command.split()]
    done = run(*arguments, cwd=folder)
    assert done.returncode == 2
    assert f"{target} {REFUSED}" in done.stderr
    assert contents(folder) == before


@pytest.mark.parametrize(
    ("name", "way"),
    [
        *(("summary.json", way) for way in WAYS),
        *(("categories.csv", way) for way in (LINK, HARD_LINK)),
    ],
)
@pytest.mark.parametrize("command", ["agree", "compare"])
def test_a_folder_of_results_replaces_no_source(command, name, way, folder):
    out = folder / "out"
    out.mkdir()
    source = folder / "export.json"
    place = {ITSELF: shutil.copy, LINK: os.symlink, HARD_LINK: os.link}[way]
    place(source, out / name)
    read = out / name if way == ITSELF else source
    before = contents(folder)
    files = [read] if command == "agree" else [read, "other.json"]
    done = run(command, *files, "--out", "out", "--force", cwd=folder)
    assert done.returncode == 2
    assert f"{name} {REFUSED}" in done.stderr
    assert contents(folder) == before


@pytest.mark.parametrize("way", WAYS)
def test_a_fixed_copy_replaces_no_source(way, folder):
    damaged = json.loads((folder / "export.json").read_bytes())
    damaged["annotations"][0]["id"] = 0
    source, copy = write(folder / "bad.json", damaged), folder / "bad.fixed.json"
    files = [source]
    if way == ITSELF:
        shutil.copy(folder / "other.json", copy)
        files.append(copy)
    else:
        (os.symlink if way == LINK else os.link)(source, copy)
    before = contents(folder)
    done = run("validate", *files, "--fix", "--force")
    assert (done.returncode, f"{copy} {REFUSED}" in done.stderr) == (2, True)
    assert contents(folder) == before
