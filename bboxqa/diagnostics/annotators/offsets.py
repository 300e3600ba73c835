"""Where each annotator places the edges of objects, against the others."""

import numpy as np

from bboxqa.agreement.counts.object_counts import ratio
from bboxqa.agreement.uncertainty.drawn_intervals import drawn_intervals
from bboxqa.core.arrays import FloatArray
from bboxqa.diagnostics.annotators.edge_differences import (
    PairGroup,
    capped,
    confirmed,
    edge_differences,
    pair_groups,
    pair_medians,
)
from bboxqa.diagnostics.annotators.image_ratios import holm, p_values
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
    top and bottom), with its interval; p_value, of t-tests of the differences over images against
    0: others of 60 % of the weight have this value or a smaller one; and whether the offset is
    systematic: it is after Holm's correction for all rows.
    """
    names, n_images = matched.data.annotator_names, len(matched.data.image_names)
    n_annotators = len(names)
    found = edge_differences(matched)
    medians = pair_medians(found)
    # Offsets in px and in percent, their intervals, medians and p-values.
    figures = np.full((8, n_annotators, 4), np.nan)
    stop = 0
    for group in pair_groups(found, n_images):
        start, stop = stop, stop + int(group.stop[-1])
        figures[:, group.annotator] = _figures(group, medians[:, start:stop], matched)
    px, low, high, percent, percent_low, percent_high, median, p_value = figures.reshape(8, -1)
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


def _figures(group: PairGroup, medians: FloatArray, matched: MatchedUnits) -> FloatArray:
    """Return the figures of the annotators of a group, (8, G, 4)."""
    edges, sides, counts = (
        np.asarray(table.sum(1), np.float64).reshape(-1, 1)
        for table in (group.edges, group.sides, group.counts)
    )
    offset = _offsets(group, edges, sides, counts)[..., 0]
    bounds = _intervals(group, offset, matched.bootstrap, matched.seed)
    shape = 4, len(counts)
    differences = ratio(edges.reshape(shape), counts[:, 0])
    tests = np.stack(
        [
            p_values(group.edges[edge * shape[1] : (edge + 1) * shape[1]], group.counts, mean, 0.0)
            for edge, mean in enumerate(differences)
        ]
    )
    median, p_value = np.empty((2, *offset.shape[1:]))
    for place, own in group.each:
        for edge in range(4):
            median[place, edge] = confirmed(medians[edge, own, None], counts[own])[0]
            # A difference in the other direction confirms nothing.
            agrees = np.sign(differences[edge, own]) == np.sign(offset[0, place, edge])
            p_value[place, edge] = _largest(np.where(agrees, tests[edge, own], 1), counts[own, 0])
    return np.stack([offset[0], *bounds[0], offset[1], *bounds[1], median, p_value])


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


def _intervals(group: PairGroup, offset: FloatArray, bootstrap: int, seed: int) -> FloatArray:
    """Return the bounds of offsets over images, (2, 2, G, 4): of px and percent, low and high.

    NaN without draws, and of annotators with fewer than two images.
    """
    tables = group.edges, group.sides, group.counts

    def evaluate(*sums: FloatArray) -> FloatArray:
        return _offsets(group, *sums).reshape(offset.size, -1)

    bounds = drawn_intervals(offset.ravel(), tables, evaluate, bootstrap, seed)
    return np.moveaxis(bounds.reshape(*offset.shape, 2), 3, 1)


def _largest(p_value: FloatArray, weights: FloatArray) -> float:
    """Return the p-value that others of 60 % of the weight do not exceed."""
    order = np.argsort(p_value)
    reached = 5 * np.cumsum(capped(weights[:, None])[order, 0])
    return float(p_value[order][np.searchsorted(reached, 3 * reached[-1] / 5)])
