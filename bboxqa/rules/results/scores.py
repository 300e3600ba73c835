"""E: scores of the results of detectors."""

from collections.abc import Iterator

import numpy as np

from bboxqa.formats.columns import Kind
from bboxqa.model.findings import Severity
from bboxqa.model.settings import ValidateSettings
from bboxqa.rules.base.reporting import value_hits
from bboxqa.rules.base.rule import Hits, Rule
from bboxqa.rules.facts.document import Document

_EXPECTED = "a number from 0 to 1"


def _unscored(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    """E001: results whose score is missing or not a finite number."""
    columns = document.annotations
    unscored = columns.record == Kind.DICT
    unscored[columns.scores.row[~np.isnan(columns.scores.value)]] = False
    rows = np.flatnonzero(unscored)
    yield from value_hits(document, "annotations", "score", rows, _EXPECTED)


def _out_of_range(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    """E002: scores below 0 or above 1."""
    scores = document.annotations.scores
    rows = scores.row[(scores.value < 0) | (scores.value > 1)]
    yield from value_hits(document, "annotations", "score", rows, _EXPECTED)


_SOUND = '[{"image_id": 1, "category_id": 1, "bbox": [10, 10, 20, 30], "score": 0.9}]'

RULES = (
    Rule(
        code="E001",
        title="result without a score",
        severity=Severity.ERROR,
        breaks="""COCOeval sorts results by score: it stops with a KeyError if there is none, and
            with a TypeError if it is text.""",
        explanation="""Each result of a detector has an image_id, a category_id, a bbox, a
            segmentation or keypoints, and a score. Here the score is missing, text or infinite.
            Write the confidence of the detector.""",
        bad='[{"image_id": 1, "category_id": 1, "bbox": [10, 10, 20, 30], "score": "0.9"}]',
        good=_SOUND,
        check=_unscored,
    ),
    Rule(
        code="E002",
        title="score outside 0 to 1",
        severity=Severity.WARNING,
        breaks="""COCOeval only sorts by score and gives the same AP, but confidence thresholds,
            calibration and ensembles are wrong.""",
        explanation="""Scores are probabilities from 0 to 1. Larger scores may be percentages, and
            negative scores logits. Convert them, or join only results with the same scale.""",
        bad='[{"image_id": 1, "category_id": 1, "bbox": [10, 10, 20, 30], "score": 90}]',
        good=_SOUND,
        check=_out_of_range,
    ),
)
