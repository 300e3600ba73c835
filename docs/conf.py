"""Settings of the documentation site, which `make docs` builds."""

import json
from collections.abc import Iterator
from pathlib import Path

from click.testing import CliRunner
from pygments.lexers.special import TextLexer
from sphinx.application import Sphinx

from bboxqa import __version__
from bboxqa.cli import cli
from bboxqa.rules.registry import RULES, page_lines

project = "bboxqa"
version = release = __version__
extensions = ["myst_parser", "numpydoc", "sphinx.ext.autodoc"]
exclude_patterns = ["_build", "*.ipynb"]

myst_heading_anchors = 3
autodoc_member_order = "bysource"
autodoc_typehints = "none"
numpydoc_show_class_members = False

default_role = "literal"

# The site is built without the inventory of Python's own documentation.
# It does not describe the records that readers give to rules.
nitpick_ignore_regex = [
    ("py:class", r"(collections\.abc|pathlib)\.\w+|bboxqa\.formats\.document\.RawDocument")
]

html_theme = "furo"
html_theme_options = {"light_css_variables": {"code-font-size": "var(--font-size--small--3)"}}
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_title = f"bboxqa {version}"
html_copy_source = False
html_show_copyright = False

# Pages of the repository that the site shows under names of its own.
_OUTSIDE = {
    "../benchmarks/README.md": "benchmarks.md",
    "../CHANGELOG.md": "changelog.md",
    "../../CONTRIBUTING.md": "../contributing.md",
    "../CONTRIBUTING.md": "contributing.md",
}


def _link_inside(_app: Sphinx, _page: str, source: list[str]) -> None:
    """Point links to pages outside of this folder to their copies on the site."""
    for path, page in _OUTSIDE.items():
        source[0] = source[0].replace(f"]({path}", f"]({page}")


def _notebook_page(notebook: Path) -> str:
    """Return the cells of a notebook as a page."""
    link = f"[The notebook]({notebook.name}) as a file."
    cells = [
        "".join(cell["source"]) if cell["cell_type"] == "markdown"
        else f"```python\n{''.join(cell['source'])}\n```"
        for cell in json.loads(notebook.read_text("utf-8"))["cells"]
    ]  # fmt: skip
    return "\n\n".join([*cells, link, ""])


def _commands_page() -> Iterator[str]:
    """Yield the parts of the page of all commands: what their help says."""
    yield "# Commands\n"
    for name in cli.list_commands(None):
        shown = CliRunner().invoke(cli, [name, "--help-all"])
        if shown.exit_code:
            shown = CliRunner().invoke(cli, [name, "--help"])
        yield f"## {name}\n\n```text\n{shown.output.replace('Usage: cli', 'Usage: bboxqa')}```\n"


_RULES = """# The rules of `bboxqa validate`

Codes never change their meaning.

```{toctree}
:glob:

rules/*
```
"""


def _rule_pages() -> Iterator[tuple[str, str]]:
    """Yield the file and the text of the pages of rules: what `bboxqa explain` says."""
    yield "rules.md", _RULES
    for code, rule in RULES.items():
        shown = "\n".join(page_lines(rule))
        yield f"rules/{code}.md", f"# {code}: {rule.title}\n\n```text\n{shown}\n```\n"


def setup(app: Sphinx) -> None:
    """Connect what the pages need beyond the extensions."""
    app.connect("source-read", _link_inside)
    folder = Path(__file__).parent
    (folder / "rules").mkdir(exist_ok=True)
    for name, text in _rule_pages():
        (folder / name).write_text(text, "utf-8")
    for notebook in folder.glob("*.ipynb"):
        notebook.with_suffix(".md").write_text(_notebook_page(notebook), "utf-8")
    (folder / "cli.md").write_text("\n".join(_commands_page()), "utf-8")
    app.add_lexer("csv", TextLexer)
