"""The command-line program: `bboxqa`, or ``python -m bboxqa``."""

import gc
import sys


def main() -> None:
    """Run the command line, and report a signal also while it is being imported."""
    from bboxqa.core.interrupts import ignore_signals, raising_signals, signal_of, signal_words
    from bboxqa.core.machine import set_up_process

    set_up_process()
    try:
        with raising_signals():
            from bboxqa.cli import main as run
    except (KeyboardInterrupt, RuntimeError) as error:
        number = signal_of(error)
        if number is None:
            raise
        sys.stderr.write(f"{signal_words(number)}; nothing was written.\n")
        sys.exit(128 + number)
    try:
        run()
    finally:
        # All is written: a signal while Python ends would only change the exit code.
        ignore_signals()
        # Python would look for cycles twice before it ends.
        gc.freeze()


if __name__ == "__main__":
    main()
