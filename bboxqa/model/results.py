"""The result of measuring agreement, from which every table and file is made."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from bboxqa.core.errors import BboxqaError, ConfigError
from bboxqa.core.text import count, unknown_name
from bboxqa.model.annotations import Source
from bboxqa.model.diagnosis import Diagnosis, Story
from bboxqa.model.settings import AgreeSettings
from bboxqa.model.table import Table, stacked_tables
from bboxqa.model.threshold_result import (
    ClassAgreement,
    Existence,
    Place,
    ReferenceAgreement,
    ThresholdResult,
)


class Diagnoser(Protocol):
    """Compares the annotations of a result again to find what lowers agreement."""

    @property
    def is_quick(self) -> bool:
        """Whether the story takes little longer than the result; it is then shown by default."""

    @property
    def why_slow(self) -> str:
        """Why the story takes longer; empty where it does not."""

    def keeping(self, n_images: int) -> "Diagnoser":
        """Return a diagnoser that keeps at least `n_images` of the worst images."""

    def story(self, result: "MeasuredAgreement", /) -> Story:
        """Return sentences on who, what and where lowers agreement."""

    def diagnosis(self, result: "MeasuredAgreement", /) -> Diagnosis:
        """Return the story with its tables, and what to review first."""


@dataclass(frozen=True, slots=True, eq=False)
class MeasuredAgreement:
    """How far annotators agree, at one or more thresholds.

    With a single threshold, `alpha`, `interval`, `mean_image_alpha`, `existence`,
    `class_agreement`, `place`, `images`, `categories`, `pairs`, `units`, `repeats` and `reference`
    are available here; with several thresholds, they are attributes of each of `thresholds`.

    Attributes
    ----------
    thresholds : tuple of ThresholdResult
        In the order of the settings.
    n_images, n_annotators, n_annotations : int
        Numbers of what was measured, without crowd annotations.
    n_crowd : int
        Number of crowd annotations, which are left out.
    n_empty_images : int
        Number of images that all their annotators left empty.
    settings : AgreeSettings
        The settings of the measurement.
    version : str
        The version of bboxqa.
    attribution : str
        How the annotators were identified.
    sources : tuple of Source
        The files that were read.
    reading : mapping of str to str
        What the user said about the files, by option, such as ``{"voc_base": "0"}``.
    notes : tuple of str
        Remarks needed to read the numbers.
    headlines : tuple of str
        The first of `notes`: facts that may make the numbers useless.
    diagnoser : Diagnoser
        The object that `story` and `diagnose` call.
    """

    thresholds: tuple[ThresholdResult, ...]
    n_images: int
    n_annotators: int
    n_annotations: int
    n_crowd: int
    n_empty_images: int
    settings: AgreeSettings
    version: str
    attribution: str
    sources: tuple[Source, ...]
    reading: Mapping[str, str]
    notes: tuple[str, ...]
    headlines: tuple[str, ...]
    diagnoser: Diagnoser

    def story(self) -> Story:
        """Return sentences on who, what and where lowers agreement at the first threshold."""
        return self.diagnoser.story(self)

    def diagnose(self) -> Diagnosis:
        """Return the story with the tables behind it, and what to review first."""
        return self.diagnoser.diagnosis(self)

    def table(self, name: str) -> Table:
        """Return a table of all thresholds, as `--out` writes it, or one of the diagnosis.

        Tables of thresholds begin with the column ``iou_threshold``. They are images, categories,
        pairs, units, repeats, reference, reference_offsets, reference_confusions and
        reference_confusion_matrix. Raises ConfigError if the result has no such table.
        """
        found = self.threshold_tables()
        if name in found:
            return stacked_tables("iou_threshold", found[name])
        diagnosis = self.diagnose()
        others = {**diagnosis.tables, "review": diagnosis.review}
        if name not in others:
            raise ConfigError(f"table {unknown_name(name, [*found, *others])}")
        return others[name]

    def threshold_tables(self) -> dict[str, list[tuple[float, Table]]]:
        """Return the tables of each threshold with the threshold, by name."""
        found: dict[str, list[tuple[float, Table]]] = {}
        for part in self.thresholds:
            for name, table in part.tables().items():
                found.setdefault(name, []).append((part.iou_threshold, table))
        return found

    def _only(self) -> ThresholdResult:
        if len(self.thresholds) != 1:
            found = ", ".join(f"{t.iou_threshold:g}" for t in self.thresholds)
            raise BboxqaError(
                f"this result has several thresholds ({found}); choose one of `result.thresholds`"
            )
        return self.thresholds[0]

    @property
    def alpha(self) -> float:
        """Krippendorff's alpha, pooled over all units."""
        return self._only().alpha

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of `alpha`."""
        return self._only().interval

    @property
    def mean_image_alpha(self) -> float:
        """The mean of alpha over images."""
        return self._only().mean_image_alpha

    @property
    def status(self) -> str:
        """Why `alpha` is undefined, or "ok"."""
        return self._only().status

    @property
    def existence(self) -> Existence:
        """How far annotators drew the same objects."""
        return self._only().existence

    @property
    def class_agreement(self) -> ClassAgreement:
        """How far annotators gave objects the same category."""
        return self._only().class_agreement

    @property
    def place(self) -> Place:
        """How similar the annotations of one object are."""
        return self._only().place

    @property
    def images(self) -> Table:
        """Alpha by image."""
        return self._only().images

    @property
    def categories(self) -> Table:
        """Alpha by category against the rest."""
        return self._only().categories

    @property
    def pairs(self) -> Table:
        """Alpha by pair of annotators."""
        return self._only().pairs

    @property
    def units(self) -> Table:
        """A row per unit and annotator."""
        return self._only().units

    @property
    def repeats(self) -> Table | None:
        """How far annotators agree with themselves; None where no image was annotated again."""
        return self._only().repeats

    @property
    def reference(self) -> ReferenceAgreement | None:
        """How far annotators agree with a reference; None where there is none."""
        return self._only().reference

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
