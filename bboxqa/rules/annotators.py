"""A: how annotators are named, who annotated what, and copies between annotators."""

from itertools import combinations

import numpy as np

from bboxqa.core.arrays import distinct, distinct_rows, listed_by, run_starts
from bboxqa.core.json_values import shortened
from bboxqa.core.text import count, first_few
from bboxqa.formats.records import ANNOTATOR_KEYS, ASKED_KEYS
from bboxqa.model.findings import Severity
from bboxqa.model.settings import ValidateSettings
from bboxqa.rules import layout, shapes
from bboxqa.rules.base import Checked, Rows, ids_of, rule, summary, value_at
from bboxqa.rules.document import Document
from bboxqa.rules.people import authorship, names_in, quoted

# The user who created a record may not be the annotator who drew the box.
_CREATOR = "created_by"
_MIN_COPIED = 3


_OF_ANN, _OF_BOB, _COPIED = (
    [{"bbox": [5 + 30 * place, 10 + shift, 20, 30], "rater": rater} for place in range(3)]
    for rater, shift in (("ann", 0), ("bob", 0.5), ("bob", 0))
)
_TWO = {"rater_list": ["ann", "bob"]}
_OF_TWO = [{"image_id": image, "rater": rater} for image in (1, 2) for rater in ("ann", "bob")]
_ELSEWHERE = {"bbox": [50, 10, 20, 30]}


@rule(
    "A001 error: annotators are named inconsistently",
    breaks="Annotations count for the wrong annotator or for none, so agreement is wrong.",
    explanation="""It is an error if keys of an annotation name different annotators, only some
        records name one, or a list stands in place of a name. It is a warning if names differ only
        in case, blanks or invisible characters. Write one spelling under one key.""",
    bad={"annotations": [{"rater": "ann"}, _ELSEWHERE]},
    good={"annotations": [{"rater": "ann"}, {"rater": "bob", **_ELSEWHERE}]},
)
def _inconsistent(document: Document, _settings: ValidateSettings) -> Checked:
    columns, codes = document.annotations, document.annotations.annotator
    used = [key for key in ANNOTATOR_KEYS if key != _CREATOR and (codes[key] >= 0).any()]
    for first, second in combinations(used, 2):
        left, right = codes[first], codes[second]
        rows = np.flatnonzero((left >= 0) & (right >= 0) & (left != right))
        # An annotator's name and number differ.
        is_same = first.endswith("_id") == second.endswith("_id")
        if len(rows) and (is_same or np.isin(left[left >= 0], right[right >= 0]).any()):
            what = f"{count(len(rows), 'annotation')} with one annotator under {shortened(first)} "
            what += f"and another under {shortened(second)}; expected the same"
            found = [columns.annotator_names[each[rows[0]]] for each in (left, right)]
            expected = "one annotator, whichever key is read"
            at = f"annotations/{second}".replace(".", "/")
            yield summary(what, at, rows, document, found=found, expected=expected)
    key, name, at = document.annotator_key, "annotations", document.annotator_at
    named, sound = document.annotator >= 0, document.is_object
    if key is None and document.once(authorship).by_records:
        key, name, at = "annotator", "images", "images/annotator"
        named, sound = document.once(authorship).listed, document.images.is_object
    if key is not None:
        rows, mild = np.flatnonzero(sound & ~named), Severity.WARNING if key == _CREATOR else None
        what = f"{len(rows):,} of {count(int(sound.sum()), name[:-1])} do not name their annotator "
        what += f"under {shortened(key)}; expected it on all"
        expected = f"{key} on every {name[:-1]}"
        yield summary(what, at, rows, document, expected=expected, severity=mild)
    lists = document.once(authorship).lists
    for listed in ASKED_KEYS:
        odd = [row for row, (own, v) in enumerate(lists) if own == listed and names_in(v) is None]
        yield Rows(odd, at=f"images/{listed}", expected='a list of names, or an object {"name": …}')
    lists_of = [n for n, own in enumerate(columns.annotator_names) if own.startswith(("[", "{"))]
    if (key := document.annotator_key) is not None and lists_of:
        rows, keys = np.flatnonzero(np.isin(document.annotator, lists_of)), key.split(".")
        values = {row: value_at(document, "annotations", row, *keys) for row in rows.tolist()}
        mild = Severity.WARNING if key == _CREATOR else None
        odd = [row for row, value in values.items() if isinstance(value, list | dict)]
        yield Rows(odd, at=at, expected="the name of one annotator", severity=mild)
    yield from _spellings(document)


