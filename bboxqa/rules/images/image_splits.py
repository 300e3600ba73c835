"""M: images in several files, which leak from one split into another."""

from collections.abc import Hashable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from bboxqa.core.arrays import IndexArray, rows
from bboxqa.core.json_values import pointer_to
from bboxqa.formats.translation.translated import UNNAMED
from bboxqa.model.findings import Severity
from bboxqa.model.settings import ValidateSettings
from bboxqa.rules.base.reporting import record_defect, summary_hits
from bboxqa.rules.base.rule import Defect, Hits, Rule
from bboxqa.rules.facts.authorship import authorship
from bboxqa.rules.facts.document import Document
from bboxqa.rules.images.earlier_images import EarlierImage, first_rows, names_of, same_files
from bboxqa.rules.images.file_relations import are_splits
from bboxqa.rules.images.image_origins import relatives
from bboxqa.rules.images.shared_keys import earlier_candidates

# Two images look the same if at most this many of 64 bits differ.
_MAX_DISTANCE = 2
_BANDS = ((0, 22), (22, 21), (43, 21))
_MAX_PAIRS = 1 << 21
_MANY = 10
_LOOKS_LIKE = "looks like"
_SAME_NAME = "has the same name"
# Files that share so much of their images are no splits; the first is for few images, and for
# files with the names of splits.
_SAME_SET, _MOST = 0.9, 0.5


def _shared_images(
    documents: Sequence[Document], _settings: ValidateSettings
) -> Iterator[tuple[Document, Hits]]:
    """M008: images that are also in an earlier file."""
    candidates = zip(documents, earlier_candidates(documents, _keys), strict=True)
    for number, (document, (place, image)) in enumerate(candidates):
        is_new = np.ones(len(document.images), np.bool_)
        left = np.arange(len(place))
        while len(left):
            here = place[left[0]]
            earlier = documents[here]
            shared = _twins(earlier, document, np.unique(image[place == here]).tolist())
            are_parts = are_splits(documents, here, number)
            least = _SAME_SET if len(shared) <= _MANY or are_parts else _MOST
            if _name_other_people(earlier, document) and not are_parts:
                least = 0
            twins = [twin for twin in shared if is_new[twin.row]]
            is_new[[twin.row for twin in twins]] = False
            for found in _hits(earlier, document, twins, len(shared), least):
                yield document, found
            left = left[(place[left] > here) & is_new[image[left]]]


def _name_other_people(earlier: Document, later: Document) -> bool:
    """Return whether both files name annotators, and not the same ones."""
    names, others = ({*each.once(authorship).names} - {UNNAMED} for each in (earlier, later))
    return bool(names and others) and names.isdisjoint(others)


def _keys(document: Document) -> Iterator[tuple[int, Hashable]]:
    """Yield what an image has in common with the same image in another file."""
    names, last = document.once(names_of), document.once(_last_parts)
    yield from ((row, name) for row, name in enumerate(names) if name)
    if last:
        sizes = map(tuple, document.image_size.tolist())
        listed = enumerate(zip(last, sizes, strict=True))
        yield from ((row, each) for row, each in listed if each[0])
    if document.disk is None:
        return
    for values in (document.disk.digest, document.disk.file):
        yield from ((row, ("file", value)) for row, value in enumerate(values) if value)
    for row in np.flatnonzero(document.disk.has_look).tolist():
        look = int(document.disk.look[row])
        yield from ((row, (shift, look >> shift & (1 << width) - 1)) for shift, width in _BANDS)


def _twins(earlier: Document, later: Document, rows: Sequence[int]) -> list[EarlierImage]:
    """Return the images of a file that are also in an earlier file, in order, each once.

    Only some images, `rows`, are looked up by name.
    """
    found: dict[int, EarlierImage] = {}
    if earlier.disk is not None and later.disk is not None:
        for twin in _by_content(earlier, later):
            found.setdefault(twin.row, twin)
    for twin in _by_name(earlier, later, rows):
        if not _known_to_differ(earlier, later, twin):
            found.setdefault(twin.row, twin)
    return [found[row] for row in sorted(found)]


def _known_to_differ(earlier: Document, later: Document, twin: EarlierImage) -> bool:
    """Return whether both images were read, so that content decides rather than names."""
    if earlier.disk is None or later.disk is None:
        return False
    return bool(earlier.disk.digest[twin.earlier] and later.disk.digest[twin.row])


def _last_parts(document: Document) -> Sequence[str]:
    """Return the last parts of the names of images; empty if several have the same.

    If each folder numbers its images from the start, equal last parts prove nothing.
    """
    names = document.once(names_of)
    last = [name.replace("\\", "/").rpartition("/")[2] for name in names]
    return last if len({*last}) == len({*names}) else []


def _rows_by_name(document: Document) -> dict[str, int]:
    return first_rows(document.once(names_of))


def _rows_by_last_part(document: Document) -> dict[str, int]:
    return first_rows(document.once(_last_parts))


