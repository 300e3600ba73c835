"""The diagnosis of a result."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import Any

import msgspec
import numpy as np

from bboxqa.core.errors import DatasetError
from bboxqa.core.spool import check_memory
from bboxqa.core.types import Progress
from bboxqa.diagnostics import registry
from bboxqa.diagnostics.disagreement.review import review_queue
from bboxqa.formats.dataset.remarks import MACHINE
from bboxqa.geometry.candidates import possible_pairs
from bboxqa.geometry.similarities.registry import similarity
from bboxqa.model.annotations import Dataset
from bboxqa.model.diagnosis import REPEATS, Diagnosis, Story
from bboxqa.model.results import MeasuredAgreement
from bboxqa.model.table import Table
from bboxqa.model.units import MatchedUnits
from bboxqa.pipelines.counting import ImagePart
from bboxqa.pipelines.diagnosis.crowds import check_crowds
from bboxqa.pipelines.diagnosis.matched_units import matched_units
from bboxqa.pipelines.diagnosis.named import named_in_words
from bboxqa.pipelines.diagnosis.review_document import review_document
from bboxqa.pipelines.diagnosis.sensitivity import SENSITIVITY, SUGGESTED, sensitivity
from bboxqa.pipelines.diagnosis.story import TABLES, story_of
from bboxqa.pipelines.diagnosis.warnings import warnings_of
from bboxqa.pipelines.diagnosis.worst_images import MOST_IMAGES, worst_images

# With more annotations, the story takes longer than the figures and is made only on request.
_QUICK = 100_000
# The diagnostics that the story uses; only those of the compared shapes are computed.
_OF_STORY = {
    *TABLES,
    "work",
    *registry.OF_EDGES,
    *registry.OF_ROTATED_BOXES,
    *registry.OF_KEYPOINTS,
    *registry.OF_TRACKS,
}
# Memory of all diagnostics in bytes, about: per annotation, per annotation if images are counted
# separately, and per image for its draws.
_BYTES = 2000
_BYTES_BESIDE_IMAGES = 1500
_OF_IMAGE = 9500
# Pairs of annotations in an image, above which the story is not quick.
_CROWDED = 1 << 20


def check_diagnosis(data: Dataset, memory: int | None) -> None:
    """Raise OutputError if the diagnosis needs more memory than allowed."""
    lonely = data.assigned.sum(1) < 2
    compared = ~data.annotations.iscrowd & ~lonely[data.annotations.image]
    n_compared = int(np.count_nonzero(compared))
    n_images = int(np.count_nonzero(~lonely))
    of_images = _BYTES_BESIDE_IMAGES + ceil(_OF_IMAGE * n_images / max(n_compared, 1))
    of_each = max(_BYTES, of_images)
    check_memory("diagnosis", n_compared, memory, of_each, "leave out the diagnosis")


@dataclass(frozen=True, slots=True, eq=False)
class ImageDiagnoser:
    """Finds what lowers agreement in the images of a result."""

    images: ImagePart
    memory: int | None = None
    progress: Progress | None = None
    n_images: int = MOST_IMAGES
    """The number of worst images that a diagnosis keeps, at most."""

    def keeping(self, n_images: int) -> "ImageDiagnoser":
        """Return a diagnoser that keeps at least `n_images` of the worst images."""
        return replace(self, n_images=max(self.n_images, n_images))

    @property
    def is_quick(self) -> bool:
        """Whether there are few annotations, and few in any one image."""
        return not self.why_slow

    @property
    def why_slow(self) -> str:
        """Why the story takes longer than the figures; empty if it does not."""
        data = self.images.data
        if len(data.annotations) > _QUICK:
            return f"with {len(data.annotations):,} annotations it takes longer than the figures"
        pairs = possible_pairs(data.annotations, len(data.image_names))
        if pairs.max(initial=0) <= _CROWDED:
            try:
                check_crowds(data, self.memory)
            except DatasetError as error:
                return error.problems[0]
            return ""
        crowded = int(pairs.argmax())
        return (
            f"image {data.image_names[crowded]} has {pairs[crowded]:,} pairs of annotations, and "
            "it takes longer than the figures"
        )

    def story(self, result: MeasuredAgreement) -> Story:
        """Return sentences on what lowers agreement at the first threshold: who, what and where."""
        matched = self._matched(result)
        tables = self._tables(matched, [name for name in self._names(result) if name in _OF_STORY])
        return Story(**self._story_parts(result, matched, tables))

    def diagnosis(self, result: MeasuredAgreement) -> Diagnosis:
        """Return the story, the tables, the suggested threshold and the objects to review."""
        matched = self._matched(result)
        tables = self._tables(matched, self._names(result))
        queue = review_queue(matched)
        of_thresholds = sensitivity(
            self.images,
            result.settings,
            by_chance={each.iou_threshold: each.existence.chance for each in result.thresholds},
            memory=self.memory,
            progress=self.progress,
        )
        parts = self._story_parts(result, matched, tables)
        repeats = result.thresholds[0].repeats
        return Diagnosis(
            **{**parts, "story": (*parts["story"], of_thresholds.text)},
            tables={
                **tables,
                SENSITIVITY: of_thresholds.table,
                SUGGESTED: of_thresholds.suggested,
                **({} if repeats is None else {REPEATS: repeats}),
                "review_images": queue.images,
            },
            review=queue.objects,
            review_document=review_document(self.images.data, queue),
            worst_images=worst_images(result.thresholds[0], matched, self.n_images),
        )

    @property
    def _has_times(self) -> bool:
        return self.images.data.annotations.times is not None

    @property
    def _has_keypoints(self) -> bool:
        data = self.images.data
        return data.annotations.keypoints is not None and bool(data.joint_sigmas)

    @property
    def _has_tracks(self) -> bool:
        return self.images.data.annotations.track is not None

    def _names(self, result: MeasuredAgreement) -> tuple[str, ...]:
        """Return the names of the diagnostics that the compared shapes allow."""
        return registry.names(
            with_times=self._has_times,
            with_keypoints=self._has_keypoints,
            with_tracks=self._has_tracks,
            compared=similarity(result.settings.similarity).needs,
        )

    def _matched(self, result: MeasuredAgreement) -> MatchedUnits:
        check_diagnosis(self.images.data, self.memory)
        check_crowds(self.images.data, self.memory)
        threshold = result.thresholds[0].iou_threshold
        settings = msgspec.structs.replace(result.settings, iou_threshold=(threshold,))
        return matched_units(self.images, settings, memory=self.memory, progress=self.progress)

    def _tables(self, matched: MatchedUnits, names: Sequence[str]) -> dict[str, Table]:
        tables = {}
        for done, name in enumerate(names):
            if self.progress is not None:
                self.progress("diagnosing", done, len(names))
            tables[name] = registry.diagnostic(name)(matched)
        return tables

    def _story_parts(
        self, result: MeasuredAgreement, matched: MatchedUnits, tables: dict[str, Table]
    ) -> dict[str, Any]:
        part, matched, named = named_in_words(result.thresholds[0], matched, tables)
        said = result.headlines
        return {
            "threshold_label": part.threshold_label,
            "story": story_of(part, matched, named),
            "warnings": (
                *result.headlines,
                *(note for note in result.notes if note.startswith(MACHINE) and note not in said),
                *warnings_of(part, self.images, matched, named, result.settings),
            ),
        }
