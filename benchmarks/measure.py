"""Measure one process from its start to its end: wall time, processor time, peak memory.

Only the standard library is used, and little of it, because the kernel counts the memory of the
measuring process as the least peak of the measured one.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

KILOBYTE = 1024
MEGABYTE = 1_000_000
SETTINGS = {"TQDM_DISABLE": "1", "PYTHONUNBUFFERED": "", "PYTHONDONTWRITEBYTECODE": ""}
"""Set for every measured process: no progress bars, and Python's own habits as users have them.

Without bytecode files a package that is not installed from a wheel is compiled at every start.
"""


@dataclass(frozen=True, slots=True)
class Measurement:
    """What one run of a command took.

    `peak_bytes` is the peak of the largest single process: children that ran beside each other
    are not added up.
    """

    wall_seconds: float
    processor_seconds: float
    peak_bytes: int
    exit_status: int
    output: str
    error: str

    @property
    def succeeded(self) -> bool:
        """Whether the process ended by itself with status 0."""
        return self.exit_status == 0

    @property
    def last_error_line(self) -> str:
        """The last line that the process wrote about its failure."""
        lines = [line.strip() for line in self.error.splitlines() if line.strip()]
        return lines[-1] if lines else f"exit status {self.exit_status}"


def measure(
    command: Sequence[str],
    timeout_seconds: float | None = None,
    environment: Mapping[str, str] | None = None,
) -> Measurement:
    """Run a command and measure it; a negative exit status is the signal that ended it.

    Standard output and error go to files, so that no reader runs beside the measured process.
    """
    settings = {**os.environ, **SETTINGS, **(environment or {})}
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as error:
        start = time.perf_counter()
        process = subprocess.Popen(
            list(command), stdin=subprocess.DEVNULL, stdout=output, stderr=error, env=settings
        )
        timer = threading.Timer(timeout_seconds, process.kill) if timeout_seconds else None
        if timer:
            timer.start()
        try:
            _, status, usage = os.wait4(process.pid, 0)
        except BaseException:
            process.kill()
            raise
        finally:
            if timer:
                timer.cancel()
        seconds = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)  # wait4 has reaped it already
        timed_out = timeout_seconds is not None and seconds >= timeout_seconds
        message = f"\nstopped after {timeout_seconds:g} s" if timed_out else ""
        return Measurement(
            wall_seconds=seconds,
            processor_seconds=usage.ru_utime + usage.ru_stime,
            peak_bytes=usage.ru_maxrss * KILOBYTE,
            exit_status=process.returncode,
            output=read_back(output),
            error=read_back(error) + message,
        )


def read_back(stream: IO[bytes]) -> str:
    """Give what was written to a temporary file."""
    stream.seek(0)
    return stream.read().decode("utf-8", errors="replace")


def median_seconds(measurements: Sequence[Measurement]) -> float:
    """Give the median of the wall times."""
    return statistics.median(m.wall_seconds for m in measurements)


def peak_megabytes(measurements: Sequence[Measurement]) -> float:
    """Give the highest peak of all runs in MB (10^6 bytes)."""
    return max(m.peak_bytes for m in measurements) / MEGABYTE
