"""Replacing the names of annotators in a data set by pseudonyms."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from bboxqa.core.pseudonyms import pseudonyms_of, without_names
from bboxqa.formats.dataset.attribution import UNNAMED, Attribution
from bboxqa.model.annotations import Dataset

_NOBODY = (UNNAMED, "ground truth")
"""Names of annotators that do not stand for people."""


def with_pseudonyms(
    attribution: Attribution, key: Path, model: str = ""
) -> tuple[Attribution, dict[str, str]]:
    """Return the attribution with pseudonyms, and the pseudonym of each name.

    `model` keeps its name.
    """
    people = [name for name in attribution.names if name not in (*_NOBODY, model)]
    given = pseudonyms_of(key, people)
    given = {name: given[name] for name in people}

    def named(name: str) -> str:
        return given.get(name, name)

    asked = [
        [None if names is None else tuple(map(named, names)) for names in of_file]
        for of_file in attribution.asked
    ]
    renamed = replace(attribution, names=tuple(map(named, attribution.names)), asked=asked)
    return renamed, given


def without_people(data: Dataset, given: Mapping[str, str]) -> Dataset:
    """Return a data set with pseudonyms in its notes and file names as well."""
    sources = tuple(
        replace(
            each,
            name=_file_name(each.name, given),
            annotator=None if each.annotator is None else given.get(each.annotator, each.annotator),
        )
        for each in data.sources
    )
    return replace(
        data,
        sources=sources,
        notes=tuple(without_names(data.notes, given)),
        headlines=tuple(without_names(data.headlines, given)),
        attribution=without_names(data.attribution, given),
        is_pseudonymous=True,
    )


def _file_name(name: str, given: Mapping[str, str]) -> str:
    """Return the name of a file with pseudonyms, as files may be named after annotators."""
    path = Path(name)
    if path.stem in given:
        path = path.with_name(given[path.stem] + path.suffix)
    shown: str = without_names(str(path), given)
    return shown
