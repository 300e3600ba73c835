"""The result of an audit, and its views: text, one plain object, a folder and a page."""

from collections.abc import Iterator
from typing import Any

import msgspec
import numpy as np
from msgspec.structs import replace

from bboxqa.core.arrays import IndexArray
from bboxqa.core.text import count, first_few, one_line
from bboxqa.core.version import __version__
from bboxqa.model.annotations import Dataset, Source
from bboxqa.model.settings import AgreeSettings
from bboxqa.model.table import Table
from bboxqa.report.numbers import json_text, table_lines

WORTH = 0.5
"""The score from which a place is worth a look."""


class AuditResult(msgspec.Struct, frozen=True, eq=False):
    """What is suspicious about labels, by a model or by their geometry."""

    suspects: Table
    """A row for each place, the most suspicious first: rank, kind, image, label (its id),
    prediction (its position in the file, from 0), x, y, width and height of what to look at,
    category, suggested (by the model), score (from 0 to 1) and reason."""
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

    @property
    def worth(self) -> IndexArray:
        """The rows of `suspects` that are worth a look."""
        return np.flatnonzero(self.suspects["score"] >= WORTH)

    def head(self, n: int | None) -> "AuditResult":
        """Return the result with its `n` most suspicious places only; None for all."""
        return self if n is None else replace(self, suspects=self.suspects.head(n))

    def __repr__(self) -> str:
        worth = int(self.kinds["n_worth_a_look"].sum())
        return f"<AuditResult: {worth:,} of {len(self.suspects):,} places worth a look>"


KINDS = {
    "missing": "an object without a label",
    "spurious": "a label without an object",
    "class": "another category",
    "place": "badly drawn",
    "twice": "repeats another label",
}
"""What the kinds are, in words."""
_NAMED, _WORST = 3, 20


def text_lines(result: AuditResult, *, next_step: str = "", **_: object) -> Iterator[str]:
    """Yield how many places of which kind are worth a look, the first ones and what to type."""
    names = first_few(result.sources, _NAMED, lambda each: one_line(each.name))
    labels, n = count(len(result.labels.annotations), "label"), result.n_predictions
    against = "" if n is None else f" and {count(n, 'prediction')}"
    yield f"{names}: {labels}{against} in {count(len(result.labels.image_names), 'image')}"
    yield f"{title(result)} (score {WORTH} or more), by {result.basis}"
    rows = [["kind", "look", "of", "", ""]]
    for kind, worth, n, share in result.kinds.take(np.flatnonzero(result.kinds["n"])).rows():
        right = "" if share is None else f"the team labels {100 * share:.0f} % of such predictions"
        rows.append([kind, f"{worth:,}", f"{n:,}", KINDS[kind], right])
    yield from (f" {line}" for line in table_lines(rows, left=(0, 3, 4)) if rows[1:])
    words = (
        [each["image"], each["kind"], each["category"] or each["suggested"], f"{each['score']:.2f}"]
        for each in result.suspects.head(_NAMED).records()
    )
    first = ", ".join(one_line(" ".join(filter(None, each))) for each in words)
    for image, n, _ in result.images.head(1).rows():
        first += f"; worst image: {one_line(image)}, {count(n, 'place')}"
    yield from [f"First: {first}"] * bool(first)
    yield from (f" Note: {note}" for note in result.notes)
    yield from [f"Next: {next_step}"] * bool(next_step)


def title(result: AuditResult) -> str:
    """Return how many places are worth a look, of how many, or how many of these are kept."""
    worth, n = (int(result.kinds[name].sum()) for name in ("n_worth_a_look", "n"))
    if len(result.suspects) < worth:
        return f"Look at the first {len(result.suspects):,} of {count(worth, 'place')}"
    return f"Look at {worth:,} of {count(n, 'place')}"


def summary(result: AuditResult) -> dict[str, Any]:
    """Return the figures of an audit; None where a number is undefined."""
    return {
        "n_images": len(result.labels.image_names), "n_labels": len(result.labels.annotations),
        "n_predictions": result.n_predictions, "basis": result.basis, "least_score": WORTH,
        "kinds": result.kinds.records(),
        "worst_images": result.images.head(_WORST).records(),
        "version": __version__, "notes": list(result.notes),
    }  # fmt: skip


def json_lines(result: AuditResult, **_: object) -> Iterator[str]:
    """Yield an audit as indented JSON: the summary, and the suspects."""
    whole = summary(result) | {"suspects": result.suspects.records()}
    yield from json_text(whole).rstrip("\n").split("\n")
