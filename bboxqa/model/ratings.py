"""Ratings of units of any kind, with the names of their codes."""

from bboxqa.core.arrays import FloatArray, IndexArray, frozen_arrays
from bboxqa.core.text import count
from bboxqa.model.reliability import ReliabilityData


@frozen_arrays
class Ratings:
    """Reliability data and the names of its codes.

    Attributes
    ----------
    data : ReliabilityData
        Ratings of U units by A annotators, with K values. Its groups are the clusters that are
        resampled: the units themselves, or the images or recordings that they belong to. If an
        annotator rated a unit several times, only pairwise coefficients are defined.
    unit_names : tuple of str
        One per unit; empty where units are only numbered.
    annotator_names : tuple of str
        One per annotator.
    value_names : tuple of str
        One per value, in numerical order if all are numbers, else alphabetical.
    numbers : (K,) float64, optional
        The values as numbers; None if a value is not a number.
    n_options : (U,) int64, optional
        In choice tasks, the number of objects to choose from.
    cluster_names : tuple of str
        One per cluster; empty where every unit is a cluster, or clusters are only numbered.
    notes : tuple of str
        Remarks on the table for readers of a result.
    """

    data: ReliabilityData
    unit_names: tuple[str, ...]
    annotator_names: tuple[str, ...]
    value_names: tuple[str, ...]
    numbers: FloatArray | None = None
    n_options: IndexArray | None = None
    cluster_names: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return (
            f"<Ratings: {count(len(self.data.group), 'unit')}, "
            f"{count(len(self.annotator_names), 'annotator')}, "
            f"{count(len(self.data.counted), 'rating')}, values: {len(self.value_names):,}>"
        )
