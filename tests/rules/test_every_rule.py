"""What holds for every rule: its own examples, a clean file, its fix, and its page."""

import copy
import json
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.validation import codes, document_of, report_of

import bboxqa.rules
from bboxqa.core.errors import ConfigError
from bboxqa.core.json_values import pointer_parts, pointer_to
from bboxqa.formats.scanner import Scanner
from bboxqa.model.findings import Edit
from bboxqa.model.settings import ValidateSettings
from bboxqa.rules.base import ABSENT, Rule
from bboxqa.rules.fixes import edited, fix
from bboxqa.rules.registry import (
    FAMILIES,
    RESERVED,
    RULES,
    example_lines,
    list_lines,
    page_lines,
    selected_codes,
)

# What is large depends on the settings; see test_file.py.
ON_FILES = [code for code, rule in RULES.items() if rule.scope == "record" and code != "F007"]


@cache
def report_of_bad(code):
    return report_of(RULES[code].bad)


@pytest.mark.parametrize("code", ON_FILES)
def test_the_bad_example_is_found_and_the_good_one_is_not(code):
    assert code in report_of_bad(code).counts
    assert code not in codes(RULES[code].good)


@pytest.mark.parametrize("code", ON_FILES)
def test_a_finding_says_where_and_what(code):
    for finding in report_of_bad(code).findings:
        if finding.code != code:
            continue
        # Rules of family T are about files of other formats, which are read from the disk.
        parts = Path(finding.file).parts if code[0] == "T" else [finding.file]
        assert "export.json" in parts
        assert finding.spot is not None
        assert finding.message
        assert "\n" not in finding.message
        assert finding.message[0] != finding.message[0].upper() or not finding.message[0].isalpha()
        assert not finding.message.endswith(".")
        json.dumps([dict(finding.ids), finding.found])
        assert (finding.fix is None) or finding.edits


@pytest.mark.parametrize("code", RULES)
def test_a_rule_explains_itself(code):
    rule = RULES[code]
    assert rule.code == code
    assert set(rule.requires) <= RULES.keys() - {code}
    assert rule.title[0].islower() or rule.title.split()[0].isupper() or not rule.title[0].isalpha()
    assert not rule.title.endswith(".")
    for text in (rule.breaks, rule.explanation):
        assert text.endswith(".")
        assert "  " not in text
    assert (rule.fix is not None) == ("fix" in rule.explanation.lower())


def test_rules_are_sorted_by_letter_and_number():
    letters = list(FAMILIES)
    assert list(dict.fromkeys(code[0] for code in RULES)) == letters
    assert list(RULES) == sorted(RULES, key=lambda code: (letters.index(code[0]), code))


def test_every_module_with_rules_is_in_the_registry():
    names = [each.name for each in walk_packages(bboxqa.rules.__path__, "bboxqa.rules.")]
    found = [[*vars(module).values()] for module in map(import_module, names)]
    listed = [rule for each in found for rule in each if isinstance(rule, Rule)]
    listed += [rule for each in found for rules in each if isinstance(rules, tuple)
               for rule in rules if isinstance(rule, Rule)]  # fmt: skip
    assert sorted(rule.code for rule in listed) == sorted(RULES)


def test_codes_of_rules_that_are_gone_are_not_used_again():
    assert not RESERVED & RULES.keys()
    with pytest.raises(ConfigError, match="rule B013 is gone"):
        selected_codes(["B013"], [])
    assert len(selected_codes([], ["B013"])) == len(RULES)


def test_rules_whose_data_a_file_does_not_have_are_listed_as_checked():
    assert {"P001", "R001", "O004", "K001", "C010"} <= report_of({}).rules.keys()


# Fixes: what is asked for changes, and nothing else does.
FIXED = [
    code
    for code, rule in RULES.items()
    if rule.fix is not None and rule.scope in ("record", "data set")
]


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


def changed(text, *edits):
    new, _ = edited(Scanner(text, "a").read(), [("X000", edit) for edit in edits])
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


# Pages of rules.


@pytest.mark.parametrize("code", RULES)
def test_a_page_says_all_of_a_rule(code):
    rule = RULES[code]
    lines = list(page_lines(rule))
    text = " ".join(" ".join(lines).split())
    assert lines[0] == f"{code} {rule.title}"
    for part in (rule.breaks, rule.explanation, rule.severity):
        assert part in text
    assert "Found" in lines
    assert "Left alone" in lines
    "\n".join(lines).encode()


def test_the_list_names_all_rules():
    lines = list(list_lines())
    assert "B: Boxes" in lines
    assert "  B001  error    [?]  box without area" in lines
    assert sum(line.startswith("  ") for line in lines) == len(RULES)


def test_examples_show_what_is_missing_and_what_nobody_sees():
    assert list(example_lines({"images": ABSENT})) == ['no "images"']
    assert list(example_lines({"annotations": [3, None]})) == [
        "in an image of 100 x 80 pixels", '"annotations": [3, null]',
    ]  # fmt: skip
    assert list(example_lines({})) == ["a file without any defect"]
    assert list(example_lines("")) == ["an empty file"]
    assert list(example_lines("\ufeff{}\x00\n\ud800")) == ["\\ufeff{}\\x00", "\\ud800"]
