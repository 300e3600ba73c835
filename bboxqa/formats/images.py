"""The images of formats with one label file per image: their pictures and their sizes."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING
from unicodedata import normalize

from bboxqa.core.arrays import listed_by
from bboxqa.core.errors import DatasetError
from bboxqa.core.file_names import is_split
from bboxqa.core.image_opening import SIDEWAYS, opened, turn_of
from bboxqa.core.text import count, one_line, such_as
from bboxqa.formats.document import Record, Where
from bboxqa.formats.heads import HEAD, WHAT, absence_of, begins, is_read_alone, kind_in, kind_of
from bboxqa.formats.label_folders import (
    OF_MASKS,
    OF_PICTURES,
    LabelFolders,
    by_place,
    ends_of,
    place_of,
    spelled_as,
    without_suffix,
)
from bboxqa.formats.member import Member, is_picture
from bboxqa.formats.opening import damage_in
from bboxqa.formats.source import SourcePath, members_with
from bboxqa.formats.translation.shapes import GIVE_SIZE
from bboxqa.model.annotations import Choices, GivenSize

if TYPE_CHECKING:
    from bboxqa.formats.translation.collector import Collector


def size_of_picture(member: Member) -> tuple[int, int] | None:
    """Return width and height of an image file as displayed; None if it cannot be read."""
    try:
        with member.open() as stream, opened(stream) as image:  # type: ignore[arg-type]
            width, height = image.size
            return (height, width) if turn_of(image) in SIDEWAYS else (width, height)
    # Any error means that the size is unknown.
    except Exception:  # noqa: BLE001
        return None


def given_size(choices: Choices, name: str) -> tuple[int, int] | None:
    """Return the size that the user supplied for an image; None if there is none."""
    given = choices.image_size
    if given is None or isinstance(given, tuple):
        return given
    place = _place(name)
    ends = (f"/{place}", *ends_of(place))
    return next((given[end] for end in ends if end in given), None)


def _place(name: str) -> str:
    """Return the place of an image, of which label files give the name without its suffix."""
    return place_of(name if is_picture(name) else f"{name}.png")


def by_ends(sizes: Mapping[str, tuple[int, int]]) -> dict[str, GivenSize]:
    """Return sizes by all ends of paths; None where images differ. Whole paths begin with "/"."""
    found: dict[str, GivenSize] = {}
    for place, size in zip(map(_place, sizes), sizes.values(), strict=True):
        for end in (f"/{place}", *ends_of(place)):
            found[end] = size if found.get(end, size) == size else None
    return found


_OF_LABELS = re.compile(rf"{OF_MASKS}|scribbles|.*visualization", re.IGNORECASE)
"""Folders of pictures that show labels, as Pascal VOC, CVAT and LabelMe write them."""
_OF_TOOLS = (".json", ".xml")
NO_PICTURE = "expected one picture with its path, such as images"
_READ = {"VOC": ".xml", "LabelMe": ".json"}
_BY_IMAGE = (*_READ, "LabelMe XML", "CreateML")
"""The kinds of files with the annotations of one image each."""


class FileImages:
    """The images of a source with one label file each: their files, pictures, names and sizes.

    `others` are the files of the source besides labels. Those of `_BY_IMAGE` are left out, and so
    are those in `apart`.
    """

    def __init__(
        self,
        path: Path,
        into: "Collector",
        labels: Sequence[Member],
        others: Sequence[Member],
        apart: Sequence[Member] = (),
    ) -> None:
        self.files = by_place(labels)
        """The label files by the places of images."""
        pictures = _once(pictures_of(path, others, self.files))
        self.pictures = spelled_as(by_place(pictures), self.files)
        known = {each.name for each in (*labels, *apart)}
        tools = (e for e in others if e.name.lower().endswith(_OF_TOOLS) and e.name not in known)
        kinds = [(each, _kind(each.head()) or "") for each in tools]
        # What another format reads of the same folder is not left out.
        read = {kind for kind in {kind for _, kind in kinds} & {*_READ}
                if LabelFolders(_READ[kind], kind).is_one_source(SourcePath.at(path))}  # fmt: skip
        left_out = {*_BY_IMAGE} - read
        self.left_out = [*apart, *(each for each, kind in kinds if kind in left_out)]
        self.listed: dict[str, str] = {}
        """Image names in lists of images, by place."""
        self._into = into
        self._choices = into.settings.choices
        self._named: dict[str, tuple[str, Record]] = {}
        self._places: set[str] = set()
        into.lists_images = self._choices.missing_txt == "not-asked"

    @classmethod
    def of_tool(
        cls, path: Path, into: "Collector", members: Sequence[Member], kind: str, suffix: str
    ) -> "FileImages":
        """Return the images of the files of a kind; raises DatasetError if there are none."""
        has_own, kept, apart = False, list[Member](), list[Member]()
        for member in members_with(members, suffix):
            is_own = begins(kind, head := member.head())
            # A full disk or a crash leaves empty files; reading them reports each one.
            if is_own or not head.strip():
                kept.append(member)
            elif not is_read_alone(head):
                apart.append(member)
            has_own = has_own or is_own
        if not has_own:
            raise DatasetError([f"{path}: has no {WHAT[kind][0]}"])
        return cls(path, into, kept, members, apart)

    def add_named(
        self,
        place: str,
        member: Member,
        name: str,
        where: Where,
        size: tuple[Sequence[object], Where],
    ) -> tuple[Record, Member | None]:
        """Return the record of an image and its picture, from the name and size in its file.

        Without `name`, or where another file gives the same, the image is called by its file.
        `size` is its sides, as the file has them, and their place.
        """
        image = self._into.image(place, where)
        if not name:
            self._into.tally["unnamed"] += 1
            name = place or without_suffix(PurePosixPath(member.shown).name)
        elif name in self._named:
            other = self.files[self._named[name][0]].name
            problem = f"{member.name}: its image is {one_line(name)}, as that of {other}"
            self._into.defect("T031", problem, where)
            name = place + PurePosixPath(name).suffix
        self._call(place, image, name)
        known = self._into.size(image, name, *size)
        ends = (*ends_of(place), without_suffix(name))
        picture = next((self.pictures[each] for each in ends if each in self.pictures), None)
        self._places |= {place, *([] if picture is None else [place_of(picture.inner)])}
        self._into.tally["unsized"] += not (known or self._sized(image, picture))
        return image, picture

    def _call(self, place: str, image: Record, name: str) -> None:
        """Name an image; another one that has the name is called by its own file instead."""
        while True:
            image["file_name"] = name
            other = self._named.get(name)
            self._named[name] = place, image
            if other is None:
                return
            place, image = other
            name = place + PurePosixPath(name).suffix

    def _sized(self, image: Record, picture: Member | None) -> bool:
        """Give an image the size of its picture, or that which the user supplied, if any."""
        size = None if picture is None else size_of_picture(picture)
        size = size or given_size(self._choices, image["file_name"])
        if size is not None:
            image["width"], image["height"] = size
        return size is not None

    def add(self, place: str, where: Where) -> Record:
        """Return the record of an image that has the name of its place, with its size if known."""
        self._places.add(place)
        image, picture = self._into.image(place, where), self.pictures.get(place)
        if picture is not None:
            image["file_name"] = place + PurePosixPath(picture.name).suffix
        else:
            image["file_name"] = self.listed.get(place, place)
            self._into.tally["nameless"] += place not in self.listed
        self._sized(image, picture)
        return image

    def why_unsized(self, image: Record) -> str:
        """Return why an image has no size, and what to do."""
        picture = self.pictures.get(without_suffix(image["file_name"]))
        absence = "" if picture is None else absence_of(picture.head())
        return f"picture {absence}" if absence else f"size of the image is not known; {GIVE_SIZE}"

    def labelled(self, place: str, member: Member) -> Record:
        """Return `add` of a label file, which has the name of a picture if there are any."""
        where = Where(member.name, 1)
        if self.pictures and place not in self.pictures:
            self._into.defect("T022", f"{NO_PICTURE}/{one_line(place)}.jpg", where)
        return self.add(place, where)

    def texts(self) -> Iterator[tuple[Member, Record, str]]:
        """Yield label files with the records of their images and their texts; report others."""
        for n_read, (place, member) in enumerate(self.files.items()):
            self._into.step(n_read, len(self.files))
            try:
                text = member.text().decode()
            except UnicodeDecodeError:
                text, problem = "", "the file is not text in UTF-8"
                self._into.defect("T001", problem, Where(member.name, 1))
            yield member, self.labelled(place, member), text

    def done(self, expected: str, words: Iterable[tuple[str, str, str]]) -> None:
        """Add the images without a label file, and notes."""
        into = self._into
        into.count(words)
        others = []
        for member in self.left_out:
            head = member.head()
            # A larger file has a known format by its beginning. One that is cut off may be of ours.
            if head and len(head) < HEAD and (problem := damage_in(member.name, head)):
                into.defect("T001", f"{member.name}: {problem}", Where(member.name, ""))
                continue
            kind = _kind(head)
            problem = f"{member.name}: is {WHAT[kind][0] if kind else 'something else'}"
            problem += f"; expected {expected}; it is left out"
            into.defect("T012", problem, Where(member.name, 1))
            others.append(one_line(member.name))
        if others:
            some = f"{count(len(others), 'file')} left out: not {expected}"
            into.notes.append(some + such_as(len(others), others[0]))
        self._add_unlabelled()

    def _add_unlabelled(self) -> None:
        """Add the images without a label file if annotators were asked about them, and a note."""
        # A file that is cut off is one, too.
        known = {place_of(each.inner) for each in self.left_out} | self._places | self.files.keys()
        # Pictures that show labels are no images, unless they are in a folder with labelled ones.
        labelled = {place.rpartition("/")[0] for place in self._places}
        places = sorted(
            each
            for each in {*self.pictures, *self.listed} - known
            if each not in self.pictures
            or each.rpartition("/")[0] in labelled
            or not any(map(_OF_LABELS.fullmatch, each.split("/")[:-1]))
        )
        if places and self.files and not self.listed and self._places.isdisjoint(self.pictures):
            some = count(len(self.pictures), "picture")
            self._into.notes.append(f"{some} left out: no label file has the path of one")
            return
        asked = self._choices.missing_txt
        for place in places:
            name = self.pictures[place].name if place in self.pictures else ""
            if asked == "asked":
                self.add(place, Where(name, 1))
            else:
                problem = f"{one_line(name or place)}: has no label file"
                self._into.defect("T023", problem, Where("", 1))
        said = "not asked about; if nothing was found there: --missing-txt asked"
        if asked is not None:
            found = "asked about, with nothing found" if asked == "asked" else "not asked about"
            said = f"{found}, as --missing-txt says"
        if places:
            some = f"{count(len(places), 'image')} without a label file"
            self._into.notes.append(f"{some}: taken as {said}")


def _once(pictures: Sequence[Member]) -> list[Member]:
    """Return pictures, and one of those that are alike but for the suffix, as a.jpg and a.png."""
    found = list[Member]()
    for same in listed_by((without_suffix(each.inner), each) for each in pictures).values():
        are_one = len(same) > 1 and len({*map(size_of_picture, same)}) == 1
        found += same[:1] if are_one else same
    return found


def _kind(head: bytes) -> str | None:
    return kind_of(head) or kind_in("json", head)


def pictures_of(path: Path, members: Sequence[Member], labels: Iterable[str]) -> list[Member]:
    """Return the image files of a source, or those around it that several annotators share.

    They are in folders called images or the like next to the source or its split, or directly
    there, and one has the name of a label. Where all are in folders, those of one called like the
    source count.
    """
    pictures = [member for member in members if is_picture(member.name)]
    names = {normalize("NFC", each.rpartition("/")[2]) for each in labels}
    own = f"{path.absolute().name}/"
    for folder, split in folders_around(path) if not pictures else ():
        named = filter(OF_PICTURES.fullmatch, folder.names.folders)
        held = [(folder / each / split).readable_members for each in sorted(named)]
        for files in (*held, folder.direct_members):
            found = [each for each in files if is_picture(each.name)]
            known = {normalize("NFC", place_of(each.name).rpartition("/")[2]) for each in found}
            if found and not (names and known.isdisjoint(names)):
                of_source = [e._replace(top=own) for e in found if e.name.startswith(own)]
                return (all("/" in each.name for each in found) and of_source) or found
    return pictures


def folders_around(path: Path) -> list[tuple[SourcePath, str]]:
    """Return the folders around a source, and those around its split, each with that split."""
    source = SourcePath.at(path)
    if path.is_file() or not source.is_folder:
        return []
    here = source.beside(path.resolve() if ".." in path.parts else path.absolute())
    found, split = list[tuple[SourcePath, str]](), ""
    for _ in range(2):
        here = here.beside(here.parent)
        found.append((here, split))
        if here.name.lower() in ("labels", "annotations"):
            here = here.beside(here.parent)
            found.append((here, split))
        if not is_split(here.name):
            break
        split = here.name
    return found