def _spellings(document: Document) -> Checked:
    """Yield the names that differ only in case, blanks or invisible characters."""
    authors = document.once(authorship)
    codes = np.append(authors.author[authors.author >= 0], authors.asked[:, 1])
    used = np.bincount(codes, minlength=len(authors.names))
    # The most frequent spelling of each name comes first, and is the one to keep.
    order = np.lexsort((-used, authors.folded))
    order = order[used[order] > 0]
    again = np.ones(len(order), np.bool_)
    again[run_starts(authors.folded[order])] = False
    if not again.any():
        return
    rare = order[again]
    names = [authors.names[code] for code in (order[np.argmax(again) - 1], rare[0])]
    rows, at = np.flatnonzero(np.isin(authors.author, rare)), document.annotator_at
    if document.annotator_key is None or not len(rows):
        rows, at = authors.asked[np.isin(authors.asked[:, 1], rare), 0], "images"
    what = f"annotators {quoted(names[0])} and {quoted(names[1])} differ only in case, blanks or "
    what += "invisible characters; expected one spelling"
    ids, mild = {"annotator": names[1]}, Severity.WARNING
    yield summary(what, at, rows, document, found=names, ids=ids, severity=mild)


@rule(
    "A002 error: annotator is not in the list of the image",
    breaks="Tools that use the list drop the annotation; others count one annotator too many.",
    explanation="""The rater_list or annotators of an image lacks somebody whom an annotation on it
        names. Complete the list, or correct the annotation.""",
    bad={
        "images": [_TWO],
        "annotations": [{"rater": "ann"}, {"rater": "eve", **_ELSEWHERE}, {"rater": "bob"}],
    },
    good={"images": [_TWO], "annotations": [{"rater": "ann"}, {"rater": "bob", **_ELSEWHERE}]},
)
def _uninvited(document: Document, _settings: ValidateSettings) -> Checked:
    authors, key = document.once(authorship), document.annotator_key
    if key is None or not len(authors.asked) or not document.complete("images"):
        return
    # Different spellings of a name are reported by A001.
    folded, n = authors.folded, len(authors.folded)
    rows = np.flatnonzero((authors.author >= 0) & (document.image >= 0))
    rows = rows[authors.listed[document.image[rows]]]
    pairs = document.image[rows] * n + folded[authors.author[rows]]
    wrong = rows[~np.isin(pairs, authors.asked[:, 0] * n + folded[authors.asked[:, 1]])]

    def says(row: int) -> str:
        listed, value = authors.lists[document.image[row]]
        own = quoted(authors.names[authors.author[row]])
        return f"annotator {own} is not in {shortened(listed)} of the image: {shortened([*value])}"

    yield Rows(wrong, says, document.annotator_at, total=len(rows))


@rule(
    "A003 warning: image or annotator without expected annotations",
    breaks="Missing work looks like an annotator who saw nothing, and so like disagreement.",
    explanation="""Where most images have two annotators or more, it is a warning if an image has
        one, or a listed annotator has no annotation. It is an info finding if an annotator drew
        nothing on an image that others annotated; list in rater_list who has looked at it.""",
    bad={
        "images": [_TWO, _TWO, {"rater_list": ["ann"]}],
        "annotations": [*_OF_TWO, {"image_id": 3, "rater": "ann"}],
    },
    good={"images": [_TWO, _TWO], "annotations": _OF_TWO},
)
def _incomplete(document: Document, _settings: ValidateSettings) -> Checked:
    authors, is_complete = document.once(authorship), document.complete("annotations")
    is_known = (authors.author >= 0).any() and document.complete("images")
    if not is_known or not (is_complete or len(authors.asked)):
        return
    rows = (authors.author >= 0) & (document.image >= 0)
    picture, folded = authors.picture[document.image[rows]], authors.folded
    drawn = distinct_rows(picture, folded[authors.author[rows]])[0].T
    asked = distinct_rows(authors.picture[authors.asked[:, 0]], folded[authors.asked[:, 1]])[0].T
    # Images with a single annotator are a defect if most images have several.
    others = drawn[~np.isin(drawn[:, 0], asked[:, 0])]
    seen, _ = distinct_rows(*np.concatenate([asked, others]).T)[0]
    number = np.bincount(seen, minlength=len(authors.picture))
    several, single = int((number > 1).sum()), np.flatnonzero(number == 1)
    if len(single) < several:
        of = count(several + len(single), "annotated image")
        message = f"only one annotator on {len(single):,} of {of}; expected two or more"
        yield summary(message, "images", single, document, expected="two annotators or more")
    # Lists that name none of the annotators are reported by A002.
    is_idle = ~np.isin(asked[:, 1], drawn[:, 1])
    if not is_complete or is_idle.all():
        return
    n = len(folded) + 1
    is_quiet = ~is_idle & np.isin(asked[:, 0], drawn[:, 0])
    is_quiet &= ~np.isin(asked[:, 0] * n + asked[:, 1], drawn[:, 0] * n + drawn[:, 1])
    idle = [authors.names[code] for code in distinct(asked[is_idle, 1]).tolist()]
    quiet = [authors.names[code] for code in asked[is_quiet, 1][:1].tolist()]
    of_idle = f"no annotations by {count(len(idle), 'annotator')} ({first_few(idle, 3, quoted)}) "
    of_idle += f"listed on {count(int(is_idle.sum()), 'image')}"
    of_quiet = f"{count(int(is_quiet.sum()), 'time')}, a listed annotator drew nothing on an image "
    of_quiet += f"that others annotated, such as {first_few(quiet, 1, quoted)} here"
    for where, names, found, message, severity in (
        (is_idle, idle, idle[:3], of_idle, None),
        (is_quiet, quiet, "".join(quiet), of_quiet, Severity.INFO),
    ):
        if names:
            what = f"{message}; expected annotations by every listed annotator"
            rows = asked[where, 0]
            ids = {**ids_of(document, "images", int(rows[0])), "annotator": names[0]}
            yield summary(what, "images", rows, document, ids=ids, found=found, severity=severity)


