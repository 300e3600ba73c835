"""Expected values carried over from the worked examples, and files of data."""

import json
from pathlib import Path

import pytest

_TESTS = Path(__file__).parents[1]
_DATA = _TESTS / "data", _TESTS.parents[1] / "shared" / "data"

WORKED = json.loads((_DATA[0] / "worked_examples.json").read_text("utf-8"))


def data_file(name):
    """Return a file of the tests, or of data that is not in the repository.

    Skip the test where that is absent; what it shows, other tests show with files of the tests.
    """
    for folder in _DATA:
        if (folder / name).is_file():
            return folder / name
    return pytest.skip(f"{name} is not in the repository")
