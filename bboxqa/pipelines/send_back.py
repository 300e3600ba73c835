"""Sending objects back to annotators: a file for each, and a list of what was sent."""

import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec

from bboxqa.core.errors import DatasetError, OutputError
from bboxqa.core.files import filled_folder
from bboxqa.core.json_values import document_bytes
from bboxqa.core.text import count, first_few, in_natural_order
from bboxqa.core.types import AnyPath
from bboxqa.formats.choices import choices_of
from bboxqa.formats.records import ASKED_KEYS, UNNAMED
from bboxqa.formats.unreadable import SENT_LISTS
from bboxqa.formats.writers import writer
from bboxqa.formats.writing.names import people_paths
from bboxqa.formats.writing.outlines import Record
from bboxqa.model.choices import Choices, completed
from bboxqa.model.diagnosis import Diagnosis
from bboxqa.model.results import MeasuredAgreement
from bboxqa.model.review import ReviewItem, ReviewObject
from bboxqa.model.settings import AgreeSettings
from bboxqa.pipelines.convert import Target, convert_with
from bboxqa.pipelines.recognition import image_names, keeps_ids, recognised, works_in
from bboxqa.report.encodings import csv_row, json_text

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


def check_send_back(
    folder: Path, to: str, inputs: Iterable[AnyPath | None], *, force: bool
) -> None:
    """Refuse a format or a folder that cannot be written, before anything is read.

    Only a folder that was sent before is replaced, and only if `force`.
    """
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


def send_back(result: MeasuredAgreement, diagnosis: Diagnosis, folder: Path, to: str) -> list[str]:
    """Write a file for each annotator with the objects to look at again, and lists of them.

    Return notes on what was sent, and on what the format could not hold.
    """
    document, items = diagnosis.review_document, diagnosis.to_review
    losses = send(document, items, result.settings, result.reading, folder, to)
    number = Counter(each.object.annotator for each in items)
    many = first_few([f"{name} {number[name]:,}" for name in in_natural_order(number)], 5)
    n_objects = count(len(diagnosis.review), "object")
    told = [f"{n_objects} to look at again in {folder}, some by several ({many})"]
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
    """Write a file for each annotator with the objects of a COCO document, and lists of them.

    Images are in the order of their best objects. The settings and the choices are those with which
    the file is read that takes over the review. Return notes on what is proposed, and on
    what the format could not hold.
    """
    sides = ((image["file_name"], image.get("width"), image.get("height"))
             for image in document["images"])  # fmt: skip
    sizes = {name: (width, height) for name, width, height in sides if name and width and height}
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
    try:
        with filled_folder(folder, last=SENT_LISTS[0]) as scratch:
            for person in people:
                own = [each for each in items if each.object.annotator == person]
                target = scratch / names[person]
                # The name of a folder is that of its annotator.
                part = _part(document, own, None if is_folder else person)
                losses |= dict.fromkeys(_write(part, target, to, choices))
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
            texts = json_text(msgspec.to_builtins(listed)), "".join(_rows(objects))
            for name, text in zip(SENT_LISTS, texts, strict=True):
                (scratch / name).write_text(text, "utf-8")
    except OSError as error:
        raise OutputError(f"{folder}: cannot be written: {error.strerror or error}") from None
    n = sum(each.proposed for each in objects)
    open_ = f"{count(n, 'proposed box', 'proposed boxes')} among them: delete what is no object"
    return [
        *[f"{open_}; accept --add-proposed adds those that stay as they are"] * (n > 0),
        *losses,
    ]


def _part(document: Mapping[str, Any], items: Sequence[ReviewItem], person: str | None) -> Record:
    """Return the part of a COCO document for an annotator, the images with most gain first."""
    author = {} if person is None else {"annotator": person}
    gain: dict[int, float] = {}
    for each in items:
        gain[each.place] = gain.get(each.place, 0.0) + each.object.gain
    asked = dict.fromkeys(ASKED_KEYS) | {f"{key}s": [name] for key, name in author.items()}
    images, annotations = document["images"], document["annotations"]
    return {
        "images": [images[place] | asked | {"gain": total} for place, total in gain.items()],
        "categories": document["categories"],
        "annotations": [
            {key: value for key, value in annotations[each.row].items() if key != "annotator"}
            | author
            for each in items
            if each.row >= 0
        ],
    }


def _write(part: Record, target: Path, to: str, choices: Choices) -> list[str]:
    """Write the document of an annotator in a format; return what is left out."""
    with TemporaryDirectory() as place:
        source, out = Path(place, "document.json"), Path(place, "out", target.name)
        source.write_bytes(document_bytes(part))
        out.parent.mkdir()
        names_people = any("annotator" in each for each in part["annotations"])
        settings = AgreeSettings(annotator_key="annotator" if names_people else None)
        sent = Target(out, to, lossy=True, as_predictions=to == "label-studio")
        found = convert_with(source, sent, settings, choices)
        shutil.move(out, target)
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
    for work in works_in(file, choices):
        image = known(work.image)
        own = [each for each in items if each.object.image == image and each.row >= 0]
        sent = [
            {
                "id": str(document["annotations"][each.row]["id"]),
                "category": each.object.category,
                "bbox": each.object.bbox,
            }
            for each in own
        ]
        by_id = keeps_ids(sent, work.annotations)
        places = recognised(sent, work.annotations, by_id=by_id)
        for place, said in zip(places, work.annotations, strict=True):
            if place >= 0:
                found[own[place]] = msgspec.structs.replace(own[place].object, sent=said)
    return found


def _rows(objects: Iterable[ReviewObject]) -> Iterator[str]:
    """Yield the rows of a table of what was sent."""
    sides = ("x", "y", "width", "height")
    yield csv_row(["annotator", "image", "reason", "category", *sides, "id", "gain"])
    for each in objects:
        said = (each.annotator, each.image, each.reason, each.category)
        yield csv_row([*said, *each.bbox, each.id, round(each.gain, 6)])
