"""Progress on a terminal."""

import io
import re
from pathlib import Path

import pytest

from bboxqa.cli.console import show, tracking


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize("counted", [True, False])
def test_the_rate_is_shown_where_projects_are_counted(monkeypatch, counted):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    with tracking(counted=counted) as progress:
        progress("projects", 3, 12)
    shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", terminal.getvalue())
    assert (re.search(r"3/12 +\d+\.\d/s", shown) is not None) == counted


def test_names_from_the_right_stay_in_their_column_on_a_terminal(monkeypatch):
    """Marks keep apart what a terminal would order from the right; files have none of them."""
    ann, bob = "\u05d0\u05df", "\u05d1\u05d5\u05d1 \u05db\u05d4\u05df"
    lines = [f" {ann}  {bob}   0.5", " cow     0.5"]
    views = {"text": "test_console:_as_it_is"}
    terminal = Terminal()
    monkeypatch.setattr("sys.stdout", terminal)
    monkeypatch.syspath_prepend(Path(__file__).parent)
    show(views, lines, "text", [])
    mark = "\u200e"
    assert terminal.getvalue() == f" {mark}{ann}{mark}  {mark}{bob}{mark}   0.5\n cow     0.5\n"
    pipe = io.StringIO()
    monkeypatch.setattr("sys.stdout", pipe)
    show(views, lines, "text", [])
    assert pipe.getvalue() == "\n".join(lines) + "\n"


def _as_it_is(lines, **options):
    return lines
