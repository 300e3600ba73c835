"""Writing a consensus: in any format, what was dropped, and what a person should look at."""

from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
import numpy as np

from bboxqa.core.errors import OutputError
from bboxqa.core.files import refuse_replacing, write_atomically
from bboxqa.core.text import count, joined, names_in_words, one_line
from bboxqa.core.types import Files
from bboxqa.formats.choices import given
from bboxqa.formats.sources import files_read, paths_in
from bboxqa.formats.writers import writer
from bboxqa.formats.writing.outlines import Record
from bboxqa.model.choices import NO_CHOICES
from bboxqa.model.consensus import ConsensusResult
from bboxqa.model.review import MOST_REVIEWED, ReviewItem, ReviewObject
from bboxqa.model.settings import AgreeSettings
from bboxqa.pipelines.consensus.consensus import OWN_KEYS, Known, coco_document, written_objects
from bboxqa.pipelines.convert import Target, check_output, convert_with, refuse_inputs
from bboxqa.pipelines.send_back import send
from bboxqa.report.encodings import csv_line

MERGED = "merged.json"
"""The name of the output in the folder of a project."""
REVIEWER = "consensus"
"""Whom the objects are sent to: one person decides."""
DROPPED = "dropped.csv"
"""The name of the table of dropped annotations, beside the output."""


def check_targets(target: Target, source: Files) -> None:
    """Refuse outputs that must not be written, before anything is read."""
    refuse_inputs(target.path, source)
    check_output(target.path, writer(target.to), force=target.force)
    table = target.path.with_name(DROPPED)
    if table == target.path:
        raise OutputError(f"{table}: is where dropped annotations are listed; name another output")
    refuse_replacing([table], files_read([*map(Path, paths_in(source))]))
    if table.exists() and not target.force:
        raise OutputError(f"{table}: already exists; name another folder, or add --force")


def write_consensus(
    result: ConsensusResult, known: Known, target: Target
) -> tuple[list[Path], list[str]]:
    """Write the kept objects, and the table of dropped annotations beside them.

    Return the paths, and notes on what the format could not hold.
    """
    document, notes, table = coco_document(result, known), list[str](), result.dropped
    target.path.parent.mkdir(parents=True, exist_ok=True)
    if target.to == "coco":
        write_atomically(target.path, msgspec.json.encode(document))
    else:
        notes = _convert(document, target)
    text = "".join(map(csv_line, ([*table.columns], *table.rows())))
    write_atomically(target.path.with_name(DROPPED), text.encode("utf-8", "replace"))
    return [target.path, target.path.with_name(DROPPED)], notes


def _convert(document: Record, target: Target) -> list[str]:
    """Write the annotations in another format, without the keys of the consensus."""
    with TemporaryDirectory() as place:
        merged = Path(place, "consensus.json")
        merged.write_bytes(msgspec.json.encode(_plain(document)))
        found = convert_with(merged, target, AgreeSettings(), given())
    lost, title = ", ".join(OWN_KEYS), writer(target.to).title
    left = f"left out: {lost} of annotations, which --to coco keeps: {title} has no place for them"
    return [*found.notes, *(f"{each.how}: {each}" for each in found.losses), left]


def _plain(document: Record) -> Record:
    """Return a document without the keys of the consensus."""
    annotations = [
        {key: value for key, value in each.items() if key not in OWN_KEYS}
        for each in document["annotations"]
    ]
    return {**document, "annotations": annotations}


def send_objects(result: ConsensusResult, known: Known, folder: Path, to: str) -> list[str]:
    """Write the objects to look at in the order of review; return notes on them.

    Dropped objects are sent as well, as proposals.
    """
    data, found = result.data, result.found
    places = found.to_review[:MOST_REVIEWED].tolist()
    document = coco_document(result, known, places)
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
    losses = send(_plain(document), items, AgreeSettings(), NO_CHOICES, folder, to)
    n_more = len(found.to_review) - len(items)
    more = f"; {n_more:,} more are not sent" if n_more else ""
    return [f"{count(len(items), 'object')} to look at in {folder}{more}", *losses]


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
