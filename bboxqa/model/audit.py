"""The result of an audit: places to look at, the most suspicious first."""

import msgspec
from msgspec.structs import replace

from bboxqa.core.arrays import IndexArray
from bboxqa.model.annotations import Dataset, Source
from bboxqa.model.settings import AgreeSettings
from bboxqa.model.table import Table

WORTH = 0.5
"""The score from which a place is worth a look."""


class AuditResult(msgspec.Struct, frozen=True, eq=False):
    """What is suspicious about labels, by a model or by their geometry."""

    suspects: Table
    """A row for each place, the most suspicious first: rank, kind, image, label (its id),
    prediction (its position in the file, from 0), x, y, width and height of what to look at,
    category, suggested (by the model), score (from 0 to 1) and reason."""
    rows: IndexArray
    """(S,) int64. The annotation of `labels` of each place; -1 for none."""
    kinds: Table
    """A row for each kind: n_worth_a_look, with a score of 0.5 or more; n, of all; and
    labelled, the share of such predictions that this team labels, NaN where unknown."""
    images: Table
    """The images with places worth a look, the worst first: image, n, total score."""
    labels: Dataset
    """The labels in the images that were audited."""
    n_predictions: int | None
    """None without predictions."""
    basis: str
    """What scores are based on, in words."""
    settings: AgreeSettings
    sources: tuple[Source, ...]
    notes: tuple[str, ...] = ()

    def head(self, n: int) -> "AuditResult":
        """Return the result with its `n` most suspicious places only."""
        return replace(self, suspects=self.suspects.head(n), rows=self.rows[:n])

    def __repr__(self) -> str:
        worth = int(self.kinds["n_worth_a_look"].sum())
        return f"<AuditResult: {worth:,} of {len(self.suspects):,} places worth a look>"

    def _repr_html_(self) -> str:
        return self.suspects._repr_html_()
