"""The records of a translation, and the sink that collects them."""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from bboxqa.core.errors import DatasetError
from bboxqa.core.text import count, one_line
from bboxqa.formats.column_builder import ColumnsBuilder
from bboxqa.formats.document import Record, Where
from bboxqa.formats.records import ReadSettings, extent_of, most_joints
from bboxqa.formats.translation.masks import Masks
from bboxqa.formats.translation.shapes import (
    EmptyMaskProblemError,
    MaskProblemError,
    ValueProblemError,
    side_of,
)

OWN_ID = "own_id"
"""The key of an annotation that holds the id shown by its tool."""
UNLABELLED = "(no label)"
"""The category of annotations without a label."""
SIDES = ("width", "height")
WINDOW = 1 << 13


class ToolDefect(msgspec.Struct, frozen=True):
    """A defect in a record of the tool's own format."""

    code: str
    """The code of a rule of family T."""
    message: str
    where: Where
    row: int = -1
    """The index of the annotation made from the record; -1 if there is none."""
    cause: str = ""
    """What defects of one cause share, where messages hold values."""


class BrokenTextError(DatasetError):
    """A file that is cut off, or does not have the text format that it seems to have."""


_NOTHING_MORE = ReadSettings(records=True)


class Collector:
    """Numbers the images and categories of a source, and makes columns of its annotations."""

    title = ""
    """The format, such as "Label Studio JSON"."""
    advice = ""
    """What to do if the source has no images; "" if it may have none."""
    named_by = ""
    """How the format names annotators, as the end of the phrase "annotators by …"."""
    lists_images = True
    """Whether the format has records of images, so that those without annotations are known."""

    def __init__(self, settings: ReadSettings = _NOTHING_MORE) -> None:
        self.settings = settings
        self.sessions = "session" in settings.keys
        """Whether to keep repeated work of an annotator on an image, with the key `session`."""
        self.notes: list[str] = []
        """Notes on what was left out, and how the rest was read."""
        self.nobody_notes: list[str] = []
        """Notes on annotations that name nobody; untrue where each file is by one annotator."""
        self.masks = Masks(outlines=settings.outlines or settings.rotated)
        """Converts masks, within limits for all of them."""
        self.numbered_images: dict[str, str] = {}
        self.tally: Counter[str] = Counter()
        self.people: Counter[str] = Counter()
        """The number of signed annotations by annotator."""
        self.defects: list[ToolDefect] = []
        self.image_places: list[Where] = []
        """The location of each image."""
        self.category_places: list[Where] = []
        """The location of the first use of each category."""
        self.builder = ColumnsBuilder(settings)
        self.n = 0
        """The number of annotations with a box."""
        self.members: list[str] = []
        self.ats: list[str | int] = []
        """The file inside the source of each of these, and its place there; see `Where`."""
        self.own_ids: list[str] = []
        """The id that its tool shows; "" for none."""
        self.held: list[bytes] = []
        """Each as JSON, which takes little memory, where they are asked for one by one."""
        self.apart: Counter[str] = Counter()
        """The number of annotations without a box, by shape."""
        self.categories_apart: set[int] = set()
        """The ids of the categories of these annotations."""
        self.records: list[Record] = []
        self.records_apart: list[Record] = []
        """The annotations with all their keys, if these are requested, and those without a box."""
        self._waiting: list[Record] = []
        self._images: dict[Hashable, Record] = {}
        self._asked: set[tuple[int, str]] = set()
        self._works: Counter[tuple[Hashable, str]] = Counter()
        self._shown: set[int] = set()
        self._last = 0
        self._categories: dict[str, int] = {}
        self._names: list[str] = []
        # By category, the places of joints as annotations name them, and what its skeleton says.
        self._joints: dict[str, dict[str, int]] = {}
        self._skeletons: dict[str, tuple[Sequence[str], Sequence[tuple[str, str]]]] = {}
        self._n_given = self._n_joints = 0
        self._once: set[Hashable] = set()

    @property
    def images(self) -> list[Record]:
        """The records of images."""
        return [*self._images.values()]

    @property
    def categories(self) -> list[Record]:
        """The records of categories, with their joints."""
        found = []
        for name, number in self._categories.items():
            known, (_, limbs) = self._joints.get(name, {}), self._skeletons.get(name, ((), ()))
            ends = [[known[end] + 1 for end in limb] for limb in limbs if known.keys() >= {*limb}]
            joints = {"keypoints": [*known], "skeleton": ends}
            found.append({"id": number, "name": name} | {key: v for key, v in joints.items() if v})
        return found

    @property
    def image_names(self) -> dict[int, str]:
        """The file names of images by those ids that the tool does not show."""
        named = {e["id"]: e.get("file_name") for e in self.images if e["id"] not in self._shown}
        return {number: name for number, name in named.items() if name}

    def step(self, number: int, most: int) -> None:
        """Show the progress after every 100 of some records or files."""
        if self.settings.progress is not None and number % 100 == 0:
            self.settings.progress(number, most)

    def count(self, words: Iterable[tuple[str, str, str]]) -> None:
        """Add a note for each count above 0, from rows of its key, its noun and what to say."""
        for key, noun, rest in words:
            if number := self.tally[key]:
                self.notes.append(f"{count(number, noun)} {rest}")

    def boxed(self, shape: Record) -> Record:
        """Return a shape with the box around its key points, if key points are compared."""
        if not self.settings.keypoints or "bbox" in shape or "keypoints" not in shape:
            return shape
        extent = extent_of(shape["keypoints"])
        return shape if extent is None else {**shape, "bbox": extent}

    def image(self, key: Hashable, where: Where, number: object = None) -> Record:
        """Return the record of an image, which is created on first use.

        The caller adds `file_name`, `width` and `height`. `number` is the id that the tool shows,
        which is kept if it is a unique whole number.
        """
        image = self._images.get(key)
        if image is None:
            # An empty list says nothing about who was asked.
            image = self._images[key] = {"id": self._number(number), "annotators": []}
            self.image_places.append(where)
        return image

    def ask(self, image: Record, annotator: str) -> None:
        """Add an annotator to those who were asked about an image, unless already added."""
        asked = image["id"], annotator
        if asked not in self._asked:
            self._asked.add(asked)
            image["annotators"].append(annotator)

    def shared(self, images: Iterable[Record], annotator: str, number: int = 1) -> Record:
        """Return the keys that annotations by a person share, who was asked about the images."""
        for image in images if annotator else ():
            self.ask(image, annotator)
        found = {"annotator": annotator} if annotator else {}
        return found | ({"session": str(number)} if self.sessions else {})

    def begin_work(
        self, key: Hashable, images: Iterable[Record], annotator: str, label: str, where: Where
    ) -> Record | None:
        """Return `shared` of the work of a person on what `key` tells apart; None if it repeats."""
        self._works[key, annotator] += 1
        number = self._works[key, annotator]
        if number == 1 or self.sessions:
            return self.shared(images, annotator, number)
        who = one_line(annotator) or "the annotator"
        problem = f"{label}: {who} annotated it {number} times; the first counts"
        self.defect("T007", problem, where)
        return None

    @property
    def repeat_notes(self) -> list[str]:
        """A note on work that is left out as it repeats; a conversion lists it as a loss."""
        n_again = sum(number - 1 for number in self._works.values())
        if self.sessions or not n_again:
            return []
        some = count(n_again, "annotation of an image", "annotations of images")
        measured = "--session-key session measures how far they agree with themselves"
        return [f"{some} left out: by someone who had annotated it before; {measured}"]

    def sign(self, record: Record, annotator: str) -> None:
        """Set who drew an annotation; "" is nobody."""
        self.people[annotator] += 1
        if annotator:
            record["annotator"] = annotator

    def ask_only(self) -> None:
        """Add the annotator of all annotations, if it is one, as asked about all images."""
        only = [*self.people] if len(self.people) == 1 else []
        for image in self.images if any(only) else ():
            image["annotators"] = [*only]

    def _number(self, own: object) -> int:
        """Return the number that a tool shows if no image has it, or else the next number."""
        # All numbers up to the last one are taken.
        if type(own) is int and self._last < own < 1 << 53 and own not in self._shown:
            self._shown.add(own)
            return own
        self._last += 1
        while self._last in self._shown:
            self._last += 1
        return self._last

    def size(
        self, image: Record, name: str, sides: Sequence[object], where: Where
    ) -> tuple[int, int] | None:
        """Set and return the size of an image, None if unknown; report it if invalid or another."""
        label = f"image {one_line(name)}" if name else "the image"
        try:
            width, height = map(side_of, sides, ("the width", "the height"))
        except ValueProblemError as error:
            known, defect = None, ("T001", f"{label}: {error}")
        else:
            if width is None or height is None:
                return None
            known = (image.setdefault("width", width), image.setdefault("height", height))
            if known == (width, height):
                return known
            other = f"another record of it says {known[0]} × {known[1]}"
            defect = ("T010", f"{label}: is {width} × {height}; {other}")
        if (image["id"], defect) not in self._once:
            self._once.add((image["id"], defect))
            self.defect(*defect, where)
        return known

    def category(self, name: str, where: Where) -> int:
        """Return the id of a category."""
        if name not in self._categories:
            self._categories[name] = len(self._categories) + 1
            self._names.append(name)
            self.category_places.append(where)
        return self._categories[name]

    def skeleton(self, name: str, joints: Sequence[str], limbs: Sequence[tuple[str, str]]) -> None:
        """Set the joints of a category, in their order, and the pairs of joints it connects."""
        if len({*joints}) == len(joints):
            self._skeletons.setdefault(name, (joints, limbs))

    def check_joints(self, label: str, n: int, name: str, where: Where, row: int) -> None:
        """Report an annotation, called `label`, with other joints than its category lists."""
        n_listed = len(self._skeletons.get(name, ((), ()))[0])
        if row >= 0 and n and n_listed and n != n_listed:
            problem = f"{label} has {count(n, 'point')}; its label {one_line(name)!r} has"
            self.defect("K001", f"{problem} {n_listed}", where, row)

    def annotation(self, record: Record, where: Where) -> int:
        """Add an annotation; return its row among annotations with boxes, or -1 without a box."""
        joints = record.pop("joints", None)
        if joints is not None and "category_id" in record:
            name = self._names[record["category_id"] - 1]
            record["keypoints"] = self._ordered(name, joints, record["keypoints"])
        if "bbox" not in record:
            self.apart[record["shape"]] += 1
            if "category_id" in record:
                self.categories_apart.add(record["category_id"])
            if self.settings.records:
                self.records_apart.append(_without_session(record))
            return -1
        self.members.append(where.member)
        self.ats.append(where.at)
        self.own_ids.append(str(record.get(OWN_ID) or ""))
        self._waiting.append(record)
        self.n += 1
        if len(self._waiting) >= WINDOW:
            self.flush()
        return self.n - 1

    def _ordered(self, name: str, joints: Sequence[str], points: Sequence[float]) -> list[float]:
        """Return key points at the places of their joints; refuse lists that are mostly gaps."""
        declared, _ = self._skeletons.get(name, ((), ()))
        if name not in self._joints:
            self._joints[name] = {joint: place for place, joint in enumerate(declared)}
        known, times = self._joints[name], Counter[str]()
        places = []
        for joint in joints:
            times[joint] += 1
            each = f"{joint} {times[joint]}" if times[joint] > 1 else joint
            places.append(known.setdefault(each, len(known)))
        self._n_given += len(joints)
        self._n_joints += len(known)
        if self._n_joints > (most := most_joints(self._n_given)):
            raise ValueProblemError(
                f"its label has {len(known):,} key points, most of which annotations lack; "
                f"expected at most {most:,} in all"
            )
        found = [0.0] * (3 * len(known))
        for number, place in enumerate(places):
            found[3 * place : 3 * place + 3] = points[3 * number : 3 * number + 3]
        return found

    def labelled(self, record: Record, label: str, where: Where, missing: str) -> int:
        """Add an annotation with its label; return its row, or -1 without a box."""
        name = label or UNLABELLED
        if "bbox" not in record:
            record["label"] = name
            return self.annotation(record, where)
        record["category_id"] = self.category(name, where)
        row = self.annotation(record, where)
        if not label:
            self.defect("T004", missing, where, row)
        return row

    def defect(self, code: str, message: str, where: Where, row: int = -1, cause: str = "") -> None:
        """Add a defect of a record, or of the annotation with index `row`."""
        self.defects.append(ToolDefect(code, message, where, row, cause))

    @contextmanager
    def refusing(self, label: str, where: Where) -> Iterator[None]:
        """Report a ValueProblemError of the block as a defect of a shape, which `label` names."""
        try:
            yield
        except ValueProblemError as error:
            self.tally["empty"] += isinstance(error, EmptyMaskProblemError)
            what = "the mask " * isinstance(error, MaskProblemError)
            self.defect(error.code, f"{label}: {what}{error}", where)

    def flush(self) -> None:
        """Add the last annotations to the columns."""
        records, self._waiting = self._waiting, []
        for number, record in enumerate(records, self.builder.n + 1):
            record.setdefault("id", number)
            if self.settings.whole and "keypoints" in record:
                n_seen = sum(seen > 0 for seen in record["keypoints"][2::3])
                record.setdefault("num_keypoints", n_seen)
                if "shape" in record:
                    # Its box is only the extent of its points.
                    del record["bbox"]
        if self.settings.whole:
            self.held += map(msgspec.json.encode, records)
        elif self.settings.records:
            self.records += map(_without_session, records)
        self.builder.add(records)


def _without_session(record: Record) -> Record:
    return {key: each for key, each in record.items() if key != "session"}


Translate = Callable[[Path, Collector], None]
"""Adds the COCO records of a source to a collector, and its wrong records as defects."""
