"""Changes since a result was saved, as lines of text."""

from collections.abc import Iterator
from math import isnan, nan

import numpy as np

from bboxqa.core.text import count
from bboxqa.model.comparison import SinceRun
from bboxqa.report.comparison_text import agreement_lines, change_lines, things_line
from bboxqa.report.numbers import decimal
from bboxqa.report.text_table import table_lines

_NOBODY = (
    "Nobody is in both, so all annotations count as removed or added. If they are the same "
    "people, name the files by the former names: --annotator NAME=FILE"
)


def since_lines(since: SinceRun) -> Iterator[str]:
    """Yield the changes of annotations, and the figures before and now."""
    yield ""
    yield f"Since {since.folder}"
    if since.of_queue is not None:
        n_queue, n_all = since.of_queue
        yield (
            f" The files have the review queue alone: they are compared with its "
            f"{count(n_queue, 'annotation')}, not with all {n_all:,} that were measured."
        )
    if since.comparison is not None:
        status = since.comparison.annotators["status"]
        if (status != "both").any():
            yield things_line(since.comparison.annotators, "annotator")
        if not np.isin(status, ["both", "renamed"]).any():
            yield f" {_NOBODY}"
        yield from change_lines(since.comparison)
        yield from agreement_lines(since.comparison)
        return
    if since.counts:
        rows = [["Annotations, by id", ""]]
        rows += [[name, f"{number:,}"] for name, number in since.counts.items()]
        yield from (f" {line}" for line in table_lines(rows, left=(0,)))
    else:
        before, after = since.n_annotations
        yield f" {count(before, 'annotation')} before, {after:,} now"
    figures = [["Agreement", "before", "now", "difference"]]
    for name, was, value in since.figures:
        before_value = nan if was is None else was
        difference = value - before_value
        cells = [decimal(each) or "–" for each in (before_value, value)]
        figures.append([name, *cells, "–" if isnan(difference) else f"{difference:+z.4f}"])
    yield from (f" {line}" for line in table_lines(figures, left=(0,)))
    yield f" Note: {since.reason}"
