"""Rates and vitality of annotators, against counting again object by object."""

from collections import defaultdict
from itertools import permutations

import numpy as np
import pytest
from msgspec.structs import replace
from support.brute_objects import BruteObjects
from support.matched import matched, random_data
from support.resampled import expanded

from bboxqa import read_coco, simulate
from bboxqa.agreement.nominal import pooled_alpha
from bboxqa.agreement.unit_counts import coincidences
from bboxqa.diagnostics.decomposition import KINDS, Kind, decomposition, decomposition_by_annotator
from bboxqa.diagnostics.rates import (
    RATES,
    annotators,
    boxes_per_object,
    vitality,
)
from bboxqa.model.settings import AgreeSettings
from bboxqa.pipelines.counting import ImagePart, compared_images
from bboxqa.pipelines.diagnosis.matched_units import matched_units


def counted(units):
    """Return numerator and denominator by rate and annotator."""
    of, names = units.data.annotations, units.data.annotator_names
    found = {rate: defaultdict(lambda: np.zeros(2)) for rate in RATES}
    brute = BruteObjects(units)
    for home, drawn in brute.objects.items():
        single = home not in brute.again and home not in brute.whole
        parted = any((home, who) in brute.odd for who in drawn)
        asked = brute.asked[home]
        for who in asked:
            others = [drawn[other][1] for other in drawn if other != who]
            if single and 2 * len(others) > len(asked) - 1:
                missed = who not in drawn and who not in brute.merged[home]
                found["miss_rate"][who] += (missed, 1)
            if who not in drawn:
                continue
            found["extra_rate"][who] += (single and 2 * len(others) < len(asked) - 1, 1)
            for category in others:
                if not parted:
                    found["class_share"][who] += (category == drawn[who][1], 1)
    drawn = np.zeros(units.data.assigned.shape)
    np.add.at(drawn, (of.image, of.annotator), 1)
    for one, other in permutations(range(len(names)), 2):
        both = units.data.assigned[:, one] & units.data.assigned[:, other]
        found["f1"][one] += (0, drawn[both][:, [one, other]].sum())
    by_unit = defaultdict(list)
    for row, unit in enumerate(units.units.unit.tolist()):
        by_unit[unit].append(row)
    similar = {
        pair: s
        for *pair, s in zip(units.near.left, units.near.right, units.near.similarity, strict=True)
        for pair in [tuple(pair)]
    }
    for rows in by_unit.values():
        for one, other in permutations(rows, 2):
            found["f1"][int(of.annotator[one])] += (2, 0)
            odd = any((brute.home[row], of.annotator[row]) in brute.odd for row in (one, other))
            if (
                not odd
                and (found_one := similar.get((min(one, other), max(one, other)))) is not None
            ):
                found["mean_similarity"][int(of.annotator[one])] += (found_one, 1)
    return found


@pytest.mark.parametrize(("seed", "n_annotators"), [(1, 2), (2, 3), (3, 4), (4, 6)])
def test_rates_are_those_of_objects_one_by_one(seed, n_annotators):
    units = matched(random_data(seed, n_annotators=n_annotators))
    table, expected = annotators(units), counted(units)
    for rate in RATES:
        quotients = [found[0] / found[1] for _, found in sorted(expected[rate].items())]
        assert table[rate] == pytest.approx(np.array(quotients)), rate
    assert table["n_missed"].tolist() == [expected["miss_rate"][a][0] for a in range(n_annotators)]
    assert table["n_extra"].tolist() == [expected["extra_rate"][a][0] for a in range(n_annotators)]


def counted_again(units, out):
    """Return the coincidences of the data matched from scratch without an annotator."""
    data = units.data
    author = data.annotations.annotator
    annotations = data.annotations.take(np.flatnonzero(author != out))
    author = annotations.annotator - (annotations.annotator > out)
    rest = replace(
        data,
        annotations=replace(annotations, annotator=author.astype(np.int32)),
        assigned=np.delete(data.assigned, out, axis=1),
        annotator_names=tuple(np.delete(np.array(data.annotator_names, object), out)),
    )
    part = ImagePart(rest, np.zeros(0, np.int32))
    again = matched_units(part, AgreeSettings(bootstrap=0, missing=units.missing))
    return coincidences(again.reliability, units.missing)


