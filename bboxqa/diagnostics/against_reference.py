"""How annotators differ from a reference."""

import numpy as np

from bboxqa.agreement.estimators import table_of
from bboxqa.agreement.intervals import ratio_intervals
from bboxqa.core.arrays import IndexArray, distinct_rows, find
from bboxqa.diagnostics.object_cells import Amounts, RatioSums, holm
from bboxqa.diagnostics.offsets import ALARM, MEASURES, SIZE_OF, UNITS, compared_pairs
from bboxqa.geometry.boxes import corners
from bboxqa.model.annotations import EDGES
from bboxqa.model.rotated_boxes import beyond_rounding
from bboxqa.model.table import Categorical, Table, figure_columns
from bboxqa.model.units import ReferenceMatches


def against_reference(found: ReferenceMatches) -> Table:
    """Return the agreement of each annotator with the reference, a row per annotator.

    Columns: annotator; n_images, the images of the reference that the annotator was asked about;
    the numbers of annotations there: n by the annotator, n_reference by the reference, n_matched;
    then with 95 % intervals over images: precision, n_matched / n; recall, n_matched / n_reference;
    f1; miss_rate, the share of objects of the reference that the annotator did not draw, not even
    badly placed; extra_rate, the share of annotations that overlap no object; twice_rate, the share
    of drawn objects that two boxes match, which lower the precision but are no extras; class_share
    and mean_similarity of matched annotations.
    """
    names, of = found.data.annotator_names[:-1], found.data.annotations
    drawn, image = _authors(found, np.flatnonzero(of.annotator < len(names)))
    asked_image, asked = np.nonzero(found.data.assigned[:, :-1])
    n_there = np.bincount(
        of.image[of.annotator == len(names)], minlength=len(found.data.image_names)
    )[asked_image]
    row, where = _authors(found, found.matched.left)
    placed = _authors(found, found.placed[:, 0])
    beside = _authors(found, found.beside.left)
    same = of.category[found.matched.left] == of.category[found.matched.right]
    twice, who = distinct_rows(found.beside.right[found.is_twice], beside[0][found.is_twice])[0]
    amounts: dict[str, list[Amounts]] = {
        "precision": [(row, where, 1, 0), (drawn, image, 0, 1)],
        "recall": [(row, where, 1, 0), (asked, asked_image, 0, n_there)],
        "f1": [(row, where, 2, 0), (drawn, image, 0, 1), (asked, asked_image, 0, n_there)],
        "class_share": [(row, where, same, 1)],
        "mean_similarity": [(row, where, found.matched.similarity, 1)],
        "miss_rate": [(asked, asked_image, n_there, n_there), (*placed, -1, 0)],
        "extra_rate": [(drawn, image, 1, 1), (*placed, -1, 0), (*beside, -1, 0)],
        "twice_rate": [(*placed, 0, 1), (who, of.image[twice], 1, 0)],
    }
    ratios = RatioSums(found, len(names), amounts).ratios()
    return Table(
        {
            "annotator": Categorical(np.arange(len(names), dtype=np.int32), names),
            "n_images": found.data.assigned[:, :-1].sum(0),
            "n": ratios["precision"].n,
            "n_reference": ratios["recall"].n,
            "n_matched": ratios["recall"].n_counted,
            **{key: c for name, each in ratios.items() for key, c in each.columns(name).items()},
        }
    )


def _authors(found: ReferenceMatches, rows: IndexArray) -> tuple[IndexArray, IndexArray]:
    """Return annotator and image of some annotations."""
    of = found.data.annotations
    return of.annotator[rows].astype(np.int64), of.image[rows].astype(np.int64)


