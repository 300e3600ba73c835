"""How tests are collected: doctests only from modules that have some, and without delay."""

import gc
from collections.abc import Generator
from pathlib import Path

import pytest
from _pytest.doctest import DoctestModule  # it has no public name


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(
    file_path: Path,
) -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    """Leave out modules without an example, since looking for one imports them."""
    found = yield
    if file_path.suffix != ".py" or b">>>" in file_path.read_bytes():
        return found
    return [each for each in found if not isinstance(each, DoctestModule)]


# So many new objects, instead of 700, before the garbage collector looks for cycles.
_NEW_OBJECTS = 20000


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keep the garbage collector from visiting all collected tests again and again."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.set_threshold(_NEW_OBJECTS, *gc.get_threshold()[1:])
        gc.enable()
        gc.freeze()
