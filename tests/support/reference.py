"""Expected values carried over from the worked examples, and data that may be absent."""

import json
from pathlib import Path

import pytest

_TESTS = Path(__file__).parents[1]
_SHARED = _TESTS.parents[1] / "shared" / "data"

WORKED = json.loads((_TESTS / "data" / "worked_examples.json").read_text("utf-8"))


def shared_file(name):
    """Return a file of the shared data, or skip the test where it is absent."""
    path = _SHARED / name
    if not path.is_file():
        pytest.skip(f"{path} is not there")
    return path
