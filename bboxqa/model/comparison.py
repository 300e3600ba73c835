"""The result of comparing two versions of a data set."""

from collections.abc import Mapping

import msgspec

from bboxqa.model.annotations import Choices, Source
from bboxqa.model.results import MeasuredAgreement
from bboxqa.model.settings import AgreeSettings
from bboxqa.model.table import Table

CHANGES = (
    "unchanged", "moved", "renamed", "moved_and_renamed", "crowd_flag_changed", "removed", "added",
)  # fmt: skip
"""What can happen to an annotation; "renamed" means that its category changed."""

CROWD_FLAGS = ("", "set", "cleared")
"""Changes of the crowd flag of an annotation; empty if it stays the same."""


PLURALS = {"image": "images", "category": "categories", "annotator": "annotators"}
"""What has a name in both versions, and the tables of the changes of each."""


class Version(msgspec.Struct, frozen=True, eq=False):
    """One of the two versions of the data set."""

    n_images: int
    n_annotators: int
    n_annotations: int
    attribution: str
    """How the annotators were identified."""
    sources: tuple[Source, ...]
    reading: Choices
    """What the user said about the files, by option, such as ``{"voc_base": "0"}``."""
    agreement: MeasuredAgreement | None
    """Agreement in all images of the version, without intervals; None where no image has two
    annotators."""


class Change(msgspec.Struct, frozen=True):
    """A figure before and after, and the difference after − before."""

    before: float
    after: float
    difference: float
    """NaN where undefined."""
    before_interval: tuple[float, float]
    after_interval: tuple[float, float]
    interval: tuple[float, float]
    """The 95 % intervals of `before`, `after` and `difference`; NaN where there is none."""
    status: str = "ok"
    """Why the figure is undefined, and in which version; else "ok"."""


class AgreementChange(msgspec.Struct, frozen=True, eq=False):
    """Agreement before and after at one threshold."""

    measure: str
    iou_threshold: float
    pooled: Change
    mean: Change
    """Alpha over all units, and its mean over images."""
    f1: Change
    """The F1 of existence: how far annotators drew the same objects."""
    categories: Table
    images: Table
    """Alpha before and after, and the difference, by category and by image. For categories, `low`
    and `high` are the interval of the difference."""

    @property
    def threshold_label(self) -> str:
        """The threshold with its quantity, such as "IoU 0.5"."""
        return f"{self.measure} {self.iou_threshold:g}"


class ComparisonResult(msgspec.Struct, frozen=True, eq=False):
    """What differs between two versions of a data set."""

    before: Version
    after: Version
    unused_ids: str
    """Why annotations are matched by similarity alone, such as "ids changed"; empty if those with
    the same id are taken as the same annotation."""
    counts: Mapping[str, int]
    """The number of annotations with each of `CHANGES`."""
    measure: str
    """The name of the similarity in results, such as "IoU"."""
    moved_px: tuple[float, float]
    moved_similarity: tuple[float, float]
    """Of the moved annotations, the median and largest distance, and the median and smallest
    similarity to their previous shape. NaN where none moved."""
    changes: Table
    """A row for each annotation that is not unchanged."""
    images: Table
    categories: Table
    annotators: Table
    """The number of annotations with each change, by image, category and annotator."""
    renames: Table
    """The number of annotations that changed from one category to another."""
    thresholds: tuple[AgreementChange, ...]
    """Agreement before and after; empty where no image has two annotators in both versions."""
    paired: bool
    """Whether agreement was measured, in the images that both versions share."""
    n_measured_images: tuple[int, int]
    """The number of images in which agreement was measured, before and after."""
    settings: AgreeSettings
    """The settings of the measurement."""
    version: str
    """The version of bboxqa."""
    notes: tuple[str, ...]
    """Remarks on the comparison, the headlines first."""
    headlines: tuple[str, ...] = ()
    """Facts that may make the numbers of either version useless."""

    @property
    def by_id(self) -> bool:
        """Whether annotations with the same id are taken as the same annotation."""
        return not self.unused_ids

    def __repr__(self) -> str:
        counts = (f"{number:,} {name.replace('_', ' ')}" for name, number in self.counts.items())
        return f"<ComparisonResult: {', '.join(counts)}>"
