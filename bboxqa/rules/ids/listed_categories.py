"""I: categories that an image of LVIS lists as absent, or as not drawn everywhere."""

from collections.abc import Iterator

import numpy as np

from bboxqa.core.arrays import IndexArray
from bboxqa.core.json_values import shortened
from bboxqa.formats.annotations.records import id_number
from bboxqa.model.findings import Severity
from bboxqa.model.settings import ValidateSettings
from bboxqa.rules.base.reporting import record_defect
from bboxqa.rules.base.rule import Defect, Hits, Rule, hits
from bboxqa.rules.facts.document import Document

_ABSENT, _NOT_ALL = "neg_category_ids", "not_exhaustive_category_ids"


def _listed(document: Document, key: str) -> tuple[IndexArray, IndexArray]:
    """Return the image and the category, -1 for none, of each id in the lists of a key."""
    images = document.images
    lists = [(row, images.get(row, key)) for row in range(len(images))]
    pairs = [(row, id_number(v)) for row, value in lists if isinstance(value, list) for v in value]
    image, number = np.array(pairs, np.int64).reshape(-1, 2).T
    return image, document.categories.find(number)


def _wrong_lists(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    """I009: lists with unknown categories, and absent categories that are annotated."""
    if not document.complete("categories"):
        return
    absent, of_absent = _listed(document, _ABSENT)
    not_all, of_not_all = _listed(document, _NOT_ALL)
    known, known_too = of_absent >= 0, of_not_all >= 0
    unknown = "an id that no category has"
    yield from _hits(document, absent[~known], _ABSENT, unknown)
    yield from _hits(document, not_all[~known_too], _NOT_ALL, unknown)
    if known.any():
        n_categories, linked = len(document.categories), (document.image >= 0)
        linked &= document.category >= 0
        drawn = (document.image * n_categories + document.category)[linked]
        incomplete = (not_all * n_categories + of_not_all)[known_too]
        pairs = absent * n_categories + of_absent
        in_both = f"that is in {_NOT_ALL}, too"
        for others, what in ((drawn, "that is annotated there"), (incomplete, in_both)):
            both = known & np.isin(pairs, others)
            yield from _hits(document, absent[both], _ABSENT, what, of_absent[both])


def _hits(
    document: Document,
    images: IndexArray,
    key: str,
    what: str,
    categories: IndexArray | None = None,
) -> Iterator[Hits]:
    """Yield images whose list holds something; `categories` are those of each of `images`."""
    rows, first = np.unique(images, return_index=True)
    place = dict(zip(rows.tolist(), first.tolist(), strict=True))

    def describe(row: int) -> Defect:
        value, of_what = document.images.get(row, key), what
        if categories is not None:
            category = int(categories[place[row]])
            name = document.categories.get(category, "name")
            number = document.categories.get(category, "id")
            of_what = f"category {shortened(number)} ({shortened(name)}), {what}"
        expected = "categories of the file that are not annotated in the image"
        if key == _NOT_ALL:
            expected = "categories of the file"
        return record_defect(
            document,
            ("images", row, key),
            f"{key} has {of_what}; expected {expected}",
            found=value,
            expected=expected,
        )

    yield from hits(rows, describe, name="images", key=key)


RULES = (
    Rule(
        code="I009",
        title="image lists categories that contradict the file",
        severity=Severity.WARNING,
        breaks="""LVIS counts a detection of a category in neg_category_ids as false, though objects
            of it are annotated, or ignores the list for a category that does not exist.""",
        explanation="""Files of LVIS list, for each image, categories that were looked for and are
            absent (neg_category_ids), and those of which not all objects are drawn
            (not_exhaustive_category_ids). Here a list has the id of no category, or a category is
            absent and annotated, or in both lists. Categories were numbered again or merged without
            the lists. Write the lists again.""",
        bad={"images": [{"neg_category_ids": [1]}], "annotations": [{}]},
        good={"images": [{"neg_category_ids": []}], "annotations": [{}]},
        check=_wrong_lists,
    ),
)
