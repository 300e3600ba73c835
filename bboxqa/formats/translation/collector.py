"""The records of a translation, and the sink that collects them."""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec
import numpy as np

from bboxqa.core.arrays import FloatArray, IndexArray, TextArray
from bboxqa.core.errors import DatasetError
from bboxqa.core.text import count, one_line
from bboxqa.formats.document import Record, ToolDefect, Where
from bboxqa.formats.records import UNNAMED, ReadSettings, extent_of, most_joints
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
BY_NOBODY = f"here by {UNNAMED!r}; where each file is one annotator, by that of the file"
"""The end of notes on such annotations: files are attributed after they were translated."""
SIDES = ("width", "height")
_WINDOW, _FEW = 4096, 256


class BrokenTextError(DatasetError):
    """A file that is cut off, or does not have the text format that it seems to have."""


class Lines(msgspec.Struct, frozen=True, eq=False):
    """The locations of annotations with one line each."""

    members: Sequence[str]
    """Names of files inside the source."""
    member: IndexArray
    """(N,) int64. Index into `members`."""
    line: IndexArray | TextArray
    """(N,) int64. Line numbers, counted from 1; or JSON pointers."""

    def __len__(self) -> int:
        return len(self.line)

    def where(self, row: int) -> Where:
        """Return the location of an annotation."""
        return Where(self.members[self.member[row]], self.line[row].item())


PlainBox = tuple[int, int, float, float, float, float, str, str, int | str]
"""An annotation with a box and few other keys: the ids of its image and category, x, y, width and
height in pixels, annotator, the id that its tool shows, and its place in the file."""


class Boxes(msgspec.Struct, frozen=True, eq=False):
    """Annotations with a box and few other keys, as columns."""

    image_id: IndexArray
    category_id: IndexArray
    """(N,) int64."""
    bbox: FloatArray
    """(N, 4) float64. x, y, width and height in pixels."""
    lines: Lines
    annotator: IndexArray
    """(N,) int64. Index into `annotators`; -1 where nobody is named."""
    annotators: Sequence[str] = ()
    own_ids: Sequence[str] | TextArray = ()
    """Empty where the tool shows none, as is each of an annotation without one."""
    corners: FloatArray | None = None
    """(N, 4, 2) float64. Outlines of four points; None if they equal the boxes."""
    degrees: FloatArray | None = None
    """(N,) float64. The attribute `rotation`, NaN where missing; None if no box has it."""
    difficult: IndexArray | None = None
    """(N,) int64. The attribute `difficult`, 0 where missing; None if no box has it."""

    def __len__(self) -> int:
        return len(self.image_id)

    def record(self, row: int) -> Record:
        """Return an annotation as a COCO record without an id."""
        found: Record = {
            "image_id": int(self.image_id[row]),
            "category_id": int(self.category_id[row]),
            "bbox": self.bbox[row].tolist(),
        }
        if self.annotator[row] >= 0:
            found["annotator"] = self.annotators[self.annotator[row]]
        if len(self.own_ids) and self.own_ids[row]:
            found[OWN_ID] = str(self.own_ids[row])
        if self.corners is not None:
            found["segmentation"] = [self.corners[row].ravel().tolist()]
        attributes: Record = {}
        if self.degrees is not None and not np.isnan(self.degrees[row]):
            attributes["rotation"] = float(self.degrees[row])
        if self.difficult is not None and self.difficult[row]:
            attributes["difficult"] = int(self.difficult[row])
        return {**found, "attributes": attributes} if attributes else found


_NOTHING_MORE = ReadSettings(keys=(), outlines=True, records=True)
Add = Callable[[Sequence[Record], Sequence[Where]], None]
"""Called with annotations in the order of the file and their locations, a few thousand at a time.
"""


class _Joints:
    """The joints of categories, in the order in which their annotations name them."""

    def __init__(self) -> None:
        self._known: dict[str, dict[str, int]] = {}
        self._skeletons: dict[str, tuple[Sequence[str], Sequence[tuple[str, str]]]] = {}
        self._n_given = self._n_joints = 0

    def declare(self, name: str, joints: Sequence[str], limbs: Sequence[tuple[str, str]]) -> None:
        if len({*joints}) == len(joints):
            self._skeletons.setdefault(name, (joints, limbs))

    def ordered(self, name: str, joints: Sequence[str], points: Sequence[float]) -> list[float]:
        """Return key points at the places of their joints; refuse lists that are mostly gaps."""
        if name not in self._known:
            declared, _ = self._skeletons.get(name, ((), ()))
            self._known[name] = {joint: place for place, joint in enumerate(declared)}
        known, times = self._known[name], Counter[str]()
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

    def of_category(self, name: str) -> Record:
        """Return the joints and the skeleton of a category, if annotations have some."""
        if not (known := self._known.get(name)):
            return {}
        _, limbs = self._skeletons.get(name, ((), ()))
        skeleton = [[known[end] + 1 for end in ends] for ends in limbs if known.keys() >= {*ends}]
        return {"keypoints": [*known]} | ({"skeleton": skeleton} if skeleton else {})


