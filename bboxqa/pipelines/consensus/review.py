"""The objects of a consensus that a person should look at, sent in the format of a tool."""

from pathlib import Path

import numpy as np

from bboxqa.core.text import count, joined, names_in_words, one_line
from bboxqa.model.choices import NO_CHOICES
from bboxqa.model.consensus import ConsensusResult
from bboxqa.model.review import MOST_REVIEWED, ReviewItem, ReviewObject
from bboxqa.model.settings import AgreeSettings
from bboxqa.pipelines.consensus.consensus import OWN_KEYS, Ids, coco_document, written_objects
from bboxqa.pipelines.send_back import send

REVIEWER = "consensus"
"""Whom the objects are sent to: one person decides."""


def send_objects(result: ConsensusResult, ids: Ids, folder: Path, to: str) -> list[str]:
    """Write the objects to look at in the order of review; return notes on them.

    Dropped objects are sent as well: those that the reviewer leaves in the file are accepted.
    """
    data, found = result.data, result.found
    places = found.to_review[:MOST_REVIEWED].tolist()
    document = coco_document(result, ids, also=places)
    rows = {place: row for row, place in enumerate(written_objects(result, places).tolist())}
    items = []
    for place, reason in zip(places, reasons_of(result, places), strict=True):
        annotation = document["annotations"][rows[place]]
        said = ReviewObject(
            annotator=REVIEWER,
            image=data.image_names[found.image[place]],
            id=annotation["id"],
            category=data.category_names[found.category[place]],
            bbox=tuple(annotation["bbox"]),
            reason=reason,
            proposed=not found.is_kept[place],
        )
        items.append(ReviewItem(said, rows[place], int(found.image[place])))
    document["annotations"] = [
        {key: value for key, value in each.items() if key not in OWN_KEYS}
        for each in document["annotations"]
    ]
    losses = send(document, items, AgreeSettings(), NO_CHOICES, folder, to)
    n_dropped, n_more = sum(i.object.proposed for i in items), len(found.to_review) - len(items)
    open_ = f"; {n_dropped:,} of them were dropped: delete those that are none" if n_dropped else ""
    more = f"; {n_more:,} more are not sent" if n_more else ""
    return [f"{count(len(items), 'object')} to look at in {folder}{open_}{more}", *losses]


def reasons_of(result: ConsensusResult, places: list[int]) -> list[str]:
    """Return why a person should look at each object, in words."""
    found, of = result.found, result.data.annotations
    people = names_in_words(result.data.annotator_names)
    categories = names_in_words(result.data.category_names)
    drawn: dict[int, dict[str, set[str]]] = {place: {} for place in places}
    for row in np.flatnonzero(np.isin(result.of, places)).tolist():
        by_category = drawn[int(result.of[row])]
        named = by_category.setdefault(categories[of.category[row]], set())
        named.add(people[of.annotator[row]])
    reasons = []
    for place, by_category in drawn.items():
        columns = (found.votes, found.asked, found.quorum)
        votes, asked, quorum = (int(each[place]) for each in columns)
        what = "kept" if votes >= quorum else "dropped"
        given = (f"{name} by {joined(sorted(who))}" for name, who in sorted(by_category.items()))
        parts = (
            (found.is_near, f"{what}: drawn by {votes} of {asked}, {quorum} keep an object"),
            (found.is_tie, "; ".join(given)),
            (found.is_wide, f"mean IoU {found.overlap[place] * asked / votes:.2f}"),
        )
        said = "; ".join(words for has, words in parts if has[place])
        reasons.append(one_line(said) or f"{what}: drawn by {votes} of {asked}")
    return reasons
