"""Kinds of disagreement, by hand and against counting everything again object by object."""

import numpy as np
import pytest
from support.brute_objects import KINDS, BruteObjects
from support.datasets import dataset, object_rows, with_assigned
from support.resampled import expanded

from bboxqa.diagnostics.decomposition import (
    decomposition,
    decomposition_by_annotator,
    decomposition_by_category,
)
from bboxqa.model.settings import AgreeSettings
from bboxqa.pipelines.agree import agree_with
from bboxqa.pipelines.counting import compared_images
from bboxqa.pipelines.diagnosis.matched_units import matched_units

SETTINGS = AgreeSettings(iou_threshold=(0.5,), bootstrap=0, matcher="greedy")


def matched_of(data, settings=SETTINGS):
    return matched_units(compared_images(data), settings)


def random_objects(seed, n_annotators=4):
    """Return rows with boxes that are moved, cut in two and drawn twice."""
    rng = np.random.default_rng(seed)
    rows = []
    for row in object_rows(rng, n_annotators=n_annotators, n_images=6):
        image, annotator, category, (x, y, width, height) = row
        what = rng.random()
        if what < 0.1:
            left, right = (x, y, width / 2, height), (x + width / 2, y, width / 2, height)
            rows += [(image, annotator, category, half) for half in (left, right)]
        elif what < 0.2:
            rows += [row, (*row[:3], (x + rng.random(), y, width, height))]
        elif what < 0.35:
            rows.append((*row[:3], (x + width / 2 + rng.random(), y, width, height)))
        else:
            rows.append(row)
    return rows


@pytest.mark.parametrize("seed", [1, 5])
def test_against_counting_object_by_object(seed):
    data = dataset(random_objects(seed), n_annotators=4)
    assigned = np.ones_like(data.assigned)
    drawn = np.zeros_like(assigned)
    drawn[data.annotations.image, data.annotations.annotator] = True
    assigned[::2] = drawn[::2]
    matched = matched_of(with_assigned(data, assigned))
    brute = BruteObjects(matched)
    assert brute.agreement()[0] == pytest.approx(
        agree_with(with_assigned(data, assigned), SETTINGS).thresholds[0].alpha
    )
    found = {row["kind"]: row for row in decomposition(matched).records()}
    each = {kind: set(map(brute.counted, brute.homes(kind))) for kind in KINDS}
    n = len(set(map(brute.counted, brute.objects)))
    for number, kind in enumerate(KINDS):
        row, later = found[kind], set().union(*(each[other] for other in KINDS[number + 1 :]))
        assert each[kind]
        assert row["n_any"] == len(each[kind])
        assert row["n_objects"] == len(each[kind] - later)
        assert row["share_any"] == pytest.approx(len(each[kind]) / n)
        assert [row["alpha_gain"], row["f1_gain"]] == brute.gains(kind, brute.homes(kind))
    assert found["all agree"]["n_objects"] == n - len(set().union(*each.values()))
    assert sum(row["n_objects"] for row in found.values()) == n
    check_groups(matched, brute)


def check_groups(matched, brute):
    names = matched.data.category_names
    for row in decomposition_by_category(matched).records():

        def is_own(home, category=row["category"]):
            return names[brute.top(brute.counted(home))] == category

        homes = set(filter(is_own, brute.homes(row["kind"])))
        every = list(filter(is_own, brute.objects))
        check_group(row, brute, homes, every)
    names = matched.data.annotator_names
    for row in decomposition_by_annotator(matched).records():
        who = names.index(row["annotator"])
        homes = {home for home, each in brute.concerned[row["kind"]] if each == who}
        check_group(row, brute, homes, [h for h in brute.objects if who in brute.asked[h]])


def check_group(row, brute, homes, every):
    n, total = (len(set(map(brute.counted, each))) for each in (homes, every))
    assert row["n_objects"] == n
    assert row["share"] == pytest.approx(n / total)
    assert [row["alpha_gain"], row["f1_gain"]] == brute.gains(row["kind"], homes)


def test_names_and_order_change_nothing():
    rows = random_objects(7, n_annotators=3)
    order = np.random.default_rng(0).permutation(len(rows))
    renamed = [(rows[n][0], (rows[n][1] + 1) % 3, *rows[n][2:]) for n in order]
    tables = [decomposition(matched_of(dataset(each))).records() for each in (rows, renamed)]
    assert tables[0] == [pytest.approx(row, nan_ok=True) for row in tables[1]]
    of_annotators = [decomposition_by_annotator(matched_of(dataset(e))) for e in (rows, renamed)]
    first, second = ({row[:2]: row[2:] for row in table.rows()} for table in of_annotators)
    turned = {"0": "1", "1": "2", "2": "0"}
    assert {(name[:-1] + turned[name[-1]], kind) for name, kind in first} == set(second)
    for (name, kind), numbers in first.items():
        assert numbers == pytest.approx(second[name[:-1] + turned[name[-1]], kind])


def test_intervals_of_gains_are_those_of_drawn_images_measured_alone():
    rows, n_images = random_objects(3), 6
    settings = AgreeSettings(iou_threshold=(0.5,), bootstrap=12, matcher="greedy")
    table = decomposition(matched_of(dataset(rows, n_images=n_images, n_annotators=4), settings))
    rng, drawn = np.random.default_rng(settings.seed), []
    for _ in range(12):
        images = rng.integers(0, n_images, n_images).tolist()
        copies = [
            (n, *row[1:]) for n, image in enumerate(images) for row in rows if row[0] == image
        ]
        drawn.append(decomposition(matched_of(dataset(copies, n_annotators=4))))
    # Where as many gave one category as another, the more frequent one of all images is taken, so
    # that a repair of drawn images alone may differ.
    for name, tolerance in (("alpha_gain", 0.01), ("f1_gain", 1e-9)):
        gains = np.array([each[name][1:] for each in drawn])
        low, high = expanded(gains, len({row[0] for row in rows}))
        assert (low < high).sum() >= 3
        # An interval covers its figure.
        low, high = np.minimum(low, table[name][1:]), np.maximum(high, table[name][1:])
        assert table[f"{name}_low"][1:] == pytest.approx(low, abs=tolerance)
        assert table[f"{name}_high"][1:] == pytest.approx(high, abs=tolerance)
