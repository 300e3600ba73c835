"""Pages of rules."""

import pytest

from bboxqa.rules.base import ABSENT
from bboxqa.rules.pages import address, example_lines, list_lines, markdown_pages, page_lines
from bboxqa.rules.registry import RULES


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
