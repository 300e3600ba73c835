"""A: annotators with boxes identical to another's, or with unusual habits."""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from bboxqa.core.arrays import FloatArray, IndexArray, sum_by
from bboxqa.core.blocks import rows_where
from bboxqa.core.json_values import pointer_to, shortened
from bboxqa.core.text import count
from bboxqa.model.findings import Severity
from bboxqa.model.settings import ValidateSettings
from bboxqa.rules.base.reporting import summary_defect
from bboxqa.rules.base.rule import Defect, Hits, Rule, described_hits
from bboxqa.rules.facts.authorship import Authorship, authorship, quoted, unique_pairs
from bboxqa.rules.facts.box_overlaps import first_equal
from bboxqa.rules.facts.document import Document
from bboxqa.rules.facts.robust import deviations
from bboxqa.rules.facts.turned_overlaps import other_numbers, written_boxes

_MIN_ANNOTATORS = 4
_MIN_ANNOTATIONS = 20
"""Annotators with fewer annotations are not compared, as differences may be chance."""

_MIN_COPIED = 3


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
    """Return pairs of sets of boxes by two annotators that are equal, (S, 2).

    `of_row` is the set of each row, numbered by image, then annotator.
    """
    columns, boxes = document.annotations, document.once(written_boxes)
    sound = rows_where(len(rows), lambda of: np.isfinite(boxes[rows[of]]).all(1))
    sound &= size[of_row] >= _MIN_COPIED
    rows, picture, of_row = rows[sound], picture[sound], of_row[sound]
    of_rows = (
        *(boxes[:, place] for place in range(4)),
        *document.once(other_numbers),
        columns.category_id,
        *_beside_boxes(document),
    )
    shape = first_equal(
        len(rows),
        [picture.__getitem__, *(lambda of, each=each: each[rows[of]] for each in of_rows)],
    )
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
    columns = document.annotations
    angles, points = columns.rotations, columns.keypoints
    for row, value in (
        (angles.row, angles.angle),
        (points.row, points.n_visible),
        *((points.row, edge) for edge in points.bounds.T),
    ):
        if len(row):
            column = np.zeros(len(columns))
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
    if len(chosen) < _MIN_ANNOTATORS:
        return
    founds = [
        *_by_number(document, authors, rows, chosen),
        *_by_size(document, authors, rows, chosen),
        *_by_class(document, authors, rows, chosen),
    ]
    yield from described_hits(founds)


def _by_number(
    document: Document, authors: Authorship, rows: IndexArray, chosen: IndexArray
) -> Iterator[Defect]:
    drawn = np.stack([authors.picture[document.image[rows]], authors.author[rows]], 1)
    asked = np.stack([authors.picture[authors.asked[:, 0]], authors.asked[:, 1]], 1)
    seen = unique_pairs(*np.concatenate([drawn, asked]).T)[0]
    images = np.bincount(seen[:, 1], minlength=len(authors.names))[chosen]
    mean = np.bincount(authors.author[rows], minlength=len(authors.names))[chosen] / images
    middle = float(np.median(mean))
    for place in _odd(np.log(mean), 0.1, np.log(2)):
        yield _unlike(
            authors,
            int(chosen[place]),
            f"has {mean[place]:.3g} annotations per image; the median of the annotators is "
            f"{middle:.3g}",
            mean[place],
        )


def _by_size(
    document: Document, authors: Authorship, rows: IndexArray, chosen: IndexArray
) -> Iterator[Defect]:
    rows = rows[document.has_box[rows]]
    bbox = document.annotations.bbox
    with np.errstate(over="ignore"):
        side = np.log(bbox[rows, 2]) / 2 + np.log(bbox[rows, 3]) / 2
    order = np.lexsort((side, authors.author[rows]))
    author, side = authors.author[rows][order], side[order]
    first, stop = (np.searchsorted(author, chosen, end) for end in ("left", "right"))
    enough = stop - first >= _MIN_ANNOTATIONS
    chosen, first, stop = chosen[enough], first[enough], stop[enough]
    if len(chosen) < _MIN_ANNOTATORS:
        return
    middle = (side[(first + stop - 1) // 2] + side[(first + stop) // 2]) / 2
    for place in _odd(middle, 0.1, np.log(2)):
        yield _unlike(
            authors,
            int(chosen[place]),
            f"draws boxes of {np.exp(middle[place]):.3g} px (median of √(width × height)); the "
            f"median of the annotators is {np.exp(np.median(middle)):.3g} px",
            float(np.exp(middle[place])),
        )


def _by_class(
    document: Document, authors: Authorship, rows: IndexArray, chosen: IndexArray
) -> Iterator[Defect]:
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
            yield _unlike(
                authors,
                int(chosen[odd]),
                f"uses categories in other proportions than the other annotators: total variation "
                f"distance {distance[odd]:.0%}, median {np.median(distance):.0%}",
                float(distance[odd]),
            )


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
        found=round(float(found), 4),
        expected="about the same as the other annotators",
        key=f"{authors.names[code]} {what.split(maxsplit=1)[0]}",
        ids={"annotator": authors.names[code]},
        count=int((authors.author == code).sum()),
    )


def _boxes(rater: str, shift: float, width: float = 20) -> list[dict[str, object]]:
    return [{"bbox": [5 + 30 * place, 10 + shift, width, 30], "rater": rater} for place in range(3)]


def _many(rater: str, width: float) -> list[dict[str, object]]:
    return [
        {"bbox": [5 + 4 * place, 5 + place, width + place / 9, 9], "rater": rater}
        for place in range(20)
    ]


RULES = (
    Rule(
        code="A004",
        title="two annotators with identical boxes",
        severity=Severity.WARNING,
        scope="data set",
        breaks="""Agreement is measured on copies, so it is 1 there, whatever the annotators would
            have drawn.""",
        explanation="""Two annotators have the same boxes with the same categories on an image,
            equal to the last digit, and the same angles and key points if they have any, although
            independent drawings differ by some pixels. Only images with at least 3 annotations of
            each of the two count; the pair is reported if there are 3 such images, or if they are
            more than half of the images that both annotated. The annotations were copied, imported
            for both, or proposed by a model and not corrected. Leave such images out of the
            measurement of agreement, or annotate them again.""",
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
        breaks="""The habit of one annotator lowers agreement everywhere, and a model learns two
            ways of annotating.""",
        explanation="""Annotators with at least 20 annotations are compared where there are at least
            4 of them, by three numbers: annotations per image, the median of the box size √(w·h),
            and the total variation distance (0 to 1) between the shares of their categories and
            those of all others. An annotator is reported if one of the numbers is more than 5
            robust standard deviations (1.4826 times the median absolute deviation) from the median
            annotator and, for the first two, differs by a factor of more than 2; for the third, by
            more than 0.25. The annotator's images may explain it; if not, review the guidelines
            together.""",
        bad={
            "annotations": _many("ann", 4)
            + _many("bob", 4.2)
            + _many("cat", 4.1)
            + _many("eve", 20)
        },
        good={
            "annotations": _many("ann", 4) + _many("bob", 4.2) + _many("cat", 4.1) + _many("eve", 5)
        },
        check=_outliers,
    ),
)
