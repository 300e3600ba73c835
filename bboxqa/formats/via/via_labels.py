"""Finding the attribute that holds the label of regions, which VIA leaves to its users."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bboxqa.core.text import first_few, one_line
from bboxqa.formats.records import ANNOTATOR_KEYS
from bboxqa.formats.translation.untrusted import plain_text

# Usual names of this attribute, the most specific first.
_NAMES = ("label", "labels", "class", "category", "class_name", "object", "type", "name")


@dataclass(frozen=True, slots=True)
class Labels:
    """The attribute that holds the labels of regions."""

    attribute: str = ""
    """The attribute whose value is the label; "" if there is none."""
    by_name: bool = False
    """Whether attribute names are the labels, as all values are empty."""
    note: str = ""

    def of(self, said: dict[str, Any]) -> list[str]:
        """Return the labels of a region, several if a checkbox has several marks."""
        if self.by_name:
            return [name.strip() for name in said if name.strip()]
        value = said.get(self.attribute)
        if isinstance(value, dict):
            return [name.strip() for name, is_marked in value.items() if is_marked is True]
        text = plain_text(value)
        return [text] if text else []


def labels_of(said: Sequence[dict[str, Any]]) -> Labels:
    """Find the labels in the attributes of all regions of a file.

    Examples
    --------
    >>> labels_of([{"type": "cat", "age": "2"}, {"type": "dog", "age": ""}]).attribute
    'type'
    >>> labels_of([{"cat": ""}, {"dog": ""}]).of({"dog": ""})
    ['dog']
    """
    used = Counter(name for each in said for name in each if name not in ANNOTATOR_KEYS)
    if not used:
        return Labels(note="no region has an attribute: all are of one category")
    if not any(_is_said(value) for each in said for value in each.values()):
        note = "attributes have no values: their names are the categories"
        return Labels(by_name=True, note=note)
    known = {name.lower().strip(): name for name in reversed([*used])}
    named = [known[name] for name in _NAMES if name in known]
    chosen = named[0] if named else used.most_common(1)[0][0]
    others = [name for name in used if name != chosen]
    if not others:
        return Labels(chosen)
    listed = first_few(others, 3, lambda name: repr(one_line(name)))
    return Labels(
        chosen, note=f"categories are the values of {one_line(chosen)!r}, not of {listed}"
    )


def _is_said(value: object) -> bool:
    return bool(value) if isinstance(value, bool | dict) else plain_text(value) != ""
