"""The annotators of annotations in Label Studio."""

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any

import msgspec

from bboxqa.formats.translation.json_files import NoObject
from bboxqa.formats.translation.untrusted import mapping, plain_text

_MAY_HAVE_NAMES = re.compile(rb'"(?:completed_by|annotator)"\s*:\s*\{')


class _Work(msgspec.Struct):
    completed_by: object = None


_Works = list[_Work | NoObject] | dict[str, Any] | str | float | int | bool | None


class _Task(msgspec.Struct):
    """The parts of a task that name people, in any of the layouts."""

    annotations: _Works = None
    completions: _Works = None
    completed_by: object = None
    annotator: object = None


def names_in(text: bytes) -> dict[str, str]:
    """Return the names by number that the objects of a file give; empty for other texts.

    Examples
    --------
    >>> names_in(b'{"annotations": [{"completed_by": {"id": 7, "email": "ann@example.org"}}]}')
    {'7': 'ann@example.org'}
    """
    # Most files have numbers only, and are not decoded for this.
    if not _MAY_HAVE_NAMES.search(text):
        return {}
    try:
        found = msgspec.json.decode(text, type=list[_Task | NoObject] | _Task)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}
    tasks = found if isinstance(found, list) else [found]
    people = (_people_of(task) for task in tasks if isinstance(task, _Task))
    return names_by_number(chain.from_iterable(people))


def _people_of(task: _Task) -> Iterator[object]:
    yield from (task.completed_by, task.annotator)
    for works in (task.annotations, task.completions):
        if isinstance(works, list):
            yield from (each.completed_by for each in works if isinstance(each, _Work))


def names_by_number(values: Iterable[object]) -> dict[str, str]:
    """Return the first name, alphabetically, of each number in objects that have both.

    Examples
    --------
    >>> names_by_number([7, {"id": 7}, {"id": 7, "username": "ann"}, {"id": 7, "email": "a@b.c"}])
    {'7': 'a@b.c'}
    """
    known: dict[str, str] = {}
    for value in map(mapping, values):
        number, name = plain_text(value.get("id")), _name(value)
        if number and name:
            known[number] = min(name, known.get(number, name))
    return known


def person(value: object, names: Mapping[str, str]) -> str:
    """Return the name of the annotator who completed an annotation; "" if nobody is named.

    Some exports have numbers for annotators, others objects with number and e-mail.

    Parameters
    ----------
    value : object
        The value in the file, of any type.
    names : mapping of str to str
        Names by number.

    Examples
    --------
    >>> names = {"7": "ann@example.org"}
    >>> person({"id": 7, "email": "ann@example.org"}, names), person(7, names), person(8, names)
    ('ann@example.org', 'ann@example.org', '8')
    """
    name, number = _name(mapping(value)), plain_text(mapping(value).get("id"))
    number = number or plain_text(value)
    return name or names.get(number, number)


def _name(value: Mapping[str, Any]) -> str:
    both = f"{plain_text(value.get('first_name'))} {plain_text(value.get('last_name'))}".strip()
    return plain_text(value.get("email")) or plain_text(value.get("username")) or both
