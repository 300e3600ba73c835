"""How many more images have to be annotated twice: from the data in hand to a plan."""

from dataclasses import dataclass
from math import isnan

import msgspec
import numpy as np

from bboxqa.agreement.alpha.levels import alpha
from bboxqa.agreement.counts.unit_counts import unit_counts
from bboxqa.agreement.uncertainty.sample_size import plan_clusters
from bboxqa.core.errors import ConfigError
from bboxqa.core.types import Progress
from bboxqa.model.annotations import Dataset
from bboxqa.model.settings import AgreeSettings
from bboxqa.pipelines.agree import agree_with

__all__ = ["ImagePlan", "plan_images"]


@dataclass(frozen=True, slots=True)
class ImagePlan:
    """How many images have to be annotated twice for an interval as narrow as wanted.

    Attributes
    ----------
    alpha, width : float or None
        Of the data in hand, and of its 95 % interval, from end to end; None where undefined.
    target_width : float
    n_images : int
        Images in hand that two annotators or more were asked about.
    n_annotators : int
        How many were asked about most of these: new images need as many.
    n_needed, n_more : int or None
        Images in all, and beyond those in hand.
    status : str
        "ok", or why nothing can be planned.
    """

    alpha: float | None
    width: float | None
    target_width: float
    n_images: int
    n_annotators: int
    n_needed: int | None
    n_more: int | None
    status: str


def plan_images(
    data: Dataset,
    target_width: float,
    settings: AgreeSettings,
    progress: Progress | None = None,
) -> ImagePlan:
    """Say how many images must be annotated twice for an interval of alpha of a given width.

    Parameters
    ----------
    data : Dataset
        What `read_coco` returns.
    target_width : float
        From end to end.
    settings : AgreeSettings
        With one threshold; its `bootstrap` and `seed` are those of the resampling.
    progress : callable, optional
        As for `agree`.

    Returns
    -------
    ImagePlan
        Images in which nothing was drawn say nothing about alpha; as many of them are expected
        among the new ones as among those in hand.

    Raises
    ------
    ConfigError
        If there are several thresholds, or the target is not above 0.
    """
    if len(settings.iou_threshold) != 1:
        raise ConfigError("a plan is made for one IoU threshold; give one --iou")
    if not settings.bootstrap:
        raise ConfigError("bootstrap: found 0; a plan needs the interval of the data in hand")
    result = agree_with(data, msgspec.structs.replace(settings, bootstrap=0), progress=progress)
    counts = unit_counts(result.thresholds[0].reliability, settings.missing)
    plan = plan_clusters(alpha(counts), target_width, settings.bootstrap, settings.seed)
    measured = plan.status == "ok"
    asked = data.assigned.sum(1)
    needed = -(-plan.n_needed * result.n_images // max(plan.n_clusters, 1))
    return ImagePlan(
        alpha=None if isnan(plan.value) else plan.value,
        width=None if isnan(plan.width) else plan.width,
        target_width=target_width,
        n_images=result.n_images,
        n_annotators=int(np.bincount(asked[asked >= 2], minlength=3).argmax()),
        n_needed=needed if measured else None,
        n_more=max(0, needed - result.n_images) if measured else None,
        status=plan.status,
    )
