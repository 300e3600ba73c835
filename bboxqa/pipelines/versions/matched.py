"""Matching of the annotations of two versions of a data set."""

from typing import Any

import numpy as np

from bboxqa.core.arrays import (
    BoolArray,
    FloatArray,
    IndexArray,
    frozen_arrays,
)
from bboxqa.core.errors import ConfigError
from bboxqa.core.types import Progress
from bboxqa.geometry.candidates import TOLERANCE, similarity_of_pairs
from bboxqa.geometry.kernels.boxes import corners
from bboxqa.geometry.similarities.registry import (
    needs_keypoints,
    needs_outlines,
    needs_rotated_boxes,
)
from bboxqa.model.annotations import Annotations, Dataset
from bboxqa.model.outlines import Segmentations
from bboxqa.model.settings import AgreeSettings
from bboxqa.model.shapes.keypoints import Keypoints, largest_moves
from bboxqa.model.shapes.rotated_boxes import corner_moves
from bboxqa.pipelines.joint_sigmas import ESTIMATED, with_sigmas
from bboxqa.pipelines.versions.aligned import Aligned
from bboxqa.pipelines.versions.by_id import IdPairs, pairs_by_id
from bboxqa.pipelines.versions.equal import equal_pairs, open_rows
from bboxqa.pipelines.versions.given_ids import id_codes
from bboxqa.pipelines.versions.side_by_side import side_by_side
from bboxqa.pipelines.versions.similar import Pairs, similar_pairs


@frozen_arrays
class MatchedVersions:
    """P annotations that both versions have."""

    before: IndexArray
    after: IndexArray
    """(P,) int64. Indices into the annotations of each version."""
    shift: FloatArray
    """(P,) float64. The largest displacement of an edge of the box, in pixels."""
    similarity: FloatArray
    """(P,) float64. The similarity of the two, as measured by that of the settings."""
    redrawn: BoolArray
    """(P,) bool. Whether the outline differs, if outlines are compared."""
    unused_ids: str
    """Why ids were not used; empty if they were."""

    def __len__(self) -> int:
        return len(self.before)


def match_versions(
    before: Dataset,
    after: Dataset,
    images: Aligned,
    annotators: Aligned,
    categories: Aligned,
    settings: AgreeSettings,
    *,
    progress: Progress | None = None,
) -> MatchedVersions:
    """Find the annotations that both versions have.

    Two annotations with the same id are the same if they have the same annotator and image, and
    overlap. Ids are used if the files give them, and nearly all annotations that are equal or
    overlap keep them; all equal ones if the ids merely count annotations. Of the others, equal
    annotations are the same, and the rest is matched by similarity, or by boxes if key points are
    compared and none are labelled. Of what is left, annotations with the same id that are near each
    other are the same, if ids are used.

    Parameters
    ----------
    settings : AgreeSettings
        Its lowest threshold is used.
    """
    both, order = side_by_side(before, after, images, annotators, categories)
    if settings.sigmas == ESTIMATED and needs_keypoints(settings.similarity):
        raise ConfigError(
            "two versions are compared with the same sigmas; give as numbers those that "
            "`bboxqa agree --sigmas estimated` prints"
        )
    both = with_sigmas(both, settings)
    annotations = both.annotations
    edges = corners(annotations.bbox)
    codes, unused = id_codes(before, after)
    by_id = IdPairs(unused=unused)
    if codes is not None:
        by_id = pairs_by_id(annotations, codes[order], edges, unused)
    pairs = _with_similar(both, by_id.sure, settings, progress)
    left, right = _joined(pairs, _unused(by_id.near, pairs, len(annotations)))
    shift = _moves(annotations, edges, left, right, settings.similarity)
    similarity = np.ones(len(left))
    are_boxes = not _has_shapes(settings.similarity)
    changed = np.flatnonzero(shift) if are_boxes else np.arange(len(left))
    similarity[changed] = similarity_of_pairs(
        both,
        settings.similarity,
        left[changed],
        right[changed],
        all_touched=settings.all_touched,
    )
    return MatchedVersions(
        before=order[left],
        after=order[right] - len(before.annotations),
        shift=shift,
        similarity=similarity,
        redrawn=_redrawn(annotations, left, right, similarity),
        unused_ids=by_id.unused,
    )


