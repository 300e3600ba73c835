"""Reading a source of another tool: its JSON, its annotations, and where its records stand."""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from bboxqa.core.arrays import IndexArray
from bboxqa.core.errors import DatasetError
from bboxqa.core.json_values import pointer_parts
from bboxqa.core.machine import gc_paused
from bboxqa.core.text import count
from bboxqa.formats.document import STOPPING, RawDocument, Record, Section, Where
from bboxqa.formats.heads import PARQUET, absence_of, as_list
from bboxqa.formats.measured import measured
from bboxqa.formats.member import Member, is_picture
from bboxqa.formats.positions import JsonPlaces, spots
from bboxqa.formats.records import LISTS, AnnotationFile, Category, ReadSettings, image_type
from bboxqa.formats.scanner import Scanner
from bboxqa.formats.source import members_of, size_and_digest
from bboxqa.formats.translation.collector import BrokenTextError, Collector, Translate
from bboxqa.model.annotations import Source
from bboxqa.model.findings import Spot
from bboxqa.model.table import ShownIds, place_in_words

# Most characters of an id that are kept, since a column is as wide as its longest.
_LONGEST = 40
_EXCERPT = 160
# The code of the defect that someone annotated an image again.
_AGAIN = "T007"
_BYTE = re.compile(r"\s*\(byte (\d+)\)")
_ADVICE = "Export it again; the file may be cut off."
NOT_JSON = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What decoding a text raises that is no JSON."""


class OwnPlace(msgspec.Struct, frozen=True):
    """A location in the user's own file."""

    file: str
    pointer: str
    """The JSON pointer; "" where locations are lines."""
    spot: Spot
    excerpt: str


class ToolOrigin(Collector):
    """The annotations of a source as asked for, and where its records stand."""

    def __init__(self, path: Path, settings: ReadSettings) -> None:
        super().__init__(settings)
        self._path = path

    def _place(self, row: int) -> Where:
        return Where(self.members[row], self.ats[row])

    def record(self, row: int) -> Record:
        """Return an annotation as a record of COCO."""
        return msgspec.json.decode(self.held[row], type=Record)

    def lists(self) -> dict[str, Any]:
        """Return the records with all their keys; see `AnnotationFile.lists`."""
        again = (each.where for each in self.defects if each.code == _AGAIN)
        return {
            "images": self.images,
            "categories": self.categories,
            "annotations": self.records,
            "apart": self.records_apart,
            "repeats": [*map(self._in_words, again)],
        }

    def place_of(self, row: int) -> str:
        """Return where an annotation stands, such as "a.xml:12"."""
        return self._in_words(self._place(row))

    def regions_of(self, rows: IndexArray) -> IndexArray:
        """Return the first of some annotations in the region of each: at the same JSON pointer."""
        first: dict[Where, int] = {}
        found = []
        for row in rows.tolist():
            where = self._place(row)
            found.append(first.setdefault(where, row) if isinstance(where.at, str) else row)
        return np.array(found, np.int64)

    def own_places(self, pointers: Sequence[str]) -> list[OwnPlace]:
        """Return the location of each record, or of the whole source if there is none.

        "/defects/7" stands for the eighth of `defects`.
        """
        of_file: dict[str, list[tuple[int, str | int]]] = {}
        listed = {
            "defects": [each.where for each in self.defects],
            "images": self.image_places,
            "categories": self.category_places,
        }
        for number, pointer in enumerate(pointers):
            name, at, *_ = (*pointer_parts(pointer), "", "")
            row, places = int(at) if at.isdecimal() else -1, listed.get(name, ())
            if name == "annotations" and 0 <= row < self.n:
                where = self._place(row)
            elif 0 <= row < len(places):
                where = places[row]
            else:
                continue
            of_file.setdefault(where.member, []).append((number, where.at))
        found = [OwnPlace(str(self._path), "", Spot(1, 1, 0), "")] * len(pointers)
        for member in members_of(self._path) if of_file else ():
            if not (wanted := of_file.get(member.name)):
                continue
            # A file may have been removed since it was read.
            with suppress(DatasetError):
                own = _places(member.shown, member.text(), [at for _, at in wanted])
                for (number, _), place in zip(wanted, own, strict=True):
                    found[number] = place
        return found

    def shown_ids(self) -> ShownIds | None:
        """Return what annotations are found by: the ids of their tool, or places; None if none."""
        files = {name: _shown_file(self._path, name) for name in {*self.members}}
        places = map(place_in_words, map(files.__getitem__, self.members), self.ats)
        if any(self.own_ids):
            pairs = zip(self.own_ids, places, strict=True)
            return np.array([(own or at)[:_LONGEST] for own, at in pairs], np.str_)
        return np.array([*places], object) if self.n else None

    def _in_words(self, where: Where) -> str:
        return place_in_words(_shown_file(self._path, where.member), where.at)


def _shown_file(path: Path, member: str) -> str:
    """Return a file of a source as it is named beside a line, such as "1.zip/annotations.xml"."""
    if not member:
        return path.name
    return member if path.is_dir() else f"{path.name}/{member}"


