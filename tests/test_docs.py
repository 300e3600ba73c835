"""What the documentation shows is what the program prints."""

import doctest
import json
import math
import re
import shlex
import shutil
from pathlib import Path

import pytest
import yaml
from support.cli import run
from support.datasets import two_annotators, write
from support.pages import blocks, same

from bboxqa import stats
from bboxqa.agreement import consistency, estimators, nominal, over_time, pair_kappas, registry
from bboxqa.agreement.registry import SCALES
from bboxqa.cli import cli
from bboxqa.diagnostics import answers
from bboxqa.rules.registry import RULES

ROOT = Path(__file__).parents[1]
# What docs/conf.py writes.
GENERATED = {"rules.md", "cli.md", "notebook.md", "three_doors.md"}
PAGES = {
    path.relative_to(ROOT).as_posix(): path.read_text("utf-8")
    for path in [*sorted(ROOT.glob("*.md")), *sorted(ROOT.glob("docs/**/*.md")),
                 ROOT / "benchmarks/README.md"]
    if path.parent.name != "rules"
    and path.name not in GENERATED
}  # fmt: skip
# What contributors add is not in the program; tests/test_contributing.py runs that page.
GUIDES = {name: text for name, text in PAGES.items() if name != "CONTRIBUTING.md"}
GUIDE = PAGES["docs/statistics.md"]
VALIDATE = PAGES["docs/validate.md"]
CI = PAGES["docs/ci.md"]
COMMANDS = cli.list_commands(None)


def contents(text, kind):
    return [content for _, content in blocks(text, kind)]


def names_of(page):
    """Run the Python of a page, and return what it names."""
    (program,) = contents(PAGES[page], "python")
    names = {}
    exec(program, names)  # noqa: S102
    return names


