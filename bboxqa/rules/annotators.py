"""A: how annotators are named, who annotated what, and copies and habits of annotators."""

import re
from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise
from typing import Any

import numpy as np

from bboxqa.core.arrays import BoolArray, FloatArray, IndexArray, IntArray, run_starts, sum_by
from bboxqa.core.json_values import pointer_to, shortened
from bboxqa.core.text import count
from bboxqa.formats.columns import Kind
from bboxqa.formats.records import ANNOTATOR_KEYS, annotator_name
from bboxqa.model.findings import Severity
from bboxqa.model.settings import ValidateSettings
from bboxqa.rules.base.reporting import record_hits, summary_defect, summary_hits
from bboxqa.rules.base.rule import Defect, Hits, Rule, described_hits
from bboxqa.rules.facts.authorship import (
    Authorship,
    authorship,
    image_list,
    names_in,
    quoted,
    unique_pairs,
)
from bboxqa.rules.facts.box_overlaps import first_equal
from bboxqa.rules.facts.document import Document
from bboxqa.rules.facts.oriented_boxes import other_numbers, written_boxes
from bboxqa.rules.facts.robust import deviations

# The user who created a record may not be the annotator who drew the box.
_CREATOR = "created_by"
# Annotators with fewer annotations are not compared, as differences may be chance.
_MIN_ANNOTATORS, _MIN_ANNOTATIONS = 4, 20
_MIN_COPIED = 3


