"""M: images in several files, which leak from one split into another."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bboxqa.core.arrays import IndexArray, rows
from bboxqa.core.json_values import pointer_to, shortened
from bboxqa.formats.translation.collector import UNNAMED
from bboxqa.model.findings import Severity
from bboxqa.model.settings import ValidateSettings
from bboxqa.rules.base.reporting import record_hits, summary_hits
from bboxqa.rules.base.rule import Hits, Rule
from bboxqa.rules.facts.authorship import authorship
from bboxqa.rules.facts.document import Document
from bboxqa.rules.facts.image_places import split_of

# Two images look the same if at most this many of 64 bits differ.
_MAX_DISTANCE = 2
_BANDS = ((0, 22), (22, 21), (43, 21))
_MAX_PAIRS = 1 << 21
# More images than this are one finding.
_MANY = 10
_LOOKS_LIKE = "looks like"
_SAME_NAME = "has the same name"
# Files that share so much of their images are no splits; the first is for few images, and for
# files with the names of splits.
_SAME_SET, _MOST = 0.9, 0.5
_ROBOFLOW = ".rf."


class _Twin(NamedTuple):
    """An image that belongs together with one of an earlier file."""

    row: int
    other: int
    """The record of the earlier file."""
    how: str
    """What the image does, such as "looks like"."""


class _Known:
    """The first file and image with each name, content or appearance."""

    def __init__(self) -> None:
        self._first: dict[tuple[str, object], tuple[int, int]] = {}
        self._places: dict[tuple[str, object], list[int]] = {}
        self._looks: list[NDArray[np.uint64]] = []
        self._owners: list[tuple[int, int]] = []
        self._originals: dict[int, list[str]] = {}

    def twins(self, document: Document) -> Iterator[tuple[int, _Twin]]:
        """Yield the images that earlier files have, with the place of the file; each once."""
        alike, originals = self._alike(document), _originals(document)
        for row, keys in enumerate(_keys(document)):
            found = [(*self._first[each], each[0]) for each in keys if each in self._first]
            if found:
                place, other, how = min(found, key=lambda each: each[0])
                yield place, _Twin(row, other, how)
            elif row in alike:
                place, other = alike[row]
                # M010 reports augmented copies, which look alike for that reason.
                if not originals[row] or originals[row] != self._originals[place][other]:
                    yield place, _Twin(row, other, _LOOKS_LIKE)

    def shared(self, document: Document) -> Counter[int]:
        """Return how many images a document has in common with each earlier file."""
        number: Counter[int] = Counter()
        for keys in _keys(document):
            number.update({place for key in keys for place in self._places.get(key, ())})
        return number

    def add(self, place: int, document: Document) -> None:
        """Add the images of a file."""
        for row, keys in enumerate(_keys(document)):
            for each in keys:
                self._first.setdefault(each, (place, row))
                places = self._places.setdefault(each, [])
                if places[-1:] != [place]:
                    places.append(place)
        if document.disk is not None:
            self._originals[place] = _originals(document)
            seen = np.flatnonzero(document.disk.has_look)
            self._looks.append(document.disk.look[seen])
            self._owners += [(place, row) for row in seen.tolist()]

    def _alike(self, document: Document) -> Mapping[int, tuple[int, int]]:
        """Return the earlier files and images that images look like, by image."""
        if document.disk is None or not self._owners:
            return {}
        seen = np.flatnonzero(document.disk.has_look)
        found = looking_alike(document.disk.look[seen], np.concatenate(self._looks))
        pairs = zip(seen.tolist(), found.tolist(), strict=True)
        return {row: self._owners[other] for row, other in pairs if other >= 0}


def _originals(document: Document) -> list[str]:
    """Return the last part of the name of each image before Roboflow's hash; "" without one."""
    names = document.images.texts("file_name")
    return [n.rpartition("/")[2].partition(_ROBOFLOW)[0] if _ROBOFLOW in n else "" for n in names]


