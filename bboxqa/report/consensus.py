"""A consensus as lines of text and as a page."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from math import inf
from typing import Any

import numpy as np

from bboxqa.core.text import count, first_few, joined, one_line
from bboxqa.model.consensus import ConsensusResult, LeftOut
from bboxqa.report.charts.chart import DIM, SERIES, Chart, Dot, Mark, Path, Text, nothing, upright
from bboxqa.report.charts.svg import chart_svg
from bboxqa.report.numbers import percent
from bboxqa.report.pages.html_document import render
from bboxqa.report.pages.pictures import Pixels, shown_images

_NAMES, _MOST_COLUMNS = 5, 12
# Of boxes that are not drawn before, so many are equal by chance.
_BY_CHANCE = 0.1
_WORDS = {
    LeftOut.CROWD: "{} of groups (iscrowd)",
    LeftOut.EMPTY: "{} without an area inside the image",
}


def warnings_of(result: ConsensusResult) -> Iterator[str]:
    """Yield facts that may make the consensus misleading."""
    yield from result.data.headlines
    n_votes = int((result.of >= 0).sum())
    if result.n_equal > _BY_CHANCE * n_votes:
        yield (
            f"{percent(result.n_equal / n_votes, 0)} of the boxes are exactly equal to one of "
            "another annotator: they were drawn before, and are no independent votes"
        )


def text_lines(result: ConsensusResult) -> Iterator[str]:
    """Yield who was asked, how many objects are kept and dropped, and what is worth a look."""
    yield asked_line(result)
    yield from (f"Warning: {line}" for line in warnings_of(result))
    yield ""
    yield from answer_lines(result)


def asked_line(result: ConsensusResult) -> str:
    """Return who was taken for an annotator, and what they drew."""
    data = result.data
    by = f"named by {data.attribution}" if data.attribution else "not named in the file"
    people = f"{count(len(data.annotator_names), 'annotator')} {by}"
    names = first_few(data.annotator_names, _NAMES, one_line)
    counts = count(len(data.image_names), "image"), count(len(data.annotations), "annotation")
    return f"{', '.join(counts)}, {people}: {names}"


def answer_lines(result: ConsensusResult) -> Iterator[str]:
    """Yield how many objects are kept and dropped, and what is worth a look."""
    found = result.found
    n_kept = int(found.is_kept.sum())
    yield (
        f"{count(n_kept, 'object')} kept, {len(found) - n_kept:,} dropped: kept with "
        f"{_quorums(result)}"
    )
    yield _annotations(result)
    yield from _review(result)
    parts = (
        (result.n_clipped, "cut off at the border of the image"),
        (result.n_again, "drawn again by the same annotator, and counted once"),
    )
    if said := [f"{count(n, 'box', 'boxes')} {words}" for n, words in parts if n]:
        yield joined(said)


def _quorums(result: ConsensusResult) -> str:
    """Return the votes that keep an object, as words."""
    found = result.found
    parts = []
    for quorum in np.unique(found.quorum).tolist():
        asked = found.asked[found.quorum == quorum]
        low, high = int(asked.min()), int(asked.max())
        parts.append(f"{quorum} of {low}" + (f" to {high}" if high > low else ""))
    return f"{joined(parts)} votes" if parts else "no votes, as nothing was drawn"


def _annotations(result: ConsensusResult) -> str:
    """Return how many annotations are in objects, and why the others are not."""
    is_kept = np.append(result.found.is_kept, False)[result.of]
    why = Counter(result.left_out[~is_kept].tolist())
    reasons = [f"{why.pop(LeftOut.VOTES):,} outvoted"] if LeftOut.VOTES in why else []
    reasons += [_WORDS[LeftOut(each)].format(f"{n:,}") for each, n in sorted(why.items())]
    dropped = f"{joined(reasons)}" if reasons else "none dropped"
    return f"{count(int(is_kept.sum()), 'annotation')} in the kept objects; {dropped}"


def _review(result: ConsensusResult) -> Iterator[str]:
    """Yield how many objects a person should look at, and why."""
    found = result.found
    single = (found.asked == 2) & (found.votes == 1)
    if single.any():
        by_both = count(int((found.votes[found.asked == 2] == 2).sum()), "object")
        yield (
            f"Of two annotators, both drew {by_both}, and nearly all such are right; one alone "
            f"drew {int(single.sum()):,}, and about half of such are: look at these"
        )
    parts = (
        (single, "drawn by 1 of 2"),
        (found.is_near & ~single, "near the quorum"),
        (found.is_tie & found.is_kept, "with a tie of categories"),
        (found.is_wide, "whose boxes overlap little"),
    )
    if n := len(found.to_review):
        reasons = [f"{int(each.sum()):,} {words}" for each, words in parts if each.any()]
        yield f"Worth a look: {count(n, 'object')}: {joined(reasons)}"


CONSENSUS = "consensus"
"""Who drew the merged boxes, on a page."""


def kept_by_quorum(result: ConsensusResult) -> Chart:
    """Draw how many objects are kept with 1, 2, … votes as the quorum."""
    title, found = "Objects kept, by quorum", result.found
    if not len(found):
        return nothing(title, "nothing was drawn")
    most = int(found.asked.max())
    n_kept = [int((found.votes >= votes).sum()) for votes in range(1, most + 1)]
    points = [(float(place), float(n)) for place, n in enumerate(n_kept)]
    marks: list[Mark] = [Path([points], SERIES[0], width=2)]
    marks += [Dot(x, y, SERIES[0]) for x, y in points]
    for quorum in np.unique(found.quorum).tolist():
        place = quorum - 1
        marks += [upright(place, -inf, inf), Text(place, inf, f"{quorum}", 3, color=DIM, rise=6)]
    step = -(-most // _MOST_COLUMNS)
    names = [str(votes) if votes % step == 0 else "" for votes in range(1, most + 1)]
    ends = (-0.3, most - 0.7), (0.0, max(n_kept) * 1.05)
    return Chart(
        title, marks, *ends, 180, frame="xy", grid="y", legend=(" ",), columns=names,
        x_label="votes with which an object is kept",
    )  # fmt: skip


def consensus_page(
    result: ConsensusResult,
    pictures: Sequence[Mapping[str, Any]],
    pixels: Mapping[str, Pixels],
    next_step: str,
) -> str:
    """Return the page of a consensus, with images in the form of the document "worst_images"."""
    from markupsafe import Markup

    names = [*result.data.annotator_names]
    people = sorted({name for each in pictures for name in each["asked"] if name in names})
    worst = {"n_images": len(result.data.image_names), "measure": "IoU"}
    chart = kept_by_quorum(result)
    caption = "Upright lines are the quorum, which depends on how many were asked."
    return render(
        "consensus",
        title="Consensus of annotators",
        kicker=asked_line(result),
        lines=[*answer_lines(result)],
        warnings=[*warnings_of(result)],
        next_step=next_step,
        curve=Markup(chart_svg(chart, chart.title)),  # noqa: S704 - `chart_svg` escapes texts
        caption=caption,
        images=shown_images(worst, pictures, pixels, [CONSENSUS, *people]),
    )
