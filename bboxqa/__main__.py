"""The command-line program: `bboxqa`, or ``python -m bboxqa``."""

import sys
from signal import SIGINT


def main() -> None:
    """Run the command line, and report an interrupt also while it is being imported."""
    try:
        from bboxqa.cli import main as run
    except KeyboardInterrupt:
        sys.stderr.write("Interrupted; nothing was written.\n")
        sys.exit(128 + SIGINT)
    run()


if __name__ == "__main__":
    main()
