"""Vitality, against counting again without each annotator."""

import numpy as np
import pytest
from msgspec.structs import replace
from support.matched import matched, random_data
from support.resampled import expanded

from bboxqa.agreement.nominal import alpha_per_category, pooled_alpha
from bboxqa.agreement.unit_counts import coincidences
from bboxqa.diagnostics.rates import annotators, category_vitality, vitality
from bboxqa.model.settings import AgreeSettings
from bboxqa.pipelines.counting import ImagePart
from bboxqa.pipelines.diagnosis.matched_units import matched_units


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
    alpha, without, _ = vitality(units)
    assert alpha == pytest.approx(pooled_alpha(coincidences(units.reliability, missing)).value)
    again = [counted_again(units, out) for out in range(n_annotators)]
    expected = [pooled_alpha(each).value for each in again]
    assert without == pytest.approx(np.array(expected), nan_ok=True)
    assert annotators(units)["vitality"] == pytest.approx(alpha - np.array(expected), nan_ok=True)
    everyone = alpha_per_category(coincidences(units.reliability, missing))[0]
    table = category_vitality(units)
    names, categories = units.data.annotator_names, units.data.category_names
    assert len(table)
    for category, annotator, whole, rest, fall in table.rows():
        value = categories.index(category)
        found = alpha_per_category(again[names.index(annotator)])[0][value]
        assert whole == pytest.approx(everyone[value])
        assert rest == (None if np.isnan(found) else pytest.approx(found))
        assert fall == (None if rest is None else pytest.approx(whole - rest))


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
