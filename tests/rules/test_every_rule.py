"""What holds for every rule: its own examples, a clean file, and its page."""

import json
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

import pytest
from support.validation import codes, report_of

import bboxqa.rules
from bboxqa.core.errors import ConfigError
from bboxqa.model.findings import Severity
from bboxqa.rules.base import ABSENT, Rule
from bboxqa.rules.pages import address, example_lines, list_lines, markdown_pages, page_lines
from bboxqa.rules.registry import FAMILIES, RESERVED, RULES, selected_codes

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


def test_a_clean_file_gives_nothing_above_info():
    report = report_of({})
    assert report.severities[Severity.ERROR] == report.severities[Severity.WARNING] == 0


def test_codes_of_rules_that_are_gone_are_not_used_again():
    assert not RESERVED & RULES.keys()
    with pytest.raises(ConfigError, match="rule B013 is gone"):
        selected_codes(["B013"], [])
    assert len(selected_codes([], ["B013"])) == len(RULES)


def test_rules_whose_data_a_file_does_not_have_are_listed_as_checked():
    assert {"P001", "R001", "O001", "K001", "C010"} <= report_of({}).rules.keys()


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


def test_the_site_has_a_page_for_each_rule_at_a_stable_address():
    pages = markdown_pages()
    assert [*pages] == ["rules.md", *(f"rules/{code}.md" for code in RULES)]
    assert pages["rules.md"].count("](rules/") == len(RULES)
    for code in RULES:
        page = pages[address(code).replace(".html", ".md")].splitlines()
        assert page[0].startswith(f"# {code}: ")
        # What opens a block of code is closed.
        assert sum(line.startswith("```") for line in page) == 4


def test_examples_show_what_is_missing_and_what_nobody_sees():
    assert list(example_lines({"images": ABSENT})) == ['no "images"']
    assert list(example_lines({"annotations": [3, None]})) == [
        "in an image of 100 x 80 pixels", '"annotations": [3, null]',
    ]  # fmt: skip
    assert list(example_lines({})) == ["a file without any defect"]
    assert list(example_lines("")) == ["an empty file"]
    assert list(example_lines("\ufeff{}\x00\n\ud800")) == ["\\ufeff{}\\x00", "\\ud800"]
