"""What all tests share: where helpers are found, and how hypothesis runs."""

import signal
import sys
from pathlib import Path

from hypothesis import settings

# Lets test modules import `support`, however pytest is started.
sys.path.insert(0, str(Path(__file__).parent))

# The first call imports libraries, so a deadline would fail by chance; and a run is repeatable.
settings.register_profile("bboxqa", deadline=None, derandomize=True, database=None)
settings.load_profile("bboxqa")

# Tests send SIGHUP. Under nohup it is ignored, and children inherit that.
signal.signal(signal.SIGHUP, signal.SIG_DFL)
