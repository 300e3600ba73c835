"""The sentences of a diagnosis as a page shows them, and the tables that they name."""

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bboxqa.report.pages.html_document import prose, table_anchor
from bboxqa.report.pages.sections.section import Data

if TYPE_CHECKING:
    from markupsafe import Markup

# Tables that sentences name, and what a page calls them: those that it has in any case, those of
# the drawings on cards, and others.
_ON_PAGES = {
    "annotators": "Annotators",
    "boxes_per_object": "Boxes per object",
    "agreement_groups": "Groups",
    "reference": "Annotators against the reference",
}
_OFFSETS = {"offsets": "Offsets of edges", "rotated_offsets": "Offsets of rotated boxes"}
_NAMED = {
    "category_use": "Use of categories",
    "copies": "Shared boxes",
    "quarter_turns": "Quarter turns",
    "joint_annotators": "Key points by annotator",
}
_TITLES = _ON_PAGES | _OFFSETS | _NAMED
# How a sentence of the story names the csv file of a table.
_FILE = re.compile(r"(; [0-9,]+ more stands? out: |\(see )([a-z_]+)\.csv(?=\)?$|\) )")
_TABLES = re.compile(r"^([0-9,]+ more findings?): the tables of --diagnose have (it|them)$")


def story_tables(diagnosis: Mapping[str, Any]) -> list[Data]:
    """Return the tables of offsets, and those that the story names and no chart has."""
    tables, named = diagnosis["tables"], _named(diagnosis["story"])
    return [
        Data(title, tables[name]["columns"], tables[name]["rows"])
        for name, title in (_OFFSETS | _NAMED).items()
        if name in tables and tables[name]["rows"] and (name in _OFFSETS or name in named)
    ]


def _named(story: Sequence[str]) -> set[str]:
    return {found[2] for sentence in story for found in _FILE.finditer(sentence)}


def told(sentence: str) -> "Markup":
    """Return a sentence of the story, with links to the tables of the page that it names.

    Examples
    --------
    >>> print(told("p1 draws larger; 2 more stand out: offsets.csv"))
    p1 draws larger; 2 more stand out: <a href="#table-offsets-of-edges">Offsets of edges</a>
    >>> print(told("3 more findings: the tables of --diagnose have them"))
    3 more findings: the tables below have them
    """
    from markupsafe import Markup

    # Every third piece is the name of a table, behind the words that introduce it.
    pieces = _FILE.split(_TABLES.sub(r"\1: the tables below have \2", sentence))
    shown: list[str] = [prose(piece) for piece in pieces]
    shown[2::3] = [_link(name) for name in pieces[2::3]]
    return Markup().join(shown)


def _link(name: str) -> "Markup":
    from markupsafe import Markup

    if name not in _TITLES:
        return Markup("{}.csv").format(name)
    title = _TITLES[name]
    return Markup('<a href="#{}">{}</a>').format(table_anchor(title), title)
