"""Sections of the page of an agreement; a new one is a module of this folder and one line here."""

from collections.abc import Callable

from bboxqa.report.pages.sections.model_section import model_section
from bboxqa.report.pages.sections.reference_section import reference_section
from bboxqa.report.pages.sections.repeats_section import repeats_section
from bboxqa.report.pages.sections.section import Documents, Section
from bboxqa.report.pages.sections.time_section import time_section
from bboxqa.report.pages.sections.tracks_section import tracks_section

SectionMaker = Callable[[Documents], Section | None]
"""Returns a section of the documents of a result; None if they lack its data."""

SECTIONS: tuple[SectionMaker, ...] = (
    reference_section,
    model_section,
    repeats_section,
    time_section,
    tracks_section,
)


def sections(documents: Documents) -> list[Section]:
    """Return the sections for which the documents of a result have data."""
    made = (make(documents) for make in SECTIONS)
    return [section for section in made if section is not None]