def _moves(
    annotations: Annotations,
    edges: FloatArray,
    left: IndexArray,
    right: IndexArray,
    similarity: str,
) -> FloatArray:
    """Return the largest displacement of an edge, corner or joint of each pair, (P,)."""
    boxes = annotations.rotated_box
    if boxes is not None and needs_rotated_boxes(similarity):
        return corner_moves(boxes[left], boxes[right])
    moved: FloatArray = np.abs(edges[left] - edges[right]).max(1, initial=0)
    if annotations.keypoints is not None:
        moved = np.maximum(moved, largest_moves(annotations.keypoints, left, right))
    return moved


def _unused(pairs: Pairs, used: Pairs, n: int) -> Pairs:
    """Return the pairs of which neither annotation is in the pairs that are used."""
    is_used = np.zeros(n, np.bool_)
    is_used[np.concatenate(used)] = True
    kept = ~(is_used[pairs[0]] | is_used[pairs[1]])
    return pairs[0][kept], pairs[1][kept]


def _with_similar(
    both: Dataset, pairs: Pairs, settings: AgreeSettings, progress: Progress | None
) -> Pairs:
    """Return pairs, and those of what is left that are equal or similar enough."""
    annotations, name = both.annotations, settings.similarity
    if not _has_shapes(name):
        # Equal boxes need not be compared with all that overlap.
        pairs = _joined(pairs, equal_pairs(annotations, open_rows(annotations, *pairs)))
    more = similar_pairs(both, open_rows(annotations, *pairs), settings, progress)
    pairs = _joined(pairs, more)
    if needs_keypoints(name):
        # Annotations without labelled key points are similar to none.
        rest = open_rows(annotations, *pairs)
        more = similar_pairs(both, rest, settings, progress, unlabelled=True)
        pairs = _joined(pairs, more)
    if _has_shapes(name):
        # Shapes without common area, or without area, are similar to none even in one box.
        pairs = _joined(pairs, equal_pairs(annotations, open_rows(annotations, *pairs)))
    return pairs


def _has_shapes(similarity: str) -> bool:
    """Return whether a similarity compares shapes that can differ where their bounds are equal."""
    return (
        needs_outlines(similarity) or needs_keypoints(similarity) or needs_rotated_boxes(similarity)
    )


def _redrawn(
    annotations: Annotations, left: IndexArray, right: IndexArray, similarity: FloatArray
) -> BoolArray:
    """Return which shapes were redrawn, (P,) bool.

    Shapes without area are compared by their points: their similarity is 0 even where they are
    equal.
    """
    redrawn: BoolArray = similarity < 1 - TOLERANCE
    outlines = annotations.segmentation
    if outlines is not None:
        for place in np.flatnonzero(similarity == 0).tolist():
            first, last = (_outline(outlines, int(side[place])) for side in (left, right))
            redrawn[place] = first != last
    if annotations.keypoints is not None:
        points = annotations.keypoints
        for place in np.flatnonzero(similarity == 0).tolist():
            first, last = (_points(points, int(side[place])) for side in (left, right))
            redrawn[place] = first != last
    return redrawn


def _points(keypoints: Keypoints, row: int) -> tuple[bytes, bytes]:
    """Return the key points of an annotation as a hashable value."""
    part = slice(int(keypoints.start[row]), int(keypoints.stop[row]))
    return keypoints.xy[part].tobytes(), keypoints.visibility[part].tobytes()


def _outline(outlines: Segmentations, index: int) -> tuple[Any, ...]:
    rings = [ring.tolist() for ring in outlines.rings(index)]
    return int(outlines.kind[index]), rings, outlines.rle(index)


def _joined(pairs: Pairs, more: Pairs) -> Pairs:
    """Return both pairs, by `left`."""
    left, right = (np.concatenate(each) for each in zip(pairs, more, strict=True))
    order = np.argsort(left)
    return left[order], right[order]
