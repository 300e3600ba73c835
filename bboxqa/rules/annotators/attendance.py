"""A: mismatches between the annotators listed on an image and those who annotated it."""

from collections.abc import Iterator

import numpy as np

from bboxqa.core.arrays import BoolArray, IndexArray
from bboxqa.core.json_values import pointer_to, shortened
from bboxqa.core.text import count
from bboxqa.model.findings import Severity
from bboxqa.model.settings import ValidateSettings
from bboxqa.rules.base.reporting import record_defect, summary_defect, summary_hits
from bboxqa.rules.base.rule import Defect, Hits, Rule, described_hits, hits
from bboxqa.rules.facts.authorship import (
    Authorship,
    authorship,
    image_list,
    quoted,
    unique_pairs,
)
from bboxqa.rules.facts.document import Document


def _uninvited(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    """A002: annotations by annotators whom their image does not list."""
    authors, key = document.once(authorship), document.annotator_key
    if key is None or not len(authors.asked) or not document.complete("images"):
        return
    # Different spellings of a name are reported by A001.
    folded = authors.folded
    rows = np.flatnonzero((authors.author >= 0) & (document.image >= 0))
    rows = rows[authors.listed[document.image[rows]]]
    pairs = document.image[rows] * len(folded) + folded[authors.author[rows]]
    wrong = rows[~np.isin(pairs, authors.asked[:, 0] * len(folded) + folded[authors.asked[:, 1]])]

    def describe(row: int) -> Defect:
        image = int(document.image[row])
        name, value = image_list(document.images.values[image])
        return record_defect(
            document,
            ("annotations", row, *key.split(".")),
            f"annotator {quoted(authors.names[authors.author[row]])} is not in "
            f"{shortened(name)} of the image: {shortened(list(value))}",
            found=authors.names[authors.author[row]],
            expected=f"one of {shortened(list(value))}",
        )

    if 2 * len(wrong) <= len(rows) or len(wrong) <= 3:
        yield from hits(wrong, describe)
        return
    first = describe(int(wrong[0]))
    yield from summary_hits(
        f"{len(wrong):,} of {count(len(rows), 'annotation')} by annotators whom their image does "
        f"not list; the first: {first.message}",
        "annotations",
        wrong,
        *key.split("."),
        pointer=first.pointer,
        found=first.found,
        expected=first.expected,
        ids=first.ids,
    )


def _incomplete(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    """A003: images with fewer annotators than expected, and annotators without annotations."""
    authors = document.once(authorship)
    if not ((authors.author >= 0).any() and document.complete("images")):
        return
    if not (document.complete("annotations") or len(authors.asked)):
        return
    drawn, asked = _drawn(document, authors), _asked(authors)
    yield from described_hits(list(_few(document, authors, drawn, asked)))
    # Lists that name none of the annotators are reported by A002.
    if not document.complete("annotations") or not np.isin(asked[:, 1], drawn[:, 1]).any():
        return
    idle = np.setdiff1d(asked[:, 1], drawn[:, 1])
    yield from described_hits(list(_idle(document, authors, asked, idle)))
    asked = asked[~np.isin(asked[:, 1], idle) & np.isin(asked[:, 0], drawn[:, 0])]
    yield from described_hits(list(_quiet(document, authors, asked, drawn)), Severity.INFO)


def _drawn(document: Document, authors: Authorship) -> IndexArray:
    """Return each image with each annotator who annotated it, as numbers, (D, 2)."""
    rows = (authors.author >= 0) & (document.image >= 0)
    picture = authors.picture[document.image[rows]]
    return unique_pairs(picture, authors.folded[authors.author[rows]])[0]


def _asked(authors: Authorship) -> IndexArray:
    """Return each image with each annotator listed on it, as numbers, (P, 2)."""
    image, name = authors.asked.T
    return unique_pairs(authors.picture[image], authors.folded[name])[0]


def _within(pairs: IndexArray, others: IndexArray) -> BoolArray:
    width = 1 + max(pairs[:, 1].max(initial=0), others[:, 1].max(initial=0))
    inside: BoolArray = np.isin(
        pairs[:, 0] * width + pairs[:, 1], others[:, 0] * width + others[:, 1]
    )
    return inside


def _few(
    document: Document, authors: Authorship, drawn: IndexArray, asked: IndexArray
) -> Iterator[Defect]:
    """Yield the images with a single annotator if most images have several."""
    seen = unique_pairs(*np.concatenate([asked, drawn[~np.isin(drawn[:, 0], asked[:, 0])]]).T)[0]
    number = np.bincount(seen[:, 0], minlength=len(authors.picture))
    several, single = int((number > 1).sum()), np.flatnonzero(number == 1)
    if len(single) and several > len(single):
        yield summary_defect(
            f"only one annotator on {len(single):,} of "
            f"{count(several + len(single), 'annotated image')}; expected two or more, as on the "
            "others",
            "images",
            single,
            pointer=pointer_to("images", int(single[0])),
            expected="two annotators or more",
            ids={"image": document.images.get(int(single[0]), "id")},
        )


def _idle(
    document: Document, authors: Authorship, asked: IndexArray, idle: IndexArray
) -> Iterator[Defect]:
    """Yield the listed annotators without any annotation in the file."""
    if len(idle):
        rows = asked[np.isin(asked[:, 1], idle), 0]
        names = [authors.names[int(np.flatnonzero(authors.folded == code)[0])] for code in idle[:3]]
        named = ", ".join(map(quoted, names)) + (", …" if len(idle) > 3 else "")
        yield summary_defect(
            f"no annotations by {count(len(idle), 'annotator')} ({named}) listed on "
            f"{count(len(rows), 'image')}; expected some",
            "images",
            rows,
            pointer=pointer_to("images", int(rows[0])),
            found=names,
            expected="annotations by every listed annotator",
            ids={"annotator": names[0], "image": document.images.get(int(rows[0]), "id")},
        )


def _quiet(
    document: Document, authors: Authorship, asked: IndexArray, drawn: IndexArray
) -> Iterator[Defect]:
    """Yield the images on which a listed annotator has no annotations but others have."""
    empty = asked[~_within(asked, drawn)]
    if len(empty):
        name = authors.names[int(np.flatnonzero(authors.folded == empty[0, 1])[0])]
        yield summary_defect(
            f"{count(len(empty), 'time')} a listed annotator has no annotation on an image that "
            f"others annotated, such as {quoted(name)} here; expected only if nothing was seen",
            "images",
            empty[:, 0],
            pointer=pointer_to("images", int(empty[0, 0])),
            found=name,
            expected="annotations, or an annotator who saw nothing",
            ids={"annotator": name, "image": document.images.get(int(empty[0, 0]), "id")},
        )


_TWO = {"rater_list": ["ann", "bob"]}

RULES = (
    Rule(
        code="A002",
        title="annotator is not in the list of the image",
        severity=Severity.ERROR,
        scope="data set",
        breaks="""Tools that use the list drop the annotation; others count one annotator too many,
            so that agreement on the image is wrong.""",
        explanation="""The rater_list or annotators of an image lists its annotators, but an
            annotation on it names somebody else. Either the list is out of date, or the annotation
            has the wrong image or the wrong name. Complete the list, or correct the annotation.""",
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
        title="image or annotator without expected annotations",
        severity=Severity.WARNING,
        scope="data set",
        breaks="""Missing work looks like an annotator who saw nothing: every object of the others
            becomes a disagreement.""",
        explanation="""In a file where most images have two annotators or more, it is a warning if
            some have only one, or if a listed annotator has no annotation in the whole file: check
            that the export is complete. It is an info finding if an annotator drew nothing on an
            image that others annotated, since the annotator may have seen no object. Each is
            reported once, with the number of cases. To distinguish the two cases, list in
            rater_list the annotators who have looked at the image.""",
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
