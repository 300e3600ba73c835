"""Where each annotator places the edges of objects, against the others."""

import numpy as np

from bboxqa.agreement.counts.object_counts import ratio
from bboxqa.agreement.uncertainty.drawn_intervals import drawn_intervals
from bboxqa.core.arrays import FloatArray, IndexArray, compact
from bboxqa.diagnostics.annotators.edge_differences import (
    PairGroup,
    confirmed,
    edge_differences,
    pair_groups,
    pair_medians,
)
from bboxqa.diagnostics.annotators.image_ratios import holm
from bboxqa.diagnostics.annotators.independent import independent
from bboxqa.model.table import Categorical, Table
from bboxqa.model.units import MatchedUnits

EDGES = ("left", "top", "right", "bottom")

# An offset is systematic where the probability of one such false alarm in the table is below this.
_ALARM = 0.05


def offsets(matched: MatchedUnits) -> Table:
    """Return how far each annotator places the edges of objects from where most others do.

    A row for each annotator and edge of the box; positive is to the right, or down. Each other
    annotator gives one difference: its mean over the objects that both drew, also where boxes are
    too far apart to match. The offset is what others of 60 % of the weight confirm: of three
    others the median difference, of two the one nearer to 0, and 0 if they contradict each other.
    So one displaced annotator does not displace the others. The weights are the numbers of shared
    objects, none larger than the second largest.

    Columns: annotator, edge; n, the objects that others drew, too, and n_others, who drew them;
    offset_px with its 95 % interval over images, and median_px, which is made of the medians over
    objects and not of the means; offset_percent, of the mean width of the others' boxes (height for
    top and bottom), with its interval; p_value, of a t-test against 0 with the standard error that
    the interval implies, NaN without one; and whether the offset is systematic: it is after Holm's
    correction for all rows.
    """
    matched = independent(matched)
    names, n_images = matched.data.annotator_names, len(matched.data.image_names)
    n_annotators = len(names)
    found = edge_differences(matched)
    medians = pair_medians(found)
    # Offsets in px and in percent, their intervals, and medians.
    figures = np.full((7, n_annotators, 4), np.nan)
    stop = 0
    own_images, _ = compact(
        found.annotator[found.pair] * n_images + found.image, n_annotators * n_images
    )
    in_images = np.bincount(own_images // max(n_images, 1), minlength=n_annotators)
    for group in pair_groups(found, n_images):
        start, stop = stop, stop + int(group.stop[-1])
        figures[:, group.annotator] = _figures(group, medians[:, start:stop], in_images, matched)
    px, low, high, percent, percent_low, percent_high, median = figures.reshape(7, -1)
    p_value = p_values(px, low, high, np.repeat(in_images, 4))
    return Table(
        {
            "annotator": Categorical(np.repeat(np.arange(n_annotators), 4).astype(np.int32), names),
            "edge": Categorical(np.tile(np.arange(4), n_annotators).astype(np.int32), EDGES),
            "n": np.repeat(found.n_shared, 4),
            "n_others": np.repeat(np.bincount(found.annotator, minlength=n_annotators), 4),
            "offset_px": px,
            "offset_px_low": low,
            "offset_px_high": high,
            "median_px": median,
            "offset_percent": percent,
            "offset_percent_low": percent_low,
            "offset_percent_high": percent_high,
            "p_value": p_value,
            "systematic": holm(p_value) < _ALARM,
        }
    )


def _figures(
    group: PairGroup, medians: FloatArray, in_images: IndexArray, matched: MatchedUnits
) -> FloatArray:
    """Return the figures of the annotators of a group, (7, G, 4)."""
    edges, sides, counts = (
        np.asarray(table.sum(1), np.float64).reshape(-1, 1)
        for table in (group.edges, group.sides, group.counts)
    )
    offset = _offsets(group, edges, sides, counts)[..., 0]
    bounds = _intervals(group, offset, in_images[group.annotator], matched)
    median = np.empty(offset.shape[1:])
    for place, own in group.each:
        for edge in range(4):
            median[place, edge] = confirmed(medians[edge, own, None], counts[own])[0]
    return np.stack([offset[0], *bounds[0], offset[1], *bounds[1], median])


def _offsets(
    group: PairGroup, edges: FloatArray, sides: FloatArray, counts: FloatArray
) -> FloatArray:
    """Return offsets in px and in percent, (2, G, 4, B), of sums of B columns."""
    n_pairs, n_columns = counts.shape
    differences = ratio(edges.reshape(4, n_pairs, n_columns), counts)
    of_sides = sides.reshape(2, n_pairs, n_columns)
    found = np.empty((2, len(group.annotator), 4, n_columns))
    for place, own in group.each:
        side = ratio(of_sides[:, own].sum(1), counts[own].sum(0))
        for edge in range(4):
            found[0, place, edge] = confirmed(differences[edge, own], counts[own])
            found[1, place, edge] = 100 * found[0, place, edge] / side[edge % 2]
    return found


def _intervals(
    group: PairGroup, offset: FloatArray, in_images: IndexArray, matched: MatchedUnits
) -> FloatArray:
    """Return the bounds of offsets over images, (2, 2, G, 4): of px and percent, low and high.

    The draws' percentiles are reflected about the offset, the basic bootstrap interval [1]_: beside
    a displaced annotator, what the others confirm is the lower or the higher of their differences.
    It is a little too low, or high, in the data, and in the draws once more. NaN without draws, and
    of annotators with fewer than two images.

    References
    ----------
    .. [1] A. C. Davison and D. V. Hinkley (1997), Bootstrap methods and their application,
           Cambridge University Press, eq. 5.6, doi:10.1017/CBO9780511802843.
    """
    tables = group.edges, group.sides, group.counts

    def evaluate(*sums: FloatArray) -> FloatArray:
        return _offsets(group, *sums).reshape(offset.size, -1)

    made_of = np.tile(np.repeat(in_images, 4), 2)
    drawn = drawn_intervals(
        offset.ravel(), tables, evaluate, matched.bootstrap, matched.seed, n_images=made_of
    )
    bounds = 2 * offset.reshape(-1, 1) - drawn[:, ::-1]
    return np.moveaxis(bounds.reshape(*offset.shape, 2), 3, 1)


def p_values(
    value: FloatArray, low: FloatArray, high: FloatArray, n_images: IndexArray
) -> FloatArray:
    """Return the p-values of t-tests over images against 0, with errors from 95 % intervals."""
    from scipy.special import stdtr, stdtrit

    freedom = n_images - 1.0
    error = (high - low) / (2 * stdtrit(freedom, 0.975))
    with np.errstate(divide="ignore", invalid="ignore"):
        found: FloatArray = 2 * stdtr(freedom, -np.abs(value) / error)
    found[value == 0] = 1.0
    found[np.isnan(error)] = np.nan
    return found
