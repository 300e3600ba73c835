"""Recognising the files that bboxqa itself writes beside annotations."""

from pathlib import Path

REVIEW_QUEUE = "review.json"
"""The name of the annotations to review first, which `agree --out` writes."""
RESULT_FILES = frozenset({"manifest.json", "summary.json"})
"""The JSON files that `agree --out` and `compare --out` always write next to their tables."""
WRITTEN_FILES = RESULT_FILES | {
    "diagnosis.json", "diagnosis.schema.json", REVIEW_QUEUE, "worst_images.json",
}  # fmt: skip
"""All JSON files that these commands may write."""


def is_result(file: Path) -> bool:
    """Return whether a file was written by `agree` or `compare --out`, or by `validate --fix`."""
    if file.name.lower().endswith(".fixed.json"):
        return file.with_name(Path(file.stem).stem + file.suffix).is_file()
    is_json = file.name.lower().endswith(".json")
    if is_json and file.name not in WRITTEN_FILES:
        return False
    if not all(file.with_name(name).is_file() for name in RESULT_FILES):
        return False
    return any(file.with_name(table).is_file() for table in ("units.csv", "changes.csv"))


def is_review_queue(file: Path) -> bool:
    """Return whether a file is the review queue in a result of `agree --out`."""
    return file.name == REVIEW_QUEUE and is_result(file)
