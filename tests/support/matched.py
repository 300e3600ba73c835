"""Annotations joined to units and objects, and what there is to count in them, one by one."""

import numpy as np

from bboxqa.model.settings import AgreeSettings
from bboxqa.pipelines.counting import compared_images
from bboxqa.pipelines.diagnosis.matched_units import matched_units
from support.datasets import dataset, object_rows, with_assigned


def matched(data, *, threshold=0.5, bootstrap=0, missing="category", **more):
    """Return the units of a data set."""
    more |= {"bootstrap": bootstrap, "missing": missing}
    settings = AgreeSettings(iou_threshold=(threshold,), **more)
    return matched_units(compared_images(data), settings)


def random_data(seed, *, n_annotators=3, everyone=False, **more):
    """Return annotators who mostly agree; of some images, one was not asked."""
    rng = np.random.default_rng(seed)
    rows = object_rows(rng, n_annotators=n_annotators, **more)
    assigned = np.ones((max(row[0] for row in rows) + 1, n_annotators), bool)
    if not everyone:
        assigned[::3, rng.integers(n_annotators)] = False
        rows = [row for row in rows if assigned[row[0], row[1]]]
    data = dataset(rows, n_images=len(assigned), n_annotators=n_annotators)
    return with_assigned(data, assigned)


def objects_of(units):
    """Return each object as its image, who was asked, and annotation by annotator."""
    of, assigned = units.data.annotations, units.data.assigned
    found = {}
    for row, each in enumerate(units.objects.tolist()):
        drawn = found.setdefault(each, {})
        assert int(of.annotator[row]) not in drawn
        drawn[int(of.annotator[row])] = row
    return [
        (image := int(of.image[min(drawn.values())]), np.flatnonzero(assigned[image]), drawn)
        for drawn in found.values()
    ]