@pytest.mark.parametrize("missing", ["category", "ignore"])
@pytest.mark.parametrize(("seed", "n_annotators"), [(1, 2), (2, 3), (3, 3), (4, 5)])
def test_alpha_without_each_annotator(seed, n_annotators, missing):
    units = matched(random_data(seed, n_annotators=n_annotators), missing=missing)
    falls, _ = vitality(units)
    alpha = pooled_alpha(coincidences(units.reliability, missing)).value
    again = [counted_again(units, out) for out in range(n_annotators)]
    expected = [pooled_alpha(each).value for each in again]
    assert falls == pytest.approx(alpha - np.array(expected), nan_ok=True)
    assert annotators(units)["vitality"] == pytest.approx(alpha - np.array(expected), nan_ok=True)


def test_the_interval_is_that_of_counting_drawn_images_again():
    units = matched(random_data(2, n_images=12, everyone=True), bootstrap=200)
    again = [counted_again(units, out) for out in range(3)]
    everyone = coincidences(units.reliability, "category")
    # Empty images are not drawn.
    images = np.unique(units.data.annotations.image)
    rng, drawn = np.random.default_rng(0), []
    for _ in range(200):
        weights = np.zeros(12)
        np.add.at(weights, images[rng.integers(0, len(images), len(images))], 1)

        def alpha(counted, weights=weights):
            weight = weights[counted.group]
            return pooled_alpha(
                replace(
                    counted, marginal=counted.marginal * weight, diagonal=counted.diagonal * weight
                )
            ).value

        drawn.append([alpha(everyone) - alpha(each) for each in again])
    table = annotators(units)
    found = np.column_stack([table["vitality_low"], table["vitality_high"]])
    assert found == pytest.approx(expanded(drawn, len(images)).T)


SETTINGS = AgreeSettings(bootstrap=0)


def matched_of(data):
    return matched_units(compared_images(data), SETTINGS)


def simulated(error, n_annotators, base):
    last = f"p0{n_annotators}"
    made = simulate(images=80, annotators=n_annotators, errors={"p*": base, last: error}, seed=1)
    return matched_of(read_coco(made.document()))


@pytest.mark.parametrize("n_annotators", [3, 4])
@pytest.mark.parametrize(
    ("error", "kind", "column", "rate"),
    [
        ("duplicate=0.1", Kind.TWICE, "twice_rate", 0.1),
        ("split=0.1", Kind.SPLIT, "split_rate", 0.1),
        # Each merged object takes its neighbour along, unless that one is taken.
        ("merge=0.1", Kind.SPLIT, "merge_rate", 0.15),
    ],
)
def test_an_error_of_one_is_no_miss_of_others(error, kind, column, rate, n_annotators):
    matched = simulated(error, n_annotators, "jitter=6%")
    *innocent, guilty = boxes_per_object(matched).records()
    assert guilty[column] == pytest.approx(rate, abs=0.035)
    assert all(row[each] == 0 for row in innocent for each in ("twice_rate", "split_rate"))
    assert all(row["merge_rate"] == 0 for row in innocent)
    assert [row["miss_rate"] for row in annotators(matched).records()] == [0] * n_annotators
    assert max(row["extra_rate"] for row in annotators(matched).records()) < 0.005
    found = {row["kind"]: row["n_any"] for row in decomposition(matched).records()}
    assert found.pop("all agree") > found.pop(KINDS[kind]) > 10
    assert sum(found.values()) <= 1
    concerned = {
        (row["annotator"], row["kind"]) for row in decomposition_by_annotator(matched).records()
    }
    assert (f"p0{n_annotators}", KINDS[kind]) in concerned
