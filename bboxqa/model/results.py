"""Results of measuring agreement: figures and tables, at one threshold and at all."""

from collections.abc import Callable, Mapping
from functools import cached_property
from math import isnan, nan
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import msgspec

from bboxqa.core.arrays import listed_by
from bboxqa.core.errors import ConfigError
from bboxqa.core.text import count, unknown_name
from bboxqa.model.annotations import Choices, Source
from bboxqa.model.diagnosis import Diagnosis
from bboxqa.model.settings import AgreeSettings
from bboxqa.model.table import Table, stacked_tables
from bboxqa.model.units import ReliabilityData

if TYPE_CHECKING:
    import pandas as pd

Interval = tuple[float, float]
_Value = TypeVar("_Value")
NONE: Interval = (nan, nan)
"""The bounds of an interval that is not known."""


class Figure(msgspec.Struct, frozen=True):
    """A number that is shown: text and page render the same list of figures."""

    name: str
    """What it is called, such as "Existence"."""
    value: float = nan
    """NaN where undefined or without meaning."""
    interval: Interval = NONE
    """Its 95 % interval; NaN where there is none."""
    reason: str = ""
    """What it means, or why there is none; "" where there is nothing to say."""

    @property
    def is_known(self) -> bool:
        """Whether there is a value."""
        return not isnan(self.value)


class Existence(msgspec.Struct, frozen=True):
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


class ClassAgreement(msgspec.Struct, frozen=True):
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


class Place(msgspec.Struct, frozen=True):
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


class ImageAlpha(msgspec.Struct, frozen=True):
    """The mean of alpha over the images in which alpha has a meaning."""

    mean: float = nan
    """NaN where there is no such image."""
    interval: Interval = NONE
    """The 95 % interval of `mean`."""
    n_images: int = 0


class ReferenceAgreement(msgspec.Struct, frozen=True, eq=False):
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


def _made(name: str) -> "cached_property[Table]":
    """Return a table of a `ThresholdResult` that is made on first use."""
    return cached_property(lambda result: result.make_tables[name]())


class ThresholdResult(msgspec.Struct, frozen=True, eq=False, dict=True):
    """Agreement at one threshold."""

    measure: str
    """The quantity of the threshold: "IoU", or the name of another similarity."""
    iou_threshold: float
    alpha: float
    """Krippendorff's nominal alpha, pooled over all units. NaN where undefined, and where it has no
    meaning: with a single category."""
    status: str
    """Why alpha is undefined, has no meaning, or needs caution; else "ok"."""
    interval: tuple[float, float]
    """The 95 % interval of `alpha`; NaN where there is none."""
    largest_category: tuple[str, float]
    """The most frequent category and its share of the annotations; "" and NaN without any."""
    observed: float
    expected: float
    """The disagreements D_o and D_e."""
    mean_image_alpha: float
    """The mean of alpha over all images, as published: an image in which all agree counts as 1,
    even with a single category. NaN where alpha has no meaning."""
    mean_image_interval: tuple[float, float]
    mean_drawn_image_alpha: float
    """The mean of alpha over images in which somebody drew something."""
    meaningful_image_alpha: ImageAlpha
    """The mean of alpha over the images in which it has a meaning: images with at least two
    categories."""
    share_of_images_at_1: float
    """The share of the images of `mean_image_alpha` whose alpha is 1."""
    existence: Existence
    """How far annotators drew the same objects."""
    class_agreement: ClassAgreement
    """How far they gave objects the same category."""
    place: Place
    """How similar the annotations of one object are."""
    n_units: int
    """Number of objects; annotations that are matched with each other count as one object."""
    n_complete_units: int
    """Number of objects drawn by every annotator who was asked."""
    greedy_alpha: float
    """The pooled alpha under greedy matching, which does not depend on the order of the annotators;
    NaN where there are fewer than three annotators or matching is not recursive."""
    make_tables: Mapping[str, Callable[[], Table]]
    """Make `images`, `pairs`, `categories` and `units`, which only some views read."""
    reliability: ReliabilityData
    """The values that all coefficients are computed from."""
    all_asked_alpha: float = nan
    all_asked_f1: float = nan
    """The pooled alpha and F1 if all annotators were asked about the images that do not list who
    was. NaN where all annotators annotated every such image, or where missing annotations do not
    count."""
    repeats: Table | None = None
    """How far annotators agree with themselves; None where no image was annotated in two sessions.
    """
    reference: ReferenceAgreement | None = None
    """How far annotators agree with a reference; None where there is none."""

    images = _made("images")
    """Alpha by image; with F1, the share of equal categories and the mean similarity."""
    pairs = _made("pairs")
    """Alpha by pair of annotators, with the same figures as images."""
    categories = _made("categories")
    """Alpha by category against the rest, with the same figures as images."""
    units = _made("units")
    """A row per unit and annotator who was asked."""

    @property
    def threshold_label(self) -> str:
        """The threshold with its quantity, such as "IoU 0.5" or "centroid 0.5"."""
        return f"{self.measure} {self.iou_threshold:g}"

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

    @property
    def is_unanimous(self) -> bool:
        """Whether everybody drew every object, with the same category."""
        # Two boxes of a unit may be joined by a third alone, and are no pair then.
        is_whole = 0 < self.n_units == self.n_complete_units and self.existence.f1 == 1
        return is_whole and self.class_agreement.share == 1

    def __repr__(self) -> str:
        low, high = self.interval
        alpha = self.status if isnan(self.alpha) else f"{self.alpha:z.4f}"
        interval = "" if isnan(low) else f" [{low:z.4f}, {high:z.4f}]"
        return (
            f"<ThresholdResult {self.threshold_label}: alpha {alpha}{interval}, "
            f"mean over images {self.mean_image_alpha:z.4f}, F1 {self.existence.f1:.4f}, "
            f"{self.n_units:,} units>"
        )


