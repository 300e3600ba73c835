"""Changes since a result was saved, as lines of text."""

from collections.abc import Iterator
from math import isnan, nan

from bboxqa.core.text import count
from bboxqa.model.comparison import SinceRun
from bboxqa.report.numbers import decimal
from bboxqa.report.text_table import table_lines


def since_lines(since: SinceRun) -> Iterator[str]:
    """Yield the changes of annotations, and the figures before and now."""
    yield ""
    yield f"Since {since.folder}"
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
