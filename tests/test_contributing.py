"""The recipes of CONTRIBUTING.md work: each is applied to a copy of the package, and run."""

import os
import shlex
import shutil
import tomllib
from pathlib import Path

import pytest
from support.cli import process, python
from support.pages import blocks, same
from support.plugins import install

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "CONTRIBUTING.md").read_text("utf-8")


def apply(diff, path):
    """Replace the context and the removed lines of a diff by its context and added lines."""
    lines = diff.splitlines(keepends=True)
    before = "".join(line[1:] for line in lines if line[0] in " -")
    after = "".join(line[1:] for line in lines if line[0] in " +")
    text = path.read_text("utf-8")
    assert text.count(before) == 1, f"{path.name} does not have these lines once:\n{before}"
    path.write_text(text.replace(before, after), "utf-8")


@pytest.fixture(scope="module")
def changed(tmp_path_factory):
    """A copy of the package with all recipes, and a folder with the files that they use."""
    folder = tmp_path_factory.mktemp("recipes")
    shutil.copytree(ROOT / "bboxqa", folder / "bboxqa")
    shutil.copytree(ROOT / "configs", folder / "configs")
    for name, text in blocks(TEXT, "python"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    for name, diff in blocks(TEXT, "diff"):
        apply(diff, folder / name)
    install_package(folder)
    work = folder / "work"
    work.mkdir()
    for name, text in blocks(TEXT, "json") + blocks(TEXT, "csv"):
        (work / name).write_text(text, "utf-8")
    shutil.copy(ROOT / "bboxqa/examples/data/fruits.json", work / "export.json")
    return folder


def install_package(folder):
    """Add the package of the last recipe, as pip would."""
    (folder / "bboxqa_yard").mkdir()
    ((_, project),) = blocks(TEXT, "toml")
    points = {
        group: "\n".join(f"{name} = {place}" for name, place in entries.items())
        for group, entries in tomllib.loads(project)["project"]["entry-points"].items()
    }
    licences = (folder / "bboxqa/rules/licences/image_licences.py").read_text("utf-8")
    overlap = (folder / "bboxqa/geometry/similarities/overlap.py").read_text("utf-8")
    table = (folder / "bboxqa/formats/box_table.py").read_text("utf-8")
    modules = {
        "bboxqa_yard/box_table": table.replace("width,height", "width,height,hour"),
        "bboxqa_yard/licences": licences.replace("L001", "Y001"),
        "bboxqa_yard/overlap": overlap,
    }
    install(folder, "bboxqa-yard", points, modules)


@pytest.mark.parametrize(
    "block", [text for _, text in blocks(TEXT, "console")], ids=lambda text: text.splitlines()[0]
)
def test_recipes_print_what_is_shown(block, changed):
    command, shown = block.removeprefix("$ ").split("\n", 1)
    program, *arguments = shlex.split(command)
    assert program == "bboxqa"
    found = process(
        *arguments, cwd=changed / "work", env={**os.environ, "PYTHONPATH": str(changed)}
    )
    assert found.stderr == ""
    assert same(shown, found.stdout), found.stdout


@pytest.mark.parametrize(
    "block", [text for _, text in blocks(TEXT, "pycon")], ids=lambda text: text.splitlines()[1]
)
def test_recipes_return_what_is_shown(block, changed):
    (changed / "work" / "block.txt").write_text(block, "utf-8")
    program = "import doctest; print(doctest.testfile('block.txt', module_relative=False))"
    found = python(program, cwd=changed / "work", env={**os.environ, "PYTHONPATH": str(changed)})
    assert found.stdout.startswith("TestResults(failed=0, attempted="), found.stdout + found.stderr
