"""Fixes: what is asked for changes, and nothing else does."""

import copy
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.validation import codes, document_of

from bboxqa.core.json_values import pointer_parts, pointer_to
from bboxqa.formats.scanner import read_bytes
from bboxqa.model.findings import Edit
from bboxqa.model.settings import ValidateSettings
from bboxqa.rules.fixes import edited, fix
from bboxqa.rules.registry import RULES

FIXED = [
    code
    for code, rule in RULES.items()
    if rule.fix is not None and rule.scope in ("record", "data set")
]


def changed(text, *edits):
    new, _ = edited(read_bytes(text, "a"), [("X000", edit) for edit in edits])
    return new


def expected(document, edits):
    """Apply edits to values, as `edited` does to text; removals from the end on."""
    document = copy.deepcopy(document)

    def holder(pointer):
        *above, last = pointer_parts(pointer)
        inner = document
        for part in above:
            inner = inner[int(part)] if isinstance(inner, list) else inner[part]
        return inner, int(last) if isinstance(inner, list) else last

    for edit in edits:
        inner, key = holder(edit.pointer)
        if edit.action != "remove":
            inner[key] = edit.value
    for edit in sorted(
        edits,
        key=lambda e: [int(p) if p.isdecimal() else -1 for p in pointer_parts(e.pointer)],
        reverse=True,
    ):
        if edit.action == "remove":
            inner, key = holder(edit.pointer)
            del inner[key]
    return document


@given(st.data())
def test_edits_of_text_are_edits_of_values(data):
    record = st.fixed_dictionaries({"id": st.integers(), "b": st.lists(st.integers(), max_size=3)})
    document = {
        "images": data.draw(st.lists(record, max_size=4)),
        "annotations": data.draw(st.lists(record, max_size=5)),
        "info": {"é": 1},
    }
    possible = []
    for name in ("images", "annotations"):
        for row, value in enumerate(document[name]):
            inner = [
                Edit(pointer_to(name, row, "id"), "replace", data.draw(st.integers() | st.text())),
                Edit(pointer_to(name, row, "b"), "remove"),
                Edit(pointer_to(name, row, "new"), "add", data.draw(st.none() | st.text())),
            ]
            inner += [
                Edit(pointer_to(name, row, "b", n), "remove") for n in range(len(value["b"]))
            ][:2]
            # A removed list has no places left to remove.
            keep = data.draw(st.sets(st.sampled_from([0, 2, 3, 4]) | st.sampled_from([1])))
            keep = {0, 1, 2} & keep if 1 in keep else keep
            some = [edit for place, edit in enumerate(inner) if place in keep]
            whole = data.draw(st.booleans())
            possible += [Edit(pointer_to(name, row), "remove")] if whole else some
    indent = data.draw(st.sampled_from([None, 0, 2]))
    text = json.dumps(document, indent=indent, ensure_ascii=False).encode()
    assert json.loads(changed(text, *possible)) == expected(document, possible)


def test_what_is_not_named_survives_byte_for_byte():
    text = b'{ "info":{"x": 1.50e1,\t"y":12345678901234567890.10},"images": [ {"id":"7"} ] }\n'
    new = changed(text, Edit("/images/0/id", "replace", 7))
    assert new == text.replace(b'"7"', b"7")


def test_removal_wins_over_replacement_and_the_inside_waits():
    text = b'{"images": [{"id": 1}, {"id": 2}]}'
    new = changed(
        text, Edit("/images/0/id", "replace", 9), Edit("/images/1", "replace", 5),
        Edit("/images/0", "remove"), Edit("/images/1", "remove"),
    )  # fmt: skip
    assert new == b'{"images": []}'


def test_the_encoding_and_what_follows():
    text = b"\xef\xbb\xbf" + b'{"images": []} trailing'
    assert changed(text, Edit("", "replace")) == text[3:]
    assert changed(text, Edit("", "remove")) == text[:-8]


def fixed(content, **more):
    return bytes(fix(document_of(content), ValidateSettings(**more), unsafe=True).text)


@pytest.mark.parametrize("code", FIXED)
def test_after_its_fix_a_finding_is_gone_and_no_other_is_new(code):
    """The finding of the bad example goes, and nothing worse than it was comes."""
    before = codes(RULES[code].bad)
    safe = fix(
        document_of(RULES[code].bad), ValidateSettings(select=(code,)),
        unsafe=RULES[code].fix == "unsafe",
    )  # fmt: skip
    assert safe.changes
    after = codes(bytes(safe.text))
    assert code not in after
    everything = codes(fixed(RULES[code].bad))
    assert code not in everything
    new = {other for other in everything - before if RULES[other].severity != "info"}
    assert not new


@pytest.mark.parametrize("code", FIXED)
def test_fixing_twice_changes_nothing_more(code):
    once = fixed(RULES[code].bad)
    assert fixed(once) == once
