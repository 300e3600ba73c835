"""Counts of agreement in images; the counts of parts of a data set add up."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from bboxqa.agreement.counts.object_counts import (
    ObjectCounts,
    PairCounts,
    count_objects,
    count_pairs,
    join_objects,
    join_pairs,
)
from bboxqa.agreement.counts.unit_counts import (
    coincidences,
    coincidences_both_ways,
    from_units,
    join_coincidences,
)
from bboxqa.core.blocks import blocks
from bboxqa.core.errors import BboxqaError
from bboxqa.core.types import Progress
from bboxqa.geometry.candidates import TOLERANCE, candidate_pairs, unit_pairs
from bboxqa.matching.matchers import bytes_per_pair, match
from bboxqa.model.reliability import Coincidences, ReliabilityData
from bboxqa.model.settings import AgreeSettings
from bboxqa.model.units import CandidatePairs, UnitTable, join_units
from bboxqa.pipelines.annotator_limits import check_annotators
from bboxqa.pipelines.image_parts import ImagePart, are_crowded, split_images

# Annotations of a part: 2 kB each while they are compared and matched.
_PART = 500_000


@dataclass(frozen=True, slots=True, eq=False)
class AgreementCounts:
    """Units and counts of agreement at each threshold."""

    units: tuple[UnitTable, ...]
    """One per threshold."""
    coincidences: tuple[Coincidences, ...]
    greedy: tuple[Coincidences, ...]
    """By image; `greedy` has those of the greedy matcher, if requested."""
    pairs: tuple[PairCounts, ...]
    """By pair of annotators, if requested."""
    objects: tuple[ObjectCounts, ...]
    """Which annotators drew the same objects."""
    classes: tuple[Coincidences, ...]
    """By image, of drawn annotations only."""
    n_images: int
    """Number of images of the part, or of the whole."""
    counts: Counter[str] = field(default_factory=Counter)
    """Numbers of flat and repaired annotations and of short rings; see `candidate_pairs`."""


def reliability_of(part: ImagePart, units: UnitTable, settings: AgreeSettings) -> ReliabilityData:
    """Return the value that each annotator gave each unit, and empty images if they count."""
    data = part.data
    extra = part.empty if settings.empty_images == "unit" else None
    n_categories = len(data.category_names)
    return from_units(data.annotations, units, data.assigned, n_categories, extra)


def count_part(
    part: ImagePart,
    settings: AgreeSettings,
    *,
    greedy: bool = False,
    of_pairs: bool = True,
    progress: Progress | None = None,
) -> AgreementCounts:
    """Compare and match the annotations of all images, and count agreement.

    With `greedy`, they are matched by the greedy matcher as well. Without `of_pairs`, what each
    pair of annotators agreed on, which takes time for many annotators, is not counted. A crowded
    image whose pairs, or whose objects and annotators, do not fit in memory is refused.
    """
    data = part.data
    matchers = {settings.matcher, "greedy"} if greedy else {settings.matcher}
    pairs, counts = candidate_pairs(
        data,
        settings.similarity,
        min(settings.iou_threshold),
        all_touched=settings.all_touched,
        pair_bytes=bytes_per_pair(data.annotations, matchers),
        progress=None if progress is None else lambda *done: progress("comparing", *done),
    )
    each: list[_Counted] = []
    for threshold in settings.iou_threshold:
        reaches = pairs.similarity >= threshold - TOLERANCE
        admissible = pairs if reaches.all() else pairs.take(np.flatnonzero(reaches))
        found = _counted(part, admissible, settings, threshold, greedy=greedy, of_pairs=of_pairs)
        each.append(found)
        if progress is not None:
            progress("matching", len(each), len(settings.iou_threshold))
    return AgreementCounts(
        units=tuple(one.units for one in each),
        coincidences=tuple(one.coincidences for one in each),
        greedy=tuple(one.greedy for one in each if one.greedy is not None),
        pairs=tuple(one.pairs for one in each if one.pairs is not None),
        objects=tuple(one.objects for one in each),
        classes=tuple(one.classes for one in each),
        n_images=len(data.image_names),
        counts=counts,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Counted:
    """The counts of one threshold."""

    units: UnitTable
    coincidences: Coincidences
    greedy: Coincidences | None
    pairs: PairCounts | None
    objects: ObjectCounts
    classes: Coincidences


def _counted(
    part: ImagePart,
    admissible: CandidatePairs,
    settings: AgreeSettings,
    threshold: float,
    *,
    greedy: bool,
    of_pairs: bool,
) -> _Counted:
    """Match the annotations at one threshold, and count agreement."""
    data, missing = part.data, settings.missing
    matched_by = partial(_matched, part, admissible, settings, threshold)
    units, reliability = matched_by(settings.matcher)
    with_missing, classes = coincidences_both_ways(reliability)
    inside = np.empty(len(admissible), np.bool_)
    for block in blocks(len(inside)):
        inside[block] = units.unit[admissible.left[block]] == units.unit[admissible.right[block]]
    matched = admissible.take(np.flatnonzero(inside))
    similar = settings.similarity
    every = unit_pairs(data, units, matched, similar, all_touched=settings.all_touched)
    by_greedy = None
    if greedy:
        _, other = matched_by("greedy")
        by_greedy = coincidences(other, missing)
    return _Counted(
        units=units,
        coincidences=with_missing if missing == "category" else classes,
        greedy=by_greedy,
        pairs=_pairs_of(reliability, part, missing) if of_pairs else None,
        objects=count_objects(
            data.annotations,
            every,
            data.assigned,
            len(data.category_names),
            threshold - TOLERANCE,
            of_pairs=of_pairs,
            paired=part.paired,
        ),
        classes=classes,
    )


def _pairs_of(data: ReliabilityData, part: ImagePart, missing: str) -> PairCounts:
    """Return the counts of each pair of annotators, or of those of the paired annotators."""
    if part.paired is not None:
        data = data.take(np.flatnonzero(part.paired[data.annotator]))
    return count_pairs(data, part.data.assigned.shape[1], missing)


def _matched(
    part: ImagePart, pairs: CandidatePairs, settings: AgreeSettings, threshold: float, matcher: str
) -> tuple[UnitTable, ReliabilityData]:
    """Return the units of one matcher and threshold, and the values that annotators gave them."""
    lenient = settings.category_lenient
    units = match(part.data.annotations, pairs, matcher, threshold, category_lenient=lenient)
    check_annotators(part.data, units)
    return units, reliability_of(part, units, settings)


def count_sequentially(
    whole: ImagePart,
    settings: AgreeSettings,
    *,
    greedy: bool = False,
    of_pairs: bool = True,
    progress: Progress | None = None,
) -> AgreementCounts:
    """Count agreement part by part, so that memory does not grow with the data set.

    Parameters and errors are those of `count_part`.
    """
    count = partial(count_part, settings=settings, greedy=greedy, of_pairs=of_pairs)
    n = len(whole.data.annotations)
    n_images = len(whole.data.image_names)
    n_parts = -(-n // _PART)
    if n_images < 2 or (n_parts < 2 and not are_crowded(whole.data).any()):
        return count(whole, progress=progress)
    counted = []
    done = 0
    try:
        for part in split_images(whole, min(n_parts, n_images)):
            counted.append(count(part))
            done += len(part.data.annotations)
            if progress is not None:
                progress("comparing", done, n)
    except BboxqaError:
        # Counting in one part reports the problems of all parts.
        return count(whole, progress=progress)
    return join_counted(counted)


def join_counted(parts: Sequence[AgreementCounts]) -> AgreementCounts:
    """Return the counts of a whole from those of its parts, in the order of their images.

    Joining is associative: parts can be joined in any grouping.
    """
    counts: Counter[str] = Counter()
    for part in parts:
        counts += part.counts
    before = np.cumsum([0, *(part.n_images for part in parts)])[:-1].tolist()
    return AgreementCounts(
        units=tuple(join_units(tables, before) for tables in _by_threshold(parts, "units")),
        coincidences=tuple(map(join_coincidences, _by_threshold(parts, "coincidences"))),
        greedy=tuple(map(join_coincidences, _by_threshold(parts, "greedy"))),
        pairs=tuple(map(join_pairs, _by_threshold(parts, "pairs"))),
        objects=tuple(map(join_objects, _by_threshold(parts, "objects"))),
        classes=tuple(map(join_coincidences, _by_threshold(parts, "classes"))),
        n_images=sum(part.n_images for part in parts),
        counts=counts,
    )


def _by_threshold(parts: Sequence[AgreementCounts], name: str) -> Iterator[tuple[Any, ...]]:
    return zip(*(getattr(part, name) for part in parts), strict=True)
