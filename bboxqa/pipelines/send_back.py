"""Objects that are sent back to annotators, and which of them come back from their tools."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from bboxqa.core.arrays import AnyPath, FloatArray
from bboxqa.core.errors import DatasetError, OutputError
from bboxqa.core.file_names import normalised_name
from bboxqa.core.files import digest_of, filled_folder, writing
from bboxqa.core.text import clean, count, first_few, in_natural_order
from bboxqa.formats.choices import choices_of
from bboxqa.formats.opening import SENT_LISTS
from bboxqa.formats.records import ASKED_KEYS, UNNAMED
from bboxqa.formats.registry import format_of, writer
from bboxqa.formats.translation.shapes import mapping
from bboxqa.formats.writing.content import Content, image_name, shown_id
from bboxqa.formats.writing.losses import ATTRIBUTES
from bboxqa.formats.writing.names import people_paths, without_ending
from bboxqa.formats.writing.outlines import ROUNDED, Record, said_angle
from bboxqa.geometry.boxes import bbox_iou, corners
from bboxqa.model.annotations import Choices, completed
from bboxqa.model.diagnosis import Diagnosis, ReviewItem, ReviewObject
from bboxqa.model.results import MeasuredAgreement
from bboxqa.model.settings import AgreeSettings
from bboxqa.pipelines.convert import Target, convert_with, gather
from bboxqa.report.numbers import csv_row, json_text

# The settings with which annotators, images and categories are found again.
_READ = ("annotator_key", "attribution", "join", "category_map")


class SentList(msgspec.Struct, frozen=True, kw_only=True):
    """The objects that were sent to annotators, in order of gain, and how their files were read."""

    to: str
    """The format of the sent files."""
    files: dict[str, str]
    """The name of the sent file by annotator."""
    settings: AgreeSettings
    """The settings with which annotators, images and categories are found."""
    rotated: str | None = None
    """What the user said of boxes of five numbers."""
    objects: tuple[ReviewObject, ...]
    digests: dict[str, str] = {}
    """The digests of the sent files, by their path in the folder."""


def check_send_back(
    folder: Path, to: str, inputs: Iterable[AnyPath | None], *, force: bool
) -> None:
    """Refuse a format or a folder that cannot be written: what came back exists once."""
    writer(to)
    if folder.exists() and not folder.is_dir():
        raise OutputError(f"{folder}: is a file; name a folder with --send-back")
    for each in (Path(each) for each in inputs if each is not None):
        if each.is_dir() and folder.resolve().is_relative_to(each.resolve()):
            raise OutputError(f"{folder}: lies in {each}, which is read; name another folder")
    if not folder.is_dir() or not any(folder.iterdir()):
        return
    if not all((folder / name).is_file() for name in SENT_LISTS):
        raise OutputError(f"{folder}: has other files; name another folder with --send-back")
    if not force:
        raise OutputError(f"{folder}: was sent before; name another folder, or add --force")
    sent: dict[str, str] = {}
    with suppress(OSError, msgspec.MsgspecError, UnicodeDecodeError):
        sent = msgspec.json.decode((folder / SENT_LISTS[0]).read_bytes(), type=SentList).digests
    with writing(folder):
        for path in sorted(folder.rglob("*")):
            name = path.relative_to(folder).as_posix()
            is_sent = path.is_dir() or (path.is_file() and sent.get(name) == digest_of(path))
            if name != SENT_LISTS[0] and not is_sent:
                problem = f"{clean(str(path))}: is not as it was sent, and may be what came back"
                raise OutputError(f"{problem}; name another folder with --send-back")


def send_back(result: MeasuredAgreement, diagnosis: Diagnosis, folder: Path, to: str) -> list[str]:
    """Write a file for each annotator with the objects to look at again, and lists of them."""
    document, items = diagnosis.review_document, diagnosis.to_review
    losses = send(document, items, result.settings, result.reading, folder, to)
    number = Counter(each.object.annotator for each in items)
    many = first_few([f"{name} {number[name]:,}" for name in in_natural_order(number)], 5)
    n_objects = count(len(diagnosis.review), "object")
    several = ", some by several" if len(items) > len(diagnosis.review) else ""
    n_all = int(diagnosis.tables["review_images"]["n_objects"].sum())
    of = f" of {n_all:,}, those that cost most," * (n_all > len(diagnosis.review))
    told = [f"{n_objects}{of} to look at again in {folder}{several} ({many})"]
    missed = Counter(each.object.annotator for each in items if each.row < 0)
    if missed:
        who = first_few([f"{name} ({missed[name]:,})" for name in in_natural_order(missed)], 5)
        told.append(f"what {who} did not draw is only in sent.csv: send it with the file")
    return [*told, *losses]


def send(
    document: Mapping[str, Any],
    items: Sequence[ReviewItem],
    settings: AgreeSettings,
    reading: Choices,
    folder: Path,
    to: str,
) -> list[str]:
    """Write a file for each annotator with the objects of a COCO document, and lists of them."""
    sizes = {
        each["file_name"]: (each["width"], each["height"])
        for each in document["images"]
        if each.get("width") and each.get("height")
    }
    choices = completed(reading, choices_of({"image_size": sizes or None}))
    people, to_format = in_natural_order({each.object.annotator for each in items}), writer(to)
    is_folder = to_format.layout == "folder"
    end = "" if is_folder else to_format.suffixes[0]
    called = ["review"] if people == [UNNAMED] else people
    paths = dict(zip(people, [*people_paths(called).values()][1:], strict=True))
    # No file is called like the lists.
    names = {name: f"%73{path[1:]}{end}" if path.lower() == "sent" else path + end
             for name, (path,) in paths.items()}  # fmt: skip
    sent: dict[ReviewItem, ReviewObject] = {}
    losses: dict[str, None] = {}
    with writing(folder), filled_folder(folder, last=SENT_LISTS[0]) as scratch:
        for person in people:
            own = [each for each in items if each.object.annotator == person]
            target = scratch / names[person]
            # The name of a folder is that of its annotator.
            named = None if is_folder else person
            losses |= dict.fromkeys(_write(document, own, named, target, to, choices))
            try:
                sent |= _as_read(own, document, target, choices)
            except DatasetError:
                problem = f"--to {to} holds no object that is sent; try --to cvat"
                raise OutputError(problem) from None
        objects = tuple(sent.get(each, each.object) for each in items)
        listed = SentList(
            to=to,
            files=names,
            settings=AgreeSettings(**{name: getattr(settings, name) for name in _READ}),
            rotated=reading.rotated,
            objects=objects,
        )
        (scratch / SENT_LISTS[1]).write_text("".join(_rows(objects)), "utf-8")
        files = sorted(each for each in scratch.rglob("*") if each.is_file())
        digests = {each.relative_to(scratch).as_posix(): digest_of(each) for each in files}
        listed = msgspec.structs.replace(listed, digests=digests)
        (scratch / SENT_LISTS[0]).write_text(json_text(msgspec.to_builtins(listed)), "utf-8")
    n = sum(each.proposed for each in objects)
    open_ = f"{count(n, 'proposed box', 'proposed boxes')} among them: delete what is no object"
    return [
        *[f"{open_}; accept --add-proposed adds those that stay as they are"] * (n > 0),
        *losses,
    ]


def _write(
    document: Mapping[str, Any],
    items: Sequence[ReviewItem],
    person: str | None,
    target: Path,
    to: str,
    choices: Choices,
) -> list[str]:
    """Write objects of a COCO document, the images with most gain first; return what is lost."""
    author = {} if person is None else {"annotator": person}
    gain: dict[int, float] = {}
    for each in items:
        gain[each.place] = gain.get(each.place, 0.0) + each.object.gain
    asked = dict.fromkeys(ASKED_KEYS) | {f"{key}s": [name] for key, name in author.items()}
    images, annotations = document["images"], document["annotations"]
    drawn = [annotations[each.row] for each in items if each.row >= 0]
    if to == "cvat":
        # Scores have no other place in it.
        drawn = [
            each | {ATTRIBUTES: {**mapping(each.get(ATTRIBUTES)), "score": each["score"]}}
            if "score" in each else each
            for each in drawn
        ]  # fmt: skip
    part = {
        "images": [images[place] | asked | {"gain": total} for place, total in gain.items()],
        "categories": document["categories"],
        "annotations": [
            {key: value for key, value in each.items() if key != "annotator"} | author
            for each in drawn
        ],
    }
    settings = AgreeSettings(annotator_key="annotator" if drawn and author else None)
    sent = Target(target, to, lossy=True, as_predictions=to == "label-studio")
    found = convert_with(part, sent, settings, choices)
    # The lists have gains, which are the scores of an audit, and reasons.
    listed = ("'gain'", "'reason'", "'score'")
    lost = (each for each in found.losses if not each.what.endswith(listed))
    return [f"{each.what} {each.how}: {each.why}" for each in lost]


def _as_read(
    items: Sequence[ReviewItem], document: Mapping[str, Any], file: Path, choices: Choices
) -> dict[ReviewItem, ReviewObject]:
    """Return objects with what the file of an annotator says of them."""
    known = image_names(each.object.image for each in items)
    found: dict[ReviewItem, ReviewObject] = {}
    for _, shown, drawn in works_in(file, choices):
        image = known(shown)
        own = [each for each in items if each.object.image == image and each.row >= 0]
        sent = [
            {"id": str((record := document["annotations"][each.row])["id"]),
             "category": each.object.category, "bbox": each.object.bbox,
             "keypoints": record.get("keypoints")}
            for each in own
        ]  # fmt: skip
        places = recognised(sent, drawn, by_id=keeps_ids(sent, drawn))
        for place, said in zip(places, drawn, strict=True):
            if place >= 0:
                found[own[place]] = msgspec.structs.replace(own[place].object, sent=said)
    return found


def _rows(objects: Iterable[ReviewObject]) -> Iterator[str]:
    sides = ("x", "y", "width", "height")
    yield csv_row(["annotator", "image", "reason", "category", *sides, "id", "gain"])
    for each in objects:
        said = (each.annotator, each.image, each.reason, each.category)
        yield csv_row([*said, *each.bbox, each.id, round(each.gain, 6)])


GEOMETRY = ("bbox", "segmentation", "keypoints")
"""The keys of records that say where an annotation is."""
# The least IoU of an annotation that was moved with what it was.
_LEAST_IOU, _SAME_CATEGORY = 0.5, 0.2
# Tools round coordinates to two decimals, and compute sides and corners from rounded ones.
_ROUNDED_OUTLINE = 0.05
# The formats whose annotations have ids; others number them as they are read.
_WITH_IDS = ("coco", "coco-archive", "label-studio", "table")


def works_in(file: Path, choices: Choices) -> Iterator[tuple[str, str, list[Record]]]:
    """Yield who drew what in which image of a file: annotator, image and maybe no annotations."""
    try:
        content, _ = gather(file, AgreeSettings(), choices)
    except DatasetError:
        # Tools do not name who drew what is new.
        content, _ = gather(file, AgreeSettings(attribution="files"), choices)
    has_ids = format_of(file, choices).name in _WITH_IDS
    for place, image in enumerate(content.images):
        for name, drawn in content.works(place):
            yield name, image_name(image), [_said(content, each, has_ids=has_ids) for each in drawn]


def _said(content: Content, annotation: Record, *, has_ids: bool) -> Record:
    """Return what a file says of an annotation, as far as it is compared."""
    own = {"id": shown_id(annotation)} if has_ids else {}
    given = {key: annotation[key] for key in GEOMETRY if annotation.get(key)}
    if not np.isnan(degrees := said_angle(annotation)):
        given["rotation"] = degrees
    return {**own, "category": content.category_names[annotation["category_id"]], **given}


def image_names(names: Iterable[str]) -> Callable[[str], str]:
    """Return a function that finds an image by a name that a tool may have cut; else ""."""
    known = {*names}
    ends: dict[str, set[str]] = {}
    for name in known:
        ends.setdefault(_end(name), set()).add(name)

    def find(name: str) -> str:
        found = ends.get(_end(name), set())
        return name if name in known else next(iter(found)) if len(found) == 1 else ""

    return find


def _end(name: str) -> str:
    """Return a name without folders and suffix."""
    return normalised_name(without_ending(name)).rpartition("/")[2]


def is_same_shape(one: Record, other: Record) -> bool:
    """Return whether two annotations have equal boxes, outlines and key points."""
    return is_same(one["bbox"], other["bbox"], ROUNDED) and all(
        is_same(one.get(key), other.get(key)) for key in GEOMETRY[1:]
    )


def is_same(one: Any, other: Any, within: float = _ROUNDED_OUTLINE) -> bool:
    """Return whether coordinates are equal but for rounding; masks are if all pixels are."""
    are_lists = isinstance(one, list | tuple) and isinstance(other, list | tuple)
    if are_lists and len(one) == len(other):
        return all(is_same(*pair, within) for pair in zip(one, other, strict=True))
    if isinstance(one, int | float) and isinstance(other, int | float):
        return abs(one - other) <= within
    return bool(one == other or not (one or other))


def recognised(
    sent: Sequence[Record], found: Sequence[Record], *, by_id: bool, least_iou: float = _LEAST_IOU
) -> list[int]:
    """Return which of the sent annotations of an image each found one is; -1 for none.

    An annotation is recognised by its id, else by its box if that is as it was, else by the largest
    IoU that is larger by 0.2: two boxes that nearly coincide were moved rather than renamed.
    """
    result, left, iou = [-1] * len(found), {*range(len(sent))}, _overlaps(sent, found)
    for place, own in enumerate(_places_by_id(sent, found) if by_id else ()):
        if own in left:
            result[place] = own
            left.discard(own)
    pairs = []
    for a, one in enumerate(sent):
        for b, each in enumerate(found):
            is_there = is_same(one["bbox"], each["bbox"], ROUNDED)
            is_renamed = one["category"] != each["category"]
            if is_there or iou[a, b] >= least_iou:
                score = 2.0 if is_there else iou[a, b] + _SAME_CATEGORY * (not is_renamed)
                pairs.append((-score, is_renamed, a, b))
    for *_, a, b in sorted(pairs):
        if a in left and result[b] < 0:
            result[b] = a
            left.discard(a)
    return result


def keeps_ids(sent: Sequence[Record], found: Sequence[Record]) -> bool:
    """Return whether the ids of an image can be those that were sent."""
    # A tool that numbers annotations anew gives the ids of some to others, which lie elsewhere.
    iou = _overlaps(sent, found)
    return not any(
        own >= 0 and iou[own, place] < _LEAST_IOU <= iou[:, place].max()
        for place, own in enumerate(_places_by_id(sent, found))
    )


def _places_by_id(sent: Sequence[Record], found: Sequence[Record]) -> list[int]:
    at = {each["id"]: place for place, each in enumerate(sent) if "id" in each}
    return [at.get(each.get("id"), -1) for each in found]


def _overlaps(sent: Sequence[Record], found: Sequence[Record]) -> FloatArray:
    """Return the IoU of sent with found boxes, or with extents of key points if larger, (S, F)."""
    every = []
    for of_one in (lambda each: each["bbox"], _extent):
        edges = (np.array([*map(of_one, of)], np.float64).reshape(-1, 4) for of in (sent, found))
        before, after = map(corners, edges)
        every.append(bbox_iou(np.repeat(before, len(found), 0), np.tile(after, (len(sent), 1))))
    return np.fmax(*every).reshape(len(sent), len(found))


def _extent(record: Record) -> FloatArray:
    """Return the box of the labelled key points of an annotation; NaN without any."""
    points = np.array(record.get("keypoints") or (), np.float64).reshape(-1, 3)
    xy = points[points[:, 2] > 0, :2]
    return np.hstack([xy.min(0), np.ptp(xy, 0)]) if len(xy) else np.full(4, np.nan)
