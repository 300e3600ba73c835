"""Q: unusual numbers and sizes of annotations."""

from collections.abc import Iterator

import numpy as np

from bboxqa.core.json_values import pointer_to, shortened
from bboxqa.core.text import count
from bboxqa.model.findings import Severity
from bboxqa.model.settings import ValidateSettings
from bboxqa.rules.base.reporting import record_defect, summary_defect
from bboxqa.rules.base.rule import Defect, Hits, Rule, described_hits, hits, part_hits
from bboxqa.rules.facts.document import Document
from bboxqa.rules.facts.image_bounds import figure
from bboxqa.rules.facts.layout import in_other_layout
from bboxqa.rules.facts.robust import deviations

_FEW = 10
_MOST = 0.9
_ENOUGH = 20
_ENOUGH_IMAGES = 8
_FAR = 6.0
# A number that a larger share of images has is not unusual.
_RARE = 0.1
# Minimum spreads of logarithms, so that small deviations from nearly equal values do not count.
_MIN_SIZE_SPREAD = 0.25
_MIN_NUMBER_SPREAD = 0.2


def _balance(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    if not (document.complete("categories") and document.complete("annotations")):
        return
    number = np.bincount(
        document.category[document.category >= 0], minlength=len(document.categories)
    )
    used = np.flatnonzero(number)
    few, founds = used[number[used] < _FEW], []
    if len(few):
        names = ", ".join(
            f"{shortened(document.categories.get(row, 'name'))} ({number[row]})"
            for row in few[np.argsort(number[few], kind="stable")][:3].tolist()
        )
        founds.append(
            summary_defect(
                f"fewer than {_FEW} annotations in {len(few):,} of {len(used):,} used "
                f"categories: {names}{', …' if len(few) > 3 else ''}",
                "categories",
                few,
                pointer=pointer_to("categories", int(few[0])),
                expected=f"{_FEW} annotations or more",
                ids={"category": document.categories.get(int(few[0]), "id")},
            )
        )
    top = int(number.argmax()) if len(used) > 1 else -1
    if top >= 0 and number[top] > _MOST * number.sum():
        name, total = shortened(document.categories.get(top, "name")), int(number.sum())
        founds.append(
            record_defect(
                document,
                ("categories", top),
                f"category {name} has {number[top]:,} of {count(total, 'annotation')}; expected "
                f"at most {_MOST:.0%}",
                found=int(number[top]),
                expected=f"at most {_MOST:.0%} of the annotations",
                key=name,
                count=int(number[top]),
            )
        )
    yield from described_hits(founds)


def _sizes(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    rows = np.flatnonzero(
        document.has_box & (document.category >= 0) & ~document.once(in_other_layout)
    )
    category = document.category[rows]
    enough = np.bincount(category, minlength=1)[category] >= _ENOUGH
    rows, category = rows[enough], category[enough]
    bbox = document.annotations.bbox
    # The sum of two logarithms, since a product might overflow.
    area = np.log(bbox[rows, 2]) + np.log(bbox[rows, 3])
    score, middle = deviations(area, category, _MIN_SIZE_SPREAD)
    odd = np.abs(score) > _FAR

    def describe(place: int) -> Defect:
        row = int(rows[place])
        name = document.categories.get(int(document.category[row]), "name")
        width, height = bbox[row, 2:]
        area, median = figure(width * height), figure(np.exp(middle[place]))
        return record_defect(
            document,
            ("annotations", row, "bbox"),
            f"bbox is {figure(width)} × {figure(height)} px, {area} px²; the median area of "
            f"boxes of {shortened(name)} is {median} px²",
            found=bbox[row].tolist(),
            expected=f"an area nearer to the median, {median} px²",
        )

    yield from part_hits(rows, odd, describe)


def _numbers(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    number = np.bincount(document.image[document.image >= 0], minlength=len(document.images))
    rows = np.flatnonzero(number)
    if len(rows) < _ENOUGH_IMAGES:
        return
    group = np.zeros(len(rows), np.int64)
    score, _ = deviations(np.log1p(number[rows]), group, _MIN_NUMBER_SPREAD)
    middle = float(np.median(number[rows]))

    def describe(row: int) -> Defect:
        return record_defect(
            document,
            ("images", row),
            f"image has {count(int(number[row]), 'annotation')}; the median of the annotated "
            f"images is {middle:g}",
            found=int(number[row]),
            expected=f"a number nearer to {middle:g}",
        )

    odd = np.abs(score) > _FAR
    # If most images have the same number, the spread is 0, so many others would be unusual.
    if odd.sum() <= max(1, _RARE * len(rows)):
        yield from hits(rows[odd], describe, name="images")


RULES = (
    Rule(
        code="Q001",
        title="category with few annotations, or with nearly all",
        severity=Severity.INFO,
        scope="data set",
        breaks="""A model hardly learns a rare category, and its AP depends on a few objects: it
            varies by tens of points between splits.""",
        explanation="""Categories with 1 to 9 annotations are counted and reported once. A category
            with more than 90 % of all annotations is reported if there are several categories.
            Collect more images, merge categories, or weight them in training.""",
        bad={"annotations": [{"bbox": [9 * place, 10, 7, 30]} for place in range(9)]},
        good={"annotations": [{"bbox": [9 * place, 10, 7, 30]} for place in range(10)]},
        check=_balance,
    ),
    Rule(
        code="Q002",
        title="size is unusual for the category",
        severity=Severity.INFO,
        scope="data set",
        breaks="It is often a slip of the mouse or a wrong category.",
        explanation="""The area of a box is more than 6 robust standard deviations from the median
            of its category. Both are computed from the logarithms of the areas; the standard
            deviation is 1.4826 times the median absolute deviation, but at least 0.25. Only
            categories with at least 20 boxes are checked. Check the box; keep it if the object has
            this size.""",
        bad={
            "annotations": [
                *({"bbox": [place, place, 20 + place % 3, 30]} for place in range(20)),
                {"bbox": [50, 50, 2, 3]},
            ],
        },
        good={
            "annotations": [
                *({"bbox": [place, place, 20 + place % 3, 30]} for place in range(20)),
                {"bbox": [50, 50, 14, 20]},
            ],
        },
        check=_sizes,
        requires=("F004", "S015", "B002", "B008", "B009", "B010", "B014", "T003"),
    ),
    Rule(
        code="Q003",
        title="image with an unusual number of annotations",
        severity=Severity.INFO,
        scope="data set",
        breaks="""Such images weigh more than others in training and in AP, and can exhaust the
            memory of a batch.""",
        explanation="""The number n of annotations on an image is more than 6 robust standard
            deviations from the median of the annotated images. Both are computed from log(1 + n);
            the standard deviation is 1.4826 times the median absolute deviation, but at least 0.2.
            Only files with at least 8 annotated images are checked. If more than a tenth of the
            images deviate that much, none is unusual. Typical causes are images that were imported
            twice, and crowds.""",
        bad={
            "images": [{}] * 8,
            "annotations": [
                *({"image_id": place + 1} for place in range(8)),
                *({"bbox": [5 * place, 40, 4, 30]} for place in range(15)),
            ],
        },
        good={
            "images": [{}] * 8,
            "annotations": [
                *({"image_id": place + 1} for place in range(8)),
                *({"bbox": [5 * place, 40, 4, 30]} for place in range(3)),
            ],
        },
        check=_numbers,
    ),
)