def _keys(document: Document) -> Iterator[list[tuple[str, object]]]:
    """Yield for each image what it has in common with the same image in another file, and how."""
    names, disk = document.images.texts("file_name"), document.disk
    last = [name.replace("\\", "/").rpartition("/")[2] for name in names]
    is_unique = len({*last}) == len({*names})
    for row, name in enumerate(names):
        keys: list[tuple[str, object]] = []
        if disk is not None and disk.digest[row]:
            keys += [("is the same file as", disk.file[row])] if disk.file[row] else []
            keys.append(("has the same bytes as", disk.digest[row]))
        elif name:
            size = tuple(document.image_size[row].tolist())
            keys.append((f"{_SAME_NAME} as", name))
            if is_unique and not np.isnan(size).any():
                keys.append((f"{_SAME_NAME} and size as", (last[row], size)))
        yield keys


def looking_alike(looks: NDArray[np.uint64], known: NDArray[np.uint64]) -> IndexArray:
    """Return which known image each image looks like, (N,) int64; -1 for none.

    Two hashes that differ in at most two bits have at least one of three parts in common, so only
    hashes with a common part are compared.

    Parameters
    ----------
    looks : (N,) uint64
        Hashes, see `bboxqa.rules.facts.image_content.ImageContent`.
    known : (K,) uint64

    Examples
    --------
    >>> looking_alike(np.array([7, 256], np.uint64), np.array([5, 63], np.uint64))
    array([ 0, -1])
    """
    result = np.full(len(looks), -1, np.int64)
    for shift, width in _BANDS:
        mask = np.uint64((1 << width) - 1)
        parts = (known >> np.uint64(shift)) & mask
        order = np.argsort(parts, kind="stable")
        open_rows = np.flatnonzero(result < 0)
        wanted = (looks[open_rows] >> np.uint64(shift)) & mask
        start = np.searchsorted(parts[order], wanted, "left")
        stop = np.searchsorted(parts[order], wanted, "right")
        total = np.cumsum(stop - start)
        cuts = np.searchsorted(total, np.arange(_MAX_PAIRS, total[-1:].sum(), _MAX_PAIRS))
        for chunk in np.split(np.arange(len(open_rows)), np.unique(cuts)):
            places, offsets = rows(start[chunk], stop[chunk])
            row = np.repeat(open_rows[chunk], np.diff(offsets))
            other = order[places]
            near = _distance(looks[row], known[other]) <= _MAX_DISTANCE
            # Assigned in reverse, so that the first of several stays.
            result[row[near][::-1]] = other[near][::-1]
    return result


def _distance(left: NDArray[np.uint64], right: NDArray[np.uint64]) -> IndexArray:
    """Return the number of bits in which integers differ."""
    different = (left ^ right).view(np.uint8).reshape(-1, 8)
    distance: IndexArray = np.unpackbits(different, axis=1).sum(axis=1, dtype=np.int64)
    return distance


def _shared_images(
    documents: Sequence[Document], _settings: ValidateSettings
) -> Iterator[tuple[Document, Hits]]:
    """M008: images that are also in an earlier file."""
    known, expected = _Known(), "each image in one split only"
    for number, document in enumerate(documents):
        of_file: dict[int, list[_Twin]] = {}
        for place, twin in known.twins(document):
            of_file.setdefault(place, []).append(twin)
        shared = known.shared(document)
        for place, twins in of_file.items():
            earlier = documents[place]
            name_others, are_parts = (
                compare(earlier, document) for compare in (_name_other_people, _are_splits)
            )
            # Images that several files have are listed with the first of these.
            n_shared = max(shared[place], len(twins))
            least = _SAME_SET if n_shared <= _MANY or are_parts else _MOST
            least = 0 if name_others and not are_parts else least
            is_same_set = n_shared >= least * max(len(earlier.images), len(document.images))
            are_alike = all(twin.how == _LOOKS_LIKE for twin in twins)
            how = "look like images of" if are_alike else "are also in"
            hint = ""
            if is_same_set and not name_others:
                hint = "; check whether they are by several annotators, or copies"
            for hits in _twin_hits(
                earlier,
                document,
                twins,
                f"{how} {earlier.name}",
                hint,
                expected,
                is_same_set=is_same_set,
            ):
                yield document, hits
        known.add(number, document)


