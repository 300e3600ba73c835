"""Kinds of disagreement: how many objects have them, and how much agreement they cost."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from bboxqa.agreement.uncertainty.drawn_intervals import ratio_intervals
from bboxqa.agreement.uncertainty.estimator import table_of
from bboxqa.core.arrays import FloatArray, IndexArray
from bboxqa.diagnostics.disagreement.counted_objects import CountedObjects, counted_objects
from bboxqa.diagnostics.disagreement.drawn_objects import DrawnObjects, drawn_objects
from bboxqa.diagnostics.disagreement.gain_intervals import gain_intervals
from bboxqa.diagnostics.disagreement.gains import RepairSums, gains, repair_sums, whole_sums
from bboxqa.diagnostics.disagreement.kinds import (
    KINDS,
    Disagreements,
    Kind,
    disagreements,
)
from bboxqa.diagnostics.meaning import alpha_has_meaning
from bboxqa.model.diagnosis import ALL_AGREE
from bboxqa.model.table import Categorical, Table
from bboxqa.model.units import MatchedUnits

_NAMES = (ALL_AGREE, *KINDS)


def decomposition(matched: MatchedUnits) -> Table:
    """Return the number of objects with each kind of disagreement, and the gain of repairing it.

    An object may have several kinds; the last one in this list is its primary kind:

    - all agree
    - missed by some
    - class conflict: not all gave it the same category
    - badly placed: annotations overlap too little to match, and more than different objects do
    - split or merged: an annotator drew two boxes where another one drew one around both
    - drawn twice by one: an annotator drew two boxes that overlap as those of one object do

    Parts and second boxes are counted with the object that they belong to.

    Columns: kind; n_objects and share, of objects with this primary kind; n_any and share_any, of
    all objects with this kind; and alpha_gain and f1_gain, the rise of pooled alpha and F1 if only
    this kind were repaired (see `repairs.repair`), where these have a meaning. Shares and gains
    have 95 % intervals over images. Gains overlap, as those of TIDE [1]_: they do not add up to the
    gain of repairing everything.

    References
    ----------
    .. [1] Bolya, D., Foley, S., Hays, J. and Hoffman, J. (2020). TIDE: A General Toolbox for
       Identifying Object Detection Errors. ECCV 2020. doi:10.1007/978-3-030-58580-8_33
    """
    parts = _Parts.of(matched)
    counted = parts.counted.places
    n_objects, has = len(counted), parts.counted.has[counted]
    kinds = (has * np.arange(1, len(_NAMES))).max(1, initial=0)
    primary = np.bincount(kinds, minlength=len(_NAMES))
    n_any = np.append(np.sum(~has.any(1)), has.sum(0))
    gain = np.array([*map(parts.gain_of_all, Kind)]).T
    gain_bounds = gain_intervals(matched, gain)
    n_images = len(matched.data.image_names)
    kind, place = np.nonzero(np.column_stack([~has.any(1), has]).T)
    image = parts.objects.image[counted]
    of_image = np.bincount(image, minlength=n_images)
    row = np.append(kinds, len(_NAMES) + kind)
    drawn = table_of(
        row, np.append(image, image[place]), np.ones(len(row)), (2 * len(_NAMES), n_images)
    )
    bounds = ratio_intervals(
        drawn, np.tile(of_image, (2 * len(_NAMES), 1)), matched.bootstrap, matched.seed
    )
    intervals, of_any = np.split(bounds, 2)
    return Table(
        {
            "kind": Categorical(np.arange(len(_NAMES), dtype=np.int32), _NAMES),
            "n_objects": primary,
            "share": _share(primary, n_objects),
            "share_low": intervals[:, 0],
            "share_high": intervals[:, 1],
            "n_any": n_any,
            "share_any": _share(n_any, n_objects),
            "share_any_low": of_any[:, 0],
            "share_any_high": of_any[:, 1],
            **_gain_columns("alpha_gain", gain[0], gain_bounds[0]),
            **_gain_columns("f1_gain", gain[1], gain_bounds[1]),
        }
    )


def _gain_columns(name: str, gain: FloatArray, interval: FloatArray) -> dict[str, FloatArray]:
    """Return columns of the gain of each kind; the gain of "all agree" is 0."""
    columns = {name: gain, f"{name}_low": interval[:, 0], f"{name}_high": interval[:, 1]}
    return {key: np.append(np.nan, column) for key, column in columns.items()}


def decomposition_by_category(matched: MatchedUnits) -> Table:
    """Return the number of objects of each category with each kind of disagreement.

    The category of an object is that of the majority. A row for each category and kind that occur.
    Columns: category; kind; n_objects, the number of objects with the kind, perhaps with others;
    share, n_objects divided by the objects of the category; alpha_gain and f1_gain, the rise of
    alpha and F1 of all objects if the kind were repaired in this category only.
    """
    parts = _Parts.of(matched)
    names = matched.data.category_names
    kind, place = np.nonzero(parts.found.has.T)
    group = parts.objects.category[parts.counted.home[place]]
    total = np.bincount(parts.objects.category[parts.counted.places], minlength=len(names))
    return parts.by_group("category", names, kind, place, group, total)


def decomposition_by_annotator(matched: MatchedUnits) -> Table:
    """Return the number of objects in which each kind of disagreement concerns each annotator.

    A disagreement concerns annotators who missed an object that at least half of those asked drew,
    or drew one that fewer drew; gave another category than most; drew a box apart from most; split
    or merged objects unlike most; or drew an object twice. Without a majority, it concerns all.
    A row for each annotator and kind that occur. Columns: annotator; kind; n_objects; share,
    n_objects divided by the objects in the images of the annotator; alpha_gain and f1_gain, the
    rise of alpha and F1 of all objects if the kind were repaired in these objects only.
    """
    parts = _Parts.of(matched)
    found, objects = parts.found, parts.objects
    image = objects.image[parts.counted.places]
    of_image = np.bincount(image, minlength=len(matched.data.image_names))
    total = of_image @ matched.data.assigned
    names = matched.data.annotator_names
    return parts.by_group("annotator", names, found.kind, found.object, found.annotator, total)


def n_objects_of(matched: MatchedUnits, kind: Kind) -> IndexArray:
    """Return the number of objects in which a kind of disagreement concerns each annotator, (A,).

    It is the column n_objects of `decomposition_by_annotator`, with 0 for the other annotators.
    """
    found, counted = disagreements(matched), counted_objects(matched)
    entries = np.flatnonzero(found.kind == kind)
    n_objects = max(len(found.root), 1)
    # An object may have several parts of one kind.
    keys = np.unique(found.annotator[entries] * n_objects + counted.home[found.object[entries]])
    n: IndexArray = np.bincount(keys // n_objects, minlength=len(matched.data.annotator_names))
    return n


def _share(n: IndexArray, total: IndexArray | int) -> FloatArray:
    with np.errstate(invalid="ignore"):
        share: FloatArray = n / np.asarray(total, np.float64)
    return share


@dataclass(frozen=True, slots=True, eq=False)
class _Parts:
    """Objects, their disagreements, and the gains of repairs."""

    matched: MatchedUnits
    objects: DrawnObjects
    found: Disagreements
    counted: CountedObjects

    @staticmethod
    def of(matched: MatchedUnits) -> "_Parts":
        found, counted = disagreements(matched), counted_objects(matched)
        return _Parts(matched, drawn_objects(matched), found, counted)

    def gains(self, change: RepairSums, groups: Any) -> tuple[FloatArray, FloatArray]:
        """Return the gains of a repair in groups of objects, (G,) each."""
        alpha, f1 = gains(whole_sums(self.matched), change.before, change.after, groups)
        if not alpha_has_meaning(self.matched):
            alpha[:] = np.nan
        return alpha, f1

    def repair(self, kind: Kind) -> RepairSums:
        """Return the sums of agreement that a repair changes."""
        return repair_sums(self.matched)[kind]

    def gain_of_all(self, kind: Kind) -> tuple[float, float]:
        """Return the gains of repairing a kind everywhere."""
        from scipy.sparse import csr_array

        alpha, f1 = self.gains(self.repair(kind), csr_array(np.ones((1, len(self.objects)))))
        return float(alpha[0]), float(f1[0])

    def by_group(
        self,
        title: str,
        names: tuple[str, ...],
        kind: IndexArray,
        place: IndexArray,
        group: IndexArray,
        total: IndexArray,
    ) -> Table:
        """Return counts and gains by group; `kind`, `place` and `group` are entries, (E,) each."""
        from scipy.sparse import csr_array

        n_objects = len(self.objects)
        key = group * len(Kind) + kind
        keys = np.unique(key)
        # An object may have several parts of one kind.
        counted = np.unique(key * n_objects + self.counted.home[place]) // max(n_objects, 1)
        n = np.bincount(np.searchsorted(keys, counted), minlength=len(keys))
        alpha, f1 = np.full((2, len(keys)), np.nan)
        for each in Kind:
            own, rows = np.flatnonzero(kind == each), np.flatnonzero(keys % len(Kind) == each)
            row = np.searchsorted(keys[rows] // len(Kind), group[own])
            change = self.repair(each)
            # Objects that are joined with another one are counted for that one.
            column = change.root[place[own]]
            shape = len(rows), n_objects
            chosen = csr_array((np.ones(len(own)), (row, column)), shape=shape)
            chosen.data[:] = 1
            alpha[rows], f1[rows] = self.gains(change, chosen)
        who = keys // len(Kind)
        return Table(
            {
                title: Categorical(who.astype(np.int32), names),
                "kind": Categorical((keys % len(Kind)).astype(np.int32), KINDS),
                "n_objects": n,
                "share": _share(n, total[who]),
                "alpha_gain": alpha,
                "f1_gain": f1,
            }
        )
