"""Objects and their annotations."""

import numpy as np

from bboxqa.core.arrays import BoolArray, FloatArray, IndexArray, frozen_arrays, run_starts, sum_by
from bboxqa.core.remembered import remembered
from bboxqa.model.units import MatchedUnits, UnitTable


@frozen_arrays
class DrawnObjects:
    """O objects of N annotations."""

    of: IndexArray
    """(N,) int64. The object of each annotation."""
    image: IndexArray
    n_asked: IndexArray
    n_drawn: IndexArray
    """(O,) int64. The image, the annotators who were asked and those who drew the object."""
    category: IndexArray
    """(O,) int64. The category of the majority; in a tie, the more frequent one."""
    n_category: IndexArray
    """(O,) int64. How many annotators gave this category."""
    is_tied: BoolArray
    """(O,) bool. Whether another category is as frequent."""
    n_units: IndexArray
    """(O,) int64."""
    unit: IndexArray
    """(O,) int64. The unit of the object that most drew."""
    key: IndexArray
    """(N,) int64. Object and annotator of each annotation as one number, sorted."""
    by_key: IndexArray
    """(N,) int64. The annotation of each key."""

    def __len__(self) -> int:
        return len(self.image)

    def annotation(self, key: IndexArray) -> IndexArray:
        """Return the annotation of each object and annotator, (K,); -1 where there is none."""
        if len(self.key) == 0:
            return np.full(len(key), -1)
        place = np.minimum(np.searchsorted(self.key, key), len(self.key) - 1)
        return np.where(self.key[place] == key, self.by_key[place], -1)


@remembered
def drawn_objects(matched: MatchedUnits) -> DrawnObjects:
    """Return the objects with their annotations."""
    annotations, units = matched.data.annotations, matched.units
    of = matched.objects
    n_objects = int(matched.objects.max(initial=-1)) + 1
    image = np.zeros(n_objects, np.int64)
    image[of] = annotations.image
    n_units = _n_units(of, units, n_objects)
    n_drawn = np.bincount(of, minlength=n_objects)
    category, n_category, is_tied = _categories(
        of, annotations.category.astype(np.int64), n_objects
    )
    key = of * len(matched.data.annotator_names) + annotations.annotator
    by_key = np.argsort(key, kind="stable")
    return DrawnObjects(
        of=of,
        image=image,
        n_asked=matched.data.assigned.sum(1)[image],
        n_drawn=n_drawn,
        category=category,
        n_category=n_category,
        is_tied=is_tied,
        n_units=n_units,
        unit=_largest_units(matched, n_units),
        key=key[by_key],
        by_key=by_key,
    )


def _n_units(of: IndexArray, units: UnitTable, n_objects: int) -> IndexArray:
    """Return the number of units over which each object's annotations are spread, (O,)."""
    # Nearly all annotations of a unit show one object.
    usual = np.zeros(len(units), np.int64)
    usual[units.unit] = of
    other = np.flatnonzero(usual[units.unit] != of)
    more = np.unique(of[other] * len(units) + units.unit[other]) // max(len(units), 1)
    return np.bincount(usual, minlength=n_objects) + np.bincount(more, minlength=n_objects)


def _largest_units(matched: MatchedUnits, n_units: IndexArray) -> IndexArray:
    """Return the largest unit of each object; in a tie, the one whose boxes come first."""
    of, unit = matched.objects, matched.units.unit
    chosen = np.zeros(len(n_units), np.int64)
    chosen[of] = unit
    several = np.flatnonzero(n_units[of] > 1)
    if len(several):
        key = of[several] * len(matched.units) + unit[several]
        keys, place, size = np.unique(key, return_inverse=True, return_counts=True)
        mean = mean_boxes(matched.data.annotations.bbox[several], place, len(keys))
        found, its_unit = np.divmod(keys, len(matched.units))
        order = np.lexsort((*mean.T, -size, found))
        best = order[run_starts(found[order])]
        chosen[found[best]] = its_unit[best]
    return chosen


def mean_boxes(bbox: FloatArray, group: IndexArray, n_groups: int) -> FloatArray:
    """Return the mean box of each group, (G, 4); groups without boxes have zeros."""
    size = np.maximum(np.bincount(group, minlength=n_groups), 1)
    return np.column_stack([sum_by(group, side, n_groups) for side in bbox.T]) / size[:, None]


@remembered
def object_ranks(matched: MatchedUnits) -> IndexArray:
    """Return the rank of objects that may be a part or a repetition of another one, (O,).

    They are ranked by the number of annotators, most first, then by their boxes; -1 for others.
    """
    objects = drawn_objects(matched)
    near, own = matched.near, matched.own
    one = objects.of[np.concatenate([near.left, own.left])]
    other = objects.of[np.concatenate([near.right, own.right])]
    apart = one != other
    found = np.unique(np.concatenate([one[apart], other[apart]]))
    boxes = mean_boxes(matched.data.annotations.bbox, objects.of, len(objects))[found]
    order = np.lexsort((objects.category[found], *boxes.T, -objects.n_drawn[found]))
    rank = np.full(len(objects), -1)
    rank[found[order]] = np.arange(len(found))
    return rank


def _categories(
    of: IndexArray, category: IndexArray, n_objects: int
) -> tuple[IndexArray, IndexArray, BoolArray]:
    """Return the most frequent category of each object, how many gave it, and if there are two."""
    n_categories = int(category.max(initial=-1)) + 1
    keys, count = np.unique(of * n_categories + category, return_counts=True)
    each, value = np.divmod(keys, max(n_categories, 1))
    overall = np.bincount(category, minlength=n_categories)[value]
    order = np.lexsort((value, -overall, -count, each))
    starts = run_starts(each[order])
    best = order[starts]
    most = np.zeros(n_objects, np.int64)
    np.maximum.at(most, each, count)
    n_best = np.bincount(each[count == most[each]], minlength=n_objects)
    return value[best], count[best], n_best > 1
