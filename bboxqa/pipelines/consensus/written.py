"""Writing a consensus: in any format, what was dropped, and what a person should look at."""

from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
import numpy as np

from bboxqa.core.errors import OutputError
from bboxqa.core.files import refuse_replacing, write_atomically
from bboxqa.core.text import count, joined, names_in_words, one_line
from bboxqa.core.types import Files, Progress
from bboxqa.formats.choices import given
from bboxqa.formats.sources import files_read, paths_in
from bboxqa.formats.writers import writer
from bboxqa.formats.writing.outlines import Record
from bboxqa.model.choices import NO_CHOICES
from bboxqa.model.consensus import CONSENSUS, ConsensusResult
from bboxqa.model.diagnosis import ALL_AGREE
from bboxqa.model.review import MOST_REVIEWED, ReviewItem, ReviewObject
from bboxqa.model.settings import AgreeSettings
from bboxqa.pipelines.consensus.consensus import Known, coco_document
from bboxqa.pipelines.convert import Target, check_output, convert_with, refuse_inputs
from bboxqa.pipelines.diagnosis.review_document import drawn_shape, shown_image
from bboxqa.pipelines.send_back import send
from bboxqa.report.encodings import csv_line
from bboxqa.report.pages.page_file import PageTarget
from bboxqa.report.pages.pictures import Pixels

MERGED = "merged.json"
"""The name of the output in the folder of a project."""
DROPPED = "dropped.csv"
"""The name of the table of dropped annotations, beside the output."""


def check_output_of(target: Target, source: Files) -> None:
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
    notes, table, is_coco = list[str](), result.dropped, target.to == "coco"
    document = coco_document(result, known, plain=not is_coco)
    target.path.parent.mkdir(parents=True, exist_ok=True)
    if is_coco:
        write_atomically(target.path, msgspec.json.encode(document))
    else:
        with TemporaryDirectory() as place:
            merged = Path(place, "consensus.json")
            merged.write_bytes(msgspec.json.encode(document))
            found = convert_with(merged, target, AgreeSettings(), given())
        notes += [*found.notes, *(f"{each.how}: {each}" for each in found.losses)]
        notes.append(
            "left out: votes, asked, drawn_by, members, spread, tie of annotations, which --to "
            f"coco keeps: {writer(target.to).title} has no place for them"
        )
    text = "".join(map(csv_line, ([*table.columns], *table.rows())))
    write_atomically(target.path.with_name(DROPPED), text.encode("utf-8", "replace"))
    return [target.path, target.path.with_name(DROPPED)], notes


def send_objects(result: ConsensusResult, known: Known, folder: Path, to: str) -> list[str]:
    """Write the objects to look at in the order of review; return notes on them.

    Dropped objects are sent as well, as proposals.
    """
    data, found = result.data, result.found
    places = found.to_review[:MOST_REVIEWED]
    objects = np.append(np.flatnonzero(found.is_kept), places[~found.is_kept[places]])
    document = coco_document(result, known, objects, plain=True)
    rows, items = {place: row for row, place in enumerate(objects.tolist())}, []
    for place, reason in zip(places.tolist(), _reasons(result, places.tolist()), strict=True):
        annotation = document["annotations"][rows[place]]
        said = ReviewObject(
            annotator=CONSENSUS, image=data.image_names[found.image[place]], id=annotation["id"],
            category=data.category_names[found.category[place]], bbox=tuple(annotation["bbox"]),
            reason=reason, proposed=not found.is_kept[place],
        )  # fmt: skip
        items.append(ReviewItem(said, rows[place], int(found.image[place])))
    losses = send(document, items, AgreeSettings(), NO_CHOICES, folder, to)
    n_more = len(found.to_review) - len(items)
    more = f"; {n_more:,} more are not sent" if n_more else ""
    return [f"{count(len(items), 'object')} to look at in {folder}{more}", *losses]


def _reasons(result: ConsensusResult, places: list[int]) -> list[str]:
    """Return why a person should look at each object, in words."""
    found, of = result.found, result.data.annotations
    _, near, _, wide = found.doubts.values()
    people = names_in_words(result.data.annotator_names)
    categories = names_in_words(result.data.category_names)
    drawn: dict[int, dict[str, set[str]]] = {place: {} for place in places}
    for row in np.flatnonzero(np.isin(result.of, places)).tolist():
        named = drawn[int(result.of[row])].setdefault(categories[of.category[row]], set())
        named.add(people[of.annotator[row]])
    reasons = []
    for place, by_category in drawn.items():
        votes, asked = int(found.votes[place]), int(found.asked[place])
        what = f"{'kept' if found.is_kept[place] else 'dropped'}: drawn by {votes} of {asked}"
        given = (f"{name} by {joined(sorted(who))}" for name, who in sorted(by_category.items()))
        parts = (
            (near, f"{what}, {found.quorum[place]} keep an object"),
            (found.is_tie, "; ".join(given)),
            (wide, f"mean IoU {found.overlap[place] * asked / votes:.2f}"),
        )
        reasons.append(one_line("; ".join(words for has, words in parts if has[place])) or what)
    return reasons


def write_consensus_page(
    result: ConsensusResult, target: PageTarget, next_step: str, progress: Progress | None = None
) -> tuple[str, ...]:
    """Write a page of what was outvoted and is worth a look; return notes on its images."""
    from bboxqa.pipelines.result_pages import PageImages, sizes_of, write_with_pixels
    from bboxqa.report.consensus import consensus_page

    found, order = result.found, result.found.review_order
    shown = order[np.isin(order, found.to_review) | ~found.is_kept[order]]
    images = [*dict.fromkeys(found.image[shown].tolist())][: target.top]
    pictures = [_picture(result, image) for image in images]
    images_of_page = PageImages(
        sizes_of(pictures), [source.name for source in result.data.sources], "latter"
    )

    def page(pixels: Mapping[str, Pixels]) -> str:
        return consensus_page(result, pictures, pixels, target, next_step)

    return write_with_pixels(target, images_of_page, page, progress)


def _picture(result: ConsensusResult, image: int) -> Record:
    """Return an image in the form of the document "worst_images", with the kept objects."""
    data, found, of = result.data, result.found, result.data.annotations
    places = np.flatnonzero(found.image == image).tolist()
    rows = np.flatnonzero((of.image == image) & (result.of >= 0)).tolist()
    shapes = [drawn_shape(data, int(result.of[row]) - places[0] + 1, row) for row in rows]
    objects = []
    for number, (place, reason) in enumerate(zip(places, _reasons(result, places), strict=True), 1):
        said = {"object": number, "category": data.category_names[found.category[place]]}
        kinds = [kind for kind, has in found.doubts.items() if has[place]]
        similarity = float(found.overlap[place] * found.asked[place] / found.votes[place])
        objects.append(said | {"kind": (*kinds, ALL_AGREE)[0], "kinds": kinds, "reason": reason,
                               "similarity": similarity})  # fmt: skip
        if found.is_kept[place]:
            rings = result.shapes[place].get("segmentation") if result.shapes else None
            shapes.append(said | {
                "annotation": "merged", "annotator": CONSENSUS, "bbox": found.bbox[place].tolist(),
                "rings": rings if isinstance(rings, list) else [],
            })  # fmt: skip
    n_dropped = int((~found.is_kept[places]).sum())
    more = {"cost": n_dropped, "alpha": None, "objects": objects, "shapes": shapes}
    return shown_image(data, image) | more
