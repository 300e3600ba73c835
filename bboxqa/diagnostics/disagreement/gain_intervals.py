"""Intervals of the gains of repairing each kind of disagreement."""

from typing import Any

import numpy as np

from bboxqa.agreement.alpha.nominal import nominal_alpha
from bboxqa.agreement.counts.object_counts import ratio
from bboxqa.agreement.uncertainty.drawn_intervals import drawn_intervals
from bboxqa.core.arrays import FloatArray
from bboxqa.diagnostics.disagreement.drawn_objects import drawn_objects
from bboxqa.diagnostics.disagreement.gains import (
    AgreementSums,
    drawn_sums,
    empty_units,
    repair_sums,
)
from bboxqa.diagnostics.disagreement.kinds import Kind
from bboxqa.model.units import MatchedUnits


def gain_intervals(matched: MatchedUnits, values: FloatArray) -> FloatArray:
    """Return the 95 % intervals over images of gains of alpha and of F1, (2, 5, 2).

    `values` are the gains of each `Kind`, (2, 5); NaN gains have no interval.
    """
    if not matched.bootstrap:
        return np.full((*values.shape, 2), np.nan)
    n = len(Kind)

    def evaluate(*sums: FloatArray) -> FloatArray:
        marginal, change, agreeing, found, possible = sums
        changed = marginal + change.reshape(n, *marginal.shape)
        total, squares = changed.sum(1), (changed**2).sum(1)
        before = nominal_alpha(marginal.sum(0), agreeing[0], (marginal**2).sum(0))[0]
        after = nominal_alpha(total, agreeing[0] + agreeing[1:], squares)[0]
        f1 = ratio(found[0] + found[1:], possible[0] + possible[1:])
        return np.concatenate([after - before, f1 - ratio(found[0], possible[0])])

    tables = _tables(matched)
    drawn = drawn_intervals(values.ravel(), tables, evaluate, matched.bootstrap, matched.seed)
    return drawn.reshape(*values.shape, 2)


def _tables(matched: MatchedUnits) -> tuple[Any, ...]:
    """Return the sums of each image, and their changes by each repair.

    They are marginals (K, I) and their changes (5 K, I); then coincidences of values with
    themselves, matched pairs and possible pairs, (6, I) each: the sum, then its five changes.
    """
    from scipy.sparse import csr_array, vstack

    objects = drawn_objects(matched)
    n_objects, n_images = len(objects), len(matched.data.image_names)
    image = csr_array(
        (np.ones(n_objects), (objects.image, np.arange(n_objects))), shape=(n_images, n_objects)
    )
    whole = drawn_sums(matched).of_groups(image)
    changes: list[tuple[AgreementSums, AgreementSums]] = [
        (change.before.of_groups(image), change.after.of_groups(image))
        for change in repair_sums(matched).values()
    ]
    empty = empty_units(matched)
    n_empty = np.bincount(matched.reliability.group[empty], minlength=n_images)
    column = csr_array(
        (n_empty, (np.arange(n_images), np.full(n_images, whole.marginal.shape[1] - 1))),
        shape=whole.marginal.shape,
    )
    return (
        csr_array((whole.marginal + column).T),
        csr_array(vstack([(after.marginal - before.marginal).T for before, after in changes])),
        np.stack([whole.agreeing + n_empty, *(b.agreeing - a.agreeing for a, b in changes)]),
        np.stack([whole.matched, *(b.matched - a.matched for a, b in changes)]),
        np.stack([whole.possible, *(b.possible - a.possible for a, b in changes)]),
    )
