"""Annotations joined to units and objects, and what there is to count in them, one by one."""

import numpy as np
from msgspec.structs import replace

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


def drawn_again(units, n_draws, seed=0):
    """Yield the cells of draws of images with replacement, each copy with units of its own."""
    cells, rng = units.reliability, np.random.default_rng(seed)
    image = cells.group[cells.unit]
    images = np.unique(image)
    for _ in range(n_draws):
        copies = [np.flatnonzero(image == each) for each in rng.choice(images, len(images))]
        number = np.repeat(np.arange(len(copies)), [len(copy) for copy in copies])
        rows = np.concatenate(copies)
        unit = np.unique(number * len(cells.group) + cells.unit[rows], return_inverse=True)[1]
        group = np.zeros(unit.max() + 1, np.int32)
        yield replace(cells.take(rows), unit=unit, group=group, n_groups=1)


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
