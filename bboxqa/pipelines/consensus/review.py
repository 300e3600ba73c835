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
    places = result.found.to_review[:MOST_REVIEWED].tolist()
    document = coco_document(result, ids, also=places)
    number = {place: row for row, place in enumerate(written_objects(result, places).tolist())}
    data, found = result.data, result.found
    reasons = reasons_of(result, places)
    items = []
    for place, reason in zip(places, reasons, strict=True):
        annotation = document["annotations"][number[place]]
        annotation["reason"] = reason
        said = ReviewObject(
            annotator=REVIEWER,
            image=data.image_names[found.image[place]],
            id=annotation["id"],
            category=data.category_names[found.category[place]],
            bbox=tuple(annotation["bbox"]),
            reason=reason,
            proposed=not found.is_kept[place],
        )
        items.append(ReviewItem(said, number[place], int(found.image[place])))
    for annotation in document["annotations"]:
        for key in OWN_KEYS:
            annotation.pop(key, None)
    losses = send(document, items, AgreeSettings(), NO_CHOICES, folder, to)
    n_more = len(found.to_review) - len(places)
    more = f"; {n_more:,} more are not sent" if n_more else ""
    n_dropped = sum(each.object.proposed for each in items)
    open_ = f"; {n_dropped:,} of them were dropped: delete those that are none" if n_dropped else ""
    return [f"{count(len(items), 'object')} to look at in {folder}{open_}{more}", *losses]


def reasons_of(result: ConsensusResult, places: list[int]) -> list[str]:
    """Return why a person should look at each object, in words."""
    data, found, of = result.data, result.found, result.data.annotations
    people, categories = names_in_words(data.annotator_names), names_in_words(data.category_names)
    rows = np.flatnonzero(np.isin(result.of, places))
    drawn: dict[int, dict[int, set[int]]] = {place: {} for place in places}
    for row in rows.tolist():
        by_category = drawn[int(result.of[row])]
        by_category.setdefault(int(of.category[row]), set()).add(int(of.annotator[row]))
    reasons = []
    for place in places:
        votes, asked, quorum = (
            int(each[place]) for each in (found.votes, found.asked, found.quorum)
        )
        parts: list[str] = []
        if found.is_near[place]:
            what = "kept" if votes >= quorum else "dropped"
            parts.append(f"{what}: drawn by {votes} of {asked}, {quorum} keep an object")
        if found.is_tie[place]:
            parts.append("; ".join(
                f"{categories[category]} by {joined([people[each] for each in sorted(who)])}"
                for category, who in sorted(drawn[place].items())
            ))  # fmt: skip
        if found.is_wide[place]:
            mean = found.overlap[place] * asked / votes
            parts.append(f"boxes overlap little (mean IoU {mean:.2f})")
        reasons.append(one_line("; ".join(parts)))
    return reasons
