"""Sending objects back to annotators: a file for each, and a list of what was sent."""

import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec

from bboxqa.core.errors import OutputError
from bboxqa.core.files import filled_folder
from bboxqa.core.json_values import document_bytes
from bboxqa.core.text import count, first_few, in_natural_order
from bboxqa.core.types import AnyPath
from bboxqa.formats.choices import choices_of, supplied
from bboxqa.formats.records import ASKED_KEYS
from bboxqa.formats.unreadable import SENT_LISTS
from bboxqa.formats.writers import writer
from bboxqa.formats.writing.names import people_paths
from bboxqa.formats.writing.outlines import Record
from bboxqa.formats.writing.writer import Writer
from bboxqa.model.choices import Choices, completed
from bboxqa.model.results import MeasuredAgreement
from bboxqa.model.review import ReviewItem, ReviewObject, SentList
from bboxqa.pipelines.convert import convert
from bboxqa.pipelines.recognition import image_names, keeps_ids, recognised, works_in
from bboxqa.report.encodings import csv_row, json_text

OF_READING = ("annotator_key", "attribution", "join", "category_map")
"""The settings with which annotators, images and categories are found again."""


@dataclass(frozen=True, slots=True)
class SentBack:
    """What was sent, and what the format could not hold of it."""

    folder: Path
    n_objects: Mapping[str, int]
    """The number of objects by annotator."""
    notes: tuple[str, ...]

    def in_words(self) -> str:
        """Return what was sent, as a part of a sentence."""
        many = first_few([f"{name} {number:,}" for name, number in self.n_objects.items()], 5)
        return f"{count(sum(self.n_objects.values()), 'object')} to look at again ({many})"


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


def send_back(
    result: MeasuredAgreement,
    document: Mapping[str, Any],
    items: Sequence[ReviewItem],
    folder: Path,
    to: str,
) -> SentBack:
    """Write a file for each annotator with the objects to look at again, and `sent.json`.

    `items` are in order of gain, and `document` is a COCO document with their annotations. Images
    are in the order of their best objects.
    """
    sides = (
        (each["file_name"], each.get("width"), each.get("height")) for each in document["images"]
    )
    sizes = {name: (width, height) for name, width, height in sides if width and height}
    choices = completed(result.reading, choices_of({"image_size": sizes or None}))
    people = in_natural_order({each.object.annotator for each in items})
    names = _file_names(people, writer(to))
    sent: dict[ReviewItem, ReviewObject] = {}
    notes: dict[str, None] = {}
    try:
        with filled_folder(folder, last=SENT_LISTS[0]) as scratch, supplied(choices):
            for person in people:
                own = [each for each in items if each.object.annotator == person]
                drawn, target = _document(document, own, person), scratch / names[person]
                with TemporaryDirectory() as place:
                    written, losses = _written(drawn, Path(place), names[person], to)
                    shutil.move(written, target)
                notes |= dict.fromkeys(losses)
                drawn_items = [each for each in own if each.row >= 0]
                sent |= _as_read(drawn_items, document, target, choices)
            objects = tuple(sent.get(each, each.object) for each in items)
            listed = SentList(
                to=to,
                files=names,
                settings={name: getattr(result.settings, name) for name in OF_READING},
                rotated=result.reading.rotated,
                objects=objects,
            )
            text = json_text(msgspec.to_builtins(listed))
            (scratch / SENT_LISTS[0]).write_text(text, "utf-8")
            (scratch / SENT_LISTS[1]).write_text("".join(_rows(objects)), "utf-8")
    except OSError as error:
        raise OutputError(f"{folder}: cannot be written: {error.strerror or error}") from None
    number = {name: sum(each.annotator == name for each in objects) for name in people}
    return SentBack(folder, number, tuple(notes))


def _file_names(people: Sequence[str], to_format: Writer) -> dict[str, str]:
    """Return the name of the file or folder of each annotator."""
    end = "" if to_format.layout == "folder" else to_format.suffixes[0]
    parts = {name: people_paths(people)[name][0] for name in people}
    # The lists have these names.
    own = {
        name: f"%73{part[1:]}" if part.casefold() == "sent" else part
        for name, part in parts.items()
    }
    return {name: part + end for name, part in own.items()}


def _document(document: Mapping[str, Any], items: Sequence[ReviewItem], person: str) -> Record:
    """Return the part of a COCO document for an annotator, the images with most gain first."""
    gain: dict[int, float] = {}
    for each in items:
        gain[each.place] = gain.get(each.place, 0.0) + each.object.gain
    rows = dict.fromkeys(each.row for each in items if each.row >= 0)
    images, annotations = document["images"], document["annotations"]
    asked = dict.fromkeys(ASKED_KEYS) | {"annotators": [person]}
    return {
        "images": [images[place] | asked | {"gain": total} for place, total in gain.items()],
        "categories": document["categories"],
        "annotations": [annotations[row] | {"annotator": person} for row in rows],
    }


def _written(drawn: Record, place: Path, name: str, to: str) -> tuple[Path, list[str]]:
    """Write the document of an annotator in a format; return the file, and what is left out."""
    source, out = place / "document.json", place / "out" / name
    source.write_bytes(document_bytes(drawn))
    out.parent.mkdir()
    found = convert(
        source,
        out,
        to=to,
        lossy=True,
        as_predictions=to == "label-studio",
        annotator_key="annotator" if drawn["annotations"] else None,
    )
    # The list has these.
    own = "'gain'", "'reason'"
    losses = [
        f"{each.what} {each.how}: {each.why}"
        for each in found.losses
        if not each.what.endswith(own)
    ]
    # Formats with a folder for each annotator have one.
    return next(out.iterdir()) if out.is_dir() else out, losses


def _as_read(
    items: Sequence[ReviewItem], document: Mapping[str, Any], file: Path, choices: Choices
) -> dict[ReviewItem, ReviewObject]:
    """Return objects with what the file of an annotator says of them."""
    known = image_names([each.object.image for each in items])
    of_image: dict[str, list[ReviewItem]] = {}
    for each in items:
        of_image.setdefault(each.object.image, []).append(each)
    found: dict[ReviewItem, ReviewObject] = {}
    for work in works_in(file, choices):
        own = of_image.get(known(work.image), [])
        ids = [str(document["annotations"][each.row]["id"]) for each in own]
        sent = [
            {"id": id_, "category": each.object.category, "bbox": each.object.bbox}
            for id_, each in zip(ids, own, strict=True)
        ]
        by_id = keeps_ids(sent, work.annotations)
        places = recognised(sent, work.annotations, by_id=by_id)
        for place, said in zip(places, work.annotations, strict=True):
            if place >= 0:
                found[own[place]] = msgspec.structs.replace(own[place].object, sent=said)
    return found


def _rows(objects: Iterable[ReviewObject]) -> Iterable[str]:
    """Yield the rows of a table of what was sent."""
    sides = ("x", "y", "width", "height")
    yield csv_row(["annotator", "image", "reason", "category", *sides, "id", "gain"])
    for each in objects:
        own = "" if each.id is None else str(each.id)
        row = [each.annotator, each.image, each.reason, each.category]
        yield csv_row([*row, *each.bbox, own, round(each.gain, 6)])
