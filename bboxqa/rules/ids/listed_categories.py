"""I: categories that an LVIS image lists as absent, or as not exhaustively annotated."""

from collections.abc import Iterator

import numpy as np

from bboxqa.core.arrays import IndexArray
from bboxqa.core.json_values import shortened
from bboxqa.formats.records import id_number
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
    unknown = np.unique(np.concatenate([absent[of_absent < 0], not_all[of_not_all < 0]]))
    if len(unknown) or not len(absent):
        # Lists with other numbers do not refer to these categories.
        yield from _unknown(document, unknown)
        return
    n_categories, linked = len(document.categories), document.image >= 0
    linked &= document.category >= 0
    drawn = (document.image * n_categories + document.category)[linked]
    pairs = absent * n_categories + of_absent
    incomplete = not_all * n_categories + of_not_all
    in_both = f"that is in {_NOT_ALL}, too"
    for others, what in ((drawn, "that is annotated there"), (incomplete, in_both)):
        both = np.isin(pairs, others)
        yield from _contradicted(document, absent[both], of_absent[both], what)


def _unknown(document: Document, images: IndexArray) -> Iterator[Hits]:
    """Yield the images whose lists have an id that no category has."""
    known = set(document.categories.id[document.categories.named].tolist())

    def describe(row: int) -> Defect:
        lists = {key: document.images.get(row, key) for key in (_ABSENT, _NOT_ALL)}
        key, value = next(
            (key, value)
            for key, values in lists.items()
            for value in (values if isinstance(values, list) else ())
            if id_number(value) not in known
        )
        return record_defect(
            document,
            ("images", row, key),
            f"{key} has {shortened(value)}, which no category has as its id; expected ids of "
            "categories",
            found=value,
            expected="ids of categories",
        )

    def summary(_some: IndexArray, share: str) -> str:
        return f"lists of {share} have ids that no category has; expected ids of categories"

    yield from hits(images, describe, name="images", summary=summary)


def _contradicted(
    document: Document, images: IndexArray, categories: IndexArray, what: str
) -> Iterator[Hits]:
    """Yield the images whose list of absent categories contradicts other data."""
    rows, first = np.unique(images, return_index=True)
    category = dict(zip(rows.tolist(), categories[first].tolist(), strict=True))
    expected = "categories that are not annotated in the image"

    def describe(row: int) -> Defect:
        number, name = (document.categories.get(category[row], key) for key in ("id", "name"))
        return record_defect(
            document,
            ("images", row, _ABSENT),
            f"{_ABSENT} has category {shortened(number)} ({shortened(name)}), {what}; expected "
            f"{expected}",
            found=number,
            expected=expected,
        )

    yield from hits(rows, describe, name="images", key=_ABSENT)


RULES = (
    Rule(
        code="I009",
        title="image lists categories that contradict the file",
        severity=Severity.WARNING,
        breaks="""LVIS counts a detection of a category in neg_category_ids as false although such
            objects are annotated, or ignores the list for a category that does not exist.""",
        explanation="""Files of LVIS list, for each image, categories that were looked for and are
            absent (neg_category_ids), and those of which not all objects are drawn
            (not_exhaustive_category_ids). Here a list has an id that no category has, or a category
            is listed as absent but annotated, or is in both lists. Categories were renumbered or
            merged without updating the lists. Write the lists again.""",
        bad={"images": [{"neg_category_ids": [1]}], "annotations": [{}]},
        good={"images": [{"neg_category_ids": []}], "annotations": [{}]},
        check=_wrong_lists,
    ),
)