@rule(
    "A004 warning: two annotators with identical boxes",
    breaks="Agreement is measured on copies, so it is 1 there.",
    explanation="""Two annotators have boxes that are equal to the last digit on an image where each
        has at least 3 annotations, on 3 such images or more than half of those of both, with equal
        outlines if any. Leave copied images out, or annotate them again.""",
    bad={"annotations": _OF_ANN + _COPIED},
    good={"annotations": _OF_ANN + _OF_BOB},
    requires=("B014",),
)
def _copies(document: Document, _settings: ValidateSettings) -> Checked:
    authors, boxes = document.once(authorship), document.once(shapes.rotations).written
    if len(authors.names) < 2:
        return
    rows = np.flatnonzero((authors.author >= 0) & (document.image >= 0))
    pictures = authors.picture[document.image[rows]]
    found, of_row, size = distinct_rows(pictures, authors.author[rows])
    sets = found.T
    big = sets[size >= _MIN_COPIED]
    is_sound = np.isfinite(boxes[rows]).all(axis=1) & (size[of_row] >= _MIN_COPIED)
    rows, of_row = rows[is_sound], of_row[is_sound]
    columns = [*boxes.T, document.annotations.category_id, document.once(shapes.equal_boxes)[1]]
    # Angles and key points distinguish annotations with the same given box.
    angles, points = document.annotations.rotations, document.annotations.keypoints
    of_points = [(points.row, value) for value in (points.n_visible, *points.bounds.T)]
    for which, value in ((angles.row, angles.angle), *of_points):
        columns.append(np.zeros(len(boxes)))
        columns[-1][which] = np.nan_to_num(value)
    shape = layout.first_equal([sets[of_row, 0], *(column[rows] for column in columns)])
    # Equal sets have equal boxes, in any order, on the same picture.
    order = np.lexsort((shape, of_row))
    of_set = np.split(shape[order], np.searchsorted(of_row[order], np.arange(1, len(sets))))
    alike = listed_by(
        ((picture, own.tobytes()), code)
        for (picture, code), own, n in zip(sets.tolist(), of_set, size.tolist(), strict=False)
        if len(own) == n >= _MIN_COPIED
    )
    images = listed_by(
        (pair, picture) for (picture, _), codes in alike.items() for pair in combinations(codes, 2)
    )
    for pair, copied in sorted(images.items()):
        left, right = (big[big[:, 1] == code, 0] for code in pair)
        shared = len(np.intersect1d(left, right, assume_unique=True))
        if len(copied) >= _MIN_COPIED or 2 * len(copied) > shared:
            names = [authors.names[code] for code in pair]
            what = f"annotators {quoted(names[0])} and {quoted(names[1])} have exactly the same "
            what += f"boxes and categories on {len(copied):,} of {count(shared, 'image')} with at "
            what += f"least {_MIN_COPIED} annotations of each; expected small differences"
            key, ids = " ".join(sorted(map(shortened, names))), {"annotator": names}
            expected = "boxes that differ by a little"
            yield summary(what, "images", copied, document, found=names, key=key, ids=ids,
                          expected=expected)  # fmt: skip
