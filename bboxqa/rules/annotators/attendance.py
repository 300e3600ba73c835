"""Whether those who were asked about an image are those who annotated it."""

from collections.abc import Iterator

import numpy as np

from bboxqa.core.arrays import BoolArray, IndexArray
from bboxqa.core.json_values import pointer_to, shortened
from bboxqa.core.text import count
from bboxqa.model.findings import Severity
from bboxqa.model.settings import ValidateSettings
from bboxqa.rules.base.rule import Defect, Hits, Rule, described_hits, hits
from bboxqa.rules.facts.authorship import Authorship, authorship, image_list, unique_pairs
from bboxqa.rules.facts.document import Document

__all__ = ["RULES"]


def _uninvited(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    """Yield annotations by somebody who is not in the list of their image."""
    known, key = document.once(authorship), document.annotator_key
    if key is None or not len(known.asked) or not document.complete("images"):
        return
    # Another spelling of a name is spoken of elsewhere.
    folded = known.folded
    rows = np.flatnonzero((known.author >= 0) & (document.image >= 0))
    rows = rows[known.listed[document.image[rows]]]
    pairs = document.image[rows] * len(folded) + folded[known.author[rows]]
    wrong = rows[~np.isin(pairs, known.asked[:, 0] * len(folded) + folded[known.asked[:, 1]])]

    def describe(row: int) -> Defect:
        image = int(document.image[row])
        name, value = image_list(document.images.values[image])
        return Defect(
            f"annotator {shortened(known.names[known.author[row]])} is not in "
            f"{shortened(name)} of the image: {shortened(list(value))}",
            pointer=pointer_to("annotations", row, *key.split(".")),
            found=known.names[known.author[row]],
            expected=f"one of {shortened(list(value))}",
            ids=document.ids(row),
        )

    if 2 * len(wrong) > len(rows) and len(wrong) > 3:
        yield from described_hits([_mostly(describe(int(wrong[0])), wrong, len(rows), key)])
    else:
        yield from hits(wrong, describe)


def _mostly(first: Defect, wrong: IndexArray, n_rows: int, key: str) -> Defect:
    return Defect(
        f"{len(wrong):,} of {count(n_rows, 'annotation')} by somebody who is not in the list of "
        f"the image; the first: {first.message}",
        pointer=first.pointer,
        found=first.found,
        expected=first.expected,
        ids=first.ids,
        count=len(wrong),
        examples=tuple(pointer_to("annotations", int(row), *key.split(".")) for row in wrong[:3]),
    )


def _incomplete(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    """Yield images that miss annotators, and annotators who miss on images."""
    known = document.once(authorship)
    if not ((known.author >= 0).any() and document.complete("images")):
        return
    if not (document.complete("annotations") or len(known.asked)):
        return
    drawn, asked = _drawn(document, known), _asked(known)
    yield from described_hits(list(_few(document, known, drawn, asked)))
    # Lists that name other people altogether are spoken of elsewhere.
    if not document.complete("annotations") or not np.isin(asked[:, 1], drawn[:, 1]).any():
        return
    idle = np.setdiff1d(asked[:, 1], drawn[:, 1])
    yield from described_hits(list(_idle(document, known, asked, idle)))
    asked = asked[~np.isin(asked[:, 1], idle) & np.isin(asked[:, 0], drawn[:, 0])]
    yield from described_hits(list(_quiet(document, known, asked, drawn)), Severity.INFO)


def _drawn(document: Document, known: Authorship) -> IndexArray:
    """Return (D, 2) pictures and those who drew on them, as folded numbers."""
    rows = (known.author >= 0) & (document.image >= 0)
    picture = known.picture[document.image[rows]]
    return unique_pairs(picture, known.folded[known.author[rows]])[0]


def _asked(known: Authorship) -> IndexArray:
    """Return (P, 2) pictures and those who were asked about them, as folded numbers."""
    return unique_pairs(known.picture[known.asked[:, 0]], known.folded[known.asked[:, 1]])[0]


def _within(pairs: IndexArray, others: IndexArray) -> BoolArray:
    width = 1 + max(pairs[:, 1].max(initial=0), others[:, 1].max(initial=0))
    inside: BoolArray = np.isin(
        pairs[:, 0] * width + pairs[:, 1], others[:, 0] * width + others[:, 1]
    )
    return inside


def _few(
    document: Document, known: Authorship, drawn: IndexArray, asked: IndexArray
) -> Iterator[Defect]:
    """Yield that a few images have one annotator only."""
    seen = unique_pairs(*np.concatenate([asked, drawn[~np.isin(drawn[:, 0], asked[:, 0])]]).T)[0]
    number = np.bincount(seen[:, 0], minlength=len(known.picture))
    several, single = int((number > 1).sum()), np.flatnonzero(number == 1)
    if len(single) and several > len(single):
        pointers = tuple(pointer_to("images", int(row)) for row in single[:3])
        yield Defect(
            f"{len(single):,} of {count(several + len(single), 'annotated image')} with one "
            "annotator only; expected two or more, as on the others",
            pointer=pointers[0],
            expected="two annotators or more",
            ids={"image": document.images.get(int(single[0]), "id")},
            count=len(single),
            examples=pointers,
        )


def _idle(
    document: Document, known: Authorship, asked: IndexArray, idle: IndexArray
) -> Iterator[Defect]:
    """Yield that somebody who was asked drew nothing in the whole file."""
    if len(idle):
        rows = asked[np.isin(asked[:, 1], idle), 0]
        names = [known.names[int(np.flatnonzero(known.folded == code)[0])] for code in idle[:3]]
        named = ", ".join(map(shortened, names)) + (", …" if len(idle) > 3 else "")
        pointers = tuple(pointer_to("images", int(row)) for row in rows[:3])
        yield Defect(
            f"{count(len(idle), 'annotator')} ({named}) asked about "
            f"{count(len(rows), 'image')}, but without any annotation; expected some",
            pointer=pointers[0],
            found=names,
            expected="annotations of everybody who was asked",
            ids={"annotator": names[0], "image": document.images.get(int(rows[0]), "id")},
            count=len(rows),
            examples=pointers,
        )


def _quiet(
    document: Document, known: Authorship, asked: IndexArray, drawn: IndexArray
) -> Iterator[Defect]:
    """Yield that some of those who were asked about an image drew nothing where others did."""
    empty = asked[~_within(asked, drawn)]
    if len(empty):
        pointers = tuple(pointer_to("images", int(row)) for row in empty[:3, 0])
        name = known.names[int(np.flatnonzero(known.folded == empty[0, 1])[0])]
        yield Defect(
            f"{count(len(empty), 'time')} an annotator drew nothing on an image where another "
            f"one did, such as {shortened(name)} here; expected if nothing was seen",
            pointer=pointers[0],
            found=name,
            expected="annotations, or an annotator who saw nothing",
            ids={"annotator": name, "image": document.images.get(int(empty[0, 0]), "id")},
            count=len(empty),
            examples=pointers,
        )


_TWO = {"rater_list": ["ann", "bob"]}

RULES = (
    Rule(
        code="A002",
        title="annotation by somebody who is not in the list of its image",
        severity=Severity.ERROR,
        scope="data set",
        breaks="""Tools that go by the list drop the annotation; others count an annotator too many,
            so that agreement on the image is wrong.""",
        explanation="""The rater_list or annotators of an image says who was asked about it, but an
            annotation on it names somebody else. Either the list was not brought up to date, or the
            annotation stands on the wrong image or under the wrong name. Complete the list, or
            correct the annotation.""",
        bad={
            "images": [_TWO],
            "annotations": [
                {"rater": "ann"},
                {"rater": "eve", "bbox": [50, 10, 20, 30]},
                {"rater": "bob"},
            ],
        },
        good={
            "images": [_TWO],
            "annotations": [{"rater": "ann"}, {"rater": "bob", "bbox": [50, 10, 20, 30]}],
        },
        check=_uninvited,
    ),
    Rule(
        code="A003",
        title="image or annotator without annotations that were to be expected",
        severity=Severity.WARNING,
        scope="data set",
        breaks="""Work that is missing looks like an annotator who saw nothing: every object of the
            others becomes a disagreement.""",
        explanation="""In a file where most images have two annotators or more, it is a warning if
            some have one only, and if somebody in the lists of annotators has no annotation in the
            whole file: was the export complete? It is an info if an annotator drew nothing on an
            image where another one did, since this is what happens if nothing was seen. Each is
            reported once, with the number of cases. Name on each image those who have looked at it,
            in rater_list, to tell the two apart.""",
        bad={
            "images": [_TWO, _TWO, {"rater_list": ["ann"]}],
            "annotations": [
                {"image_id": 1, "rater": "ann"},
                {"image_id": 1, "rater": "bob"},
                {"image_id": 2, "rater": "ann"},
                {"image_id": 2, "rater": "bob"},
                {"image_id": 3, "rater": "ann"},
            ],
        },
        good={
            "images": [_TWO, _TWO],
            "annotations": [
                {"image_id": 1, "rater": "ann"},
                {"image_id": 1, "rater": "bob"},
                {"image_id": 2, "rater": "ann"},
                {"image_id": 2, "rater": "bob"},
            ],
        },
        check=_incomplete,
    ),
)
