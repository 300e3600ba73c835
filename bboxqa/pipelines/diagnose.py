"""What lowers agreement: from a data set to a table per diagnostic."""

from collections.abc import Sequence

from bboxqa.core.types import Progress
from bboxqa.diagnostics import registry
from bboxqa.model.annotations import Dataset
from bboxqa.model.settings import AgreeSettings
from bboxqa.model.table import Table
from bboxqa.pipelines.counting import compared_images
from bboxqa.pipelines.diagnosis.matched_units import matched_units
from bboxqa.pipelines.diagnosis.sensitivity import SENSITIVITY, sensitivity


def diagnose(
    data: Dataset,
    settings: AgreeSettings,
    names: Sequence[str] | None = None,
    *,
    memory: int | None = None,
    progress: Progress | None = None,
) -> dict[str, Table]:
    """Return what each diagnostic finds.

    Raises ConfigError if a name is not known, or there are several thresholds. Raises DatasetError
    if the annotations do not have what the similarity compares.

    Parameters
    ----------
    data : Dataset
        What `read_coco` returns.
    settings : AgreeSettings
        With one threshold.
    names : sequence of str, optional
        Names in `bboxqa.diagnostics.registry`, and "sensitivity"; by default all of them.
    memory : int, optional
        Limits the bytes that the pairs of an image take; an image with more is refused.
    progress : callable, optional
        Called as ``progress(stage, done, total)``.

    Returns
    -------
    dict of str to Table

    Examples
    --------
    >>> import bboxqa
    >>> from bboxqa.examples import example_file
    >>> data = bboxqa.read_coco(example_file("fruits"))
    >>> tables = diagnose(data, bboxqa.AgreeSettings(), ["pair_similarity"])
    >>> for row in tables["pair_similarity"].rows():
    ...     print(*row[:3], round(row[3], 4))
    Ann1 Ann2 3 0.8825
    Ann1 Ann3 2 0.8466
    Ann2 Ann3 2 0.9182
    """
    has_times = data.annotations.times is not None
    wanted = names or (*registry.names(with_times=has_times), SENSITIVITY)
    chosen = {name: registry.diagnostic(name) for name in wanted if name != SENSITIVITY}
    part = compared_images(data)
    matched = matched_units(part, settings, memory=memory, progress=progress)
    tables = {name: find(matched) for name, find in chosen.items()}
    if SENSITIVITY in wanted:
        found = sensitivity(part, settings, memory=memory, progress=progress)
        tables[SENSITIVITY] = found.table
    return tables
