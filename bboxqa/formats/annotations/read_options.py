"""What is to be read of a file of annotations."""

from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from bboxqa.core.types import Steps

LOWEST_SCORE = 0.5
"""The default of the lowest score of results that count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions:
    """What to read besides ids, boxes and crowds, and how.

    Attributes
    ----------
    keys : tuple of str
        The keys to look at: of the annotator, the session and the time.
    outlines : bool
        Whether to read polygons and masks.
    keypoints : bool
        Whether to read key points, also of annotations that have no box.
    rotated : bool
        Whether to read rotated boxes.
    score : float
        The lowest score of results that count.
    shown : set of (str, str)
        The data key and the name of images that are shown elsewhere, of records that show several
        each: see `bboxqa.formats.dataset.drawn_images.with_shown_images`.
    tables : bool
        Whether files without a list of annotations are read, for their images and categories.
    whole : bool
        Whether to read all that rules examine, and to keep the text.
    digest : bool
        Whether to compute the digest of the file.
    progress : callable or None
        Called as ``progress(done, total)`` with bytes.
    """

    keys: tuple[str, ...]
    outlines: bool = False
    keypoints: bool = False
    rotated: bool = False
    score: float = LOWEST_SCORE
    shown: AbstractSet[tuple[str, str]] = frozenset()
    tables: bool = False
    whole: bool = False
    digest: bool = True
    progress: Steps | None = None

    @property
    def upright_only(self) -> bool:
        """Whether boxes with horizontal and vertical edges are all that is read."""
        return not (self.outlines or self.keypoints or self.rotated)
