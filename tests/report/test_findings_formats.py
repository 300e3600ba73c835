"""What holds for every view of findings."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.cli import python
from support.reports import HOSTILE, finding, report

from bboxqa.core.errors import ConfigError
from bboxqa.report import FINDING_VIEWS, view
from bboxqa.report.findings import statistics_lines

VIEWS = {
    **{name: view(FINDING_VIEWS, name) for name in FINDING_VIEWS},
    "statistics": statistics_lines,
}
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


def text_of(view, *args):
    return "\n".join(VIEWS[view](*args))


def test_an_unknown_format_is_named_with_those_there_are():
    with pytest.raises(ConfigError, match=r"^format is 'sarfi'; expected one of text, concise"):
        view(FINDING_VIEWS, "sarfi")


def test_a_format_is_loaded_when_it_is_used():
    script = (
        "import sys; from bboxqa.report import FINDING_VIEWS, view\n"
        "view(FINDING_VIEWS, 'concise')\n"
        "assert 'bboxqa.report.findings' in sys.modules\n"
        "assert 'bboxqa.report.finding_formats' not in sys.modules\n"
        "assert not any(name.startswith('bboxqa.rules') for name in sys.modules)\n"
        "assert not {'click', 'rich'} & set(sys.modules)"
    )
    done = python(script)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("empty", [report(), report(files=())])
def test_an_empty_report_can_be_shown(view, empty):
    text = text_of(view, empty)
    text.encode()
    assert finding().message not in text


@pytest.mark.parametrize("view", VIEWS)
def test_names_from_the_file_do_no_harm(view):
    hostile = report(
        finding(file=HOSTILE, message=HOSTILE, ids={"annotation": HOSTILE}, excerpt=HOSTILE),
        finding(file=HOSTILE, spot=None, pointer="", ids={}, examples=(f"/{HOSTILE}",), count=2),
        files=(HOSTILE,),
        exporter=HOSTILE,
    )
    text = text_of(view, hostile)
    text.encode()
    assert "B001" in text
    assert "\x1b" not in text
    assert "\x00" not in text
    assert "\u2028" not in text


@pytest.mark.parametrize("view", VIEWS)
@given(value=VALUES)
def test_any_value_can_be_shown(view, value):
    odd = finding(ids={"annotation": value, "annotator": value}, found=value)
    text = text_of(view, report(odd))
    text.encode()
    assert "B001" in text


@pytest.mark.parametrize("view", VIEWS)
def test_numbers_without_end_and_lists_without_bottom_can_be_shown(view):
    deep = []
    for _ in range(5000):
        deep = [deep]
    text = text_of(view, report(finding(found=deep, ids={"image": 10**9999})))
    text.encode()
    assert "B001" in text
