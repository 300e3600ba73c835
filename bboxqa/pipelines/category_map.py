"""How mapping categories to others (`--map`) changes alpha."""

from collections.abc import Iterator
from math import isnan

import numpy as np

from bboxqa.agreement.alpha.nominal import nominal_estimator
from bboxqa.agreement.counts.unit_counts import coincidences
from bboxqa.agreement.uncertainty.estimator import Estimator
from bboxqa.agreement.uncertainty.resampling import paired_difference
from bboxqa.model.results import MeasuredAgreement, ThresholdResult


def map_notes(without: MeasuredAgreement, mapped: MeasuredAgreement) -> Iterator[str]:
    """Yield a note for each threshold: alpha of the same files without and with the map.

    The interval of the difference draws the same images for both.
    """
    settings = mapped.settings
    for before, after in zip(without.thresholds, mapped.thresholds, strict=True):
        text = f"with --map, {after.threshold_label}: alpha {_alpha(before)} → {_alpha(after)}"
        if not isnan(before.alpha) and not isnan(after.alpha):
            old, new = (_estimator(part, settings.missing) for part in (before, after))
            images = np.arange(after.reliability.n_groups)
            found = paired_difference(new, old, images, images, settings.bootstrap, settings.seed)
            low, high = found.interval
            text += f", difference {found.value:+z.4f}"
            text += "" if isnan(low) else f" [{low:z.4f}, {high:z.4f}]"
        yield text


def _alpha(part: ThresholdResult) -> str:
    return f"– ({part.status})" if isnan(part.alpha) else f"{part.alpha:z.4f}"


def _estimator(part: ThresholdResult, missing: str) -> Estimator:
    return nominal_estimator(coincidences(part.reliability, missing))
