"""Agreement on segments of time: coefficients of recordings, for each tier."""

from math import isnan
from typing import Any, Literal

import numpy as np
from msgspec.structs import replace

from bboxqa.agreement.consistency import CRONBACH_WARNING, cronbach_of_points
from bboxqa.agreement.over_time import Overlaps, label_agreement, sweep
from bboxqa.core.arrays import Progress
from bboxqa.core.errors import ConfigError
from bboxqa.model.ratings import LabelAgreement, Segments, TaskEstimates
from bboxqa.pipelines.ratings import estimates_of, measure, missing_intervals

COEFFICIENTS = ("krippendorff_alpha", "cohen_kappa", "percent_agreement")
STRETCHES = "units are the stretches of time between boundaries, each weighted by its length"
_POINTS = "cronbach_alpha has points in time as items here, and annotators as cases"


def measure_segments(
    segments: Segments,
    *,
    resolution_ms: int = 1,
    support: Literal["all", "marked"] = "all",
    overlaps: Overlaps = "refuse",
    bootstrap: int = 1000,
    seed: int = 0,
    interval: str = "percentile",
    progress: Progress | None = None,
) -> list[TaskEstimates]:
    """Measure how far annotators agree on what happens when, for each tier and for all together.

    Units are the stretches of time between boundaries. Points in time are `resolution_ms` apart;
    `support` is whether to count the time in which nobody marked anything; `overlaps` which of
    overlapping segments of an annotator counts.
    """
    longest = int(segments.duration.max(initial=0))
    if 0 < longest < resolution_ms:
        raise ConfigError(
            f"resolution is {resolution_ms:,} ms, and the longest recording has {longest:,} ms; "
            "expected several points in each"
        )
    resampling: dict[str, Any] = {"bootstrap": bootstrap, "seed": seed, "interval": interval}
    tiers: list[str | None] = [*segments.tier_names]
    found = []
    for tier in (*tiers, None) if len(tiers) > 1 else tiers:
        ratings = sweep(
            segments, tier, resolution_ms=resolution_ms, support=support, overlaps=overlaps
        )
        task = "all tiers" if tier is None else tier
        estimates = measure(ratings, COEFFICIENTS, task=task, progress=progress, **resampling)
        shares = dict(zip(ratings.value_names, label_agreement(ratings), strict=True))
        estimators = {f"label {label}": share for label, share in shares.items()}
        estimators["cronbach_alpha"] = cronbach_of_points(ratings)
        estimated = estimates_of(estimators, **resampling)
        labels = []
        for label, share in shares.items():
            times = (0, 0, 0)
            if not isnan(share.value):
                both, either = share.sums
                times = (int(both.sum()), int(either.sum()), int(np.count_nonzero(either)))
            labels.append(LabelAgreement(label, estimated[f"label {label}"], *times))
        missing = missing_intervals(estimated, "cluster") if bootstrap else ()
        own_notes = dict.fromkeys((*estimates.notes[len(ratings.notes) :], *missing))
        notes = STRETCHES, *segments.notes, *own_notes, _POINTS, CRONBACH_WARNING, *ratings.notes
        coefficients = {**estimates.coefficients, "cronbach_alpha": estimated["cronbach_alpha"]}
        found.append(
            replace(estimates, labels=tuple(labels), coefficients=coefficients, notes=notes)
        )
    return found


def shown_in_text(found: TaskEstimates) -> TaskEstimates:
    """Return estimates without Cronbach's alpha, which says nothing here, and notes on it."""
    kept = {name: each for name, each in found.coefficients.items() if name != "cronbach_alpha"}
    notes = tuple(each for each in found.notes if each not in (_POINTS, CRONBACH_WARNING))
    return replace(found, coefficients=kept, notes=notes)