def _are_splits(earlier: Document, later: Document) -> bool:
    """Return whether two files are named as different splits."""
    split, another = (split_of(Path(each.name)) for each in (earlier, later))
    return bool(split and another) and split != another


def _name_other_people(earlier: Document, later: Document) -> bool:
    """Return whether both files name annotators, and not the same ones."""
    names, others = ({*each.once(authorship).names} - {UNNAMED} for each in (earlier, later))
    return bool(names and others) and names.isdisjoint(others)


def _twin_hits(
    earlier: Document,
    later: Document,
    twins: Sequence[_Twin],
    how: str,
    hint: str,
    expected: str,
    *,
    is_same_set: bool = False,
) -> Iterator[Hits]:
    """Yield findings of images that belong together with those of an earlier file."""
    names, others = (each.images.texts("file_name") for each in (later, earlier))
    of_row = {twin.row: twin for twin in twins}

    def says(row: int) -> str:
        twin = of_row[row]
        other = shortened(others[twin.other])
        return f"image {shortened(names[row])} {twin.how} {other} in {earlier.name}"

    if not twins:
        return
    listed = np.array([*of_row], np.int64)
    if len(listed) <= _MANY and not is_same_set:
        yield from record_hits(
            later,
            listed,
            says,
            name="images",
            expected=expected,
            found=names.__getitem__,
            apart=True,
        )
        return
    first = int(listed[0])
    yield from summary_hits(
        f"{len(listed):,} of {len(later.images):,} images {how}, such as: {says(first)}{hint}",
        "images",
        listed,
        severity=Severity.INFO if is_same_set else None,
        pointer=pointer_to("images", first),
        found=names[first],
        expected=expected,
    )


def _copies(
    documents: Sequence[Document], _settings: ValidateSettings
) -> Iterator[tuple[Document, Hits]]:
    """M010: augmented copies of an image of which an earlier file has a copy."""
    first: dict[str, tuple[int, int]] = {}
    expected = "all copies of an image in one split"
    for number, document in enumerate(documents):
        names = document.images.texts("file_name")
        stems = {row: stem for row, stem in enumerate(_originals(document)) if stem}
        of_file: dict[int, list[_Twin]] = {}
        for row, stem in stems.items():
            place, other = first.get(stem, (number, row))
            # M008 reports images that are in both files.
            if place != number and documents[place].images.get(other, "file_name") != names[row]:
                twin = _Twin(row, other, "has the original name of")
                of_file.setdefault(place, []).append(twin)
        for place, twins in of_file.items():
            how = f"are copies of images of {documents[place].name}"
            for hits in _twin_hits(documents[place], document, twins, how, "", expected):
                yield document, hits
        for row, stem in stems.items():
            first.setdefault(stem, (number, row))


RULES = (
    Rule(
        code="M008",
        title="image in several files",
        severity=Severity.WARNING,
        scope="files",
        breaks="If the files are splits, the model is tested on images that it was trained on.",
        explanation="""An image is also in an earlier file: with --images by content, otherwise by
            name, or by the last part of the name and the size. It is an info finding if the files
            are by several annotators. In the example, the earlier file has a.jpg.""",
        bad={"images": [{"file_name": "a.jpg"}]},
        good={"images": [{"file_name": "b.jpg"}]},
        check=_shared_images,
    ),
    Rule(
        code="M010",
        title="copy of an image in several files",
        severity=Severity.WARNING,
        scope="files",
        breaks="If the files are splits, the model is tested on scenes that it was trained on.",
        explanation="""An image of an earlier file has the same name before the hash that Roboflow
            adds, like augmented copies of one image. Split by original image. In the example, the
            earlier file has a_jpg.rf.0123456789abcdef.jpg.""",
        bad={"images": [{"file_name": "a_jpg.rf.fedcba9876543210.jpg"}]},
        good={"images": [{"file_name": "b_jpg.rf.fedcba9876543210.jpg"}]},
        check=_copies,
    ),
)
