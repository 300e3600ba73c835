"""Contracts of imports name every folder that they are about, and programs load what they use."""

import ast
import tomllib
from collections import defaultdict
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest
from support.cli import python

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
    families = {*registry._MODULES}
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


HELP = """\
from contextlib import suppress
from bboxqa.cli import main
sys.argv = ["bboxqa", "--help"]
with suppress(SystemExit):
    main()
"""
VALIDATE = "import bboxqa.examples\nbboxqa.validate(bboxqa.examples.example_file('fruits'))"
VIEW = "from bboxqa.report import FINDING_VIEWS, view\nview(FINDING_VIEWS, 'concise')\n"
PAGE = """\
import bboxqa
from bboxqa.examples import example_file
from bboxqa.report.agreement_page import agreement_pages
from bboxqa.report.agreement_summary import summary
from bboxqa.report.result_files import documents_of
found = bboxqa.agree(example_file("fruits"))
next(agreement_pages(documents_of(found, summary(found), found.diagnose())))
found._repr_html_()
"""


@pytest.mark.parametrize(
    ("program", "absent"),
    [
        ("import bboxqa", {"numpy", "msgspec", "click"}),
        (HELP, {"numpy", "rich", "scipy", "shapely", "msgspec"}),
        ("import bboxqa.geometry.registry", {"shapely", "rasterio", "pycocotools", "PIL", "scipy"}),
        (VALIDATE, {"shapely"}),
        # A view is loaded when it is used.
        (VIEW, {"bboxqa.report.finding_formats", "bboxqa.rules", "click", "rich"}),
        # Charts on axes alone need it.
        (PAGE, {"matplotlib"}),
    ],
    ids=["package", "help", "similarities", "validate", "view", "page"],
)
def test_a_program_loads_what_it_uses(program, absent):
    found = python(f"import sys\n{program}\nprint(sorted({absent} & {{*sys.modules}}))")
    assert found.stdout.splitlines()[-1:] == ["[]"], found.stderr
