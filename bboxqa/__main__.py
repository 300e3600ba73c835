"""Run as ``python -m bboxqa``."""

from bboxqa.cli import main

main()
