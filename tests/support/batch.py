"""What runs over many projects leave."""

import re
from pathlib import Path


def left_by(out, there="", here=""):
    """Return each file of a run but its history and locks, without the time when it began.

    The name of one root is replaced by that of another one.
    """
    return {
        file.relative_to(out).as_posix(): re.sub(rb"<time>[^<]*", b"", file.read_bytes()).replace(
            there.encode(), here.encode()
        )
        for file in sorted(Path(out).rglob("*"))
        if file.is_file() and not file.name.startswith((".lock", ".root", "history."))
    }