class _OfFirst(Generic[_Value]):
    """An attribute of a `MeasuredAgreement` that is the one of its first threshold."""

    def __set_name__(self, _owner: type, name: str) -> None:
        self._name = name

    def __get__(self, result: "MeasuredAgreement | None", _owner: type) -> _Value:
        found: Any = self if result is None else getattr(result.thresholds[0], self._name)
        return found  # type: ignore[no-any-return]


class MeasuredAgreement(msgspec.Struct, frozen=True, eq=False):
    """How far annotators agree, at one or more thresholds.

    `alpha`, `interval`, `mean_image_alpha`, `existence`, `class_agreement`, `place`, `images`,
    `categories`, `pairs`, `units`, `repeats` and `reference` are those of the first threshold, as
    the story, the charts and the page are. Those of the others are in `thresholds`.
    """

    thresholds: tuple[ThresholdResult, ...]
    """In the order of the settings."""
    annotator_names: tuple[str, ...]
    """Those who were compared, sorted."""
    n_images: int
    n_annotations: int
    """Numbers of what was measured, without crowd annotations."""
    n_crowd: int
    """Number of crowd annotations, which are left out."""
    n_empty_images: int
    """Number of images that all their annotators left empty."""
    settings: AgreeSettings
    """The settings of the measurement."""
    version: str
    """The version of bboxqa."""
    attribution: str
    """How the annotators were identified."""
    sources: tuple[Source, ...]
    """The files that were read."""
    reading: Choices
    """What the user said about the files, by option, such as ``{"voc_base": "0"}``."""
    notes: tuple[str, ...]
    """Remarks needed to read the numbers."""
    headlines: tuple[str, ...]
    """The first of `notes`: facts that may make the numbers useless."""
    why_slow: str
    """Why the story takes longer than the figures and is not shown unasked; "" where it is."""
    n_worst: int = 1000
    """The most of the worst images that a diagnosis keeps."""

    def diagnose(self) -> Diagnosis:
        """Return the story with the tables behind it, and what to review first."""
        raise NotImplementedError

    def table(self, name: str) -> "pd.DataFrame":
        """Return a table of all thresholds, as `--out` writes it, or one of the diagnosis.

        Tables of thresholds begin with the column ``iou_threshold``. They are images, categories,
        pairs, units, repeats, reference, reference_offsets, reference_confusions and
        reference_confusion_matrix. Needs pandas; without it, `categories` and the like are tables
        of numpy arrays. Raises ConfigError if the result has no such table.
        """
        found = self.threshold_tables()
        if name in found:
            return stacked_tables(found[name]).to_pandas()
        diagnosis = self.diagnose()
        others = {**diagnosis.tables, "review": diagnosis.review}
        if name not in others:
            raise ConfigError(f"table {unknown_name(name, [*found, *others])}")
        return others[name].to_pandas()

    def threshold_tables(self) -> dict[str, list[tuple[float, Table]]]:
        """Return the tables of each threshold with the threshold, by name."""
        return listed_by(
            (name, (part.iou_threshold, table))
            for part in self.thresholds
            for name, table in part.tables().items()
        )

    @property
    def n_annotators(self) -> int:
        """The number of annotators."""
        return len(self.annotator_names)

    alpha = _OfFirst[float]()
    """Krippendorff's alpha, pooled over all units."""
    interval = _OfFirst[Interval]()
    """The 95 % interval of `alpha`."""
    mean_image_alpha = _OfFirst[float]()
    """The mean of alpha over images."""
    status = _OfFirst[str]()
    """Why `alpha` is undefined, or "ok"."""
    existence = _OfFirst[Existence]()
    """How far annotators drew the same objects."""
    class_agreement = _OfFirst[ClassAgreement]()
    """How far annotators gave objects the same category."""
    place = _OfFirst[Place]()
    """How similar the annotations of one object are."""
    images = _OfFirst[Table]()
    """Alpha by image."""
    categories = _OfFirst[Table]()
    """Alpha by category against the rest."""
    pairs = _OfFirst[Table]()
    """Alpha by pair of annotators."""
    units = _OfFirst[Table]()
    """A row per unit and annotator."""
    repeats = _OfFirst[Table | None]()
    """How far annotators agree with themselves; None where no image was annotated again."""
    reference = _OfFirst[ReferenceAgreement | None]()
    """How far annotators agree with a reference; None where there is none."""

    def __repr__(self) -> str:
        lines = [
            (
                f"<AgreementResult: {count(self.n_images, 'image')}, "
                f"{count(self.n_annotators, 'annotator')}, "
                f"{count(self.n_annotations, 'annotation')}, "
                f"similarity {self.settings.similarity!r}, matcher {self.settings.matcher!r}"
            )
        ]
        lines += [f"  {threshold!r}" for threshold in self.thresholds]
        return "\n".join(lines) + ">"
