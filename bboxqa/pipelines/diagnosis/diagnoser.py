"""What finds the diagnosis of a result, once it is asked for."""

import msgspec
from msgspec.structs import replace

from bboxqa.core.types import Progress
from bboxqa.model.diagnosis import Diagnosis, Story
from bboxqa.model.results import MeasuredAgreement
from bboxqa.pipelines.counting import ImagePart
from bboxqa.pipelines.diagnosis.crowds import too_crowded

# With more boxes, or outlines, the story takes longer than the figures and is made on request only.
_QUICK, _QUICK_OUTLINES = 100_000, 10_000
# The number of worst images that a diagnosis keeps.
_MOST_IMAGES = 1000


class ImageDiagnoser(msgspec.Struct, frozen=True, eq=False):
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