def _places(file: str, text: bytes, ats: Sequence[str | int]) -> Iterator[OwnPlace]:
    if text.startswith(PARQUET) or is_picture(file):
        # These files have neither lines nor text.
        yield from [OwnPlace(file, "", Spot(1, 1, 0), "")] * len(ats)
        return
    ends = np.flatnonzero(np.frombuffer(text, np.uint8) == ord("\n"))
    listed = as_list(text)
    values, shift = JsonPlaces(listed), int(listed is not text)
    spans = []
    for at in ats:
        if isinstance(at, str):
            _, begin, end = values.find(pointer_parts(at))
            spans.append((max(begin - shift, 0), end - shift))
        else:
            line = min(at - 1, len(ends))
            stop = len(text) if line == len(ends) else int(ends[line])
            spans.append((int(ends[line - 1]) + 1 if line else 0, stop))
    begins = sorted({begin for begin, _ in spans})
    spot_of = dict(zip(begins, spots(text, begins), strict=True))
    for at, (begin, end) in zip(ats, spans, strict=True):
        raw = text[begin : min(end, begin + 4 * _EXCERPT)]
        excerpt = " ".join(raw.decode("utf-8", "replace").split())[:_EXCERPT]
        yield OwnPlace(file, at if isinstance(at, str) else "", spot_of[begin], excerpt)


@gc_paused()
def _read(translate: Translate, path: Path, settings: ReadSettings) -> RawDocument:
    found = ToolOrigin(path, settings)
    translate(path, found)
    found.flush()
    images, categories = found.images, found.categories
    if found.advice and not images and not any(each.code in STOPPING for each in found.defects):
        raise DatasetError([f"{path}: is {found.title} without images"], found.advice)
    sizes = (len(images), found.n, len(categories))
    return RawDocument(
        str(path),
        b"",
        0,
        {name: [] for name in LISTS},
        images,
        categories,
        found.builder.done(),
        {name: Section(n=n) for name, n in zip(LISTS, sizes, strict=True)},
        dict.fromkeys(LISTS, (0, 0)),
        origin=found,
    )


def read_document(translate: Translate, path: Path, settings: ReadSettings) -> RawDocument:
    """Return the records of a source as a COCO document; of broken JSON, its syntax errors."""
    try:
        document = _read(translate, path, settings)
    except BrokenTextError as error:
        if path.suffix.lower() != ".json":
            raise
        # Its syntax errors, without its content, which is not that of COCO.
        (member,) = members_of(path)
        read = Scanner(member.read(), str(path)).read()
        return RawDocument(
            read.name, read.text, read.size, {}, encoding=read.encoding * bool(read.broken),
            not_utf8=read.not_utf8, stopped=True,
            broken=read.broken or [_stop(error.__cause__ or error)],
        )  # fmt: skip
    document.size, _ = size_and_digest(path, digest=False)
    return document


def read_file(translate: Translate, path: Path, options: ReadSettings) -> AnnotationFile:
    """Return the annotations of a source; see `bboxqa.formats.format.Reader`."""
    document = _read(translate, path, options)
    found: ToolOrigin = document.origin
    problems = [f"{path}: {each.message}" for each in found.defects if each.code in STOPPING]
    columns, of_columns = measured(
        path, document.annotations, options, problems, boxes_are_outlines=True
    )
    notes = [*found.notes]
    n_rotated = int((np.nan_to_num(document.annotations.angle) != 0).sum())
    if n_rotated and not (options.outlines or options.rotated):
        some = count(n_rotated, "rotated box", "rotated boxes")
        notes.append(f"{some} compared by the upright bounds; --similarity obb compares them")
    has_masks = options.choices.mask is not None
    given = size_and_digest(path, digest=options.digest, pictures=has_masks)
    of_images = list[image_type(options.keys)]  # type: ignore[misc, valid-type]
    return AnnotationFile(
        Source(str(path), *given),
        msgspec.convert(document.images, of_images),
        msgspec.convert(document.categories, list[Category]),
        columns,
        (*notes, *of_columns),
        found.named_by,
        title=found.title,
        lists_images=found.lists_images,
        numbers_categories=True,
        own_ids=found.shown_ids(),
        numbered_images=found.numbered_images,
        n_apart=found.apart,
        repeat_notes=tuple(found.repeat_notes),
        nobody_notes=tuple(found.nobody_notes),
        lists=found.lists() if options.records else None,
    )


def json_problem(text: bytes, error: BaseException) -> str:
    """Return why a text is not JSON."""
    place, why = _stop(error)
    line = text.count(b"\n", 0, place) + 1
    return f"line {line}: {why}" if place else why


def _stop(error: BaseException) -> tuple[int, str]:
    """Return the byte offset at which a JSON reader stopped, 0 if it does not say it, and why."""
    said = _BYTE.search(str(error))
    place = int(said[1]) if said else getattr(error, "start", 0)
    return place, _BYTE.sub("", str(error).removeprefix("JSON is malformed: "))


def json_of(
    member: Member, into: Collector, decode: Callable[[bytes], Any] = msgspec.json.decode
) -> Any:
    """Return the content of a file; None if it is not JSON, which is reported as a defect."""
    text = member.text()
    try:
        return decode(text)
    except NOT_JSON as error:
        if not member.name:
            raise broken_json(member, error, into.title) from error
        damage = absence_of(text) or f"cannot be read: {json_problem(text, error)}"
        into.defect("T001", f"{member.name}: {damage}", Where(member.name, ""))
        return None


def broken_json(member: Member, error: Exception, title: str) -> BrokenTextError:
    """Return the error for a source that is not JSON."""
    text = member.text()
    damage = absence_of(text) or f"is {title} that cannot be read: {json_problem(text, error)}"
    return BrokenTextError([f"{member.shown}: {damage}"], _ADVICE, files=[Path(member.shown)])


def json_objects(
    members: Sequence[Member], into: Collector
) -> Iterator[tuple[Member, dict[str, Any]]]:
    """Yield files with their JSON objects; a file that cannot be read is reported as a defect."""
    for number, member in enumerate(members):
        into.step(number, len(members))
        found = json_of(member, into)
        if isinstance(found, dict):
            yield member, found
        elif found is not None:
            into.defect("T001", f"{member.name}: expected an object", Where(member.name, ""))
