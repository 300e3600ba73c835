"""Agreement of files: reading, checks and measuring."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from bboxqa.core.errors import ConfigError
from bboxqa.core.pseudonyms import pseudonyms_of
from bboxqa.core.types import Files, Progress
from bboxqa.formats.dataset.reading import Predictions
from bboxqa.formats.records import LOWEST_SCORE
from bboxqa.model.choices import NO_CHOICES, Choices
from bboxqa.model.settings import AgreeSettings
from bboxqa.pipelines.agree import agree_with
from bboxqa.pipelines.read import AS_COMPARED, read_for
from bboxqa.report.agreement_result import AgreementResult

if TYPE_CHECKING:
    from bboxqa.model.annotations import Dataset


def agree_files(
    source: Files,
    settings: AgreeSettings,
    *,
    reference: str | None = None,
    predictions: Predictions | None = None,
    score: float | None = None,
    pseudonyms: Path | None = None,
    digest: bool = True,
    choices: Choices = NO_CHOICES,
    progress: Progress | None = None,
) -> AgreementResult:
    """Read files and measure how far their annotators agree, with checked settings.

    Files that would give a false result are refused with the findings of `validate`. `reference`
    is an annotator or a file; with one, the other annotators may have no image in common.
    `predictions` are the results of a model, which is one more annotator. `score` is the lowest one
    that counts in lists of results among the files. `pseudonyms` is the key file of `read_coco`.
    """
    is_file = reference is not None and Path(reference).is_file()
    reading = replace(
        AS_COMPARED,
        predictions=predictions,
        pseudonyms=pseudonyms,
        truth=Path(str(reference)) if is_file else None,
        score=LOWEST_SCORE if score is None else score,
        # With a reference, one annotator is enough.
        min_annotators=2 if reference is None else 1,
        by_files="all",
        digest=digest,
        choices=choices,
        progress=progress,
    )
    data = read_for(source, settings, reading)
    if score is not None and all(each.score is None for each in data.sources):
        raise ConfigError(
            "--score is for results: --predictions FILE, or a list of results among the files"
        )
    beside: str | Dataset | None = None
    if reference is not None:
        from bboxqa.pipelines.reference import read_reference

        if pseudonyms is not None:
            reference = pseudonyms_of(pseudonyms, ()).get(reference, reference)
        beside = read_reference(
            reference, data, settings, pseudonyms=pseudonyms, digest=digest, progress=progress
        )
    shapes = replace(reading, digest=False, outlines=True, keypoints=True)
    return agree_with(
        data,
        settings,
        reference=beside,
        read_shapes=partial(
            read_for, source, msgspec.structs.replace(settings, checks=False), shapes
        ),
        progress=progress,
    )