def reference_offsets(found: ReferenceMatches) -> Table:
    """Return the offsets of each annotator's boxes from those of the reference.

    Rows and columns are as in `offsets` or `rotated_offsets`, without others and medians; an empty
    table for key points. Boxes that overlap the reference too little to match count as well;
    rotated boxes across those of the reference do not.
    """
    of, placed = found.data.annotations, found.placed
    names = found.data.annotator_names[:-1]
    if is_rotated := found.compared == "rotated boxes":
        pairs = compared_pairs(found.data, placed.T)
        kept = ~pairs.is_across
        placed, apart, size = placed[kept], pairs.differences[kept], pairs.sizes[1][kept]
    else:
        drawn, expected = placed.T
        apart, size = corners(of.bbox[drawn]) - corners(of.bbox[expected]), of.bbox[expected, 2:]
    kinds: tuple[str, ...] = MEASURES if is_rotated else EDGES
    name, value = ("measure", "offset") if is_rotated else ("edge", "offset_px")
    size_of = SIZE_OF.tolist() if is_rotated else [0, 1, 0, 1]
    annotator, image = _authors(found, placed[:, 0])
    n, n_rows = len(kinds), len(kinds) * len(names)
    of_kind = (n * annotator[:, None] + np.arange(n)).ravel(), np.repeat(image, n), apart.ravel()
    amounts: dict[str, list[Amounts]] = {
        "offset": [(*of_kind, 1.0)], "relative": [(*of_kind, size[:, size_of].ravel())]
    }  # fmt: skip
    offset, relative = RatioSums(found, n_rows, amounts).ratios(null=0.0).values()
    is_angle = np.tile([kind == "angle" for kind in kinds], len(names))
    factor = np.where(is_angle, np.nan, 100.0)
    percent = factor * relative.value
    who, which = np.divmod(np.arange(n_rows, dtype=np.int32), n)
    units = {"unit": Categorical(is_angle.astype(np.int32), UNITS)} if is_rotated else {}
    table = Table(
        {
            "annotator": Categorical(who, names),
            name: Categorical(which, kinds),
            **units,
            "n": offset.n,
            **offset.columns(value),
            **figure_columns("offset_percent", percent, factor[:, None] * relative.interval),
            "p_value": offset.p_value,
            "systematic": (holm(offset.p_value) < ALARM) & beyond_rounding(offset.value, percent),
        }
    )
    return table.take(np.zeros(0, np.int64)) if found.compared == "keypoints" else table


_MOST = 1000


def reference_confusions(found: ReferenceMatches) -> Table:
    """Return the pairs of categories that annotators confuse, compared with the reference.

    The most frequent of at most 1,000 pairs comes first. Columns: first and second, the categories;
    n, the matched annotations with one of them where the reference has the other; and share, n
    divided by those with one of them on either side, with its 95 % interval over images.
    """
    own, expected, image = _categories(found)
    names, n_images = found.data.category_names, len(found.data.image_names)
    n_categories = max(len(names), 1)
    differs = own != expected
    key = np.minimum(own, expected) * n_categories + np.maximum(own, expected)
    keys, count = np.unique(key[differs], return_counts=True)
    keys = keys[np.argsort(-count, kind="stable")][:_MOST]
    first, second = np.divmod(keys, n_categories)
    row = find(keys, key)
    shown = row >= 0
    both = table_of(row[shown], image[shown], np.ones(int(shown.sum())), (len(keys), n_images))
    value = np.append(own, expected[differs])
    given = table_of(
        value, np.append(image, image[differs]), np.ones(len(value)), (n_categories, n_images)
    )
    either = given[first] + given[second] - both
    n = np.asarray(both.sum(1), np.float64).ravel()
    interval = ratio_intervals(both, either, found.bootstrap, found.seed)
    return Table(
        {
            "first": Categorical(first.astype(np.int32), names),
            "second": Categorical(second.astype(np.int32), names),
            "n": n.astype(np.int64),
            **figure_columns("share", n / np.asarray(either.sum(1), np.float64).ravel(), interval),
        }
    )


def reference_confusion_matrix(found: ReferenceMatches) -> Table:
    """Return the confusion matrix of each annotator with the reference."""
    own, expected, _ = _categories(found)
    author = found.data.annotations.annotator[found.matched.left].astype(np.int64)
    (who, reference, category), _, n = distinct_rows(author, expected, own)
    _, of_group, _ = distinct_rows(who, reference)
    names = found.data.category_names
    return Table(
        {
            "annotator": Categorical(who.astype(np.int32), found.data.annotator_names[:-1]),
            "category": Categorical(category.astype(np.int32), names),
            "reference": Categorical(reference.astype(np.int32), names),
            "n": n,
            "share": n / np.bincount(of_group, n)[of_group],
        }
    )


def _categories(found: ReferenceMatches) -> tuple[IndexArray, IndexArray, IndexArray]:
    """Return the categories of both sides, and the image, of each matched pair."""
    of = found.data.annotations
    category, image = of.category.astype(np.int64), of.image.astype(np.int64)
    return category[found.matched.left], category[found.matched.right], image[found.matched.left]