def _inconsistent(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    """A001: contradictions in the naming of annotators, one finding per kind."""
    authors = document.once(authorship)
    of_creator = Severity.WARNING if document.annotator_key == _CREATOR else None
    for founds, severity in (
        (_two_names(document), None),
        (_unnamed(document, authors), of_creator),
        (_malformed_lists(document), None),
        (_composed_names(document, authors), of_creator),
        (_two_types(document, authors), None),
        (_spellings(document, authors), Severity.WARNING),
        (_no_author(document, authors), Severity.WARNING),
    ):
        yield from described_hits(list(founds), severity)


def _of_annotations(
    document: Document, message: str, rows: IndexArray, key: str, **more: Any
) -> Defect:
    first = int(rows[0])
    keys = key.split(".")
    pointer, ids = pointer_to("annotations", first, *keys), document.ids(first)
    return summary_defect(message, "annotations", rows, *keys, pointer=pointer, ids=ids, **more)


def _of_images(
    document: Document, message: str, rows: Sequence[int] | IndexArray, *key: str, **more: Any
) -> Defect:
    first = int(rows[0])
    ids = {"image": document.images.get(first, "id"), **more.pop("ids", {})}
    pointer = pointer_to("images", first, *key)
    return summary_defect(message, "images", rows, *key, pointer=pointer, ids=ids, **more)


def _two_names(document: Document) -> Iterator[Defect]:
    """Yield pairs of keys that name different annotators on one annotation."""
    columns = document.annotations
    codes = columns.annotator
    used = [key for key in ANNOTATOR_KEYS if key != _CREATOR and (codes[key] >= 0).any()]
    for first, second in combinations(used, 2):
        both = np.flatnonzero((codes[first] >= 0) & (codes[second] >= 0))
        left, right = codes[first][both], codes[second][both]
        # An annotator's name and number differ, but always occur together.
        alike = first.endswith("_id") == second.endswith("_id")
        alike = alike or len(np.intersect1d(left, right)) > 0
        number, name = (left, right) if first.endswith("_id") else (right, left)
        rows = both[left != right if alike else _unusual(number, name)]
        if len(rows):
            yield _of_annotations(
                document,
                f"{count(len(rows), 'annotation')} with one annotator under {shortened(first)} and "
                f"another under {shortened(second)}; expected the same",
                rows,
                second,
                found=[columns.annotator_names[codes[key][rows[0]]] for key in (first, second)],
                expected="one annotator, whichever key is read",
            )


def _unusual(number: IntArray, name: IntArray) -> BoolArray:
    """Return where a number occurs with a name other than its most frequent one."""
    pair, inverse, times = np.unique(
        np.stack([number, name], 1), axis=0, return_inverse=True, return_counts=True
    )
    order = np.lexsort((-times, pair[:, 0]))
    usual = np.zeros(len(pair), np.bool_)
    usual[order[np.unique(pair[order, 0], return_index=True)[1]]] = True
    result: BoolArray = ~usual[inverse.reshape(-1)]
    return result


def _unnamed(document: Document, authors: Authorship) -> Iterator[Defect]:
    """Yield the records without an annotator if other records name theirs."""
    key, columns = document.annotator_key, document.annotations
    if key is not None:
        is_object = columns.record == Kind.DICT
        rows = np.flatnonzero(is_object & (document.annotator < 0))
        if len(rows):
            others = [
                k for k in ANNOTATOR_KEYS if k != key and (columns.annotator[k][rows] >= 0).any()
            ]
            elsewhere = f" (some have {shortened(others[0])})" if others else ""
            yield _of_annotations(
                document,
                f"{len(rows):,} of {count(int(is_object.sum()), 'annotation')} do not name their "
                f"annotator under {shortened(key)}{elsewhere}; expected it on all",
                rows,
                key,
                expected=f"{key} on every annotation",
            )
    elif authors.by_records:
        images = document.images.values
        missing = [r for r in np.flatnonzero(~authors.listed).tolist() if type(images[r]) is dict]
        if missing:
            yield _of_images(
                document,
                f"{len(missing):,} of {count(len(images), 'image')} do not name their annotator "
                'under "annotator"; expected it on all',
                missing,
                "annotator",
                expected="annotator on every image",
            )


def _malformed_lists(document: Document) -> Iterator[Defect]:
    """Yield the images whose list of annotators is malformed."""
    found = [(row, *image_list(image)) for row, image in enumerate(document.images.values)]
    # Most images have the same list, so each distinct list is checked once.
    distinct = {repr(value): value for _, key, value in found if key}
    wrong = {text for text, value in distinct.items() if names_in(value) is None}
    odd = [(row, key, value) for row, key, value in found if wrong and key and repr(value) in wrong]
    if odd:
        _, key, value = odd[0]
        yield _of_images(
            document,
            f"{shortened(key)} of {count(len(odd), 'image')} is neither a list of names nor an "
            f"object with names as keys, such as {shortened(value)}",
            [row for row, *_ in odd],
            key,
            found=shortened(value),
            expected='a list of names, or an object {"name": …}',
        )


def _composed_names(document: Document, authors: Authorship) -> Iterator[Defect]:
    """Yield the annotations with a list, or an object, in place of the name of their annotator."""
    key = document.annotator_key
    codes = [code for code, name in enumerate(authors.names) if name.startswith(("[", "{"))]
    if key is None or not codes:
        return
    rows = np.flatnonzero(np.isin(authors.author, codes)).tolist()
    types = {row: type(_value(document.record(row), key)) for row in rows}
    for kind, words in ((list, "a list"), (dict, "an object")):
        odd = np.array([row for row in rows if types[row] is kind], np.int64)
        if len(odd):
            value = shortened(_value(document.record(int(odd[0])), key))
            message = (
                f"{count(len(odd), 'annotation')} with {words} under {shortened(key)}, such as "
                f"{value}; expected the name of one annotator"
            )
            yield _of_annotations(document, message, odd, key, found=value, expected="a name")


def _two_types(document: Document, authors: Authorship) -> Iterator[Defect]:
    """Yield the annotators that are written both as a number (1) and as text ("1")."""
    if not any(_is_number(name) for name in authors.names):
        return
    texts, numbers = _written(document)
    # Most images name the same annotators, which are checked once.
    distinct = {repr(_named_by(image)): image for image in document.images.values}
    for name in (name for image in distinct.values() for name in _named_by(image)):
        (texts if type(name) is str else numbers).add(annotator_name(name))
    both = {name for name in texts & numbers if _is_number(name)}
    if not both:
        return
    # The search in the text of the file is only a hint; the records decide.
    places: dict[str, dict[bool, list[str]]] = {name: {True: [], False: []} for name in both}
    for value, pointer in _everywhere(document, authors, both):
        if value is not None and annotator_name(value) in both:
            places[annotator_name(value)][type(value) is str].append(pointer)
    names = sorted(name for name in both if all(places[name].values()))
    rare = [pointer for name in names for pointer in min(places[name].values(), key=len)]
    if names:
        yield Defect(
            f"annotator {names[0]} {_and_others(names)}is written as a number in some places and "
            "as text in others; expected one type",
            pointer=rare[0],
            found=names,
            expected="one type",
            ids={"annotator": names[0]},
            count=len(rare),
            examples=tuple(rare[:3]),
        )


def _is_number(name: str) -> bool:
    return name.removeprefix("-").isdecimal()


def _and_others(names: Sequence[Any]) -> str:
    """Return a phrase with the number of names after the first one."""
    return f"(and {len(names) - 1:,} more) " if len(names) > 1 else ""


def _named_by(image: Any) -> list[Any]:
    """Return the annotators of an image as written; keys of objects are always text."""
    value = image_list(image)[1]
    single = image.get("annotator") if type(image) is dict else None
    if type(value) is list and names_in(value) is not None:
        return value
    return [single] if type(single) in (str, int, float) else []


def _everywhere(
    document: Document, authors: Authorship, names: set[str]
) -> Iterator[tuple[Any, str]]:
    """Yield annotators as written, with the pointer to each."""
    key = document.annotator_key
    if key is not None:
        codes = [code for code, name in enumerate(authors.names) if name in names]
        for row in np.flatnonzero(np.isin(authors.author, codes)).tolist():
            yield _value(document.record(row), key), pointer_to("annotations", row, *key.split("."))
    for row, image in enumerate(document.images.values):
        name = image_list(image)[0]
        for place, value in enumerate(_named_by(image)):
            keys = (name, place) if name else ("annotator",)
            yield value, pointer_to("images", row, *keys)


def _written(document: Document) -> tuple[set[str], set[str]]:
    """Return integers written as text, and as numbers, under the key, by searching the file."""
    key = document.annotator_key
    if key is None:
        return set(), set()
    last = re.escape(key.rpartition(".")[2].encode())
    text, (_, *span) = document.reading.text, document.reading.spans["annotations"]
    forms = [re.compile(rb'"%s"\s*:\s*%s' % (last, form)) for form in (rb'"(-?\d+)"', rb"(-?\d+)")]
    there = [form.search(text, *span) is not None for form in forms]
    if all(there):
        texts, numbers = ({one[1].decode() for one in f.finditer(text, *span)} for f in forms)
        return texts, numbers
    # If only one of the two notations occurs, all names are written that way.
    names = set(document.annotations.annotator_names)
    return names if there[0] else set(), names if there[1] else set()


def _value(record: dict[str, Any], key: str) -> Any:
    first, _, rest = key.partition(".")
    value = record.get(first)
    return value.get(rest) if rest and type(value) is dict else value


def _spellings(document: Document, authors: Authorship) -> Iterator[Defect]:
    """Yield the names that differ only in case, blanks or invisible characters."""
    drawn = np.bincount(authors.author[authors.author >= 0], minlength=len(authors.names))
    used = drawn + np.bincount(authors.asked[:, 1], minlength=len(authors.names))
    # The most frequent spelling of each name comes first, and is the one to keep.
    order = np.lexsort((-used, authors.folded))
    order = order[used[order] > 0]
    again = np.ones(len(order), np.bool_)
    again[run_starts(authors.folded[order])] = False
    rare = order[again].tolist()
    if rare:
        kept = int(order[np.flatnonzero(again)[0] - 1])
        names = [authors.names[kept], authors.names[rare[0]]]
        yield Defect(
            f"annotators {quoted(names[0])} and {quoted(names[1])} {_and_others(rare)}differ "
            "only in case, blanks or invisible characters; expected one spelling",
            pointer=_first_place(document, authors, rare[0]),
            found=names,
            expected="one spelling",
            ids={"annotator": names[1]},
            count=int(used[rare].sum()),
            examples=tuple(_first_place(document, authors, code) for code in rare[:3]),
        )


def _first_place(document: Document, authors: Authorship, code: int) -> str:
    rows, key = np.flatnonzero(authors.author == code), document.annotator_key
    if len(rows) and key is not None:
        return pointer_to("annotations", int(rows[0]), *key.split("."))
    image = int(authors.asked[authors.asked[:, 1] == code, 0][0])
    key = "annotator" if authors.by_records else image_list(document.images.values[image])[0]
    return pointer_to("images", image, key)


def _no_author(document: Document, authors: Authorship) -> Iterator[Defect]:
    """Yield the images that list several annotators if annotations name none."""
    if document.annotator_key is not None or authors.by_records or not len(document.annotations):
        return
    rows = np.flatnonzero(np.bincount(authors.asked[:, 0], minlength=len(authors.picture)) > 1)
    if len(rows):
        key = image_list(document.images.values[int(rows[0])])[0]
        yield _of_images(
            document,
            f"{count(len(rows), 'image')} with several annotators under {shortened(key)}, but no "
            "annotation names its own; expected an annotator on each annotation",
            rows,
            key,
            expected="a key such as annotator on every annotation",
        )


def _uninvited(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    """A002: annotations by annotators whom their image does not list."""
    authors, key = document.once(authorship), document.annotator_key
    if key is None or not len(authors.asked) or not document.complete("images"):
        return
    # Different spellings of a name are reported by A001.
    folded, n = authors.folded, len(authors.folded)
    rows = np.flatnonzero((authors.author >= 0) & (document.image >= 0))
    rows = rows[authors.listed[document.image[rows]]]
    pairs = document.image[rows] * n + folded[authors.author[rows]]
    wrong = rows[~np.isin(pairs, authors.asked[:, 0] * n + folded[authors.asked[:, 1]])]

    def name(row: int) -> str:
        return str(authors.names[authors.author[row]])

    def says(row: int) -> str:
        listed, value = image_list(document.images.values[int(document.image[row])])
        return (
            f"annotator {quoted(name(row))} is not in {shortened(listed)} of the image: "
            f"{shortened(list(value))}"
        )

    keys = key.split(".")
    if 2 * len(wrong) <= len(rows) or len(wrong) <= 3:
        yield from record_hits(document, wrong, says, *keys, found=name)
        return
    first = int(wrong[0])
    yield from summary_hits(
        f"{len(wrong):,} of {count(len(rows), 'annotation')} by annotators whom their image does "
        f"not list; the first: {says(first)}",
        "annotations",
        wrong,
        *keys,
        pointer=pointer_to("annotations", first, *keys),
        found=name(first),
        ids=document.ids(first),
    )


def _incomplete(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    """A003: images with fewer annotators than expected, and annotators without annotations."""
    authors, is_complete = document.once(authorship), document.complete("annotations")
    if not ((authors.author >= 0).any() and document.complete("images")):
        return
    if not (is_complete or len(authors.asked)):
        return
    rows = (authors.author >= 0) & (document.image >= 0)
    picture, folded = authors.picture[document.image[rows]], authors.folded
    drawn = unique_pairs(picture, folded[authors.author[rows]])[0]
    image, name = authors.asked.T
    asked = unique_pairs(authors.picture[image], folded[name])[0]
    yield from described_hits(list(_few(document, authors, drawn, asked)))
    # Lists that name none of the annotators are reported by A002.
    if not is_complete or not np.isin(asked[:, 1], drawn[:, 1]).any():
        return
    idle = np.setdiff1d(asked[:, 1], drawn[:, 1])
    yield from described_hits(list(_idle(document, authors, asked, idle)))
    asked = asked[~np.isin(asked[:, 1], idle) & np.isin(asked[:, 0], drawn[:, 0])]
    yield from described_hits(list(_quiet(document, authors, asked, drawn)), Severity.INFO)


def _few(
    document: Document, authors: Authorship, drawn: IndexArray, asked: IndexArray
) -> Iterator[Defect]:
    """Yield the images with a single annotator if most images have several."""
    seen = unique_pairs(*np.concatenate([asked, drawn[~np.isin(drawn[:, 0], asked[:, 0])]]).T)[0]
    number = np.bincount(seen[:, 0], minlength=len(authors.picture))
    several, single = int((number > 1).sum()), np.flatnonzero(number == 1)
    if len(single) and several > len(single):
        yield _of_images(
            document,
            f"only one annotator on {len(single):,} of "
            f"{count(several + len(single), 'annotated image')}; expected two or more, as on the "
            "others",
            single,
            expected="two annotators or more",
        )


def _idle(
    document: Document, authors: Authorship, asked: IndexArray, idle: IndexArray
) -> Iterator[Defect]:
    """Yield the listed annotators without any annotation in the file."""
    if len(idle):
        rows = asked[np.isin(asked[:, 1], idle), 0]
        names = [authors.names[int(np.flatnonzero(authors.folded == code)[0])] for code in idle[:3]]
        named = ", ".join(map(quoted, names)) + (", …" if len(idle) > 3 else "")
        yield _of_images(
            document,
            f"no annotations by {count(len(idle), 'annotator')} ({named}) listed on "
            f"{count(len(rows), 'image')}; expected some",
            rows,
            found=names,
            expected="annotations by every listed annotator",
            ids={"annotator": names[0]},
        )


def _quiet(
    document: Document, authors: Authorship, asked: IndexArray, drawn: IndexArray
) -> Iterator[Defect]:
    """Yield the images on which a listed annotator has no annotations but others have."""
    width = 1 + max(asked[:, 1].max(initial=0), drawn[:, 1].max(initial=0))
    keys, of_drawn = (pairs[:, 0] * width + pairs[:, 1] for pairs in (asked, drawn))
    empty = asked[~np.isin(keys, of_drawn)]
    if len(empty):
        name = authors.names[int(np.flatnonzero(authors.folded == empty[0, 1])[0])]
        yield _of_images(
            document,
            f"{count(len(empty), 'time')} a listed annotator has no annotation on an image that "
            f"others annotated, such as {quoted(name)} here; expected only if nothing was seen",
            empty[:, 0],
            found=name,
            expected="annotations, or an annotator who saw nothing",
            ids={"annotator": name},
        )


def _copies(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    """A004: pairs of annotators with identical boxes on several images."""
    authors = document.once(authorship)
    if len(authors.names) < 2:
        return
    rows = np.flatnonzero((authors.author >= 0) & (document.image >= 0))
    picture = authors.picture[document.image[rows]]
    sets, of_row, size = unique_pairs(picture, authors.author[rows])
    same = _equal_sets(document, rows, picture, of_row, size)
    if not len(same):
        return
    pair = np.stack([sets[same[:, 0], 1], sets[same[:, 1], 1]], 1)
    order = np.lexsort((sets[same[:, 0], 0], pair[:, 1], pair[:, 0]))
    pair, images = pair[order], sets[same[order, 0], 0]
    big = sets[size >= _MIN_COPIED]
    starts = [*np.flatnonzero(np.diff(pair, axis=0, prepend=-1).any(1)).tolist(), len(pair)]
    founds = []
    for start, stop in pairwise(starts):
        left, right = (big[big[:, 1] == code, 0] for code in pair[start])
        shared = len(np.intersect1d(left, right, assume_unique=True))
        if stop - start >= _MIN_COPIED or 2 * (stop - start) > shared:
            names = [authors.names[code] for code in pair[start]]
            founds.append(_copied(names, images[start:stop], shared))
    yield from described_hits(founds)


def _equal_sets(
    document: Document, rows: IndexArray, picture: IndexArray, of_row: IndexArray, size: IndexArray
) -> IndexArray:
    """Return pairs of sets of boxes by two annotators that are equal, (S, 2)."""
    boxes = document.once(written_boxes)
    sound = np.isfinite(boxes[rows]).all(1) & (size[of_row] >= _MIN_COPIED)
    rows, picture, of_row = rows[sound], picture[sound], of_row[sound]
    columns = (
        *boxes.T,
        *document.once(other_numbers),
        document.annotations.category_id,
        *_beside_boxes(document),
    )
    shape = first_equal([picture, *(each[rows] for each in columns)])
    held, _, times = unique_pairs(shape, of_row)
    here, step = np.arange(len(held)), 0
    parts = []
    while len(here):
        step += 1
        here = here[here + step < len(held)]
        here = here[held[here + step, 0] == held[here, 0]]
        common = np.minimum(times[here], times[here + step])
        parts.append(np.stack([held[here, 1], held[here + step, 1], common], 1))
    found = np.concatenate([np.zeros((0, 3), np.int64), *parts])
    pairs, of_pair, _ = unique_pairs(found[:, 0], found[:, 1])
    common = sum_by(of_pair, found[:, 2], len(pairs))
    result: IndexArray = pairs[(size[pairs] == common[:, None]).all(1)]
    return result


def _beside_boxes(document: Document) -> Iterator[FloatArray]:
    """Yield angles and key points, which distinguish annotations with the same given box."""
    angles, points = document.annotations.rotations, document.annotations.keypoints
    for row, value in (
        (angles.row, angles.angle),
        (points.row, points.n_visible),
        *((points.row, edge) for edge in points.bounds.T),
    ):
        if len(row):
            column = np.zeros(len(document.annotations))
            column[row] = np.nan_to_num(value)
            yield column


def _copied(names: list[str], images: IndexArray, shared: int) -> Defect:
    return summary_defect(
        f"annotators {quoted(names[0])} and {quoted(names[1])} have exactly the "
        f"same boxes and categories on {len(images):,} of {count(shared, 'image')} with at least "
        f"{_MIN_COPIED} annotations of each; expected small differences",
        "images",
        images,
        pointer=pointer_to("images", int(images[0])),
        found=names,
        expected="boxes that differ by a little",
        key=" ".join(sorted(map(shortened, names))),
        ids={"annotator": names},
    )


def _outliers(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    """A005: annotators with an unusual number of annotations, box sizes or categories."""
    authors = document.once(authorship)
    rows = np.flatnonzero((authors.author >= 0) & (document.image >= 0))
    number = np.bincount(authors.author[rows], minlength=len(authors.names))
    chosen = np.flatnonzero(number >= _MIN_ANNOTATIONS)
    if len(chosen) >= _MIN_ANNOTATORS:
        parts = (_by_number, _by_size, _by_class)
        founds = (found for part in parts for found in part(document, authors, rows, chosen))
        yield from described_hits([_unlike(authors, *found) for found in founds])


_Unusual = tuple[int, str, float]
"""The annotator, a phrase on what is unusual, and the number."""


def _by_number(
    document: Document, authors: Authorship, rows: IndexArray, chosen: IndexArray
) -> Iterator[_Unusual]:
    drawn = np.stack([authors.picture[document.image[rows]], authors.author[rows]], 1)
    asked = np.stack([authors.picture[authors.asked[:, 0]], authors.asked[:, 1]], 1)
    seen = unique_pairs(*np.concatenate([drawn, asked]).T)[0]
    images = np.bincount(seen[:, 1], minlength=len(authors.names))[chosen]
    mean = np.bincount(authors.author[rows], minlength=len(authors.names))[chosen] / images
    for place in _odd(np.log(mean), 0.1, np.log(2)):
        what = (
            f"has {mean[place]:.3g} annotations per image; the median of the annotators is "
            f"{float(np.median(mean)):.3g}"
        )
        yield int(chosen[place]), what, float(mean[place])


def _by_size(
    document: Document, authors: Authorship, rows: IndexArray, chosen: IndexArray
) -> Iterator[_Unusual]:
    rows, bbox = rows[document.has_box[rows]], document.annotations.bbox
    side = (np.log(bbox[rows, 2]) + np.log(bbox[rows, 3])) / 2
    sides = [side[authors.author[rows] == code] for code in chosen]
    enough = [place for place, each in enumerate(sides) if len(each) >= _MIN_ANNOTATIONS]
    if len(enough) < _MIN_ANNOTATORS:
        return
    middle = np.array([np.median(sides[place]) for place in enough])
    for place in _odd(middle, 0.1, np.log(2)):
        what = (
            f"draws boxes of {np.exp(middle[place]):.3g} px (median of √(width × height)); the "
            f"median of the annotators is {np.exp(np.median(middle)):.3g} px"
        )
        yield int(chosen[enough[place]]), what, float(np.exp(middle[place]))


def _by_class(
    document: Document, authors: Authorship, rows: IndexArray, chosen: IndexArray
) -> Iterator[_Unusual]:
    rows = rows[np.isin(authors.author[rows], chosen) & (document.category[rows] >= 0)]
    total = np.bincount(document.category[rows]).astype(np.float64)
    place = np.searchsorted(chosen, authors.author[rows])
    pair, _, times = unique_pairs(place, document.category[rows])
    n_drawn = sum_by(pair[:, 0], times, len(chosen))
    if not (n_drawn > 0).all() or (n_drawn == total.sum()).any():
        return
    # Categories that an annotator never uses add the remaining shares of the others.
    share = times / n_drawn[pair[:, 0]]
    others = (total[pair[:, 1]] - times) / (total.sum() - n_drawn[pair[:, 0]])
    apart = sum_by(pair[:, 0], np.abs(share - others) - others, len(chosen))
    distance = (apart + 1) / 2
    for odd in _odd(distance, 0.05, 0.25):
        if distance[odd] > np.median(distance):
            what = (
                "uses categories in other proportions than the other annotators: total variation "
                f"distance {distance[odd]:.0%}, median {np.median(distance):.0%}"
            )
            yield int(chosen[odd]), what, float(distance[odd])


def _odd(values: FloatArray, floor: float, least: float) -> list[int]:
    """Return the indices of values far from the median, in deviations and by more than `least`."""
    score, _ = deviations(values, np.zeros(len(values), np.int64), floor)
    far = np.abs(score) > 5
    result: list[int] = np.flatnonzero(far & (np.abs(values - np.median(values)) > least)).tolist()
    return result


def _unlike(authors: Authorship, code: int, what: str, found: float) -> Defect:
    row = int(np.flatnonzero(authors.author == code)[0])
    return Defect(
        f"annotator {quoted(authors.names[code])} {what}",
        pointer=pointer_to("annotations", row),
        found=round(found, 4),
        expected="about the same as the other annotators",
        key=f"{authors.names[code]} {what.split(maxsplit=1)[0]}",
        ids={"annotator": authors.names[code]},
        count=int((authors.author == code).sum()),
    )


def _boxes(rater: str, shift: float) -> list[dict[str, object]]:
    return [{"bbox": [5 + 30 * place, 10 + shift, 20, 30], "rater": rater} for place in range(3)]


def _many(*widths: float) -> dict[str, list[dict[str, object]]]:
    """Return an example of annotators who draw 20 boxes of these widths each."""
    return {
        "annotations": [
            {"bbox": [5 + 4 * place, 5 + place, width + place / 9, 9], "rater": rater}
            for rater, width in zip(("ann", "bob", "cat", "eve"), widths, strict=True)
            for place in range(20)
        ]
    }


def _on_images(*pairs: tuple[int, str]) -> list[dict[str, object]]:
    return [{"image_id": image, "rater": rater} for image, rater in pairs]


_TWO = {"rater_list": ["ann", "bob"]}
_OF_TWO = ((1, "ann"), (1, "bob"), (2, "ann"), (2, "bob"))
_ELSEWHERE = {"bbox": [50, 10, 20, 30]}

RULES = (
    Rule(
        code="A001",
        title="annotators are named inconsistently",
        severity=Severity.ERROR,
        scope="data set",
        breaks="Annotations count for the wrong annotator or for none, so agreement is wrong.",
        explanation="""It is an error if keys of an annotation name different annotators, only some
            records name one, or a name is a number in one place and text in another or no name at
            all. It is a warning if names differ only in case, blanks or invisible characters, or
            only images list them. Write one spelling, under one key, on every annotation.""",
        bad={"annotations": [{"rater": "ann"}, _ELSEWHERE]},
        good={"annotations": [{"rater": "ann"}, {"rater": "bob", **_ELSEWHERE}]},
        check=_inconsistent,
    ),
    Rule(
        code="A002",
        title="annotator is not in the list of the image",
        severity=Severity.ERROR,
        scope="data set",
        breaks="Tools that use the list drop the annotation; others count one annotator too many.",
        explanation="""The rater_list or annotators of an image lacks somebody whom an annotation on
            it names. Complete the list, or correct the annotation.""",
        bad={
            "images": [_TWO],
            "annotations": [{"rater": "ann"}, {"rater": "eve", **_ELSEWHERE}, {"rater": "bob"}],
        },
        good={
            "images": [_TWO],
            "annotations": [{"rater": "ann"}, {"rater": "bob", **_ELSEWHERE}],
        },
        check=_uninvited,
    ),
    Rule(
        code="A003",
        title="image or annotator without expected annotations",
        severity=Severity.WARNING,
        scope="data set",
        breaks="Missing work looks like an annotator who saw nothing, and so like disagreement.",
        explanation="""Where most images have two annotators or more, it is a warning if an
            image has one, or a listed annotator has no annotation. It is an info finding if an
            annotator drew nothing on an image that others annotated; list in rater_list who has
            looked at it.""",
        bad={
            "images": [_TWO, _TWO, {"rater_list": ["ann"]}],
            "annotations": _on_images(*_OF_TWO, (3, "ann")),
        },
        good={"images": [_TWO, _TWO], "annotations": _on_images(*_OF_TWO)},
        check=_incomplete,
    ),
    Rule(
        code="A004",
        title="two annotators with identical boxes",
        severity=Severity.WARNING,
        scope="data set",
        breaks="Agreement is measured on copies, so it is 1 there.",
        explanation="""Two annotators have boxes that are equal to the last digit on an image where
            each has at least 3 annotations, on 3 such images or more than half of those that both
            annotated. Leave copied images out of the measurement of agreement, or annotate them
            again.""",
        bad={"annotations": _boxes("ann", 0) + _boxes("bob", 0)},
        good={"annotations": _boxes("ann", 0) + _boxes("bob", 0.5)},
        check=_copies,
        requires=("B014",),
    ),
    Rule(
        code="A005",
        title="annotator with unusual habits",
        severity=Severity.INFO,
        scope="data set",
        breaks="The habit of one annotator lowers agreement everywhere.",
        explanation="""Of 4 annotators or more with at least 20 annotations each, one has
            annotations per image, a median √(w·h), or shares of categories more than 5 robust
            standard deviations from the median. The first two also differ by a factor of 2, the
            third by 0.25. The images may explain it; if not, review the guidelines together.""",
        bad=_many(4, 4.2, 4.1, 20),
        good=_many(4, 4.2, 4.1, 5),
        check=_outliers,
    ),
)
