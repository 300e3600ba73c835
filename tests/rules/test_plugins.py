"""Rules of other packages: found through entry points, applied, selected and explained."""

import pytest
from support.cli import run
from support.plugins import install
from support.validation import codes, findings, report_of

from bboxqa.core.errors import ConfigError
from bboxqa.rules.registry import RULES, known_rules, selected_codes

GROUP = "bboxqa.rules"
RULE = """
from bboxqa.model.findings import Severity
from bboxqa.rules.base import Rows, Rule
import numpy as np


def check(document, settings):
    names = [document.images.get(row, "file_name") for row in range(len(document.images))]
    wrong = np.array([str(name).endswith(".bmp") for name in names], bool)
    yield Rows(wrong, "image is {value}", "images/file_name", "a JPEG")


def rule(code):
    return Rule(
        code=code, title="image is a bitmap", severity=Severity.WARNING, scope="record",
        breaks="Bitmaps fill the disk.", explanation="Convert the image.",
        bad={"images": [{"file_name": "a.bmp"}]}, good={"images": [{"file_name": "a.jpg"}]},
        check=check,
    )
"""
BITMAP = {"images": [{"file_name": "a.bmp"}]}


@pytest.fixture
def site(tmp_path, monkeypatch):
    """Yield a folder for packages; the rules found in it are forgotten afterwards."""
    monkeypatch.syspath_prepend(tmp_path)
    known_rules.cache_clear()
    yield tmp_path
    known_rules.cache_clear()


def test_rules_of_a_package_are_applied_and_selected(site):
    module = RULE + "RULES = (rule('ACME001'), rule('ACME002'))\n"
    install(site, "acme-rules", {GROUP: "acme = acme_two:RULES"}, {"acme_two": module})
    assert list(known_rules()) == [*RULES, "ACME001", "ACME002"]
    assert codes(BITMAP) >= {"ACME001", "ACME002"}
    assert codes(BITMAP, select=("ACME002",)) == {"ACME002"}
    assert "ACME001" not in codes(BITMAP, ignore=("ACME001",))
    (finding,) = findings(BITMAP, code="ACME001")
    assert finding.pointer == "/images/0/file_name"
    assert finding.spot is not None
    assert report_of(BITMAP).rules["ACME001"].explanation == "Convert the image."
    assert selected_codes(["ACME"], ["ACME001"]) == ("ACME002",)


def test_a_single_rule_is_explained_and_listed(site):
    install(
        site, "acme-one", {GROUP: "acme = acme_one:RULE"}, {"acme_one": RULE + "RULE = rule('X1')"}
    )
    page = run("explain", "X1")
    assert page.returncode == 0
    assert "X1 image is a bitmap" in page.stdout
    listed = run("explain").stdout
    assert "X: rules of other packages" in listed
    assert "  X1  warning" in listed


def test_nothing_is_imported_before_rules_are_asked_for(site):
    install(site, "acme-broken", {GROUP: "acme = acme_broken:RULE"}, {"acme_broken": "1 / 0"})
    assert run("--help").returncode == 0
    assert run("validate", "--help").returncode == 0


@pytest.mark.parametrize(
    ("module", "text", "problem"),
    [
        ("acme_error", "1 / 0", "cannot be loaded: ZeroDivisionError: division by zero"),
        ("acme_number", "RULES = 7", "expected a Rule or a tuple of rules, found int"),
        ("acme_low", RULE + "RULES = rule('acme1')", "rule code 'acme1'; expected capital"),
        ("acme_clash", RULE + "RULES = rule('B001')", "rule code B001 is already in use"),
        ("acme_twice", RULE + "RULES = [rule('X1')] * 2", "rule code X1 is already in use"),
    ],
)
def test_a_broken_package_is_named_in_one_line(site, tmp_path, module, text, problem):
    install(site, "acme-rules", {GROUP: f"acme = {module}:RULES"}, {module: text})
    with pytest.raises(ConfigError) as caught:
        selected_codes([], [])
    message = str(caught.value)
    assert message.startswith("package acme-rules: entry point acme")
    assert problem in message
    assert "\n" not in message
    file = tmp_path / "export.json"
    file.write_text('{"images": [], "annotations": [], "categories": []}')
    result = run("validate", file)
    assert result.returncode == 2
    assert problem in " ".join(result.stderr.split())
