"""How many objects annotators disagree about in which way, and what each way costs."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from bboxqa.agreement.uncertainty.ratios import ratio_intervals
from bboxqa.agreement.uncertainty.sum_table import table_of
from bboxqa.core.arrays import BoolArray, FloatArray, IndexArray
from bboxqa.diagnostics.disagreement.drawn_objects import DrawnObjects, drawn_objects
from bboxqa.diagnostics.disagreement.gain_intervals import gain_intervals
from bboxqa.diagnostics.disagreement.gains import RepairSums, gains, repair_sums, whole_sums
from bboxqa.diagnostics.disagreement.kinds import (
    ALL_AGREE,
    KINDS,
    Disagreements,
    Kind,
    disagreements,
    resolved,
)
from bboxqa.diagnostics.meaning import alpha_has_meaning
from bboxqa.model.table import Categorical, Table
from bboxqa.model.units import MatchedUnits

_NAMES = (ALL_AGREE, *KINDS)


def decomposition(matched: MatchedUnits) -> Table:
    """Return how many objects have each kind of disagreement, and what repairing it would gain.

    An object has a primary kind, the last one that it has of this list, and may have several:

    - all agree
    - missed by some
    - class conflict: not all gave it the same category
    - badly placed: annotations overlap too little to match, and more than different objects do
    - split or merged: an annotator drew two boxes where another one drew one around both
    - drawn twice by one: an annotator drew two boxes that overlap as those of one object do

    Parts and second boxes are counted with the object that they belong to.

    The columns are kind; n_objects and share, of the primary kind, with its 95 % interval over
    images; n_any and share_any, with its interval, of objects that have the kind beside others,
    too; and alpha_gain and f1_gain, with their intervals, by how much pooled alpha and F1 would
    rise if only this kind were repaired (see `repairs.repair`), where these have a meaning. Gains
    overlap, as those of TIDE [1]_ do: they do not add up to what repairing everything would gain.

    References
    ----------
    .. [1] Bolya, D., Foley, S., Hays, J. and Hoffman, J. (2020). TIDE: A General Toolbox for
       Identifying Object Detection Errors. ECCV 2020. doi:10.1007/978-3-030-58580-8_33
    """
    parts = _Parts.of(matched)
    counted = np.flatnonzero(parts.home == np.arange(len(parts.objects)))
    n_objects, has = len(counted), parts.has[counted]
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
    """Return columns of what each kind gains; where all agree, there is nothing to gain."""
    columns = {name: gain, f"{name}_low": interval[:, 0], f"{name}_high": interval[:, 1]}
    return {key: np.append(np.nan, column) for key, column in columns.items()}


def decomposition_by_category(matched: MatchedUnits) -> Table:
    """Return how many objects of each category have each kind of disagreement.

    The category of an object is the one that most gave it. A row for each category and kind that
    occur. Columns: category; kind; n_objects, of objects that have the kind, beside others or not;
    share, of the objects of the category; alpha_gain and f1_gain, by how much alpha and F1 of all
    objects would rise if the kind were repaired in this category only.
    """
    parts = _Parts.of(matched)
    names = matched.data.category_names
    kind, place = np.nonzero(parts.found.has.T)
    group = parts.objects.category[parts.home[place]]
    counted = parts.home == np.arange(len(parts.objects))
    total = np.bincount(parts.objects.category[counted], minlength=len(names))
    return parts.by_group("category", names, kind, place, group, total)


def decomposition_by_annotator(matched: MatchedUnits) -> Table:
    """Return in how many objects each annotator has a part in each kind of disagreement.

    It concerns those who missed an object that at least half of the annotators asked drew, or drew
    one that fewer drew; who gave another category than most; who drew a box apart from most; who
    split or merged objects that most did not; and who drew one twice. Where there is no majority,
    it concerns all.
    A row for each annotator and kind that occur. Columns: annotator; kind; n_objects; share, of the
    objects in the images of the annotator; alpha_gain and f1_gain, by how much alpha and F1 of all
    objects would rise if the kind were repaired in these objects only.
    """
    parts = _Parts.of(matched)
    found, objects = parts.found, parts.objects
    counted = parts.home == np.arange(len(objects))
    of_image = np.bincount(objects.image[counted], minlength=len(matched.data.image_names))
    total = of_image @ matched.data.assigned
    names = matched.data.annotator_names
    return parts.by_group("annotator", names, found.kind, found.object, found.annotator, total)


def _share(n: IndexArray, total: IndexArray | int) -> FloatArray:
    with np.errstate(invalid="ignore"):
        share: FloatArray = n / np.asarray(total, np.float64)
    return share


@dataclass(frozen=True, slots=True, eq=False)
class _Parts:
    """Objects, their disagreements, and what repairs gain."""

    matched: MatchedUnits
    objects: DrawnObjects
    found: Disagreements
    home: IndexArray
    """(O,) int64. The object that each one is counted as."""
    has: BoolArray
    """(O, 5) bool. The kinds of each object and of those that are counted as it."""

    @staticmethod
    def of(matched: MatchedUnits) -> "_Parts":
        objects = drawn_objects(matched)
        found = disagreements(matched)
        home = resolved(found.root)
        has = np.zeros_like(found.has)
        place, kind = np.nonzero(found.has)
        has[home[place], kind] = True
        return _Parts(matched, objects, found, home, has)

    def gains(self, change: RepairSums, groups: Any) -> tuple[FloatArray, FloatArray]:
        """Return the gains of a repair in groups of objects, (G,) each."""
        alpha, f1 = gains(whole_sums(self.matched), change.before, change.after, groups)
        if not alpha_has_meaning(self.matched):
            alpha[:] = np.nan
        return alpha, f1

    def repair(self, kind: Kind) -> RepairSums:
        """Return what a repair changes."""
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
        """Return counts and gains by group; `kind`, `place` and `group` name what has what."""
        from scipy.sparse import csr_array

        n_objects = len(self.objects)
        key = group * len(Kind) + kind
        keys = np.unique(key)
        # An object may have several parts of one kind.
        counted = np.unique(key * n_objects + self.home[place]) // max(n_objects, 1)
        n = np.bincount(np.searchsorted(keys, counted), minlength=len(keys))
        alpha, f1 = np.full((2, len(keys)), np.nan)
        for each in Kind:
            own, rows = np.flatnonzero(kind == each), np.flatnonzero(keys % len(Kind) == each)
            row = np.searchsorted(keys[rows] // len(Kind), group[own])
            change = self.repair(each)
            # What is joined with an object is counted for that object.
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
