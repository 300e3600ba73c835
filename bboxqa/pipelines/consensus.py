"""The consensus of several annotators as one data set, written in any format."""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
from msgspec.structs import replace

from bboxqa.core.arrays import Files, IndexArray, Progress
from bboxqa.core.errors import ConfigError, DatasetError, OutputError
from bboxqa.core.files import refuse_replacing, write_atomically
from bboxqa.core.json_values import json_bytes
from bboxqa.core.machine import gc_paused
from bboxqa.core.text import clean, count, first_few, joined, names_in_words, one_line
from bboxqa.formats.choices import given
from bboxqa.formats.records import AnnotationFile, ReadSettings
from bboxqa.formats.registry import writer
from bboxqa.formats.sources import as_paths, files_read
from bboxqa.formats.writing.losses import said
from bboxqa.formats.writing.outlines import Record
from bboxqa.matching.linkage import drawn_ranks
from bboxqa.model.annotations import NO_CHOICES, Dataset
from bboxqa.model.consensus import CONSENSUS, LINK, ConsensusResult
from bboxqa.model.diagnosis import ALL_AGREE, MOST_REVIEWED, ReviewItem, ReviewObject
from bboxqa.model.settings import AgreeSettings
from bboxqa.pipelines.agree import checked_data
from bboxqa.pipelines.convert import Target, check_output, convert_with, refuse_inputs
from bboxqa.pipelines.diagnosis.review import drawn_shape, shown_image
from bboxqa.pipelines.fusion import consensus_of, fused_shapes, votes_of
from bboxqa.pipelines.joint_sigmas import with_sigmas
from bboxqa.pipelines.read import AS_COMPARED, Data, check_files, read_for
from bboxqa.pipelines.send_back import send
from bboxqa.report.numbers import csv_line
from bboxqa.report.pages import PageTarget
from bboxqa.rules.layout import first_equal

# The keys of annotations that are merged, or follow from what is merged.
_MERGED = ("id", "own_id", "image_id", "category_id", "annotator", "bbox", "segmentation", "area",
           "iscrowd", "keypoints", "num_keypoints", "shape")  # fmt: skip


def consensus(
    data: Dataset | Data,
    *,
    quorum: float | None = None,
    iou_threshold: float = LINK,
    similarity: str = "bbox",
) -> ConsensusResult:
    """Return one data set from the opinions of several annotators.

    Boxes of two annotators are joined where they overlap, highest IoU first, and no annotator is in
    an object twice. An object has the median of each edge and the most frequent category; it is
    kept if enough of those asked drew it, also counting those who drew nothing.

    Parameters
    ----------
    data : Dataset, or what `read` takes
        What `read` returns, or what it reads.
    quorum : float, optional
        The votes that keep an object, or a share below 1 of those asked. By default one of two,
        else a third, but at least two.
    iou_threshold : float
        Two boxes can show one object if their IoU reaches it.
    similarity : str
        How two annotations are compared, as in `agree`.

    Returns
    -------
    ConsensusResult

    Raises
    ------
    ConfigError
        If the quorum or the threshold has no meaning.
    DatasetError
        If the annotations lack what the similarity compares, or boxes are in another layout.

    Examples
    --------
    >>> import bboxqa
    >>> from bboxqa.examples import example_file
    >>> result = bboxqa.consensus(example_file("fruits"))
    >>> result
    <ConsensusResult: 3 of 3 objects kept>
    >>> result.objects.records()[0]["category"], result.objects.records()[0]["votes"]
    ('Banana', 3)
    """
    settings = AgreeSettings(similarity=similarity)
    if not isinstance(data, Dataset):
        reading = replace(AS_COMPARED, choices=given())
        return consensus_of_files(data, settings, reading, quorum, iou_threshold)[0]
    return _merged(checked_data(data, settings, "data"), quorum, iou_threshold, similarity)


