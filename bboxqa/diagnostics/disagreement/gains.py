"""Alpha and F1 as functions of sums over objects, and their gains by repairs."""

from typing import Any

import numpy as np

from bboxqa.agreement.alpha.nominal import nominal_alpha
from bboxqa.agreement.counts.object_counts import ratio
from bboxqa.core.arrays import FloatArray, IndexArray, frozen_arrays, sum_by
from bboxqa.core.remembered import remembered
from bboxqa.diagnostics.disagreement.drawn_objects import DrawnObjects, drawn_objects
from bboxqa.diagnostics.disagreement.kinds import Kind, disagreements
from bboxqa.diagnostics.disagreement.repairs import Cells, Repair, drawn_cells, repair, settled
from bboxqa.model.reliability import Cell
from bboxqa.model.units import MatchedUnits


@frozen_arrays
class AgreementSums:
    """Contributions of O objects to the sums of which alpha and F1 are functions.

    `marginal` is a sparse (O, K) array of the pairable values; the last value is the missing
    annotation. `agreeing` are the coincidences of values with themselves; F1 is the ratio of
    `matched` to `possible` pairs of annotations; all (O,) float64.
    """

    marginal: Any
    agreeing: FloatArray
    matched: FloatArray
    possible: FloatArray

    def of_groups(self, groups: Any) -> "AgreementSums":
        """Return the sums of groups of objects, given as a sparse (G, O) array."""
        columns = (self.agreeing, self.matched, self.possible)
        return AgreementSums(groups @ self.marginal, *(groups @ column for column in columns))

    def alpha(self) -> FloatArray:
        """Return the nominal alpha of each object or group, NaN where undefined."""
        total = np.asarray(self.marginal.sum(1)).ravel()
        squares = np.asarray(self.marginal.power(2).sum(1)).ravel()
        return nominal_alpha(total, self.agreeing, squares)[0]

    def f1(self) -> FloatArray:
        """Return the share of matched pairs, NaN where none is possible."""
        return ratio(self.matched, self.possible)


def agreement_sums(matched: MatchedUnits, cells: Cells, n_asked: IndexArray) -> AgreementSums:
    """Return the sums of each object; `n_asked` is the number of annotators asked about it, (O,).

    For F1, a unit with m annotations, about which k annotators were asked, has m (m − 1) / 2
    matched pairs of (k − 1) m / 2 possible ones.
    """
    from scipy.sparse import csr_array

    n_values = len(matched.data.category_names)
    units, unit = np.unique(cells.unit, return_inverse=True)
    place = np.zeros(len(units), np.int64)
    place[unit] = cells.place
    drawn = np.bincount(unit, minlength=len(units))
    asked = n_asked[place]
    keys, count = np.unique(unit * (n_values + 1) + cells.value, return_counts=True)
    of, value = np.divmod(keys, n_values + 1)
    size = asked if matched.missing == "category" else drawn
    if matched.missing == "category":
        lacking = np.flatnonzero(asked > drawn)
        of, value = np.append(of, lacking), np.append(value, np.full(len(lacking), n_values))
        count = np.append(count, (asked - drawn)[lacking])
    paired = size[of] > 1
    of, value, count = of[paired], value[paired], count[paired]
    shape = len(n_asked), n_values + 1
    same = count * (count - 1) / (size[of] - 1)
    return AgreementSums(
        csr_array((count.astype(np.float64), (place[of], value)), shape=shape),
        sum_by(place[of], same, shape[0]),
        sum_by(place, drawn * (drawn - 1), shape[0]),
        sum_by(place, (asked - 1) * drawn, shape[0]),
    )


@remembered
def drawn_sums(matched: MatchedUnits) -> AgreementSums:
    """Return the sums of each object as it was drawn."""
    objects = drawn_objects(matched)
    return agreement_sums(matched, drawn_cells(matched, objects), objects.n_asked)


@remembered
def whole_sums(matched: MatchedUnits) -> AgreementSums:
    """Return the sums of all objects, and of empty images if they count, as one row."""
    from scipy.sparse import csr_array

    sums = drawn_sums(matched)
    whole = sums.of_groups(csr_array(np.ones((1, len(sums.agreeing)))))
    n = len(empty_units(matched))
    if n == 0:
        return whole
    n_empty = np.zeros((1, whole.marginal.shape[1]))
    n_empty[0, -1] = n
    marginal = csr_array(whole.marginal + csr_array(n_empty))
    return AgreementSums(marginal, whole.agreeing + n, whole.matched, whole.possible)


def empty_units(matched: MatchedUnits) -> IndexArray:
    """Return the units of the missing annotations of empty images, one each; none if left out."""
    data = matched.reliability
    extra = (data.unit >= len(matched.units)) & (data.state == Cell.MISSING)
    found: IndexArray = data.unit[extra & (matched.missing == "category")]
    return found


@frozen_arrays
class RepairSums:
    """Sums of the O objects that a repair changes, before and after it."""

    before: AgreementSums
    after: AgreementSums
    root: IndexArray
    """(O,) int64. The object that each one is counted for."""


@remembered
def repair_sums(matched: MatchedUnits) -> dict[Kind, RepairSums]:
    """Return the sums of the repair of each kind of disagreement."""
    objects, found = drawn_objects(matched), disagreements(matched)
    return {
        kind: _sums_of(matched, objects, repair(matched, objects, found, kind)) for kind in Kind
    }


def settled_sums(matched: MatchedUnits) -> RepairSums:
    """Return the sums of settling objects with all their kinds of disagreement at once."""
    objects = drawn_objects(matched)
    return _sums_of(matched, objects, settled(matched, objects, disagreements(matched)))


def _sums_of(matched: MatchedUnits, objects: DrawnObjects, change: Repair) -> RepairSums:
    before, after = (
        agreement_sums(matched, cells, objects.n_asked) for cells in (change.before, change.after)
    )
    return RepairSums(before, after, change.root)


def gains(
    whole: AgreementSums, before: AgreementSums, after: AgreementSums, groups: Any
) -> tuple[FloatArray, FloatArray]:
    """Return the rise of alpha and F1 of the whole if a group of objects changes, (G,) each.

    `whole` has one row; `groups` is a sparse (G, O) array.
    """
    marginal = whole.marginal.toarray()[0]
    change = groups @ (after.marginal - before.marginal)
    agreeing, matched, possible = (
        total + np.append(0.0, groups @ (new - old))
        for total, new, old in (
            (whole.agreeing, after.agreeing, before.agreeing),
            (whole.matched, after.matched, before.matched),
            (whole.possible, after.possible, before.possible),
        )
    )
    squares = np.asarray(change.power(2).sum(1)).ravel() + 2 * (change @ marginal)
    alpha = nominal_alpha(
        marginal.sum() + np.append(0.0, np.asarray(change.sum(1)).ravel()),
        agreeing,
        (marginal**2).sum() + np.append(0.0, squares),
    )[0]
    f1 = ratio(matched, possible)
    return alpha[1:] - alpha[0], f1[1:] - f1[0]
