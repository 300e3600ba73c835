"""The consensus of a data set or of files, and the COCO document that holds it."""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

import msgspec
import numpy as np
from msgspec.structs import replace

from bboxqa.core.arrays import IndexArray
from bboxqa.core.errors import ConfigError, DatasetError
from bboxqa.core.memory import gc_paused
from bboxqa.core.text import clean, count, first_few, one_line
from bboxqa.formats.choices import given
from bboxqa.formats.dataset.image_names import image_label
from bboxqa.formats.dataset.reading import Reading
from bboxqa.formats.records import AnnotationFile
from bboxqa.formats.writing.losses import said
from bboxqa.formats.writing.outlines import Record
from bboxqa.matching.linkage import drawn_ranks
from bboxqa.model.annotations import Dataset
from bboxqa.model.consensus import LINK, ConsensusResult
from bboxqa.model.settings import AgreeSettings
from bboxqa.pipelines.agree import checked_data
from bboxqa.pipelines.consensus.rule import consensus_of, votes_of
from bboxqa.pipelines.consensus.shapes import fused_shapes
from bboxqa.pipelines.read import AS_COMPARED, Data, read_for
from bboxqa.pipelines.refusals import check_files

# The keys of annotations that are merged, or follow from what is merged.
_MERGED = ("id", "own_id", "image_id", "category_id", "annotator", "bbox", "segmentation", "area",
           "iscrowd", "keypoints", "num_keypoints", "shape")  # fmt: skip
_LISTED = 5


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
        raise ConfigError(f"is {link:g}; expected above 0, and at most 1", "iou")
    votes = votes_of(data, similarity)
    objects, of_vote = consensus_of(votes.data, link, quorum, similarity)
    of = np.append(of_vote, -1)[votes.of]
    shapes, bbox, notes = fused_shapes(data, of, objects, quorum)
    # Boxes and shapes that are exactly equal to those of another annotator.
    alike = replace(votes.data.annotations, category=np.zeros_like(votes.data.annotations.category))
    _, n_alike = np.unique(drawn_ranks(alike, np.arange(len(alike))), return_counts=True)
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
    reading: Reading,
    quorum: float | None = None,
    iou_threshold: float = LINK,
) -> tuple[ConsensusResult, Known]:
    """Read files of several annotators; return their consensus, and the ids in the files."""
    known, n_with, merged = Known({}, {}), Counter[str](), {*_MERGED}

    def count_keys(records: Sequence[Mapping[str, Any]]) -> None:
        if not {*chain.from_iterable(records)} <= {*_MERGED}:
            n_with.update(key for record in records for key, _ in said(record))

    def check(paths: Any, files: Sequence[AnnotationFile], who: Any) -> tuple[str, ...]:
        for image in (each for file in files for each in file.images):
            named = {"file_name": image.file_name} if image.file_name else {}
            known.images.setdefault(image_label(image), {"id": image.id, **named})
        for each in (each for file in files for each in file.categories):
            named = {key: v for key, v in msgspec.structs.asdict(each).items() if v is not None}
            known.categories.setdefault(clean(each.name), named)
        merged.add(who.key)
        return check_files(paths, files, who, boxes=True, choices=reading.choices)

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
        note = f"left out, as shapes and categories alone are merged: {first_few(named, _LISTED)}"
        data = replace(data, notes=(*data.notes, note))
    return _merged(data, quorum, iou_threshold, settings.similarity), known


@gc_paused()
def coco_document(
    result: ConsensusResult,
    known: Known | None = None,
    objects: IndexArray | None = None,
    *,
    plain: bool = False,
) -> Record:
    """Return objects as a COCO document, by default the kept ones; ids are those of the files.

    Unless it is plain, annotations have the keys votes, asked, drawn_by (the annotators), members
    (their ids, one for each), spread (how far the left, top, right and bottom edges are apart, in
    pixels) and tie.
    """
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
