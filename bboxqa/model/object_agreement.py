"""What agreement is made of: whether objects exist, of which class they are, and where."""

from dataclasses import dataclass
from math import nan

Interval = tuple[float, float]
NONE: Interval = (nan, nan)


@dataclass(frozen=True, slots=True)
class Existence:
    """How far annotators drew the same objects, whatever their categories."""

    f1: float
    """2 · matched / (drawn by one + drawn by the other), pooled over pairs of annotators and
    images; NaN where nobody drew anything."""
    interval: Interval = NONE
    """The 95 % interval of `f1`; NaN where there is none."""
    chance: float = nan
    """F1 of annotations with those of other images; NaN where it cannot be measured."""
    alpha: float = nan
    """1 − (1 − f1) / (1 − chance): 0 for annotators who place objects at random."""
    alpha_interval: Interval = NONE
    reason: str = ""
    """Why there is no `alpha`; empty where there is one."""


@dataclass(frozen=True, slots=True)
class ClassAgreement:
    """How far annotators gave the same category to the objects that two or more drew."""

    alpha: float
    """Krippendorff's nominal alpha of these objects; NaN where undefined."""
    share: float
    """The share of matched pairs of annotations that have equal categories."""
    interval: Interval = NONE
    """The 95 % interval of `alpha`."""
    share_interval: Interval = NONE
    status: str = "ok"
    """Why `alpha` is undefined."""


@dataclass(frozen=True, slots=True)
class Place:
    """How similar the annotations of one object are."""

    mean_iou: float
    """The mean over matched pairs of annotations of their IoU, or of the similarity in use."""
    median_iou: float
    interval: Interval = NONE
    """The 95 % interval of `mean_iou`."""
    n_pairs: int = 0
