"""A consensus as lines of text."""

from collections import Counter
from collections.abc import Iterator

import numpy as np

from bboxqa.core.text import count, first_few, joined, one_line
from bboxqa.model.consensus import ConsensusResult, LeftOut
from bboxqa.report.numbers import percent

_NAMES = 5
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
    data, found = result.data, result.found
    by = f"named by {data.attribution}" if data.attribution else "not named in the file"
    people = f"{count(len(data.annotator_names), 'annotator')} {by}"
    names = first_few(data.annotator_names, _NAMES, one_line)
    counts = count(len(data.image_names), "image"), count(len(data.annotations), "annotation")
    yield f"{', '.join(counts)}, {people}: {names}"
    yield from (f"Warning: {line}" for line in warnings_of(result))
    yield ""
    n_kept = int(found.is_kept.sum())
    yield (
        f"{count(n_kept, 'object')} kept, {len(found) - n_kept:,} dropped: kept with "
        f"{_quorums(result)}"
    )
    yield f"{_annotations(result)}"
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
    dropped = f", {joined(reasons)}" if reasons else ", none dropped"
    return f"{count(int(is_kept.sum()), 'annotation')} in them{dropped}"


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
