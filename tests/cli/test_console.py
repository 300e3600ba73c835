"""Progress on a terminal."""

import io
import re

import pytest

from bboxqa.cli.console import tracking


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
