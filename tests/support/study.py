"""A published study of prepositions: its answers as tables, and the agreement it reports."""

import json
from itertools import count
from pathlib import Path

__all__ = ["AGREEMENT", "TOTAL", "write_comparison", "write_selection"]

_STUDY = json.loads((Path(__file__).parents[1] / "data" / "preposition_study.json").read_text())
_SELECTION, _COMPARISON = _STUDY["selection"], _STUDY["comparison"]
_NAMES = "n_shared", "observed", "expected", "value"


def _named(figures):
    return dict(zip(_NAMES, figures, strict=True))


AGREEMENT = {
    "selection": {task: _named(own) for task, own in _SELECTION["agreement"].items()},
    "comparison": {task: _named(own["agreement"]) for task, own in _COMPARISON.items()},
}
TOTAL = _named(_SELECTION["total"])


def write_selection(folder):
    """Write who said yes or no to each unit, task by task; return the path of the table."""
    lines = ["task,unit,annotator,value"]
    for task, answers in _SELECTION["yes"].items():
        place = count()
        for unit, annotators in enumerate(_SELECTION["asked"]):
            for who in annotators:
                value = "yes" if answers[next(place)] == "1" else "no"
                lines.append(f"{task},u{unit},annotator {who},{value}")
    return _written(folder / "selection.csv", lines)


def write_comparison(folder):
    """Write which object of each unit was picked, task by task; return the path of the table."""
    lines = ["task,unit,annotator,value,n_options"]
    for task, own in _COMPARISON.items():
        for unit, who, picked, n_options in own["answers"]:
            value = f"object {picked}" if picked else "none"
            lines.append(f"{task},u{unit},annotator {who},{value},{n_options}")
    return _written(folder / "comparison.csv", lines)


def _written(path, lines):
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path
