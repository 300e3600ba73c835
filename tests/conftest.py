"""What all tests share: where helpers are found, and how hypothesis runs."""

import os
import signal
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# Lets test modules import `support`, however pytest is started.
sys.path.insert(0, str(Path(__file__).parent))

# The first call imports libraries, and a machine may be busy: limits of time would fail by chance.
# A run is repeatable, unless more random values are asked for, as by `make fuzz`.
FUZZ = "BBOXQA_FUZZ" in os.environ
settings.register_profile(
    "bboxqa",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=not FUZZ,
    database=None,
    max_examples=1000 if FUZZ else 15,
)
settings.load_profile("bboxqa")

# Tests send SIGHUP and SIGINT. Under nohup and in the background they are ignored, and children
# inherit that.
signal.signal(signal.SIGHUP, signal.SIG_DFL)
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# This process, workers of pytest and commands of tests would compile all modules each time, as in
# images of containers that set this.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# Tables are cut to the terminal, which workers of pytest take for one of 80 characters.
os.environ["COLUMNS"] = "120"


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers():
    """Return one process more than cores, as some tests wait for programs and browsers.

    Each more would import all libraries and repeat the set-up of modules.
    """
    from bboxqa.core.machine import cores

    return cores() + 1


@pytest.fixture
def light_workers(monkeypatch):
    """Let workers of a batch find the tests, without loading pytest's own command."""
    monkeypatch.syspath_prepend(Path(__file__).parents[1])
    monkeypatch.delattr(sys.modules["__main__"], "__file__", raising=False)
