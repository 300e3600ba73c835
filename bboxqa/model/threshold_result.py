"""Agreement at one threshold, on the existence, the class and the place of objects."""

from dataclasses import dataclass
from math import isnan, nan

from bboxqa.model.figures import NONE, Figure, Interval
from bboxqa.model.reliability import ReliabilityData
from bboxqa.model.settings import AgreeSettings
from bboxqa.model.table import Table


@dataclass(frozen=True, slots=True)
class Existence:
    """How far annotators drew the same objects, whatever their categories."""

    f1: float
    """2 · matched / (drawn by the first + drawn by the second), pooled over pairs of annotators and
    images; NaN where nobody drew anything.
    """
    interval: Interval = NONE
    """The 95 % interval of `f1`; NaN where there is none."""
    chance: float = nan
    """F1 of annotations matched with those of other images; NaN where it cannot be measured."""
    alpha: float = nan
    """1 − (1 − f1) / (1 − chance): 0 for annotators who place objects at random."""
    alpha_interval: Interval = NONE
    reason: str = ""
    """Why there is no `alpha`; empty where there is one."""


@dataclass(frozen=True, slots=True)
class ClassAgreement:
    """How far annotators gave the same category to objects that two or more of them drew."""

    alpha: float
    """Krippendorff's nominal alpha of these objects; NaN where undefined."""
    share: float
    """The share of matched pairs of annotations with equal categories."""
    interval: Interval = NONE
    """The 95 % interval of `alpha`."""
    share_interval: Interval = NONE
    status: str = "ok"
    """Why `alpha` is undefined."""


@dataclass(frozen=True, slots=True)
class Place:
    """How similar the annotations of one object are."""

    mean_iou: float
    """The mean IoU, or the mean of the similarity in use, over matched pairs of annotations."""
    median_iou: float
    interval: Interval = NONE
    """The 95 % interval of `mean_iou`."""
    n_pairs: int = 0
    below_threshold: float = nan
    """The share of matched pairs below the threshold, which other annotations of the object join. 0
    with two annotators.
    """
    below_interval: Interval = NONE
    """The 95 % interval of `below_threshold`."""


@dataclass(frozen=True, slots=True)
class ImageAlpha:
    """The mean of alpha over the images in which alpha has a meaning."""

    mean: float = nan
    """NaN where there is no such image."""
    interval: Interval = NONE
    """The 95 % interval of `mean`."""
    n_images: int = 0
    n_drawn_images: int = 0
    """The number of images in `mean_drawn_image_alpha`, also where alpha has no meaning."""


