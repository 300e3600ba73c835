"""The sentences of a diagnosis as a page shows them, and the tables that they name."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from bboxqa.model.diagnosis import Line
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
_CSV = ".csv"


def story_lines(diagnosis: Mapping[str, Any]) -> list[Line]:
    """Return the lines of a diagnosis document; those of earlier versions have no subjects."""
    nothing: dict[str, Any] = {"annotators": (), "see": ""}
    subjects = diagnosis.get("subjects", [nothing] * len(diagnosis["story"]))
    return [
        Line(text, tuple(each["annotators"]), each["see"])
        for text, each in zip(diagnosis["story"], subjects, strict=True)
    ]


def story_tables(diagnosis: Mapping[str, Any]) -> list[Data]:
    """Return the tables of offsets, and those that the story names and no chart has."""
    tables = diagnosis["tables"]
    named = {line.see.removesuffix(_CSV) for line in story_lines(diagnosis)}
    return [
        Data(title, tables[name]["columns"], tables[name]["rows"])
        for name, title in (_OFFSETS | _NAMED).items()
        if name in tables and tables[name]["rows"] and (name in _OFFSETS or name in named)
    ]


def shown_line(line: Line) -> "Markup":
    """Return a sentence of the story, with a link to the table of the page that has more.

    Examples
    --------
    >>> print(shown_line(Line("2 more stand out: offsets.csv", see="offsets.csv")))
    2 more stand out: <a href="#table-offsets-of-edges">Offsets of edges</a>
    """
    if not line.see:
        return prose(line.text)
    # Names of annotators, which may contain anything, stand before it.
    before, see, after = line.text.rpartition(line.see)
    return prose(before) + _on_page(see) + prose(after)


def _on_page(see: str) -> "Markup":
    """Return what a page calls the file or tables that a sentence names."""
    from markupsafe import Markup

    title = _TITLES.get(see.removesuffix(_CSV))
    if title is not None:
        return Markup('<a href="#{}">{}</a>').format(table_anchor(title), title)
    if see.endswith(_CSV):
        return prose(see)
    return Markup('<a href="#annotators">the tables below</a>')
