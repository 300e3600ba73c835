"""Sources that are read as columns, and record by record."""

import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path

import msgspec
import numpy as np

from bboxqa.formats.column_builder import WHOLE
from bboxqa.formats.scanner import read_bytes
from bboxqa.formats.translation.collector import Wanted
from bboxqa.formats.translation.reading import Parts

_BRACE = re.compile(rb"[{}]")


def read_both_ways(translate, path: Path) -> tuple[int, int]:
    """Compare documents of a source; return how many boxes were read as columns, and of how many.

    What is compared: all records, the columns that rules look at, places, defects and notes.
    """
    found, columns, n_plain = _document(translate, path, plain=True)
    wanted, of_records, none = _document(translate, path, plain=False)
    assert found == wanted
    assert none == 0
    _same(columns, of_records)
    return n_plain, len(columns)


def _document(translate, path, *, plain):
    parts, n_plain = Parts(path, WHOLE), 0

    def add_boxes(boxes):
        nonlocal n_plain
        n_plain += len(boxes)
        parts.add_boxes(boxes)

    done = translate(path, parts.add, Wanted(add_boxes=add_boxes if plain else None))
    reading = read_bytes(msgspec.json.encode({"images": done.images}), "document")
    parts.put_into(reading)
    content = msgspec.json.decode(reading.text)
    section = reading.sections["annotations"]
    first = [msgspec.json.decode(_record(reading.text, at)) for at in section.offsets]
    assert first == [content["annotations"][row] for row in section.rows]
    said = (content, list(parts.places), done.categories, done.image_places, done.category_places)
    return (*said, sorted(map(repr, done.defects)), done.notes), reading.annotations, n_plain


def _record(text, begin):
    """Return the first record of a part of the list; no text in it has a brace."""
    depth = 0
    for brace in _BRACE.finditer(text, begin):
        depth += 1 if brace[0] == b"{" else -1
        if not depth:
            return text[begin : brace.end()]
    raise AssertionError


def _same(found, wanted):
    """Compare columns, whole tables of them too, to the last bit."""
    if isinstance(wanted, np.ndarray):
        assert found.dtype == wanted.dtype
        np.testing.assert_array_equal(found, wanted)
    elif isinstance(wanted, Mapping):
        assert found.keys() == wanted.keys()
        for key, value in wanted.items():
            _same(found[key], value)
    elif not is_dataclass(wanted):
        assert found == wanted
    else:
        for each in fields(wanted):
            _same(getattr(found, each.name), getattr(wanted, each.name))
