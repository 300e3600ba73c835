"""What finds the diagnosis of a result, once it is asked for."""

from dataclasses import dataclass, replace

import numpy as np

from bboxqa.core.arrays import overlapping_boxes
from bboxqa.core.remembered import remembered
from bboxqa.core.types import Progress
from bboxqa.geometry.kernels.boxes import corners
from bboxqa.model.diagnosis import Diagnosis, Story
from bboxqa.model.results import MeasuredAgreement
from bboxqa.pipelines.counting import ImagePart

# With more boxes, or outlines, the story takes longer than the figures and is made on request only.
_QUICK, _QUICK_OUTLINES = 100_000, 10_000
# The number of worst images that a diagnosis keeps.
_MOST_IMAGES = 1000


@dataclass(frozen=True, slots=True, eq=False)
class ImageDiagnoser:
    """Finds what lowers agreement in the images of a result."""

    images: ImagePart
    progress: Progress | None = None
    n_images: int = _MOST_IMAGES
    """The number of worst images that a diagnosis keeps, at most."""

    def keeping(self, n_images: int) -> "ImageDiagnoser":
        """Return a diagnoser that keeps at least `n_images` of the worst images."""
        return replace(self, n_images=max(self.n_images, n_images))

    @property
    def is_quick(self) -> bool:
        """Whether there are few annotations, and few pairs of them overlap."""
        return not self.why_slow

    @property
    def why_slow(self) -> str:
        """Why the story takes longer than the figures; empty if it does not."""
        data = self.images.data
        has_outlines = data.annotations.segmentation is not None
        if len(data.annotations) > (_QUICK_OUTLINES if has_outlines else _QUICK):
            drawn = "outlines" if has_outlines else "annotations"
            return f"with {len(data.annotations):,} {drawn} it takes longer than the figures"
        return too_crowded(self.images)

    def story(self, result: MeasuredAgreement) -> Story:
        """Return sentences on what lowers agreement at the first threshold: who, what and where."""
        from bboxqa.pipelines.diagnosis.story import told_story

        return told_story(self.images, result, progress=self.progress)

    def diagnosis(self, result: MeasuredAgreement) -> Diagnosis:
        """Return the story, the tables, the suggested threshold and the objects to review."""
        from bboxqa.pipelines.diagnosis.story import diagnosed

        return diagnosed(self.images, result, self.n_images, progress=self.progress)


# Pairs that are diagnosed in a few seconds, and further ones for each annotation: in real data,
# few annotations overlap as many others.
_PAIRS = 1 << 18
_OF_ANNOTATION = 25


@remembered
def too_crowded(images: ImagePart) -> str:
    """Return in which image too many pairs of annotations overlap; "" if it is nowhere.

    A diagnosis compares all pairs of annotations of an image whose boxes overlap, also those of one
    annotator. A quarter of a million pairs, and 25 for each annotation, are allowed.
    """
    data, of = images.data, images.data.annotations
    n_drawn = np.bincount(of.image, minlength=len(data.image_names))
    most = _PAIRS + _OF_ANNOTATION * len(of)
    # Images of few annotations cannot have more pairs than the allowance per annotation.
    large = n_drawn > 2 * _OF_ANNOTATION
    if (np.where(large, n_drawn * (n_drawn - 1) // 2, 0)).sum() <= most:
        return ""
    some = of.take(np.flatnonzero(large[of.image]))
    image, edges = some.image.astype(np.int64), corners(some.bbox)
    if some.keypoints is not None:
        extent = corners(some.keypoints.extent())
        low, high = np.fmin(edges[:, :2], extent[:, :2]), np.fmax(edges[:, 2:], extent[:, 2:])
        edges = np.concatenate([low, high], axis=1)
    n_pairs = np.zeros(len(n_drawn), np.int64)
    for one, other in overlapping_boxes(image, edges, image, edges):
        n_pairs += np.bincount(image[one[one < other]], minlength=len(n_pairs))
        if n_pairs.sum() > most:
            worst = int(n_pairs.argmax())
            return (
                f"image {data.image_names[worst]!r}: too many of its {n_drawn[worst]:,} "
                "annotations overlap: a diagnosis compares all pairs of them, which takes minutes; "
                f"expected {most:,} pairs in all images at most"
            )
    return ""
