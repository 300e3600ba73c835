"""Entry points of other packages: found by name, imported on demand, and named where they fail."""

import sys

import pytest
from support.plugins import install

from bboxqa.core.errors import ConfigError
from bboxqa.core.plugins import plugins

GROUP = "bboxqa.tested"


@pytest.fixture
def site(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def test_nobody_adds_anything():
    assert plugins(GROUP) == {}


def test_a_part_is_imported_when_it_is_loaded(site):
    install(site, "acme-parts", {GROUP: "five = acme_five:VALUE"}, {"acme_five": "VALUE = 5"})
    found = plugins(GROUP)
    assert list(found) == ["five"]
    assert "acme_five" not in sys.modules
    assert found["five"].load(int) == 5


@pytest.mark.parametrize(
    ("value", "text", "reason"),
    [
        ("acme_absent:VALUE", None, "ModuleNotFoundError: No module named 'acme_absent'"),
        ("acme_empty:VALUE", "", "has no attribute 'VALUE'"),
        ("acme_wrong:VALUE", "raise ValueError('two\\nlines')", r"ValueError: two\nlines"),
    ],
)
def test_what_cannot_be_loaded_is_named_in_one_line(site, value, text, reason):
    modules = {} if text is None else {value.partition(":")[0]: text}
    install(site, "acme-broken", {GROUP: f"part = {value}"}, modules)
    part = plugins(GROUP)["part"]
    with pytest.raises(ConfigError) as caught:
        part.load(int)
    message = str(caught.value)
    assert message.startswith(f"package acme-broken: entry point part = {value} of {GROUP} cannot")
    assert reason in message
    assert "\n" not in message


def test_a_name_that_two_packages_use_belongs_to_neither(site):
    install(site, "acme-one", {GROUP: "part = acme_one:VALUE"}, {"acme_one": "VALUE = 1"})
    install(site, "acme-two", {GROUP: "part = acme_two:VALUE"}, {"acme_two": "VALUE = 2"})
    with pytest.raises(ConfigError, match="'part' is offered by acme-one and acme-two"):
        plugins(GROUP)["part"].load(int)
