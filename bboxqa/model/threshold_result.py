"""Agreement at one threshold: whether objects exist, of which class they are, and where."""

from dataclasses import dataclass
from math import isnan, nan

from bboxqa.model.reliability import ReliabilityData
from bboxqa.model.settings import AgreeSettings
from bboxqa.model.table import Table

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
    below_threshold: float = nan
    """The share of matched pairs that do not reach the threshold themselves: other annotations of
    the object join them. 0 with two annotators."""
    below_interval: Interval = NONE
    """The 95 % interval of `below_threshold`."""


@dataclass(frozen=True, slots=True)
class ImageAlpha:
    """The mean of alpha over the images in which it has a meaning."""

    mean: float = nan
    """NaN where there is no such image."""
    interval: Interval = NONE
    """The 95 % interval of `mean`."""
    n_images: int = 0
    n_drawn_images: int = 0
    """The images of `mean_drawn_image_alpha`: also those of one category, or of more than 90 %."""


@dataclass(frozen=True, slots=True, eq=False)
class ReferenceAgreement:
    """How far each annotator agrees with a reference, such as an expert, in its images."""

    name: str
    """The annotator or the file that is the reference."""
    n_images: int
    """The images of the reference that annotators were asked about: only these count."""
    n_reference_images: int
    """All images of the reference."""
    n_empty_images: int
    """Of the images that count, those that the reference left empty."""
    n_annotations: int
    """What the reference drew in the images that count, without crowds."""
    annotators: Table
    """A row for each annotator, with precision, recall, F1, class and place, and their
    intervals."""
    offsets: Table
    """A row for each annotator and edge of the box: how far it is from that of the reference."""
    confusions: Table
    """A row for each two categories of which annotators give one where the reference has the
    other."""
    confusion_matrix: Table
    """A row for each annotator, category and category of the reference that occur together."""

    def __repr__(self) -> str:
        return (
            f"<ReferenceAgreement with {self.name!r}: {self.n_images:,} of "
            f"{self.n_reference_images:,} images, {self.n_annotations:,} annotations>"
        )


@dataclass(frozen=True, slots=True, eq=False)
class ThresholdResult:
    """Agreement at one threshold.

    Attributes
    ----------
    measure : str
        What the threshold is a value of: "IoU", or the name of a similarity of another kind.
    iou_threshold : float
    alpha : float
        Krippendorff's nominal alpha, pooled over all units; NaN where undefined, and where it has
        no meaning: with one category, or one of more than 90 % of the annotations.
    status : str
        "ok", or why alpha is undefined, has no meaning or is special.
    interval : tuple of float
        The 95 % interval of `alpha`; NaN where there is none.
    interval_shift : float
        By how much the interval was moved, since it did not contain `alpha`; else 0.
    observed, expected : float
        The disagreements D_o and D_e.
    mean_image_alpha : float
        The mean of alpha over all images, as published: 1 where all agree, also on one category.
        NaN where alpha has no meaning.
    mean_image_interval : tuple of float
    mean_drawn_image_alpha : float
        The mean of alpha over images in which somebody drew something.
    meaningful_image_alpha : ImageAlpha
        The mean of alpha over the images in which it has a meaning: those of two categories or more
        of which none has more than 90 % of the annotations.
    share_of_images_at_1 : float
        The share of the images of `mean_image_alpha` whose alpha is 1.
    existence : Existence
        How far annotators drew the same objects.
    class_agreement : ClassAgreement
        How far they named them alike.
    place : Place
        How similar the annotations of one object are.
    n_units : int
        Number of objects: annotations that are matched with each other are one.
    n_complete_units : int
        Number of objects drawn by every annotator who was asked.
    greedy_alpha : float
        The pooled alpha under greedy matching, which does not depend on the order of the
        annotators; NaN where there are fewer than three annotators or matching is not recursive.
    all_asked_alpha, all_asked_f1 : float
        The pooled alpha and F1 if all annotators were asked about the images that do not list who
        was; NaN where no such image was annotated by some of them only, or missing ones do not
        count.
    images, categories, pairs : Table
        Alpha by image, by category against the rest, and by pair of annotators, with F1, the share
        of equal categories and the mean similarity.
    units : Table
        A row per unit and annotator who was asked.
    reliability : ReliabilityData
        The values that all coefficients are computed from.
    repeats : Table or None
        How far annotators agree with themselves; None where no sessions were read or repeated.
    reference : ReferenceAgreement or None
        How far they agree with a reference; None where there is none.
    """

    measure: str
    iou_threshold: float
    alpha: float
    status: str
    interval: tuple[float, float]
    interval_shift: float
    observed: float
    expected: float
    mean_image_alpha: float
    mean_image_interval: tuple[float, float]
    mean_drawn_image_alpha: float
    meaningful_image_alpha: ImageAlpha
    share_of_images_at_1: float
    existence: Existence
    class_agreement: ClassAgreement
    place: Place
    n_units: int
    n_complete_units: int
    greedy_alpha: float
    all_asked_alpha: float
    all_asked_f1: float
    images: Table
    categories: Table
    pairs: Table
    units: Table
    reliability: ReliabilityData
    repeats: Table | None = None
    reference: ReferenceAgreement | None = None

    @property
    def threshold_label(self) -> str:
        """The threshold with what it is a value of, such as "IoU 0.5" or "centroid 0.5"."""
        return f"{self.measure} {self.iou_threshold:g}"

    @property
    def alpha_has_no_meaning(self) -> bool:
        """Whether alpha is left out though it could be computed."""
        return isnan(self.alpha) and self.expected > 0

    @property
    def alpha_reason(self) -> str:
        """Why there is no alpha; empty where there is one."""
        return self.status if isnan(self.alpha) else ""

    def reaches(self, lowest: float) -> bool:
        """Return whether alpha is at least `lowest`, or all annotators agree on everything."""
        return self.all_agree or self.alpha >= lowest

    def reaches_f1(self, lowest: float) -> bool:
        """Return whether F1 is at least `lowest`."""
        return self.existence.f1 >= lowest

    def passes(self, settings: AgreeSettings) -> bool:
        """Return whether alpha and F1 reach the lowest values that are accepted, if there are."""
        alpha, f1 = settings.min_alpha, settings.min_f1
        return (alpha is None or self.reaches(alpha)) and (f1 is None or self.reaches_f1(f1))

    @property
    def all_agree(self) -> bool:
        """Whether alpha is undefined since all drew the same objects, all of one category."""
        complete = 0 < self.n_units == self.n_complete_units
        return isnan(self.alpha) and complete and self.observed == 0

    def __repr__(self) -> str:
        low, high = self.interval
        alpha = self.status if isnan(self.alpha) else f"{self.alpha:z.4f}"
        interval = "" if isnan(low) else f" [{low:z.4f}, {high:z.4f}]"
        return (
            f"<ThresholdResult {self.threshold_label}: alpha {alpha}{interval}, "
            f"mean over images {self.mean_image_alpha:z.4f}, F1 {self.existence.f1:.4f}, "
            f"{self.n_units:,} units>"
        )