def _merged(data: Dataset, quorum: float | None, link: float, similarity: str) -> ConsensusResult:
    """Return the consensus of a data set whose boxes are checked; see `consensus`."""
    n = len(data.annotator_names)
    if quorum is not None and not (0 < quorum < 1 or quorum in range(1, n + 1)):
        expected = f"a whole number of votes, at most {n}, the annotators, or a share below 1"
        raise ConfigError(f"is {quorum:g}; expected {expected}, such as 0.5", "quorum")
    if not 0 < link <= 1:
        raise ConfigError(f"is {link:g}; expected above 0, and at most 1", "iou_threshold")
    votes = votes_of(data, similarity)
    objects, of_vote = consensus_of(votes, link, quorum, similarity)
    of = np.append(of_vote, -1)[votes.of]
    shapes, bbox, notes = fused_shapes(data, of, objects, quorum)
    # Boxes and shapes that are exactly equal to those of another annotator.
    alike = replace(votes.data.annotations, category=np.zeros_like(votes.data.annotations.category))
    first = first_equal((alike.image, *alike.bbox.T))
    equal = np.flatnonzero(np.bincount(first)[first] > 1)
    _, n_alike = np.unique(drawn_ranks(alike, equal), return_counts=True)
    return ConsensusResult(
        data=data, found=replace(objects, bbox=bbox), of=of, left_out=votes.left_out,
        shapes=shapes, n_clipped=votes.n_clipped, n_again=int((of >= 0).sum()) - len(of_vote),
        n_equal=int(n_alike[n_alike > 1].sum()), notes=(*data.notes, *notes),
    )  # fmt: skip


class Known(NamedTuple):
    """What files say of images and categories, by name: their ids, and joints of categories."""

    images: dict[str, Record]
    categories: dict[str, Record]


def _numbered(known: Mapping[str, Record], names: Sequence[str], key: str) -> list[Record]:
    """Return a record for each name; if ids are not unique integers, they are places."""
    records = [known.get(name, {key: name}) for name in names]
    ids = [each.get("id") for each in records]
    are_unique = all(type(each) is int for each in ids) and len({*ids}) == len(ids)
    return [
        {"id": place, **each} if are_unique else {**each, "id": place}
        for place, each in enumerate(records, 1)
    ]


def consensus_of_files(
    source: Data,
    settings: AgreeSettings,
    reading: ReadSettings,
    quorum: float | None = None,
    iou_threshold: float = LINK,
) -> tuple[ConsensusResult, Known]:
    """Read files of several annotators; return their consensus, and the ids in the files."""
    known, n_with, merged = Known({}, {}), Counter[str](), {*_MERGED}

    def count_keys(records: Sequence[Mapping[str, Any]]) -> None:
        if not {*chain.from_iterable(records)} <= {*_MERGED}:
            n_with.update(key for record in records for key, _ in said(record))

    def check(files: Sequence[AnnotationFile], who: Any) -> None:
        for image in (each for file in files for each in file.images):
            named = {"file_name": image.file_name} if image.file_name else {}
            known.images.setdefault(image.label, {"id": image.id, **named})
        for each in (each for file in files for each in file.categories):
            named = {key: v for key, v in msgspec.structs.asdict(each).items() if v is not None}
            known.categories.setdefault(clean(each.name), named)
        merged.add(who.key)
        check_files(files, who, boxes=True, choices=reading.choices)

    reading = replace(
        reading, outlines=True, keypoints=True, digest=False, by_files="all", check=check,
        on_records=count_keys,
    )  # fmt: skip
    try:
        data = read_for(source, settings, reading)
    except DatasetError as error:
        error.change_texts(lambda text: text.replace("bboxqa agree ", "bboxqa consensus "))
        error.change_texts(lambda text: text.replace("Agreement needs", "A consensus needs"))
        raise
    if lost := sorted(n_with.keys() - merged):
        named = [f"{count(n_with[key], 'annotation')} with {one_line(key)!r}" for key in lost]
        note = f"left out, as shapes and categories alone are merged: {first_few(named, 5)}"
        data = replace(data, notes=(*data.notes, note))
    data = with_sigmas(data, settings)
    return _merged(data, quorum, iou_threshold, settings.similarity), known


@gc_paused()
def coco_document(
    result: ConsensusResult,
    known: Known | None = None,
    objects: IndexArray | None = None,
    *,
    plain: bool = False,
) -> Record:
    """Return objects as a COCO document, by default the kept ones; ids are those of the files."""
    data, found, known = result.data, result.found, known or Known({}, {})
    objects = np.flatnonzero(found.is_kept) if objects is None else objects
    images = _numbered(known.images, data.image_names, "file_name")
    for image, size in zip(images, data.image_size.tolist(), strict=True):
        image.update(zip(("width", "height"), size if all(size) else (), strict=False))
    categories = _numbered(known.categories, data.category_names, "name")
    of, drawn = data.annotations, np.flatnonzero(result.of >= 0)
    drawn = drawn[np.lexsort((of.id[drawn], of.annotator[drawn], result.of[drawn]))]
    bounds = np.searchsorted(result.of[drawn], np.arange(len(found) + 1)).tolist()
    members = (of.id if of.own_id is None else of.own_id)[drawn].tolist()
    people = [data.annotator_names[each] for each in of.annotator[drawn].tolist()]
    # Sums and means of edges have digits that are noise.
    every = (found.image, found.category, found.bbox.round(6), found.votes, found.asked,
             found.spread.round(2), found.is_tie)  # fmt: skip
    rows = zip(objects.tolist(), *(column[objects].tolist() for column in every), strict=True)
    annotations = []
    for number, (place, image, category, bbox, votes, asked, spread, tie) in enumerate(rows, 1):
        own = slice(bounds[place], bounds[place + 1])
        more = {"votes": votes, "asked": asked, "drawn_by": people[own], "members": members[own],
                "spread": spread, "tie": tie}  # fmt: skip
        annotations.append({
            "id": number, "image_id": images[image]["id"],
            "category_id": categories[category]["id"], "bbox": bbox,
            "area": round(bbox[2] * bbox[3], 6), "iscrowd": 0,
            **(result.shapes[place] if result.shapes else {}), **({} if plain else more),
        })  # fmt: skip
    return {"images": images, "categories": categories, "annotations": annotations}


