"""Registry of diagnostics; a new one is a module of this folder and one line here."""

from collections.abc import Callable

from bboxqa.core.plugins import lookup
from bboxqa.diagnostics.agreement_groups import agreement_groups, agreement_matrix, copies
from bboxqa.diagnostics.categories import (
    category_merges,
    category_use,
    confusion_matrix,
    confusions,
    difficulty,
    supercategories,
)
from bboxqa.diagnostics.decomposition import (
    decomposition,
    decomposition_by_annotator,
    decomposition_by_category,
)
from bboxqa.diagnostics.object_cells import pair_similarity
from bboxqa.diagnostics.offsets import offsets, quarter_turns, rotated_offsets
from bboxqa.diagnostics.poses import joint_annotators, joints
from bboxqa.diagnostics.rates import annotators, boxes_per_object
from bboxqa.diagnostics.strata import (
    agreement_by_crowding,
    agreement_by_region,
    agreement_by_size,
    agreement_by_size_quarter,
)
from bboxqa.diagnostics.tracks import track_switches, tracks
from bboxqa.diagnostics.vitality import category_vitality
from bboxqa.diagnostics.work import work, work_hours, work_sessions
from bboxqa.model.diagnosis import OF_KEYPOINTS
from bboxqa.model.table import Table
from bboxqa.model.units import MatchedUnits

Diagnostic = Callable[[MatchedUnits], Table]
"""Computes a table from annotations that are matched to units."""

DIAGNOSTICS: dict[str, Diagnostic] = {
    "pair_similarity": pair_similarity,
    "decomposition": decomposition,
    "decomposition_by_category": decomposition_by_category,
    "decomposition_by_annotator": decomposition_by_annotator,
    "annotators": annotators,
    "boxes_per_object": boxes_per_object,
    "offsets": offsets,
    "category_use": category_use,
    "confusion_matrix": confusion_matrix,
    "agreement_matrix": agreement_matrix,
    "agreement_groups": agreement_groups,
    "copies": copies,
    "confusions": confusions,
    "category_merges": category_merges,
    "supercategories": supercategories,
    "difficulty": difficulty,
    "category_vitality": category_vitality,
    "agreement_by_size": agreement_by_size,
    "agreement_by_size_quarter": agreement_by_size_quarter,
    "agreement_by_crowding": agreement_by_crowding,
    "agreement_by_region": agreement_by_region,
    "work": work,
    "work_sessions": work_sessions,
    "work_hours": work_hours,
    "joints": joints,
    "joint_annotators": joint_annotators,
    "tracks": tracks,
    "track_switches": track_switches,
    "rotated_offsets": rotated_offsets,
    "quarter_turns": quarter_turns,
}

OF_TIMES = ("work", "work_sessions", "work_hours")
"""The diagnostics of data whose times were read."""

OF_ROTATED_BOXES = ("rotated_offsets", "quarter_turns")
"""The diagnostics of data whose rotated boxes are compared."""

OF_EDGES = ("offsets",)
"""The diagnostics of edges: annotators do not draw edges of rotated boxes and key points."""

OF_TRACKS = ("tracks", "track_switches")
"""The diagnostics of data whose tracks were read."""


def names(
    *,
    with_times: bool = True,
    with_keypoints: bool = True,
    with_tracks: bool = True,
    compared: str = "boxes",
) -> tuple[str, ...]:
    """Return the names of the diagnostics for the compared shapes and the read columns."""
    left_out = (
        *(() if with_times else OF_TIMES),
        *(() if with_keypoints else OF_KEYPOINTS),
        *(() if with_tracks else OF_TRACKS),
        *(OF_EDGES if compared in ("rotated boxes", "keypoints") else ()),
        *(OF_ROTATED_BOXES if compared != "rotated boxes" else ()),
    )
    return tuple(name for name in DIAGNOSTICS if name not in left_out)


def diagnostic(name: str) -> Diagnostic:
    """Return the diagnostic of a name.

    Raises ConfigError if there is no such diagnostic.
    """
    return lookup("diagnostic", DIAGNOSTICS, name)