@dataclass(frozen=True, slots=True, eq=False)
class ReferenceAgreement:
    """How far each annotator agrees with a reference, such as an expert, in its images."""

    name: str
    """The annotator or the file that is the reference."""
    n_images: int
    """The number of images of the reference that annotators were asked about; only these count."""
    n_reference_images: int
    """The number of all images of the reference."""
    n_empty_images: int
    """The number of counted images that the reference left empty."""
    n_annotations: int
    """The number of annotations of the reference in the counted images, without crowds."""
    annotators: Table
    """A row for each annotator, with precision, recall, F1, class and place, and their
    intervals."""
    offsets: Table
    """A row for each annotator and edge of the box, with its distance from the reference."""
    confusions: Table
    """A row for each category of the reference and another one that annotators gave instead."""
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
        The quantity of the threshold: "IoU", or the name of another similarity.
    iou_threshold : float
    alpha : float
        Krippendorff's nominal alpha, pooled over all units. NaN where undefined, and where it has
        no meaning: with a single category, or if one category has more than 90 % of the
        annotations.
    status : str
        "ok", or why alpha is undefined, has no meaning, or needs caution.
    interval : tuple of float
        The 95 % interval of `alpha`; NaN where there is none.
    interval_shift : float
        How far the interval was moved so that it contains `alpha`; else 0.
    observed, expected : float
        The disagreements D_o and D_e.
    mean_image_alpha : float
        The mean of alpha over all images, as published: an image in which all agree counts as 1,
        even with a single category. NaN where alpha has no meaning.
    mean_image_interval : tuple of float
    mean_drawn_image_alpha : float
        The mean of alpha over images in which somebody drew something.
    meaningful_image_alpha : ImageAlpha
        The mean of alpha over the images in which it has a meaning: images with at least two
        categories, none of which has more than 90 % of the annotations.
    share_of_images_at_1 : float
        The share of the images of `mean_image_alpha` whose alpha is 1.
    existence : Existence
        How far annotators drew the same objects.
    class_agreement : ClassAgreement
        How far they gave objects the same category.
    place : Place
        How similar the annotations of one object are.
    n_units : int
        Number of objects; annotations that are matched with each other count as one object.
    n_complete_units : int
        Number of objects drawn by every annotator who was asked.
    greedy_alpha : float
        The pooled alpha under greedy matching, which does not depend on the order of the
        annotators; NaN where there are fewer than three annotators or matching is not recursive.
    all_asked_alpha, all_asked_f1 : float
        The pooled alpha and F1 if all annotators were asked about the images that do not list who
        was. NaN where all annotators annotated every such image, or where missing annotations do
        not count.
    images, categories, pairs : Table
        Alpha by image, by category against the rest, and by pair of annotators; with F1, the share
        of equal categories and the mean similarity.
    units : Table
        A row per unit and annotator who was asked.
    reliability : ReliabilityData
        The values that all coefficients are computed from.
    repeats : Table or None
        How far annotators agree with themselves; None where no image was annotated in two sessions.
    reference : ReferenceAgreement or None
        How far annotators agree with a reference; None where there is none.
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
        """The threshold with its quantity, such as "IoU 0.5" or "centroid 0.5"."""
        return f"{self.measure} {self.iou_threshold:g}"

    @property
    def figures(self) -> tuple[Figure, ...]:
        """The headline numbers, in the order in which they are shown.

        Alpha and the mean over images come first where alpha has a meaning, otherwise existence.
        """
        existence, classes, place = self.existence, self.class_agreement, self.place
        reason = "" if self.status == "ok" else self.status
        alpha = (
            Figure("alpha", self.alpha, self.interval, reason, self.n_units),
            Figure("mean_image_alpha", self.mean_image_alpha, self.mean_image_interval),
        )
        objects = (
            Figure("f1", existence.f1, existence.interval),
            Figure("existence_alpha", existence.alpha, existence.alpha_interval, existence.reason),
            Figure(
                "class_alpha",
                classes.alpha,
                classes.interval,
                "" if classes.status == "ok" else classes.status,
                place.n_pairs,
            ),
            Figure("class_share", classes.share, classes.share_interval, n=place.n_pairs),
            Figure("mean_iou", place.mean_iou, place.interval, n=place.n_pairs),
            Figure("below_share", place.below_threshold, place.below_interval, n=place.n_pairs),
        )
        return (*objects, *alpha) if isnan(self.alpha) else (*alpha, *objects)

    def tables(self) -> dict[str, Table]:
        """Return the tables, by the names of their files."""
        found = {name: getattr(self, name) for name in ("images", "units", "pairs", "categories")}
        if self.repeats is not None:
            found["repeats"] = self.repeats
        if self.reference is not None:
            found["reference"] = self.reference.annotators
            for name in ("offsets", "confusions", "confusion_matrix"):
                found[f"reference_{name}"] = getattr(self.reference, name)
        return found

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
        """Return whether alpha and F1 reach the minimum values of the settings, if any."""
        alpha, f1 = settings.min_alpha, settings.min_f1
        return (alpha is None or self.reaches(alpha)) and (f1 is None or self.reaches_f1(f1))

    @property
    def all_agree(self) -> bool:
        """Whether alpha is undefined because all drew the same objects, all of one category."""
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