MERGED = "merged.json"
"""The name of the output in the folder of a project."""
_DROPPED = "dropped.csv"


def check_output_of(target: Target, source: Files) -> Path:
    """Refuse outputs that must not be written; return where dropped annotations are listed."""
    refuse_inputs(target.path, source)
    if target.to == "coco" and target.path.suffix.lower() not in ("", ".json"):
        raise OutputError(f"{target.path}: is no name of COCO JSON; expected .json, or --to FORMAT")
    check_output(target.path, writer(target.to), force=target.force)
    table, own = (
        target.path.with_name(f"{stem}{_DROPPED}") for stem in ("", f"{target.path.stem}_")
    )
    if own.exists() or (table.exists() and not target.path.exists()):
        table = own
    if table == target.path:
        raise OutputError(f"{table}: is where dropped annotations are listed; name another output")
    refuse_replacing([table], files_read([*map(Path, as_paths(source))]))
    if table.exists() and not target.force:
        raise OutputError(f"{table}: already exists; name another output, or add --force")
    return table


def write_consensus(
    result: ConsensusResult, known: Known, target: Target, dropped: Path | None = None
) -> list[str]:
    """Write the kept objects, and the others to a table, by default dropped.csv beside them."""
    notes, table, is_coco = list[str](), result.dropped, target.to == "coco"
    document = coco_document(result, known, plain=not is_coco)
    if is_coco:
        write_atomically(target.path, json_bytes(document))
    else:
        found = convert_with(document, target, AgreeSettings(), given())
        notes += [*found.notes, *(f"{each.how}: {each}" for each in found.losses)]
        notes.append(
            "left out: votes, asked, drawn_by, members, spread, tie of annotations, which --to "
            f"coco keeps: {writer(target.to).title} has no place for them"
        )
    text = "".join(map(csv_line, ([*table.columns], *table.rows())))
    dropped = dropped or target.path.with_name(_DROPPED)
    write_atomically(dropped, text.encode("utf-8", "replace"))
    return notes


def send_objects(result: ConsensusResult, known: Known, folder: Path, to: str) -> list[str]:
    """Write the objects to look at in the order of review; return notes on them."""
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
    found, of = result.found, result.data.annotations
    wide = found.doubts["little overlap"]
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
        words = [f"{what}, {found.quorum[place]} needed"]
        if found.is_tie[place]:
            words += [
                f"{each} by {joined(sorted(who))}" for each, who in sorted(by_category.items())
            ]
        if wide[place]:
            words.append(f"mean IoU {found.overlap[place] * asked / votes:.2f}")
        reasons.append(one_line("; ".join(words)))
    return reasons


def write_consensus_page(
    result: ConsensusResult, target: PageTarget, next_step: str, progress: Progress | None = None
) -> tuple[str, ...]:
    """Write a page of what was outvoted and is worth a look; return notes on its images."""
    from bboxqa.pipelines.pictures import write_images_page
    from bboxqa.report.consensus import answer, asked, kept_by_quorum, warnings

    data, found, order = result.data, result.found, result.found.review_order
    shown = order[np.isin(order, found.to_review) | ~found.is_kept[order]]
    worst = [*dict.fromkeys(found.image[shown].tolist())][: target.top]
    pictures = [_picture(result, image) for image in worst]
    people = sorted({name for each in pictures for name in each["asked"]})
    names = [source.name for source in data.sources]
    return write_images_page(
        "consensus", target, pictures, len(data.image_names), names, progress,
        [CONSENSUS, *people], title="Consensus of annotators", kicker=asked(result),
        lines=[*answer(result)], warnings=[*warnings(result)], next_step=next_step,
        by_quorum=kept_by_quorum(result),
    )  # fmt: skip


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