class Collector:
    """Numbers the images and categories of a source, and passes annotations on window by window.

    Parameters
    ----------
    add : Add
        Called with the annotations.
    settings : ReadSettings, optional
    add_boxes : callable, optional
        Called with annotations as columns, which is much faster than records.
    """

    def __init__(
        self,
        add: Add,
        settings: ReadSettings = _NOTHING_MORE,
        add_boxes: Callable[[Boxes], None] | None = None,
    ) -> None:
        self.settings, self.add_boxes = settings, add_boxes
        self.outlines = settings.outlines or settings.rotated
        self.sessions = "session" in settings.keys
        """Whether to keep repeated work of an annotator on an image, with the key `session`."""
        self.in_full = settings.records or settings.whole or settings.on_records is not None
        """Whether all keys of annotations are requested, not only those of columns."""
        self.title = ""
        """The format, such as "Label Studio JSON"."""
        self.advice = ""
        """What to do if the source has no images; "" if it may have none."""
        self.named_by = ""
        """How the format names annotators, as the end of the phrase "annotators by …"."""
        self.notes: list[str] = []
        """Notes on what was left out, and how the rest was read."""
        self.nobody_notes: list[str] = []
        """Notes on annotations that name nobody; untrue where each file is by one annotator."""
        self.lists_images = True
        """Whether the format has records of images, so that those without annotations are known."""
        self.names_asked = True
        """Whether the format says who was asked about an image."""
        self.masks = Masks(outlines=self.outlines)
        """Converts masks, within limits for all of them."""
        self.numbered_images: dict[str, str] = {}
        """See `bboxqa.formats.records.AnnotationFile`."""
        self.tally: Counter[str] = Counter()
        """Counts for notes."""
        self.defects: list[ToolDefect] = []
        self.image_places: list[Where] = []
        """The location of each image."""
        self.category_places: list[Where] = []
        """The location of the first use of each category."""
        self._add = add
        self._records: list[Record] = []
        self._wheres: list[Where] = []
        self._plain: list[PlainBox] = []
        self._member = ""
        self._n_boxed = 0
        self._images: dict[Hashable, Record] = {}
        self._asked: set[tuple[int, str]] = set()
        self._works: Counter[tuple[Hashable, str]] = Counter()
        self._shown: set[int] = set()
        self._last = 0
        self._categories: dict[str, int] = {}
        self._names: list[str] = []
        self._joints = _Joints()
        self._once: set[Hashable] = set()

    @property
    def images(self) -> list[Record]:
        """The records of images."""
        return [*self._images.values()]

    @property
    def categories(self) -> list[Record]:
        """The records of categories, with their joints."""
        return [
            {"id": number, "name": name, **self._joints.of_category(name)}
            for name, number in self._categories.items()
        ]

    @property
    def unshown_images(self) -> set[int]:
        """The ids of images that the tool does not show."""
        return {image["id"] for image in self._images.values()} - self._shown

    def step(self, number: int, most: int) -> None:
        """Show the progress after every 100 of some records or files."""
        if self.settings.progress is not None and number % 100 == 0:
            self.settings.progress(number, most)

    def count(self, words: Iterable[tuple[str, str, str]]) -> None:
        """Add a note for each count above 0, from rows of its key, its noun and what is said of it.

        Examples
        --------
        >>> into = Collector(print)
        >>> into.tally["draft"] = 2
        >>> into.count([("draft", "draft", "left out"), ("empty", "mask", "…")])
        >>> into.notes
        ['2 drafts left out']
        """
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
            image = self._images[key] = {"id": self._number(number)}
            if self.names_asked:
                image["annotators"] = []
            self.image_places.append(where)
        return image

    def ask(self, image: Record, annotator: str) -> None:
        """Add an annotator to those who were asked about an image, unless already added."""
        asked = image["id"], annotator
        if asked not in self._asked:
            self._asked.add(asked)
            image["annotators"].append(annotator)

    def shared(self, images: Iterable[Record], annotator: str, number: int = 1) -> Record:
        """Return the keys that annotations of images by a person share, who was asked about them.

        `number` counts the times that the person annotated them; "" is nobody.
        """
        for image in images if annotator else ():
            self.ask(image, annotator)
        found = {"annotator": annotator} if annotator else {}
        return found | ({"session": str(number)} if self.sessions else {})

    def begin_work(
        self, key: Hashable, images: Iterable[Record], annotator: str, label: str, where: Where
    ) -> Record | None:
        """Return `shared` of the work of a person on what `key` tells apart; None if it repeats.

        Repeated work is left out, unless sessions are compared. `label` names the images.
        """
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
        """Set the width and height of an image; return its size, or None if it is unknown.

        An invalid size, and one that contradicts an earlier one, are defects, once per image.
        """
        label = f"image {one_line(name)}" if name else "the image"
        try:
            width, height = map(side_of, sides, ("the width", "the height"))
        except ValueProblemError as error:
            self._defect_once(("T001", f"{label}: {error}"), image, where)
            return None
        if width is None or height is None:
            return None
        known = (image.setdefault("width", width), image.setdefault("height", height))
        if known != (width, height):
            other = f"another record of it says {known[0]} × {known[1]}"
            self._defect_once(("T010", f"{label}: is {width} × {height}; {other}"), image, where)
        return known

    def _defect_once(self, defect: tuple[str, str], image: Record, where: Where) -> None:
        if (image["id"], defect) not in self._once:
            self._once.add((image["id"], defect))
            self.defect(*defect, where)

    def category(self, name: str, where: Where) -> int:
        """Return the id of a category."""
        if name not in self._categories:
            self._categories[name] = len(self._categories) + 1
            self._names.append(name)
            self.category_places.append(where)
        return self._categories[name]

    def skeleton(self, name: str, joints: Sequence[str], limbs: Sequence[tuple[str, str]]) -> None:
        """Set the joints of a category, in their order, and the pairs of joints it connects."""
        self._joints.declare(name, joints, limbs)

    def plain_boxes(self, found: Sequence[PlainBox], member: str) -> None:
        """Add annotations of a file as columns, which is much faster than records."""
        if member != self._member:
            self.flush()
        self._plain += found
        self._member = member
        self._n_boxed += len(found)
        if self._records:
            self._records_of_plain()
        if len(self._plain) >= 4 * _WINDOW:
            self.flush()

    def _records_of_plain(self) -> None:
        """Turn the columns of a few annotations, which stand between records, into records."""
        for image, category, *bbox, who, own_id, at in self._plain:
            record: Record = {"image_id": image, "category_id": category, "bbox": bbox}
            record |= {"annotator": who} if who else {}
            self._records.append(record | ({OWN_ID: own_id} if own_id else {}))
            self._wheres.append(Where(self._member, at))
        self._plain = []

    def annotation(self, record: Record, where: Where) -> int:
        """Add an annotation; return its row among annotations with boxes, or -1 without a box."""
        if len(self._plain) > _FEW:
            self.flush()
        elif self._plain:
            self._records_of_plain()
        joints = record.pop("joints", None)
        if joints is not None and "category_id" in record:
            name, points = self._names[record["category_id"] - 1], record["keypoints"]
            try:
                record["keypoints"] = self._joints.ordered(name, joints, points)
            except ValueProblemError as error:
                if "joints" not in self._once:
                    self._once.add("joints")
                    self.defect("T001", str(error), where)
                return -1
        self._records.append(record)
        self._wheres.append(where)
        row = self._n_boxed if "bbox" in record else -1
        self._n_boxed += "bbox" in record
        if len(self._records) >= _WINDOW:
            self.flush()
        return row

    def labelled(self, record: Record, label: str, where: Where, missing: str) -> int:
        """Add an annotation with its label; return its row, or -1 without a box.

        If it has no label, the defect says `missing`, such as "shape 3: has no label".
        """
        name = label or UNLABELLED
        if "bbox" not in record:
            return self.annotation({**record, "label": name}, where)
        row = self.annotation({**record, "category_id": self.category(name, where)}, where)
        if not label:
            self.defect("T004", missing, where, row)
        return row

    def boxes(self, found: Boxes) -> int:
        """Pass boxes on as columns, or as records if these are needed; return the first row."""
        row = self._n_boxed
        if self.add_boxes is None:
            for place in range(len(found)):
                self.annotation(found.record(place), found.lines.where(place))
            return row
        self.flush()
        self._n_boxed += len(found)
        self.add_boxes(found)
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
            self.refuse(label, error, where)

    def refuse(self, label: str, error: ValueProblemError, where: Where) -> None:
        """Add the defect of a shape that cannot be read; `label` names the shape."""
        self.tally["empty"] += isinstance(error, EmptyMaskProblemError)
        what = "the mask " * isinstance(error, MaskProblemError)
        self.defect(error.code, f"{label}: {what}{error}", where)

    def flush(self) -> None:
        """Pass the last annotations on."""
        if self._records:
            self._add(self._records, self._wheres)
        if self._plain and self.add_boxes is not None:
            self.add_boxes(_boxes_of(self._plain, self._member))
        self._records, self._wheres, self._plain = [], [], []


Translate = Callable[[Path, Collector], None]
"""Translates a source to COCO records, which it adds to a collector. Raises DatasetError if the
files cannot be read at all; single records with errors are left out and reported as defects.
"""


def _boxes_of(rows: Sequence[PlainBox], member: str) -> Boxes:
    image, category, x, y, width, height, who, own_ids, at = zip(*rows, strict=True)
    codes = {name: code for code, name in enumerate(filter(None, dict.fromkeys(who)))}
    return Boxes(
        np.array(image, np.int64),
        np.array(category, np.int64),
        np.array([x, y, width, height], np.float64).T.copy(),
        Lines([member], np.zeros(len(rows), np.int64), np.array(at)),
        np.array([codes.get(each, -1) for each in who], np.int64),
        [*codes],
        own_ids if any(own_ids) else (),
    )
