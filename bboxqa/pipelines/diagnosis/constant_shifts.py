"""The warning of boxes that a program moved, not a person."""

from collections.abc import Iterator

from bboxqa.core.text import count
from bboxqa.diagnostics.offsets import pixel_bases
from bboxqa.model.annotations import EDGES
from bboxqa.model.units import MatchedUnits


def pixel_base_warnings(matched: MatchedUnits) -> Iterator[str]:
    """Yield annotators whose boxes differ by the same half or whole pixel."""
    names, found = matched.data.annotator_names, pixel_bases(matched)
    if not found:
        return
    base = found[0]
    first, second = names[base.first], names[base.second]
    moved = zip(EDGES, base.shift, strict=True)
    edges = ", ".join(f"{edge} {shift:+g} px" for edge, shift in moved if shift)
    more = f"; {count(len(found) - 1, 'more such pair')}" if len(found) > 1 else ""
    yield (
        f"the boxes of {first} and {second} differ by the same amount in {base.n_alike:,} of "
        f"{base.n:,} matched pairs ({edges} for {first}{more}): a program moved them, such as one "
        "that counts pixels from 1 and not from 0; if it wrote Pascal VOC, --voc-base sets that"
    )
