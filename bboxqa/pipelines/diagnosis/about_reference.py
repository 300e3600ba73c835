"""Sentences about annotators and a reference: who agrees least with it."""

from collections.abc import Iterator

import numpy as np

from bboxqa.model.threshold_result import ThresholdResult
from bboxqa.pipelines.diagnosis.about_annotators import LEAST_IMAGES
from bboxqa.pipelines.diagnosis.sentences import Bounds, Sentence, above_others, bounds


def reference_sentences(part: ThresholdResult) -> Iterator[Sentence]:
    """Yield who surely agrees less with the reference than the others do, if anybody does.

    Of two annotators, the intervals must not overlap.
    """
    if part.reference is None:
        return
    table = part.reference.annotators
    f1 = bounds(table, "f1")
    few = table["n_images"] < LEAST_IMAGES
    error = Bounds(1 - f1.value, *(np.where(few, np.nan, 1 - end) for end in (f1.high, f1.low)))
    worst = above_others(error)[:1].tolist()
    if len(table) == 2 and not error.low.max() > error.high.min():
        worst = []
    for place in worst:
        name, others = table["annotator"][place], np.delete(f1.value, place)
        rest = "that of the other one" if len(table) == 2 else "the median of the others"
        precision, recall = bounds(table, "precision"), bounds(table, "recall")
        yield Sentence(
            1.0,
            f"{name} agrees least with the reference {part.reference.name}: F1 "
            f"{f1.value[place]:.2f} [{f1.low[place]:.2f}, {f1.high[place]:.2f}], {rest} is "
            f"{np.nanmedian(others):.2f}; {recall.percent(place)} of its objects are matched by "
            f"{name}, and {precision.percent(place)} of what {name} drew match one of them",
        )
