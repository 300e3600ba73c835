"""The result of comparing two versions of a data set."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from bboxqa.core.text import count
from bboxqa.model.annotations import Source
from bboxqa.model.results import MeasuredAgreement
from bboxqa.model.settings import AgreeSettings
from bboxqa.model.table import Table

CHANGES = (
    "unchanged",
    "moved",
    "renamed",
    "moved and renamed",
    "crowd flag changed",
    "removed",
    "added",
)
"""What can become of an annotation; "renamed" means that its category changed."""

CROWD_FLAGS = ("", "set", "cleared")
"""What can become of the crowd flag of an annotation; empty if it is the same."""


@dataclass(frozen=True, slots=True, eq=False)
class Version:
    """One of the two data sets.

    Attributes
    ----------
    n_images, n_annotators, n_annotations : int
    attribution : str
        How the annotators were told apart.
    sources : tuple of Source
        The files that were read.
    agreement : AgreementResult or None
        Agreement in all of its images, without intervals; None where no image has two annotators.
    """

    n_images: int
    n_annotators: int
    n_annotations: int
    attribution: str
    sources: tuple[Source, ...]
    agreement: MeasuredAgreement | None


@dataclass(frozen=True, slots=True)
class Change:
    """A figure before and after, and the difference after − before.

    Attributes
    ----------
    before, after, difference : float
        NaN where undefined.
    before_interval, after_interval, interval : tuple of float
        The 95 % intervals of the three; NaN where there is none.
    interval_shift : float
        By how much the interval of the difference was moved, since it did not contain it; else 0.
    status : str
        "ok", or in which version it is undefined, and why.
    """

    before: float
    after: float
    difference: float
    before_interval: tuple[float, float]
    after_interval: tuple[float, float]
    interval: tuple[float, float]
    interval_shift: float = 0.0
    status: str = "ok"


@dataclass(frozen=True, slots=True, eq=False)
class AgreementChange:
    """Agreement before and after at one threshold.

    Attributes
    ----------
    measure : str
        What the threshold is a value of, such as "IoU".
    iou_threshold : float
    pooled, mean : Change
        Alpha over all units, and its mean over images.
    f1 : Change
        The F1 of existence: the share of objects that annotators both drew.
    categories, images : Table
        Alpha before and after, and the difference, by category and by image; of categories with
        the interval of the difference, `low` and `high`.
    """

    measure: str
    iou_threshold: float
    pooled: Change
    mean: Change
    f1: Change
    categories: Table
    images: Table

    @property
    def threshold_label(self) -> str:
        """The threshold with what it is a value of, such as "IoU 0.5"."""
        return f"{self.measure} {self.iou_threshold:g}"


@dataclass(frozen=True, slots=True, eq=False)
class ComparisonResult:
    """What differs between two versions of a data set.

    Attributes
    ----------
    before, after : Version
    by_id : bool
        Whether annotations with the same id are the same. Others are matched by similarity.
    counts : mapping of str to int
        How many annotations there are of each of `CHANGES`.
    measure : str
        What the similarity is called in results, such as "IoU".
    moved_px, moved_similarity : tuple of float
        How far the annotations moved that did, median and largest; and how similar they are to what
        they were, median and smallest. NaN where none moved.
    changes : Table
        A row for each annotation that is not unchanged.
    images, categories, annotators : Table
        The same counts by image, category and annotator, with what became of each.
    renames : Table
        How many annotations changed from which category to which.
    thresholds : tuple of AgreementChange
        Agreement before and after; empty where one version has no image with two annotators.
    paired : bool
        Whether agreement is that in the images which both versions measure, drawn together.
        Otherwise they share no such image: agreement is that of all images of each version, which
        are drawn independently.
    n_measured_images : tuple of int
        In how many images agreement was measured before and after.
    settings : AgreeSettings
    version : str
        Of bboxqa.
    notes : tuple of str
        The headlines come first.
    headlines : tuple of str
        What may make the numbers of either version useless.
    """

    before: Version
    after: Version
    by_id: bool
    counts: Mapping[str, int]
    measure: str
    moved_px: tuple[float, float]
    moved_similarity: tuple[float, float]
    changes: Table
    images: Table
    categories: Table
    annotators: Table
    renames: Table
    thresholds: tuple[AgreementChange, ...]
    paired: bool
    n_measured_images: tuple[int, int]
    settings: AgreeSettings
    version: str
    notes: tuple[str, ...]
    headlines: tuple[str, ...] = ()

    def __repr__(self) -> str:
        counts = ", ".join(f"{number:,} {name}" for name, number in self.counts.items())
        lines = [
            (
                f"<ComparisonResult: {count(self.before.n_annotations, 'annotation')} before, "
                f"{self.after.n_annotations:,} after: {counts}"
            )
        ]
        lines += [
            f"  {part.threshold_label}: alpha {part.pooled.before:z.4f} before, "
            f"{part.pooled.after:z.4f} after"
            for part in self.thresholds
        ]
        return "\n".join(lines) + ">"


@dataclass(frozen=True, slots=True, eq=False)
class SinceRun:
    """What has changed since a result was saved.

    Attributes
    ----------
    folder : str
        Of the saved result.
    figures : tuple of (str, float or None, float)
        Names of figures with their threshold, as they were saved, and as they are.
    comparison : ComparisonResult or None
        None where the files that were measured are gone.
    counts : mapping of str to int
        Then, how many annotations were renamed, removed, added or none of these, by their ids;
        empty where ids do not tell them apart.
    n_annotations : tuple of int
        How many there were, and are.
    reason : str
        Why there is no comparison.
    """

    folder: str
    figures: tuple[tuple[str, float | None, float], ...]
    comparison: ComparisonResult | None = None
    counts: Mapping[str, int] = field(default_factory=dict)
    n_annotations: tuple[int, int] = (0, 0)
    reason: str = ""
