"""Objects as tables count them: parts and second boxes with the object that they belong to."""

import numpy as np

from bboxqa.core.arrays import BoolArray, IndexArray, frozen_arrays
from bboxqa.core.remembered import remembered
from bboxqa.diagnostics.disagreement.kinds import disagreements, resolved
from bboxqa.model.units import MatchedUnits


@frozen_arrays
class CountedObjects:
    """O objects of `drawn_objects`, of which C are counted."""

    home: IndexArray
    """(O,) int64. The object that each one is counted as."""
    places: IndexArray
    """(C,) int64. The objects that are counted, each its own home."""
    has: BoolArray
    """(O, 5) bool. The kinds of each object and of those that are counted as it."""

    def __len__(self) -> int:
        return len(self.places)


@remembered
def counted_objects(matched: MatchedUnits) -> CountedObjects:
    """Return which objects are counted, with the kinds of their parts and second boxes."""
    found = disagreements(matched)
    home = resolved(found.root)
    has = np.zeros_like(found.has)
    place, kind = np.nonzero(found.has)
    has[home[place], kind] = True
    return CountedObjects(home, np.flatnonzero(home == np.arange(len(home))), has)
