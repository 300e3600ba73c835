"""What annotators said about units of any kind, with the names that go with the codes."""

from bboxqa.core.arrays import FloatArray, IndexArray, frozen_arrays
from bboxqa.model.reliability import ReliabilityData

__all__ = ["Ratings"]


@frozen_arrays
class Ratings:
    """Reliability data and what its codes stand for.

    Attributes
    ----------
    data : ReliabilityData
        M ratings of U units by A annotators, K values; its groups are what intervals draw: the
        units themselves, or the images or recordings that they belong to. An annotator may
        appear several times in a unit: then only pairwise coefficients are defined.
    unit_names : tuple of str
        One per unit; empty where units are only numbered.
    annotator_names : tuple of str
        One per annotator.
    value_names : tuple of str
        One per value: numbers sorted by number, texts by text.
    numbers : (K,) float64, optional
        The values as numbers; None where some value is not a number.
    n_options : (U,) int64, optional
        How many objects there were to choose from, in choice tasks.
    cluster_names : tuple of str
        One per cluster; empty where every unit is one, or clusters are only numbered.
    """

    data: ReliabilityData
    unit_names: tuple[str, ...]
    annotator_names: tuple[str, ...]
    value_names: tuple[str, ...]
    numbers: FloatArray | None = None
    n_options: IndexArray | None = None
    cluster_names: tuple[str, ...] = ()
