"""Sample size: how many more images have to be annotated by two annotators."""

from math import isnan, nan
from typing import Unpack

import msgspec
import numpy as np
from msgspec.structs import replace

from bboxqa.agreement.estimators import OK
from bboxqa.agreement.levels import alpha
from bboxqa.agreement.objects import f1_estimator
from bboxqa.agreement.resampling import TOO_FEW, Plan, plan_clusters
from bboxqa.agreement.unit_counts import unit_counts
from bboxqa.core.arrays import Progress
from bboxqa.core.errors import ConfigError
from bboxqa.model.annotations import Dataset
from bboxqa.model.settings import AgreeKeywords, AgreeSettings
from bboxqa.pipelines.agree import agree_with, checked_data
from bboxqa.pipelines.read import settings_of_keywords

_FEW_IMAGES = "too few images annotated by two or more annotators"


class ImagePlan(msgspec.Struct, frozen=True):
    """How many images two annotators must annotate for an interval of a given width."""

    alpha: float | None
    width: float | None
    """Alpha of the images in hand, and the width of its 95 % interval; None where undefined."""
    target_width: float
    n_images: int
    """Images in hand of two annotators or more."""
    n_annotators: int
    """The most frequent number of annotators of these images, which new images need as well."""
    n_needed: int | None
    n_more: int | None
    """Images needed in all, and beyond those in hand. Half of the samples of this size have a wider
    interval, half a narrower one."""
    needed_range: tuple[int, int] | None
    """The 95 % range of `n_needed`, as the images in hand are a sample."""
    status: str
    """Why nothing can be planned; else "ok"."""
    headlines: tuple[str, ...] = ()
    """Problems of the data that may make the plan useless."""
    f1: float | None = None
    """With one category alpha has no meaning, and the plan, its width included, is for this F1 of
    all pairs of annotators; None where it is for alpha."""


def plan(
    data: Dataset,
    target_width: float,
    *,
    progress: Progress | None = None,
    **settings: Unpack[AgreeKeywords],
) -> ImagePlan:
    """Return how many more images must be annotated twice for an interval of a given width.

    New images are expected to be like those in hand.

    Parameters
    ----------
    data : Dataset
        What `read` returns.
    target_width : float
        From end to end of the 95 % interval of alpha, or of F1 with one category, such as 0.05.
    progress : callable, optional
        Called as ``progress(stage, done, total)``.
    **settings
        As for `agree`, with one threshold; `bootstrap` and `seed` are those of the resampling.

    Returns
    -------
    ImagePlan

    Raises
    ------
    ConfigError
        If there are several thresholds, the target is not above 0, or a setting is not known or
        has a wrong type.
    DatasetError
        If the annotations do not have what the similarity compares, or their boxes are in another
        layout.
    TypeError
        If `data` is not a `Dataset`.

    Examples
    --------
    >>> import bboxqa
    >>> from bboxqa.examples import example_file
    >>> bboxqa.plan(bboxqa.read(example_file("fruits")), 0.1).status
    'too few images annotated by two or more annotators'
    """
    checked = settings_of_keywords(settings)
    data = checked_data(data, checked, "data")
    return plan_images(data, target_width, checked, progress)


def plan_images(
    data: Dataset, target_width: float, settings: AgreeSettings, progress: Progress | None = None
) -> ImagePlan:
    """Return how many images two annotators must annotate for an interval of a given width."""
    if len(settings.iou_threshold) != 1:
        raise ConfigError("a plan is made for one threshold; give one --iou")
    if not settings.bootstrap:
        raise ConfigError("bootstrap is 0; expected 40 or more: a plan needs an interval")
    result = agree_with(data, replace(settings, bootstrap=0), with_chance=False, progress=progress)
    first = result.thresholds[0]
    asked = data.assigned.sum(1)
    drawn = asked >= 2
    if settings.empty_images == "skip":
        drawn &= np.bincount(data.annotations.image, minlength=len(drawn)) > 0
    images = np.flatnonzero(drawn)
    of_alpha = replace(alpha(unit_counts(first.reliability, settings.missing)), clusters=images)
    value, f1 = of_alpha.value, None
    plan = plan_clusters(of_alpha, target_width, settings.bootstrap, settings.seed)
    if first.alpha_has_no_meaning:
        value, plan = nan, Plan(first.alpha_reason if plan.status == OK else plan.status)
    if plan.status not in (OK, TOO_FEW):
        of_f1 = f1_estimator(result.sums[0].objects, images)
        instead = plan_clusters(of_f1, target_width, settings.bootstrap, settings.seed)
        if instead.status == OK:
            plan, f1 = instead, of_f1.value
    return ImagePlan(
        alpha=None if isnan(value) or f1 is not None else value,
        f1=f1,
        width=None if isnan(plan.width) else plan.width,
        target_width=target_width,
        n_images=result.n_images,
        n_annotators=int(np.bincount(asked[asked >= 2], minlength=3).argmax()),
        n_needed=plan.n_needed or None,
        n_more=max(0, plan.n_needed - result.n_images) if plan.n_needed else None,
        needed_range=plan.needed_range if plan.n_needed else None,
        status=_FEW_IMAGES if plan.status == TOO_FEW else plan.status,
        headlines=data.headlines,
    )
