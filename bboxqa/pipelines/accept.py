"""Accepting a review: what annotators changed of the objects that were sent back to them."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from bboxqa.core.arrays import AnyPath
from bboxqa.core.errors import DatasetError, OutputError
from bboxqa.core.file_names import own_name
from bboxqa.core.files import refuse_replacing, write_atomically
from bboxqa.core.json_values import pointer_to
from bboxqa.core.pseudonyms import pseudonyms_of
from bboxqa.core.text import clean, count, first_few, one_line
from bboxqa.formats import sources
from bboxqa.formats.choices import choices_of, given
from bboxqa.formats.dataset.people import Attribution
from bboxqa.formats.opening import SENT_LISTS, refuse_results
from bboxqa.formats.records import UNNAMED, AnnotationFile, id_number, whole_number
from bboxqa.formats.registry import document_of
from bboxqa.formats.scanner import Scanner
from bboxqa.formats.source import no_such_file
from bboxqa.formats.writing.outlines import ROUNDED, Record, area_of
from bboxqa.model.annotations import Choices, completed
from bboxqa.model.diagnosis import ReviewObject
from bboxqa.model.findings import Edit
from bboxqa.pipelines.read import AS_COMPARED, read_for
from bboxqa.pipelines.send_back import (
    GEOMETRY,
    SentList,
    image_names,
    is_same,
    is_same_shape,
    keeps_ids,
    recognised,
    works_in,
)
from bboxqa.rules.fixes import edited

_NOTES = {
    "open": "proposed, as sent, and so not added: delete those that are none, then --add-proposed "
    "adds the others",
    "there": "drawn or proposed, and in the file already: not added again",
    "unsent": "changed, but not sent, and so not taken over",
    "so": "changed or deleted as in the review already",
    "lost": "not in the file any more, or elsewhere in it: left out",
    "turned": "with a box of more than four numbers, which is not changed: left out",
}
# The least IoU of an annotation that was not sent with what it was, where all came back.
_LEAST_OF_WHOLE = 0.05


class Accepted(msgspec.Struct, frozen=True):
    """A change of the original file."""

    annotator: str
    image: str
    id: int | str
    """The id of the annotation in the file."""
    what: Literal["moved", "renamed", "deleted", "added"]
    before: str
    after: str
    """Category, box or both as text; "" if there was or is none."""

    def __str__(self) -> str:
        both = self.before and self.after
        said = f" from {self.before} to {self.after}" if both else f": {self.before}{self.after}"
        if self.before == self.after:
            said = " within its box, which is as before"
        who = "" if self.annotator == UNNAMED else f"{self.annotator}: "
        where = f"{self.image}: {who}annotation {self.id}"
        return one_line(f"{where} {self.what}{said}")


class Acceptance(msgspec.Struct, frozen=True):
    """What was taken over from a review."""

    path: Path
    changes: tuple[Accepted, ...]
    n_sent: int
    """The number of annotations that were sent in the reviewed images."""
    n_kept: int
    """The number of these that reviewers left as they are."""
    notes: tuple[str, ...]
    """What is not reviewed yet, was done before, or is left out."""

    def in_words(self) -> str:
        """Return what was done, as a part of a sentence."""
        number = Counter[str](each.what for each in self.changes)
        done = ", ".join(
            f"{number[each]:,} {each}" for each in ("moved", "renamed", "deleted", "added")
        )
        return f"{count(self.n_sent, 'annotation')} reviewed: {self.n_kept:,} kept, {done}"


def accept(
    original: AnyPath,
    reviewed: AnyPath,
    out: AnyPath,
    *,
    sent: AnyPath | None = None,
    pseudonyms: AnyPath | None = None,
    force: bool = False,
    add_proposed: bool = False,
) -> Acceptance:
    """Take over what annotators changed of the objects that `--send-back` sent them.

    All else in the file stays as it is, byte by byte.

    Parameters
    ----------
    original : path
        The COCO file that was measured.
    reviewed : path
        The file of one annotator, or the folder of all, as it came back from the annotation tool.
    out : path
        The file to write.
    sent : path, optional
        The folder that was sent, with `sent.json`; by default it is beside `reviewed`.
    pseudonyms : path, optional
        The key, if annotators had pseudonyms when the objects were sent.
    force : bool
        Whether to replace an existing file that differs.
    add_proposed : bool
        Whether to add the boxes that `audit` and `consensus` propose and that are as they were
        sent: reviewers deleted those that are none.

    Returns
    -------
    Acceptance

    Raises
    ------
    DatasetError
        If the files cannot be read, or `reviewed` has nothing that was sent.
    OutputError
        If the output exists, or cannot be written.
    """
    source, target = Path(reviewed), Path(out)
    if missing := [each for each in (Path(original), source) if not each.exists()]:
        raise no_such_file(missing)
    if source.name in SENT_LISTS:
        refuse_results([source])
    place, listed = _sent_list([source, source.parent] if sent is None else [Path(sent)])
    refuse_replacing([target], sources.files_read([original, source, place]))
    choices = completed(choices_of({"rotated": listed.rotated}), given())
    key = {} if pseudonyms is None else pseudonyms_of(Path(pseudonyms), ())
    own = _Original(Path(original), listed, choices)
    sizes = {"image_size": own.sizes} if own.sizes and choices.image_size is None else {}
    works, notes = _reviews(source, listed, completed(choices, choices_of(sizes)))
    own.adds_proposed, tally = add_proposed, own.tally
    changes = _compared(own, listed, works, {new: name for name, new in key.items()}, notes)
    notes += [
        f"{count(tally[each], 'annotation')} {_NOTES[each]}" for each in _NOTES if tally[each]
    ]
    if not (changes or tally["unsent"]):
        notes.append("nothing changed; are the exports in place of the files that were sent?")
    text = own.text()
    if not (target.is_file() and target.read_bytes() == text):
        if target.exists() and not force:
            raise OutputError(f"{target}: already exists; name another, or give --force")
        write_atomically(target, text)
    return Acceptance(target, tuple(changes), tally["sent"], tally["kept"], tuple(notes))


def _sent_list(folders: Sequence[Path]) -> tuple[Path, SentList]:
    """Return the list of what was sent, from the first folder that has one, and its path."""
    places = [each / SENT_LISTS[0] for each in folders if (each / SENT_LISTS[0]).is_file()]
    if not places:
        folder = next((each for each in folders if each.is_dir()), folders[0])
        problem = f"{folder}: has no {SENT_LISTS[0]}, which says what was sent"
        advice = "Name the folder that `bboxqa agree --send-back` wrote: --sent DIR"
        raise DatasetError([problem], advice)
    try:
        listed = msgspec.json.decode(places[0].read_bytes(), type=SentList)
        for each in listed.objects:
            msgspec.convert(each.sent, _Said | None)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        problem = f"{places[0]}: is no list of what was sent: {error}"
        raise DatasetError([problem], "Send the objects again: --send-back DIR") from None
    return places[0], listed


class _Said(msgspec.Struct):
    category: str
    bbox: tuple[float, float, float, float]


def _reviews(
    source: Path, listed: SentList, choices: Choices
) -> tuple[dict[tuple[str, str], list[Record]], list[str]]:
    """Return the reviewed work by annotator and image, and notes on what was not sent."""
    known = image_names({each.image for each in listed.objects})
    sent = {(each.annotator, each.image) for each in listed.objects}
    people = {own_name(Path(own)): person for person, own in listed.files.items()}
    found: dict[tuple[str, str], tuple[Path, list[Record]]] = {}
    files, notes = sources.listed(source, choices=choices, archives=True)
    files = [each for each in files if each.name not in SENT_LISTS]
    problems = dict[str, None]()
    for file in files:
        # A file, or a folder around it, is named after its annotator; else the content names them.
        above = source if file != source and source.is_dir() else source.parent
        names = (own_name(Path(each)) for each in file.relative_to(above).parts)
        named, n_others = next((people[each] for each in names if each in people), ""), 0
        for name, image, drawn in works_in(file, choices):
            person = named or name * (name in listed.files)
            at = person, known(image)
            if not person:
                who = f"what {one_line(name)} drew" if name else "it"
                problems[f"{file}: {who} is nothing that was sent to one annotator"] = None
            elif at in found:
                again = f"images of {person} that {found[at][0]} has as well"
                problems[f"{file}: has {again}; keep what came back, once"] = None
            elif at in sent:
                found[at] = file, drawn
            else:
                n_others += 1
        if n_others:
            notes.append(f"{file}: {count(n_others, 'image')} not sent, and left out")
    if not found or problems:
        like = first_few([*listed.files.values()], 5)
        raise DatasetError(
            [*problems] or [f"{source}: has no image that was sent"],
            f"Name each file like the one that was sent ({like}), and keep the names of images. "
            "If another folder was sent: --sent DIR",
        )
    return {at: drawn for at, (_, drawn) in found.items()}, notes


class _Original:
    """The COCO file that was measured, with edits of its text."""

    def __init__(self, path: Path, listed: SentList, choices: Choices) -> None:
        kept: list[tuple[AnnotationFile, Attribution]] = []

        def keep(files: Sequence[AnnotationFile], who: Attribution) -> None:
            kept.extend((file, who) for file in files)

        document = document_of(path, choices) if path.is_file() else None
        if document is None or document.origin is not None or document.is_results:
            raise DatasetError(
                [f"{path}: is not COCO JSON, which takes over a review"],
                f"Convert what was measured: bboxqa convert {path} original.json --to coco "
                "--lossy\nWhere each file is a person's, add: --attribution files",
            )
        reading = replace(
            AS_COMPARED, min_annotators=1, digest=False, outlines=True, keypoints=True,
            records=True, score=0, choices=choices, check=keep,
        )  # fmt: skip
        data = read_for(path, listed.settings, reading)
        self.path, self._document, (self._file, self._who) = path, document, kept[0]
        self.names_people = not (self._who.is_of_nobody or self._who.of_files)
        self.people = self._who.names
        self._lists: Mapping[str, Any] = self._file.lists or {}
        self.records: list[Record] = self._lists["annotations"]
        size = zip(data.image_names, map(tuple, data.image_size.tolist()), strict=True)
        self.sizes = {name: each for name, each in size if all(each)}
        names, columns = [*self._who.names, ""], self._file.columns
        labels = {id_number(each.id): each.label for each in self._file.images}
        self.images = {*labels.values()}
        self.names = {id_number(each.id): clean(each.name) for each in self._file.categories}
        ids = (each["id"] for each in self._lists["categories"])
        self._categories = dict(zip(self.names.values(), ids, strict=True))
        # Rows of the images that were sent, by annotator and image, and what they say.
        self.rows: dict[tuple[str, str], list[int]] = {}
        self.said: dict[int, Record] = {}
        sent = {each.image for each in listed.objects}
        values = (columns.image_id, self._who.author[0], columns.category_id, columns.bbox)
        rows = zip(*(each.tolist() for each in values), strict=True)
        for row, (image, code, category, box) in enumerate(rows):
            if (label := labels.get(image)) in sent:
                self.rows.setdefault((names[code], label), []).append(row)
                self.said[row] = {"category": self.names[category], "bbox": box}
        every = (*(each["id"] for each in self.records), *(each.id for each in listed.objects))
        self._last_id = max(filter(None, map(whole_number, every)), default=0)
        self._keeps_ids = True
        self.edits: list[Edit] = []
        self.adds_proposed = False
        self.tally = Counter[str]()
        self._new: dict[str, list[Record]] = {"categories": [], "annotations": []}

    def has_any(self, author: str, sent: Sequence[ReviewObject]) -> bool:
        """Return whether an annotator has any of the objects, and find rows by what tells them."""
        # A conversion may have numbered the annotations of a person anew: boxes tell them then.
        for by_id in (True, False):
            self._keeps_ids = by_id
            at = [(each, self.rows.get((author, each.image), ())) for each in sent]
            if any(self.row_of(each, rows, each.bbox) is not None for each, rows in at):
                return True
        return False

    def row_of(self, sent: ReviewObject, rows: Sequence[int], now: Sequence[float]) -> int | None:
        """Return which row was sent, as it was or as it is now; None if none is."""
        places = [{"bbox": each, "category": sent.category} for each in (sent.bbox, now)]
        if not self._keeps_ids:
            alike = [row for row in rows if any(is_same_shape(self.said[row], p) for p in places)]
            return min(
                alike, key=lambda row: self.said[row]["category"] != sent.category, default=None
            )
        rows = [row for row in rows if str(self.records[row]["id"]) == str(sent.id)]
        found = recognised(places, [self.said[row] for row in rows], by_id=False)
        return next((row for row, place in zip(rows, found, strict=True) if place >= 0), None)

    def says(self, row: int, new: Record) -> bool:
        """Return whether an annotation has the category, and the outline or the box, of `new`."""
        was = self.said[row]
        before, after = was["bbox"], new["bbox"]
        if "rotation" in new:
            # Some files have the box before its rotation, others its bounds: their centre is one.
            before, after = ([x + w / 2, y + h / 2] for x, y, w, h in (before, after))
        is_there = is_same(before, after, ROUNDED)
        rings = [each.get("segmentation") for each in (self.records[row], new)]
        if all(each and isinstance(each, list) for each in rings):
            is_there = is_same(rings[0], rings[1])
        return is_there and bool(was["category"] == new["category"])

    def set(self, row: int, key: str, value: Any) -> None:
        """Set a value of an annotation, or remove it if it is None."""
        is_there, place = key in self.records[row], pointer_to("annotations", row, key)
        if is_there or value is not None:
            kind: Any = "remove" if value is None else "replace" if is_there else "add"
            self.edits.append(Edit(place, kind, value))

    def taken(
        self, row: int, old: Record, new: Record | None, *, is_there: bool
    ) -> list[tuple[str, str, str]]:
        """Edit an annotation that was changed or deleted; return what was done, from and to."""
        was, found = self.said[row], []
        if new is None:
            self.edits.append(Edit(pointer_to("annotations", row), "remove"))
            return [("deleted", _words(was), "")]
        if new["category"] not in (old["category"], was["category"]):
            self.set(row, "category_id", self.category_id(new["category"]))
            found.append(("renamed", was["category"], new["category"]))
        if not is_there and len(self.records[row].get("bbox") or was["bbox"]) != 4:
            self.tally["turned"] += 1
        elif not is_there and self.reshape(row, old, new):
            found.append(("moved", _box(was), _box(new)))
        return found

    def category_id(self, name: str) -> Any:
        """Return the id of a category, which is added if there is none of this name."""
        if name not in self._categories:
            last = max(filter(None, map(whole_number, self._categories.values())), default=0)
            self._categories[name] = last + 1
            self._new["categories"].append({"id": last + 1, "name": name})
        return self._categories[name]

    def reshape(self, row: int, old: Record, new: Record) -> bool:
        """Give an annotation the geometry of `new`; return whether that changes it."""
        record, n_edits = self.records[row], len(self.edits)
        box = [
            was if is_same(was, now, ROUNDED) else now
            for was, now in zip(record.get("bbox") or new["bbox"], _plain(new["bbox"]), strict=True)
        ]
        is_moved = box != (record.get("bbox") or box)
        if is_moved:
            self.set(row, "bbox", box)
        for key in GEOMETRY[1:]:
            # A format that holds boxes alone has lost the outline of what was moved.
            is_new = is_moved or not is_same(old.get(key), new.get(key))
            if is_new and not is_same(record.get(key), new.get(key)):
                self.set(row, key, _plain(new.get(key)))
        if len(self.edits) == n_edits:
            return False
        if "area" in record:
            self.set(row, "area", _plain(float(area_of(new))))
        if "rotation" in new and "rotation" in (record.get("attributes") or {}):
            self.set(row, "attributes", record["attributes"] | {"rotation": new["rotation"]})
        return True

    def add(self, author: str, image: str, new: Record) -> Any:
        """Add an annotation, and return its id."""
        self._last_id += 1
        is_text = bool(self.records) and isinstance(self.records[0]["id"], str)
        if rows := self.rows.get((author, image)):
            image_id = self.records[rows[0]]["image_id"]
        else:
            # Each annotator may have a record of the image.
            every = zip(self._file.images, self._who.asked[0], self._lists["images"], strict=True)
            ids = {author in (asked or ()): raw["id"] for each, asked, raw in every
                   if each.label == image}  # fmt: skip
            image_id = ids[max(ids)]
        record = {
            "id": str(self._last_id) if is_text else self._last_id,
            "image_id": image_id,
            "category_id": self.category_id(new["category"]),
            **{key: _plain(new[key]) for key in GEOMETRY if key in new},
            "area": _plain(float(area_of(new))),
            "iscrowd": 0,
        }
        outer, _, inner = self._who.key.partition(".")
        own = (rows[0] for (name, _), rows in self.rows.items() if name == author)
        beside = next((self.records[row] for row in own), {})
        if outer:
            known = beside.get(outer, {} if inner else author)
            record[outer] = {inner: known.get(inner, author)} if inner else known
        self._new["annotations"].append(record)
        return record["id"]

    def text(self) -> bytes:
        """Return the text of the file with all edits."""
        document = self._document
        if self.edits:
            text, _ = edited(document, [("", each) for each in self.edits])
            document = Scanner(bytes(text), document.name).read()
        first = {"categories": len(document.categories), "annotations": len(document.annotations)}
        adds = [
            ("", Edit(pointer_to(key, first[key] + place), "add", record))
            for key, records in self._new.items()
            for place, record in enumerate(records)
        ]
        return bytes(edited(document, adds)[0])


def _compared(
    own: _Original,
    listed: SentList,
    works: Mapping[tuple[str, str], list[Record]],
    names: Mapping[str, str],
    notes: list[str],
) -> list[Accepted]:
    """Edit the file and count annotations; return the changes, and add notes on annotators."""
    absent = sorted({image for _, image in works} - own.images)
    if absent and own.images.isdisjoint(image for _, image in works):
        here = min(own.images, default="none")
        firsts = f"the first is {one_line(absent[0])}, here {one_line(here)}"
        raise DatasetError(
            [f"{own.path}: has no image that was reviewed: {firsts}"],
            "Name the file that was measured: bboxqa accept ORIGINAL REVIEWED -o NEW.json",
        )
    sent: dict[str, dict[str, list[ReviewObject]]] = {}
    for each in listed.objects:
        objects = sent.setdefault(each.annotator, {}).setdefault(each.image, [])
        # What an annotator did not draw is only in the list.
        objects += [each] * (each.sent is not None)
    authors = {person: names.get(person, person) for person, _ in works}
    if not own.names_people:
        authors = dict.fromkeys(authors, own.people[0])
    if unknown := [each for each, author in authors.items() if author not in own.people]:
        problems = [f"{own.path}: has no annotator {one_line(each)}" for each in unknown]
        raise DatasetError(problems, "If annotators had pseudonyms when sent: --pseudonyms KEY")
    if not own.names_people and len(authors) > 1:
        raise DatasetError(
            [f"{own.path}: names no annotator, while several reviewed what was sent"],
            "Name what came back of its annotator, such as review/ann.xml",
        )
    changes, left = list[Accepted](), []
    for person, images in sent.items():
        back = {image: works[person, image] for image in images if (person, image) in works}
        if len(back) < len(images):
            left.append(f"{count(len(images) - len(back), 'image')} of {person}")
        back = {image: drawn for image, drawn in back.items() if image in own.images}
        drew = [each for image in back for each in images[image] if not each.proposed]
        if drew and not own.has_any(authors[person], drew) and not own.names_people:
            problem = f"{own.path}: has none of the objects that were sent"
            raise DatasetError([problem], "Name the file of which objects were sent.")
        was = {image: [each.sent or {} for each in images[image]] for image in back}
        by_id = all(keeps_ids(was[image], drawn) for image, drawn in back.items())
        for image, drawn in back.items():
            places = recognised(was[image], drawn, by_id=by_id)
            for row, *said in _of_image(own, authors[person], image, images[image], drawn, places):
                changes.append(Accepted(person, image, row, *said))
    if absent:
        notes.append(f"{count(len(absent), 'image')} not in {own.path}: left out")
    if left:
        notes.append(f"not reviewed yet: {first_few(left, 5)}")
    return changes


def _of_image(
    own: _Original,
    author: str,
    image: str,
    objects: Sequence[ReviewObject],
    drawn: Sequence[Record],
    places: Sequence[int],
) -> Iterator[tuple[Any, Any, str, str]]:
    """Take over what became of objects in an image; yield ids, and what was changed from and to."""
    tally, left = own.tally, [*own.rows.get((author, image), ())]
    tally["sent"] += len(objects)
    proposed, extra = [], [one for one, place in zip(drawn, places, strict=True) if place < 0]
    for place, each in enumerate(objects):
        new, old = drawn[places.index(place)] if place in places else None, each.sent or {}
        is_there = new is not None and is_same_shape(old, new)
        is_kept = new is not None and is_there and new["category"] == old["category"]
        if not each.proposed:
            row = own.row_of(each, left, each.bbox if new is None else new["bbox"])
            if row is not None:
                left.remove(row)
            if is_kept:
                tally["kept"] += 1
            elif row is None:
                tally["so" if new is None else "lost"] += 1
            else:
                found = own.taken(row, old, new, is_there=is_there)
                tally["so"] += not found
                yield from ((own.records[row]["id"], *said) for said in found)
        elif new is not None and not is_kept:
            extra.append(new)
        elif new is not None:
            proposed += [new] * own.adds_proposed
            tally["open"] += not own.adds_proposed
    there, given = _are_there(own, left, extra), [own.said[row] for row in left]
    # Another object may overlap a proposal, which is in the file only if it was added before.
    there += [any(is_same_shape(one, each) for each in given) for one in proposed]
    tally["there"] += sum(there)
    for is_there, one in zip(there, extra + proposed, strict=True):
        if not is_there:
            yield own.add(author, image, one), "added", "", _words(one)


def _are_there(own: _Original, left: Sequence[int], extra: Sequence[Record]) -> list[bool]:
    """Return which new annotations are rows that were not sent; count those that were changed."""
    given = [own.said[row] for row in left]
    places = recognised(given, extra, by_id=False)
    if 2 * sum(place >= 0 for place in places) > len(given):
        # The whole job came back: what overlaps a row that is missing in it was moved further.
        places = recognised(given, extra, by_id=False, least_iou=_LEAST_OF_WHOLE)
    for place, one in zip(places, extra, strict=True):
        if place >= 0 and not own.says(left[place], one):
            own.tally["unsent"] += 1
            own.tally["there"] -= 1
    return [place >= 0 for place in places]


def _plain(value: Any) -> Any:
    """Return numbers with at most six decimals, and without a point if they are whole."""
    if isinstance(value, list):
        return [*map(_plain, value)]
    if not isinstance(value, float):
        return value
    rounded = round(value, 6)
    return int(rounded) if rounded.is_integer() else rounded


def _words(said: Record) -> str:
    return f"{said['category']} {_box(said)}"


def _box(said: Record) -> str:
    return " ".join(f"{round(side, 2):g}" for side in said["bbox"])
