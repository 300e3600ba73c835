"""The recipes of CONTRIBUTING.md work: each is applied to a copy of the package, and run."""

import os
import shlex
import shutil
import tomllib
from pathlib import Path

import pytest
from support.cli import python
from support.forks import forked
from support.pages import blocks, same
from support.plugins import install

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "CONTRIBUTING.md").read_text("utf-8")


def apply(diff, path):
    """Make the changes of a diff; lines beside those that it shows may differ from the file's."""
    lines = path.read_text("utf-8").splitlines(keepends=True)
    start, removed = None, ""
    waiting = []
    for sign, shown in ((line[0], line[1:]) for line in diff.splitlines(keepends=True)):
        if sign == "-":
            removed = shown
        elif sign == " ":
            start = find(lines, shown, path)
            lines[start:start] = waiting
            start += len(waiting) + 1
            waiting = []
        elif removed:
            assert lines.count(removed) == 1, f"{path.name} does not have once: {removed}"
            lines[lines.index(removed)] = shown
            removed = ""
        elif start is None:
            waiting.append(shown)
        else:
            lines.insert(start, shown)
            start += 1
    assert not waiting, f"{path.name}: the diff has no line of the file"
    path.write_text("".join(lines), "utf-8")


def find(lines, shown, path):
    """Return the number of the line that is shown; an import may have other names."""
    stable = [stable_part(line) for line in lines]
    assert stable.count(stable_part(shown)) == 1, f"{path.name} does not have once: {shown}"
    return stable.index(stable_part(shown))


def stable_part(line):
    return line.partition(" import ")[0] if line.startswith("from ") else line


def test_a_diff_can_be_applied_beside_other_additions(tmp_path):
    path = tmp_path / "registry.py"
    path.write_text('from a import x, y, z\nLETTERS = "AB"\nPARTS = {\n  1: z,\n  2: x,\n}\n')
    apply("+from a.b import w\n from a import x, y\n", path)
    apply('-LETTERS = "AB"\n+LETTERS = "ABC"\n', path)
    apply("   2: x,\n+  3: w,\n", path)
    assert path.read_text() == (
        "from a.b import w\nfrom a import x, y, z\n"
        'LETTERS = "ABC"\nPARTS = {\n  1: z,\n  2: x,\n  3: w,\n}\n'
    )
    with pytest.raises(AssertionError, match="does not have once"):
        apply("   7: x,\n+  3: w,\n", path)
    with pytest.raises(AssertionError, match="does not have once"):
        apply('-LETTERS = "AB"\n+LETTERS = "ABD"\n', path)


@pytest.fixture(scope="module")
def changed(tmp_path_factory):
    """A copy of the package with all recipes, and a folder with the files that they use."""
    folder = tmp_path_factory.mktemp("recipes")
    shutil.copytree(ROOT / "bboxqa", folder / "bboxqa")
    shutil.copytree(ROOT / "configs", folder / "configs")
    shutil.copy(ROOT / "pyproject.toml", folder)
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
    links = (folder / "bboxqa/rules/links.py").read_text("utf-8")
    overlap = (folder / "bboxqa/geometry/overlap.py").read_text("utf-8")
    circles = (folder / "bboxqa/formats/circles.py").read_text("utf-8")
    modules = {
        "bboxqa_yard/circles": circles.replace(',radius"', ',radius,hour"'),
        "bboxqa_yard/links": links.replace("L001", "Y001"),
        "bboxqa_yard/overlap": overlap,
    }
    install(folder, "bboxqa-yard", points, modules)


@pytest.mark.parametrize(
    "block", [text for _, text in blocks(TEXT, "console")], ids=lambda text: text.splitlines()[0]
)
def test_recipes_print_what_is_shown(block, changed, monkeypatch):
    command, shown = block.removeprefix("$ ").split("\n", 1)
    program, *arguments = shlex.split(command)
    assert program == "bboxqa"
    monkeypatch.setenv("PYTHONPATH", str(changed))
    found = forked(*arguments, cwd=changed / "work")
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


@pytest.mark.parametrize(
    ("encoding", "code", "shown"),
    [
        ("utf-8-sig", 0, "2 images, 4 annotations, 2 annotators"),
        ("latin-1", 2, "café.csv: line 2: is not utf-8"),
    ],
)
def test_the_format_decodes_as_others_do(encoding, code, shown, changed, monkeypatch):
    path = changed / "work" / "café.csv"
    path.write_text(dict(blocks(TEXT, "csv"))["circles.csv"].replace(",cat,", ",é,"), encoding)
    monkeypatch.setenv("PYTHONPATH", str(changed))
    found = forked("agree", path.name, cwd=path.parent)
    assert found.returncode == code, found.stderr
    assert shown in found.stdout + found.stderr
    assert "internal error" not in found.stderr


def test_the_format_is_not_built_in(changed):
    assert forked("agree", "circles.csv", cwd=changed / "work").returncode == 2
