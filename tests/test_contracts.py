"""Contracts of imports name every folder that they are about."""

import ast
import tomllib
from collections import defaultdict
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from bboxqa.rules import registry

ROOT = Path(__file__).parents[1]
CONTRACTS = {
    contract["name"]: contract
    for contract in tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"][
        "importlinter"
    ]["contracts"]
}


def parts(folder):
    """Return the dotted names of the folders and public modules in a folder."""
    package = ROOT.joinpath(*folder.split("."))
    names = {path.parent.name for path in package.glob("*/__init__.py")}
    names |= {path.stem for path in package.glob("[!_]*.py")}
    return {f"{folder}.{name}" for name in names}


def test_everything_but_the_command_line_is_kept_from_click_and_rich():
    contract = CONTRACTS["Only the command line knows click and rich"]
    assert set(contract["source_modules"]) == parts("bboxqa") - {"bboxqa.cli"}


def test_every_part_has_a_layer():
    layers = CONTRACTS["Data goes one way"]["layers"]
    assert {name for layer in layers for name in layer.split(" | ")} == parts("bboxqa")


def test_every_family_of_rules_is_independent():
    families = {*registry._MODULES.values()}
    layers = CONTRACTS["Rules: from facts to independent families"]["layers"]
    assert families in [set(layer.split(" | ")) for layer in layers]


def imported(path, known):
    """Return the modules that a module imports, also inside functions and for types only."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom):
            found |= {f"{node.module}.{each.name}" for each in node.names} | {node.module}
        elif isinstance(node, ast.Import):
            found |= {each.name for each in node.names}
    return found & known


@pytest.fixture(scope="module")
def graph():
    """The modules of the package, and what each imports."""
    paths = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts): path
        for path in (ROOT / "bboxqa").rglob("*.py")
        if path.stem != "__init__"
    }
    return {name: imported(path, paths.keys()) - {name} for name, path in paths.items()}


def order_of(graph):
    """Return names, each after those that it imports; CycleError names those of a circle."""
    return list(TopologicalSorter(graph).static_order())


def folder_graphs(graph):
    """Return for each folder the graph of its folders and modules."""
    found = defaultdict(lambda: defaultdict(set))
    for name, others in graph.items():
        for other in others:
            one, two = name.split("."), other.split(".")
            n = next(n for n, (a, b) in enumerate(zip(one, two, strict=False)) if a != b)
            found[".".join(one[:n])][one[n]].add(two[n])
    return found


def test_no_modules_import_each_other_not_even_in_functions_or_for_types(graph):
    assert "bboxqa.pipelines.agree" in graph["bboxqa.cli.agree"]
    assert "bboxqa.report.pages" in graph["bboxqa.cli.validate"]
    assert len(order_of(graph)) == len(graph)


def test_no_folders_import_each_other(graph):
    found = folder_graphs(graph)
    assert "model" in found["bboxqa"]["formats"]
    assert "masks" in found["bboxqa.model"]["annotations"]
    for folder in found.values():
        order_of(folder)


def test_a_circle_of_folders_is_found():
    graph = {"p.a.one": {"p.b.two"}, "p.b.three": {"p.a.four"}, "p.b.two": set()}
    assert len(order_of(graph)) == 4
    with pytest.raises(CycleError, match=r"'a', 'b', 'a'|'b', 'a', 'b'"):
        order_of(folder_graphs(graph)["p"])
