"""Changes of agreement over sessions (drift) and within them (fatigue)."""

import numpy as np

from bboxqa.core.arrays import BoolArray, IntArray
from bboxqa.diagnostics.work.image_work import ImageWork
from bboxqa.diagnostics.work.sessions import WorkSessions
from bboxqa.diagnostics.work.slopes import Slopes, f1_slopes
from bboxqa.model.table import Categorical, Column
from bboxqa.model.units import MatchedUnits

LEAST_SESSIONS, LEAST_IMAGES, LEAST_MINUTES = 3, 10, 30
"""With fewer sessions or images, or shorter sessions, changes are not reported."""

OK = "ok"
IMPORTED = "annotations made at once, as an import does"
FEW_SESSIONS = f"fewer than {LEAST_SESSIONS} sessions"
SHORT_SESSIONS = f"no session of {LEAST_MINUTES} minutes"
FEW_IMAGES = f"fewer than {LEAST_IMAGES} images with times"
_STATUSES = (OK, FEW_SESSIONS, SHORT_SESSIONS, FEW_IMAGES, IMPORTED)


def changes(
    matched: MatchedUnits, work: ImageWork, sessions: WorkSessions, at_once: BoolArray
) -> dict[str, Column]:
    """Return the columns of drift and fatigue, of A annotators and of all.

    Each is a slope with its interval over images, and a status: "ok", or why there is no slope.
    `at_once`, (A,) bool, marks annotators who made most annotations at once.
    """
    n_annotators, owner = len(at_once), sessions.annotator
    used = work.take(np.flatnonzero(~at_once[work.annotator]))
    # Sessions are compared with others of their annotator, images with others of their session.
    session = sessions.number[used.session].astype(np.float64)
    over = (session, used.annotator, np.arange(n_annotators))
    within = (used.elapsed / 3600, used.session, owner)
    n_sessions = np.bincount(owner, minlength=n_annotators)
    longest = np.zeros(n_annotators)
    np.maximum.at(longest, owner, sessions.length)
    few = np.bincount(work.annotator, minlength=n_annotators) < LEAST_IMAGES
    columns: dict[str, Column] = {}
    for name, (x, group, owners), is_short, reason in (
        ("drift", over, n_sessions < LEAST_SESSIONS, FEW_SESSIONS),
        ("fatigue", within, longest < 60 * LEAST_MINUTES, SHORT_SESSIONS),
    ):
        code = np.zeros(n_annotators, np.int32)
        code[few] = _STATUSES.index(FEW_IMAGES)
        code[is_short] = _STATUSES.index(reason)
        code[at_once] = _STATUSES.index(IMPORTED)
        slopes = f1_slopes(
            used, x, group, owners, n_annotators,
            len(matched.data.image_names), matched.bootstrap, matched.seed,
        )  # fmt: skip
        everyone = code.min(initial=len(_STATUSES) - 1)
        columns |= _columns(name, slopes, np.append(code, everyone).astype(np.int32))
    return columns


def _columns(name: str, found: Slopes, code: IntArray) -> dict[str, Column]:
    """Return the slopes with a status; slopes without enough data are NaN."""
    unknown = code > 0
    return {
        name: np.where(unknown, np.nan, found.value),
        f"{name}_low": np.where(unknown, np.nan, found.interval[:, 0]),
        f"{name}_high": np.where(unknown, np.nan, found.interval[:, 1]),
        f"{name}_status": Categorical(code, _STATUSES),
    }
