"""Registry of diagnostics; a new one is a module of this folder and one line here."""

from collections.abc import Callable
from importlib import import_module

from bboxqa.core.plugins import lookup
from bboxqa.model.annotations import Dataset
from bboxqa.model.diagnosis import OF_KEYPOINTS
from bboxqa.model.table import Table
from bboxqa.model.units import MatchedUnits

Diagnostic = Callable[[MatchedUnits], Table]
"""Computes a table from annotations that are matched to units."""

DIAGNOSTICS: dict[str, Diagnostic | str] = {
    "decomposition": "decomposition",
    "decomposition_by_category": "decomposition",
    "decomposition_by_annotator": "decomposition",
    "annotators": "rates",
    "boxes_per_object": "rates",
    "offsets": "offsets",
    "confusion_matrix": "categories",
    "agreement_matrix": "annotator_pairs",
    "copies": "annotator_pairs",
    "confusions": "categories",
    "agreement_by_size": "strata",
    "agreement_by_crowding": "strata",
    "agreement_by_region": "strata",
    "work": "over_time",
    "work_sessions": "over_time",
    "joints": "poses",
    "joint_annotators": "poses",
    "tracks": "over_time",
    "track_switches": "over_time",
    "rotated_offsets": "offsets",
    "quarter_turns": "offsets",
}
"""Each function, or the module of this folder that has it under this name, loaded when used."""


def names(data: Dataset, compared: str) -> tuple[str, ...]:
    """Return the names of the diagnostics for the compared shapes and the columns of the data."""
    drawn = data.annotations
    needs = (
        (drawn.times is not None, ("work", "work_sessions")),
        (drawn.keypoints is not None and bool(data.joint_sigmas), OF_KEYPOINTS),
        (drawn.track is not None, ("tracks", "track_switches")),
        (compared not in ("rotated boxes", "keypoints"), ("offsets",)),
        (compared == "rotated boxes", ("rotated_offsets", "quarter_turns")),
    )
    left_out = {name for holds, these in needs if not holds for name in these}
    return tuple(name for name in DIAGNOSTICS if name not in left_out)


def diagnostic(name: str) -> Diagnostic:
    """Return the diagnostic of a name."""
    found = lookup("diagnostic", DIAGNOSTICS, name)
    if isinstance(found, str):
        made: Diagnostic = getattr(import_module(f"bboxqa.diagnostics.{found}"), name)
        return made
    return found
