"""Whether alpha of matched annotations can show agreement."""

import numpy as np

from bboxqa.agreement.objects import has_meaning
from bboxqa.core.remembered import remembered
from bboxqa.model.units import MatchedUnits


@remembered
def alpha_has_meaning(matched: MatchedUnits) -> bool:
    """Return whether alpha has a meaning, as in the result that is diagnosed."""
    drawn = np.bincount(matched.data.annotations.category).astype(np.float64)
    return has_meaning(drawn, matched.missing)