CONSOLE = [block for text in GUIDES.values() for block in contents(text, "console")]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with the files that pages show, and the data of a clone."""
    shown = blocks(GUIDE, "csv") + blocks(PAGES["docs/tutorial_validate.md"], "json")
    assert all(name for name, _ in shown)
    for name, text in shown:
        (tmp_path / name).write_text(text, "utf-8")
    shutil.copytree(ROOT / "tests/data", tmp_path / "tests/data")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def printed(command):
    program, *arguments = shlex.split(command)
    assert program == "bboxqa"
    return run(*arguments).output


@pytest.mark.parametrize("block", CONSOLE, ids=lambda block: block.splitlines()[0])
@pytest.mark.usefixtures("folder")
def test_commands_print_what_is_shown(block):
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, shown = part.split("\n", 1)
        found = printed(command)
        assert same(shown, found), found


@pytest.mark.usefixtures("folder")
def test_snippets_return_what_is_shown():
    snippets = "\n".join(contents(GUIDE, "pycon"))
    assert snippets
    parsed = doctest.DocTestParser().get_doctest(snippets, {}, "snippets", None, 0)
    reports = []
    outcome = doctest.DocTestRunner(verbose=False).run(parsed, out=reports.append)
    assert outcome.failed == 0, "".join(reports)


def shown_commands():
    """Return each command line that a page has in a block of a shell, or in a line of text."""
    text = "\n".join(GUIDES.values())
    lines = "\n".join(contents(text, "sh")).splitlines()
    lines += [line[2:] for line in "\n".join(CONSOLE).splitlines() if line.startswith("$ ")]
    lines += re.findall(
        r"`(bboxqa\b[^`]*)`", re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    )
    return [line.partition(" #")[0] for line in lines if line.startswith("bboxqa ")]


def _help_of(command):
    return "--help-all" if "--help-all" in printed(f"bboxqa {command} --help") else "--help"


@pytest.mark.parametrize("command", COMMANDS)
def test_options_that_are_named_exist(command):
    own = [line for line in shown_commands() if line.split()[1] == command]
    assert own
    options = {option for line in own for option in re.findall(r"--[a-z-]+", line)}
    assert options <= set(
        re.findall(r"--[a-z-]+", printed(f"bboxqa {command} {_help_of(command)}"))
    )


def test_commands_that_are_named_exist():
    names = {line.split()[1] for line in shown_commands()}
    assert {name for name in names if not name.startswith("-")} == set(COMMANDS)


def test_python_that_compares_runs(tmp_path, monkeypatch):
    for name in ("simulated.json", "simulated_reviewed.json"):
        place = "after.json" if "reviewed" in name else "before.json"
        shutil.copy(ROOT / "tests/data" / name, tmp_path / place)
    monkeypatch.chdir(tmp_path)
    assert names_of("docs/compare.md")["result"].counts["moved"] == 31


def test_targets_of_make_that_are_named_exist():
    text = "\n".join(PAGES.values())
    named = re.findall(r"`make (\w+)`", text)
    named += re.findall(r"^make (\w+)", "\n".join(contents(text, "sh")), re.MULTILINE)
    assert {"demo", "test", "docs"} <= set(named)
    makefile = (ROOT / "Makefile").read_text("utf-8")
    assert set(named) <= set(re.findall(r"^(\w+):", makefile, re.MULTILINE))


def test_benchmarks_that_are_named_exist_and_have_these_options():
    named = re.findall(r"python (benchmarks/\w+\.py)([^`\n]*)", "\n".join(PAGES.values()))
    assert named
    for script, arguments in named:
        source = (ROOT / script).read_text("utf-8")
        options = re.findall(r"--[a-z-]+", arguments.partition(" #")[0])
        assert [option for option in options if f'"{option}"' not in source] == [], script


@pytest.mark.parametrize("page", ["README.md", "docs/agreement.md", "docs/validate.md"])
def test_python_of_a_page_runs(page, tmp_path, monkeypatch):
    write(tmp_path / "export.json", two_annotators())
    monkeypatch.chdir(tmp_path)
    names = names_of(page)
    if "result" in names:
        assert names["result"].existence.f1 == 1
    else:
        assert sum(names["report"].counts.values()) == len(names["report"].findings)


def test_python_that_simulates_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = names_of("docs/simulate.md")
    assert names["result"].mean_image_alpha < 1
    assert json.loads((tmp_path / "trial_truth.json").read_text("utf-8")) == names["truth"]


def test_python_that_draws_runs(tmp_path, monkeypatch):
    write(tmp_path / "export.json", two_annotators())
    monkeypatch.chdir(tmp_path)
    names_of("docs/draw.md")
    assert (tmp_path / "street.svg").exists()


def test_python_that_diagnoses_runs(monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    names = names_of("docs/disagreement.md")
    assert capsys.readouterr().out.startswith("all agree 77 None\nmissed by some 14 0.05")
    assert names["found"].story[-1] in " ".join(PAGES["docs/disagreement.md"].split()).replace(
        " > ", " "
    )


def test_settings_that_are_shown_are_taken(tmp_path):
    (settings,) = contents(VALIDATE, "toml")
    write(tmp_path / "export.json", two_annotators())
    # Its warnings are errors by these settings only.
    assert run("validate", "export.json", cwd=tmp_path).returncode == 0
    write(tmp_path / "pyproject.toml", settings)
    assert run("validate", "export.json", cwd=tmp_path).returncode == 1
    write(tmp_path / "pyproject.toml", settings.replace("ignore", "ignored"))
    assert run("validate", "export.json", cwd=tmp_path).returncode == 2


def test_the_number_of_rules_is_right():
    assert f"There are {len(RULES)} rules" in PAGES["README.md"]


def test_the_hooks_and_the_inputs_that_are_shown_exist():
    shown = "\n".join(contents(CI, "yaml"))
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))
    assert re.findall(r"- id: (\S+)", shown) == [each["id"] for each in hooks]
    (uses,) = [each for each in yaml.safe_load(contents(CI, "yaml")[1])["steps"]
               if each["uses"] == "./.bboxqa"]  # fmt: skip
    action = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
    assert uses["with"].keys() == action["inputs"].keys()


def test_the_workflow_that_is_shown_finds_defects(tmp_path):
    workflow = yaml.safe_load(contents(CI, "yaml")[0])
    (job,) = workflow["jobs"].values()
    (tmp_path / "annotations").mkdir()
    broken = json.loads((ROOT / "tests/data/roboflow.json").read_bytes())
    broken["annotations"][0]["bbox"] = [1, 2, -3, 4]
    (tmp_path / "annotations/export.json").write_text(json.dumps(broken))
    steps = [each for each in job["steps"] if each.get("run", "").startswith("bboxqa ")]
    first, page = (run(*shlex.split(each["run"])[1:], cwd=tmp_path) for each in steps)
    assert first.returncode == 1
    assert "::error file=annotations/export.json," in first.stdout
    assert page.returncode == 0
    # What the last step uploads is what the one before it wrote.
    assert (tmp_path / job["steps"][-1]["with"]["path"]).is_file()


def test_functions_that_are_named_exist():
    named = set(re.findall(r"\bstats\.([a-z_]+)", GUIDE)) | {"measure", "difference"}
    assert named <= set(stats.__all__)


def test_every_coefficient_is_documented():
    titles = re.findall(r"^### (.*)$", GUIDE, re.MULTILINE)
    named = [name for title in titles for name in re.findall(r"`(\w+)`", title)]
    assert sorted(named) == sorted(registry.COEFFICIENTS)


def test_every_status_is_documented():
    known = [
        text.removeprefix("undefined: ")
        for module in (answers, consistency, estimators, nominal, over_time, pair_kappas, registry)
        for text in vars(module).values()
        if isinstance(text, str) and text.startswith("undefined: ")
    ]
    missing = {text for text in known if f"| {text} |" not in GUIDE}
    # Of a function that no command uses.
    assert missing <= {consistency.CONTRADICTION.removeprefix("undefined: ")}


@pytest.mark.parametrize("scale", SCALES.values(), ids=SCALES)
def test_every_scale_is_documented(scale):
    words = [
        f"{step.label} {'≥' if step.includes_lower else '>'} {step.lower:g}"
        if math.isfinite(step.lower)
        else f"{step.label} below"
        for step in scale.bins
    ]
    (row,) = [line for line in GUIDE.splitlines() if line.startswith(f"| {scale.name} |")]
    assert f"| {', '.join(words)} |" in row
    assert row.split("| ")[-1].removesuffix(" |") in scale.source


def test_pages_are_short():
    pages = [text for name, text in PAGES.items() if re.fullmatch(r"docs/\w+\.md", name)]
    assert sum(len(text.split()) for text in pages) <= 30_000


def anchors(text):
    """Return the anchors of a page's headings, as GitHub and the site make them."""
    text = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    titles = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title).lower().replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_to_files_and_headings(page):
    text = re.sub(r"^```.*?^```$", "", PAGES[page], flags=re.MULTILINE | re.DOTALL)
    for path, anchor in re.findall(r"\]\((?!http)([^)#]*)#?([^)]*)\)", text):
        target = ((ROOT / page).parent / path).resolve() if path else ROOT / page
        if path not in GENERATED:
            assert target.exists(), path
        if anchor:
            assert anchor in anchors(target.read_text("utf-8")), anchor


def test_modules_that_the_architecture_names_exist():
    page = PAGES["docs/architecture.md"]
    named = re.findall(r"`([a-z_]+(?:/[a-z_]+)+)`", page)
    package = ROOT / "bboxqa"
    missing = [name for name in named if not (package / name).is_dir()
               and not (package / f"{name}.py").is_file()]  # fmt: skip
    assert missing == []
    folders = {path.parent.name for path in package.glob("*/__init__.py")}
    assert folders <= set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE))


def test_nltk_elsewhere():
    task = pytest.importorskip("nltk.metrics.agreement").AnnotationTask
    same_value = task([(who, unit, "x") for who in "ab" for unit in (1, 2)])
    assert (same_value.alpha(), same_value.kappa()) == (1, 1)
    gap = [("a", 1, "x"), ("b", 1, "x"), ("a", 2, "y"), ("b", 2, "y"), ("a", 3, "x")]
    with pytest.raises(RuntimeError):
        task(gap).kappa()
