"""A consensus as lines of text and as a page."""

from collections.abc import Iterator

import numpy as np

from bboxqa.core.text import count, joined
from bboxqa.model.consensus import REASONS, ConsensusResult
from bboxqa.report.agreement_text import people
from bboxqa.report.chart import DIM, SERIES, Chart, Dot, Mark, Path, nothing
from bboxqa.report.numbers import percent
from bboxqa.report.pages import Data

# Of boxes that are not drawn before, so many are equal by chance.
_BY_CHANCE = 0.1


def text_lines(result: ConsensusResult) -> Iterator[str]:
    """Yield who was asked, how many objects are kept and dropped, and what is worth a look."""
    yield asked(result)
    yield from (f"Warning: {line}" for line in warnings(result))
    yield ""
    yield from answer(result)


def asked(result: ConsensusResult) -> str:
    """Return who was asked about how many images."""
    data, names = result.data, result.data.annotator_names
    counts = (
        f"{count(len(data.image_names), 'image')}, {count(len(data.annotations), 'annotation')}"
    )
    return f"{counts}, {people(names, data.attribution)}"


def warnings(result: ConsensusResult) -> Iterator[str]:
    """Yield what may make the votes misleading."""
    yield from result.data.headlines
    n_votes = int((result.of >= 0).sum())
    if result.n_equal > _BY_CHANCE * n_votes:
        yield (
            f"{percent(result.n_equal / n_votes, 0)} of the boxes are exactly equal to one of "
            "another annotator: they were drawn before, and are no independent votes"
        )


def answer(result: ConsensusResult) -> Iterator[str]:
    """Yield how many objects are kept and dropped, and what is worth a look."""
    found, quorums = result.found, []
    for quorum in np.unique(found.quorum).tolist():
        asked = found.asked[found.quorum == quorum]
        low, high = int(asked.min()), int(asked.max())
        quorums.append(f"{quorum} of {low}" + f" to {high}" * (high > low))
    n_kept = int(found.is_kept.sum())
    votes = f"{joined(quorums)} votes" if quorums else "no votes, as nothing was drawn"
    yield f"{count(n_kept, 'object')} kept, {len(found) - n_kept:,} dropped: kept with {votes}"
    numbers = np.bincount(result.left_out[~result.in_kept], minlength=len(REASONS)).tolist()
    reasons = [f"{n:,} {words}" for n, words in zip(numbers, REASONS, strict=True) if n]
    in_kept = count(int(result.in_kept.sum()), "annotation")
    yield f"{in_kept} in the kept objects; {joined(reasons) or 'none dropped'}"
    single, (_, near, tie, wide) = (found.asked == 2) & (found.votes == 1), found.doubts.values()
    if single.any():
        n_both = int((found.votes[found.asked == 2] == 2).sum())
        yield (
            f"Of two annotators, both drew {count(n_both, 'object')}, one alone "
            f"{int(single.sum()):,}: look at the latter (on two public sets with truth, 36 to 57 % "
            "of such were right, and 94 to 99 % of those by both)"
        )
    parts = (
        (single, "drawn by 1 of 2"),
        (near & ~single, "near the quorum"),
        (tie, "with a tie of categories"),
        (wide, "whose boxes overlap little"),
    )
    if n := len(found.to_review):
        why = [f"{int(each.sum()):,} {words}" for each, words in parts if each.any()]
        yield f"Worth a look: {count(n, 'object')}: {joined(why)}"
    changes = (
        (result.n_clipped, "cut off at the border of the image"),
        (result.n_again, "drawn again by the same annotator, and counted once"),
    )
    if said := [f"{count(n, 'box', 'boxes')} {words}" for n, words in changes if n]:
        yield joined(said)


def kept_by_quorum(result: ConsensusResult) -> tuple[Chart, Data]:
    """Return how many objects are kept with 1, 2, … votes as the quorum, as a curve and a table."""
    title, votes = "Objects kept, by quorum", result.found.votes
    kept = [(n, int((votes >= n).sum())) for n in range(1, int(votes.max(initial=0)) + 1)]
    table = Data(title, ["votes", "objects"], [*map(list, kept)])
    if not kept:
        return nothing(title), table
    quorums, top = np.unique(result.found.quorum).tolist(), 1.05 * kept[0][1]
    points = [(float(n), float(n_objects)) for n, n_objects in kept]
    marks: list[Mark] = [Path(points, SERIES[0], width=2)]
    marks += [Dot(*point, SERIES[0]) for point in points]
    marks += [Path([(quorum, 0), (quorum, top)], DIM) for quorum in quorums]
    chart = Chart(
        title, marks, (0.7, len(kept) + 0.3), (0.0, top), 180, frame="xy", grid="y", least_step=1,
        legend=[f"vertical line: the quorum, {joined([*map(str, quorums)])}"],
        x_label="votes with which an object is kept",
    )  # fmt: skip
    return chart, table
