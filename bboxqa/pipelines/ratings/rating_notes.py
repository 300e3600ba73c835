"""Notes on coefficients of ratings: what to know when reading the numbers."""

from collections.abc import Collection, Iterator, Mapping
from math import isnan

import numpy as np

from bboxqa.agreement.consistency import CRONBACH_WARNING
from bboxqa.agreement.registry import CoefficientInputs, coefficient
from bboxqa.agreement.uncertainty.estimator import ROUNDING, Estimator
from bboxqa.agreement.uncertainty.linear import FEWEST
from bboxqa.core.text import count
from bboxqa.model.ratings import Estimate, PairTable
from bboxqa.pipelines.notes import FEW_CLUSTERS, shift_note

# A bias of more standard errors is reported.
_NOTABLE = 0.25
# Fewest clusters for which the jackknife's bias is reported.
_KNOWN_BIAS = 20


def notes_of(
    inputs: CoefficientInputs,
    estimators: Mapping[str, Estimator],
    estimates: Mapping[str, Estimate],
    values: Mapping[str, Mapping[str, float]],
    bootstrap: int,
) -> Iterator[str]:
    """Yield notes on coefficients.

    `estimators` and `estimates` are the computed and the reported coefficients by name; `values`
    are the reported figures of each value, and `bootstrap` is the number of draws.
    """
    if "krippendorff_alpha" in estimates and isinstance(inputs.level, str):
        yield f"krippendorff_alpha is of {inputs.level} data"
    if isinstance(inputs.weights, str) and inputs.weights != "identity":
        yield f"{inputs.weights} weights in kappas, gwet_ac2 and percent agreement"
    yield from _asymmetry_note(inputs, estimates)
    if inputs.repeated:
        yield (
            "an annotator answered a unit several times; if these are different questions, "
            "name their column with --by"
        )
    yield from _unit_notes(inputs, estimates)
    yield from _interval_notes(inputs, estimators, estimates, bootstrap)
    if not inputs.anonymous and any(coefficient(name).of_pairs for name in estimates):
        yield from _pair_notes(inputs.pairs.table)
    if any(
        isnan(row.get("low", 0.0)) and not isnan(row["fleiss_kappa"]) for row in values.values()
    ):
        yield (
            f"values without an interval occur in fewer than {FEWEST} clusters, or are absent from "
            "fewer, or do not vary"
        )
    if "cronbach_alpha" in estimates and not isnan(estimates["cronbach_alpha"].value):
        yield CRONBACH_WARNING


def _asymmetry_note(inputs: CoefficientInputs, names: Collection[str]) -> Iterator[str]:
    """Yield coefficients that ignore the order of two annotators, if the weights depend on it."""
    unordered = [name for name in names if coefficient(name).averages_weights]
    if unordered and inputs.matrix is not None and (inputs.matrix != inputs.matrix.T).any():
        yield (
            f"weights are not symmetric: {', '.join(unordered)} use the mean of both directions, "
            "since they do not depend on who gave which value"
        )


def _unit_notes(inputs: CoefficientInputs, estimates: Mapping[str, Estimate]) -> Iterator[str]:
    """Yield notes on the numbers of units, annotators and ratings."""
    sizes = inputs.counts.size[inputs.counts.size > 0]
    if len(sizes) and sizes.min() != sizes.max():
        yield f"units have {sizes.min():.0f} to {sizes.max():.0f} ratings"
    people = len(np.unique(inputs.data.annotator)) if len(sizes) else 0
    if people > len(sizes) > 1 and not inputs.anonymous:
        yield (
            f"more annotators ({people:,}) than units ({len(sizes):,}): if it is the other way "
            "round, swap unit and annotator"
        )
    single = int((sizes == 1).sum())
    if single:
        yield f"{count(single, 'unit')} with one rating only: nothing to compare there"
        counted = [
            name
            for name, found in estimates.items()
            if coefficient(name).counts_singles and not isnan(found.standard_error)
        ]
        if counted:
            yield (
                f"these widen the standard errors of {', '.join(counted)} (Gwet 2014 counts them "
                "as units); their intervals do not"
            )


def _pair_notes(pairs: PairTable) -> Iterator[str]:
    """Yield notes on the kappas of several pairs."""
    if len(pairs) < 2:
        return
    certain = int((pairs.expected >= 1 - ROUNDING).sum())
    if 0 < certain < len(pairs):
        yield f"{count(certain, 'pair')} gave one same value only: kappa is 1 there by convention"
    # The note names no number, so that several tasks share it.
    if (np.isnan(pairs.interval[:, 0]) & ~np.isnan(pairs.kappa)).any():
        yield (
            f"pairs without an interval share fewer than {FEWEST} clusters, or do not vary: "
            "they always agree, they never do, or one annotator gave one value only"
        )


def _interval_notes(
    inputs: CoefficientInputs,
    estimators: Mapping[str, Estimator],
    estimates: Mapping[str, Estimate],
    bootstrap: int,
) -> Iterator[str]:
    """Yield notes on the draws of intervals, or why there are no intervals."""
    used = max((len(estimator.clusters) for estimator in estimators.values()), default=0)
    few = {
        name: len(estimators[name].clusters)
        for name, found in estimates.items()
        if not isnan(found.interval[0]) and len(estimators[name].clusters) < FEW_CLUSTERS
    }
    several = sum(not isnan(found.interval[0]) for found in estimates.values()) > len(few)
    data = inputs.data
    what = "unit" if data.units_alone else "cluster"
    if bootstrap and used == 1:
        yield f"no intervals: they come from resampling, and there is one {what} only"
    elif few:
        of = f" of {', '.join(few)}" if several else ""
        least = count(min(few.values()), what)
        yield f"intervals{of} come from resampling, and are somewhat too narrow with {least} only"
    if bootstrap and used > 1:
        yield from missing_intervals(estimators, estimates)
        yield from moved_intervals(estimates)
    for name, estimator in estimators.items():
        enough = len(estimator.clusters) >= _KNOWN_BIAS
        if enough and abs(estimator.bias) > _NOTABLE * estimates[name].standard_error:
            yield (
                f"{name} has a bias of about {estimator.bias:+z.4f} by the jackknife, since pairs "
                "share few units; --interval bca corrects the interval for it"
            )


def moved_intervals(estimates: Mapping[str, Estimate]) -> Iterator[str]:
    """Yield notes on intervals that were shifted because they did not contain the value."""
    for name, found in estimates.items():
        if found.interval_shift:
            yield shift_note(name, found.interval_shift)


def missing_intervals(
    estimators: Mapping[str, Estimator], estimates: Mapping[str, Estimate]
) -> Iterator[str]:
    """Yield which coefficients have no interval although there are clusters to draw, and why."""
    bare = [
        name
        for name, found in estimates.items()
        if not isnan(found.value) and isnan(found.interval[0])
    ]
    lost = [
        name
        for name in bare
        if (without := estimators[name].without) is not None and np.isnan(without).any()
    ]
    for names, why in (
        (
            [name for name in bare if name not in lost],
            "too many resamples leave it undefined, or all lie on one side of it",
        ),
        (lost, "it is undefined without some of them"),
    ):
        if names:
            yield f"no interval for {', '.join(names)}: {why}"