def _by_name(earlier: Document, later: Document, rows: Sequence[int]) -> Iterator[EarlierImage]:
    names, last = later.once(names_of), later.once(_last_parts)
    whole, by_last_part = earlier.once(_rows_by_name), earlier.once(_rows_by_last_part)
    for row in rows:
        if names[row] in whole:
            yield EarlierImage(row, whole[names[row]], f"{_SAME_NAME} as")
            continue
        other = by_last_part.get(last[row], -1) if last else -1
        if other >= 0 and (earlier.image_size[other] == later.image_size[row]).all():
            yield EarlierImage(row, other, f"{_SAME_NAME} and size as")


def _by_content(earlier: Document, later: Document) -> Iterator[EarlierImage]:
    if earlier.disk is None or later.disk is None:
        return
    yield from same_files(earlier, later)
    ours, theirs = np.flatnonzero(later.disk.has_look), np.flatnonzero(earlier.disk.has_look)
    alike = looking_alike(later.disk.look[ours], earlier.disk.look[theirs])
    # M010 reports copies and frames of one video, which look alike for that reason.
    related = {each.row for each in relatives(earlier, later)}
    for row, other in zip(
        ours[alike >= 0].tolist(), theirs[alike[alike >= 0]].tolist(), strict=True
    ):
        if row not in related:
            yield EarlierImage(row, other, _LOOKS_LIKE)


def looking_alike(
    looks: NDArray[np.uint64], known: NDArray[np.uint64], *, only_earlier: bool = False
) -> IndexArray:
    """Return which known image each image looks like.

    Two hashes that differ in at most two bits have at least one of three parts in common, so only
    hashes with a common part are compared.

    Parameters
    ----------
    looks : (N,) uint64
        Hashes, see `bboxqa.rules.facts.image_content.ImageContent`.
    known : (K,) uint64
    only_earlier : bool
        Whether image n is compared only with known images before the n-th, for a list compared with
        itself.

    Returns
    -------
    (N,) int64
        Index of the known image; -1 for none.

    Examples
    --------
    >>> import numpy as np
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
            if only_earlier:
                row, other = row[other < row], other[other < row]
            near = _distance(looks[row], known[other]) <= _MAX_DISTANCE
            # Assigned in reverse, so that the first of several stays.
            result[row[near][::-1]] = other[near][::-1]
    return result


def _distance(left: NDArray[np.uint64], right: NDArray[np.uint64]) -> IndexArray:
    """Return the number of bits in which integers differ."""
    different = (left ^ right).view(np.uint8).reshape(-1, 8)
    distance: IndexArray = np.unpackbits(different, axis=1).sum(axis=1, dtype=np.int64)
    return distance


def _hits(
    earlier: Document, later: Document, twins: Sequence[EarlierImage], n_shared: int, least: float
) -> Iterator[Hits]:
    """Yield findings of images that two files share; info for a share of `least` or more.

    `n_shared` also counts the images that a file before these has, which are not in `twins`.
    """
    names = later.once(names_of)

    def describe(place: int) -> Defect:
        twin = twins[place]
        return record_defect(
            later,
            ("images", twin.row),
            f"{twin.in_words(earlier, later)}; expected each image in one split only",
            found=names[twin.row],
            expected="an image that no other file has",
        )

    if not twins:
        return
    same_set = n_shared >= least * max(len(earlier.images), len(later.images))
    rows = [twin.row for twin in twins]
    if len(twins) <= _MANY and not same_set:
        yield Hits(np.array(rows, np.int64), describe, name="images")
        return
    is_unsure = same_set and not _name_other_people(earlier, later)
    hint = "; check whether they are by several annotators, or copies" if is_unsure else ""
    only_alike = all(twin.how == _LOOKS_LIKE for twin in twins)
    how = "look like images of" if only_alike else "are also in"
    more = " more" if n_shared > len(twins) else ""
    yield from summary_hits(
        f"{len(twins):,}{more} of {len(later.images):,} images {how} {earlier.name}, such as: "
        f"{twins[0].in_words(earlier, later)}{hint}",
        "images",
        rows,
        severity=Severity.INFO if same_set else None,
        pointer=pointer_to("images", rows[0]),
        found=names[rows[0]],
        expected="images that no other file has",
    )


RULES = (
    Rule(
        code="M008",
        title="image in several files",
        severity=Severity.WARNING,
        scope="files",
        breaks="""If the files are splits, the model is tested on images that it was trained on, and
            its scores are too good.""",
        explanation="""An image is also in an earlier file. With --images, images are compared by
            content: the same file, equal bytes, or nearly equal appearance; otherwise by name, or
            by the last part of the name together with the size. Keep the image in one file only.
            Files by several annotators share images; this is an info finding. They name different
            annotators, or are of one split, as ann/train.json and bob/train.json, or share most
            images. Where files are named as splits, such as train.json and val.json, or share no
            more than ten images, they have to share nearly all for that. In the example, the
            earlier file has a.jpg.""",
        bad={"images": [{"file_name": "a.jpg"}]},
        good={"images": [{"file_name": "b.jpg"}]},
        check=_shared_images,
    ),
)
