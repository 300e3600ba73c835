"""The program: `bboxqa`, or ``python -m bboxqa``."""

import sys
from signal import SIGINT


def main() -> None:
    """Run the command line; an interrupt while it is loaded is told as any other."""
    try:
        from bboxqa.cli import main as run
    except KeyboardInterrupt:
        sys.stderr.write("Interrupted; nothing was written.\n")
        sys.exit(128 + SIGINT)
    run()


if __name__ == "__main__":
    main()
