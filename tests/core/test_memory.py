"""Files that need more than the free memory."""

import pytest
from support.cli import run

from bboxqa.core import machine
from bboxqa.core.errors import OutputError


def test_files_that_need_more_than_the_free_memory_are_refused(tmp_path, monkeypatch):
    file = tmp_path / "a.json"
    file.write_bytes(b" " * 4000)
    monkeypatch.setattr(machine, "free_memory", lambda: 10_000)
    machine.check_free_memory(file.stat().st_size, str(file))
    monkeypatch.setattr(machine, "free_memory", lambda: 9_999)
    with pytest.raises(OutputError, match=r"a\.json: reading needs about 0\.0 GB of memory, and "):
        machine.check_free_memory(file.stat().st_size, str(file))


@pytest.mark.parametrize("command", ["agree", "validate", "batch"])
def test_the_option_for_memory_says_what_to_type(command, tmp_path):
    done = run(command, "x.json", "--memory", "2GB", cwd=tmp_path)
    assert done.returncode == 2
    assert "--memory was removed" in done.stderr
    assert "bboxqa batch" in done.stderr
