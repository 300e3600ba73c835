"""Who draws objects twice, splits or merges them; and nobody misses anything because of it."""

import pytest

from bboxqa import read_coco, simulate
from bboxqa.diagnostics.decomposition import KINDS, Kind, decomposition, decomposition_by_annotator
from bboxqa.diagnostics.rates import annotators, boxes_per_object
from bboxqa.model.settings import AgreeSettings
from bboxqa.pipelines.counting import compared_images
from bboxqa.pipelines.diagnosis.matched_units import matched_units

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
